//! What plugins keep of the heap that have nothing to do: counted, not timed, so that what costs memory is noticed where it is made. The bounds are what
//! is known of now with a tenth on top; what lowers a number lowers its bound.
//!
//! Not counted is what is mapped and not allocated: code, linear memory, stacks. What a whole program takes is measured by `make bench`.

use cap::Cap;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use informant_runtime::{
    CodeCacheOptions, CompilerOptions, LifecycleState, PluginHost, PluginHostOptions, Plugins,
};
use std::alloc::System;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// A whole plugin as WebAssembly text, with one subscription.
const HELLO: &str = include_str!("../../../plugins/hello-wat/hello-wat.wat");
/// As many again as there is room for in a map's node or two.
const PLUGINS: usize = 24;
/// What one keeps, of which more than half is wasmtime's description of the component.
const BYTES_A_PLUGIN_MAX: usize = 55_000;
/// What is left of one that is gone.
const BYTES_LEFT_MAX: usize = 400;
/// Generous: a loaded machine compiles the guest in a second.
const DEADLINE: Duration = Duration::from_secs(120);
/// Nothing is allocated any more when so many looks in a row find the same.
const LOOKS_ALIKE: usize = 20;

#[test]
fn heap_of_an_idle_plugin_is_bounded_and_is_given_back() {
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime");
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = root.path().join("plugins");
    fs::create_dir(&directory).expect("a directory");
    runtime.block_on(async {
        // What compiles keeps some memory for the next time: it is done before anything is counted.
        check(root.path(), async |plugins| {
            (1..=PLUGINS).for_each(|number| put(&directory, number));
            settled(plugins, PLUGINS + 1).await;
            (1..=PLUGINS).for_each(|number| remove(&directory, number));
            settled(plugins, 1).await;
        })
        .await;
        check(root.path(), async |plugins| {
            let alone = settled(plugins, 1).await;
            (1..=PLUGINS).for_each(|number| put(&directory, number));
            let together = settled(plugins, PLUGINS + 1).await;
            assert_eq!(plugins.compiles().compiled, 0, "it is in the cache");
            (1..=PLUGINS).for_each(|number| remove(&directory, number));
            let left = settled(plugins, 1).await;
            let each = |more: usize| more.saturating_sub(alone) / PLUGINS;
            let (each, left) = (each(together), each(left));
            assert!(each <= BYTES_A_PLUGIN_MAX, "{each} bytes a plugin");
            assert!(each > BYTES_A_PLUGIN_MAX * 17 / 20, "{each} bytes: lower the bound");
            assert!(left <= BYTES_LEFT_MAX, "{left} bytes are left of a plugin");
        })
        .await;
    });
}

/// Looks at a host that has one plugin.
async fn check(root: &Path, look: impl AsyncFnOnce(&Plugins)) {
    let directory = root.join("plugins");
    put(&directory, 0);
    let source = Arc::new(FakeControllerSource::default());
    let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
    let cache = CodeCacheOptions {
        directory: root.join("code"),
        bytes_max: 64 << 20,
        keeps_functions: false,
    };
    let host = PluginHost::new(PluginHostOptions {
        compiler: CompilerOptions { program: None, cache: Some(cache) },
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
fn put(directory: &Path, number: usize) {
    let mut module = wat::parse_str(HELLO).expect("the shipped plugin is well formed");
    module.extend([0, 3, 1, b'v', u8::try_from(number).expect("there are few")]);
    let partial = directory.join("partial");
    fs::write(&partial, module).expect("a file");
    fs::rename(partial, file(directory, number)).expect("a rename");
}

fn remove(directory: &Path, number: usize) {
    fs::remove_file(file(directory, number)).expect("it was there");
}
