//! What plugins keep of the heap that have nothing to do: counted, not timed, so that what costs memory is noticed where it is made. The bounds are what
//! is known of now with a tenth on top; what lowers a number lowers its bound. What descriptors at their bounds keep is compared with the plugin's account.
//!
//! Not counted is what is mapped and not allocated: code, linear memory, stacks. What a whole program takes is measured by `make bench`.

use cap::Cap;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use informant_runtime::{
    CodeCacheOptions, CompilerOptions, LifecycleState, PluginHost, PluginHostOptions, PluginStatus,
    Plugins,
};
use std::alloc::System;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// A whole plugin as WebAssembly text, with one subscription.
const HELLO: &str = include_str!("../../../plugins/hello-wat/hello-wat.wat");
/// As many again as there is room for in a map's node or two.
const PLUGINS: usize = 24;
/// What one keeps, of which more than half is wasmtime's description of the component.
const BYTES_A_PLUGIN_MAX: usize = 52_000;
/// Plugins come and go at most so often until nothing is left of them. What they leave would grow with each round. The first round also makes room in
/// tables, and a thread of the runtime that starts takes its memory in one round alone.
const ROUNDS: usize = 8;
/// Generous: a loaded machine compiles the guest in a second.
const DEADLINE: Duration = Duration::from_secs(120);
/// Nothing is allocated any more when so many looks in a row find the same.
const LOOKS_ALIKE: usize = 20;

/// Plugins with a descriptor at its bounds.
const LARGE_PLUGINS: usize = 4;
/// The least part of their heap that is in their accounts.
const CHARGED_PERCENT_MIN: usize = 80;

/// One test at a time counts.
static COUNTING: Mutex<()> = Mutex::new(());

#[test]
fn heap_of_an_idle_plugin_is_bounded_and_is_given_back() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime");
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = root.path().join("plugins");
    fs::create_dir(&directory).expect("a directory");
    runtime.block_on(async {
        // What compiles keeps some memory for the next time: it is done before anything is counted.
        check(root.path(), async |plugins| {
            (1..=PLUGINS).for_each(|number| put(&directory, number, HELLO));
            settled(plugins, PLUGINS + 1).await;
            (1..=PLUGINS).for_each(|number| remove(&directory, number));
            settled(plugins, 1).await;
        })
        .await;
        check(root.path(), async |plugins| {
            let mut alone = settled(plugins, 1).await;
            let mut left = Vec::new();
            while !left.contains(&0) && left.len() < ROUNDS {
                (1..=PLUGINS).for_each(|number| put(&directory, number, HELLO));
                let together = settled(plugins, PLUGINS + 1).await;
                assert_eq!(plugins.compiles().compiled, 0, "it is in the cache");
                (1..=PLUGINS).for_each(|number| remove(&directory, number));
                let afterwards = settled(plugins, 1).await;
                let each = together.saturating_sub(alone) / PLUGINS;
                assert!(each <= BYTES_A_PLUGIN_MAX, "{each} bytes a plugin");
                assert!(each > BYTES_A_PLUGIN_MAX * 17 / 20, "{each} bytes: lower the bound");
                left.push(afterwards as i64 - alone as i64);
                alone = afterwards;
            }
            assert!(left.contains(&0), "bytes that each round leaves: {left:?}");
        })
        .await;
    });
}

/// The heap of descriptors, beside that of the same plugins without them, and the same of their accounts.
#[test]
fn heap_of_descriptors_at_their_bounds_is_in_the_accounts() {
    let _counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime");
    let subscriptions = |of: &dyn Fn(usize) -> String| {
        let each: Vec<String> = (0..64)
            .map(|number| format!(r#"{{"name":"s{number}","replay":"never",{}}}"#, of(number)))
            .collect();
        format!(r#"{{"version":"1","subscriptions":[{}]}}"#, each.join(","))
    };
    let names = |prefix: &str, count: usize| {
        let names: Vec<String> = (0..count).map(|one| format!(r#""{prefix}{one}""#)).collect();
        names.join(",")
    };
    let namespaces = |prefix: &str| {
        let names = names(prefix, 256);
        subscriptions(&|number| {
            let resource = format!("example.com/v1/r{}", number % 8);
            format!(r#""resource":"{resource}","namespaces":[{names}]"#)
        })
    };
    let fields = subscriptions(&|number| {
        let fields: Vec<String> =
            (0..32).map(|one| format!("b{one}{}=x", ".a".repeat(31))).collect();
        let resource = format!("example.com/v1/r{}", number % 8);
        format!(r#""resource":"{resource}","fieldSelector":"{}""#, fields.join(","))
    });
    let pointers = subscriptions(&|number| {
        let pointers: Vec<String> =
            (0..32).map(|one| format!(r#""/b{one}{}""#, "/a".repeat(126))).collect();
        let resource = format!("example.com/v1/r{}", number % 8);
        format!(r#""resource":"{resource}","onlyIfChanged":[{}]"#, pointers.join(","))
    });
    for descriptor in
        [namespaces("n"), namespaces("a-longer-name-of-a-namespace-"), fields, pointers]
    {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = root.path().join("plugins");
        fs::create_dir(&directory).expect("a directory");
        runtime.block_on(check(root.path(), async |plugins| {
            let plain = held(plugins, &directory, HELLO).await;
            let large = held(plugins, &directory, &hello_with(&descriptor)).await;
            let (heap, account) = (large.0 - plain.0, large.1 - plain.1);
            let percent = account * 100 / heap;
            let begin = &descriptor[..200];
            assert!(percent >= CHARGED_PERCENT_MIN, "{account} of {heap} bytes: {begin}");
        }));
    }
}

/// The heap and the accounts of some such plugins, beside another one.
async fn held(plugins: &Plugins, directory: &Path, text: &str) -> (usize, usize) {
    let alone = settled(plugins, 1).await;
    (1..=LARGE_PLUGINS).for_each(|number| put(directory, number, text));
    let together = settled(plugins, LARGE_PLUGINS + 1).await;
    let account = |plugin: &PluginStatus| {
        let memory = plugin.to_json()["account"]["memory"].clone();
        let parts = memory.as_object().expect("it has parts").values();
        parts.filter_map(|part| part.as_u64()).sum::<u64>() as usize
    };
    let status = plugins.status();
    let others = status.iter().filter(|plugin| plugin.name.as_str() != "idle-0");
    let accounts = others.map(account).sum();
    (1..=LARGE_PLUGINS).for_each(|number| remove(directory, number));
    (together.saturating_sub(alone), accounts)
}

/// The shipped plugin with this descriptor, at the beginning of its second page.
fn hello_with(descriptor: &str) -> String {
    let pages = 2 + descriptor.len() / 65_536;
    let length: String = (descriptor.len() as u32)
        .to_le_bytes()
        .iter()
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    let quoted = descriptor.replace('"', "\\\"");
    let memory = HELLO.replace("\"memory\") 1)", &format!("\"memory\") {pages})"));
    let result = memory.replace(r"\00\02\00\00\4d\00\00\00", &format!(r"\00\00\01\00{length}"));
    let data = format!("(data (i32.const 65536) \"{quoted}\")\n  (global $greeting i32");
    result.replacen("(global $greeting i32", &data, 1)
}

/// Looks at a host that has one plugin.
async fn check(root: &Path, look: impl AsyncFnOnce(&Plugins)) {
    let directory = root.join("plugins");
    put(&directory, 0, HELLO);
    let source = Arc::new(FakeControllerSource::default());
    let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
    let cache = CodeCacheOptions { directory: root.join("code"), bytes_max: 64 << 20 };
    let host = PluginHost::new(PluginHostOptions {
        compiler: CompilerOptions { cache: Some(cache), ..CompilerOptions::default() },
        ..PluginHostOptions::alone(vec![directory], informers.clone())
    })
    .expect("the host can be made");
    let (plugins, shutdown) = (host.plugins(), CancellationToken::new());
    let host = tokio::spawn(host.run(shutdown.clone()));
    look(&plugins).await;
    shutdown.cancel();
    host.await.expect("the host ends well");
    informers.shutdown().await;
}

/// Bytes that are allocated once so many plugins run and nothing happens any more.
async fn settled(plugins: &Plugins, count: usize) -> usize {
    let settled = async {
        let (mut bytes, mut alike) = (0, 0);
        while alike < LOOKS_ALIKE {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let run = {
                let all = plugins.status();
                all.len() == count
                    && all.iter().all(|plugin| plugin.state == LifecycleState::Running)
            };
            let now = HEAP.allocated();
            alike = if run && now == bytes { alike + 1 } else { 0 };
            bytes = now;
        }
        bytes
    };
    let settled = tokio::time::timeout(DEADLINE, settled).await;
    settled.unwrap_or_else(|_| panic!("{count} plugins never came to rest"))
}

fn file(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("idle-{number}.wasm"))
}

/// The same plugin with another content, so that nothing is shared: a custom section, which is its kind, its size, the size of its name, its name.
fn put(directory: &Path, number: usize, text: &str) {
    let mut module = wat::parse_str(text).expect("the plugin is well formed");
    module.extend([0, 3, 1, b'v', u8::try_from(number).expect("there are few")]);
    let partial = directory.join("partial");
    fs::write(&partial, module).expect("a file");
    fs::rename(partial, file(directory, number)).expect("a rename");
}

fn remove(directory: &Path, number: usize) {
    fs::remove_file(file(directory, number)).expect("it was there");
}
