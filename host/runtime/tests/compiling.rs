//! Plugins that are compiled by another process: this program itself, which is a compiler where it is called as one, and
//! therefore has a `main` of its own.

use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use informant_runtime::{
    CodeCacheOptions, CompileCounts, CompilerOptions, CompilerProgram, PluginHost,
    PluginHostOptions, Plugins, compile_standard_input,
};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A whole plugin as WebAssembly text.
const HELLO: &str = include_str!("../../../plugins/hello-wat/hello-wat.wat");
/// Generous: a loaded machine compiles the guest in a second.
const DEADLINE: Duration = Duration::from_secs(120);
const ENOUGH: u64 = 512 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, command, memory, time] = arguments.as_slice()
        && command == "compile-plugin"
    {
        let [memory, time] = [memory, time].map(|number| number.parse().expect("a number"));
        return compile_standard_input(memory, time);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        a_child_compiles_and_the_cache_spares_the_next_one().await;
        too_little_memory_is_told_and_hurts_nobody().await;
        two_hosts_share_a_cache().await;
        plugins_with_the_same_file_share_its_code().await;
        a_version_under_development_is_code_of_the_baseline_compiler().await;
        a_version_made_of_the_one_befores_functions_is_the_same_code().await;
        a_grant_is_gone_while_a_load_hangs().await;
    });
    ExitCode::SUCCESS
}

fn program(memory_bytes_max: u64) -> CompilerProgram {
    CompilerProgram {
        program: std::env::current_exe().expect("this program"),
        arguments: vec!["compile-plugin".into()],
        memory_bytes_max,
        deadline: DEADLINE,
    }
}

/// A host over `root/plugins` with a cache in `root/code`, until the plugin has been loaded or refused: what is shown of
/// it, and what was compiled.
async fn load(root: &Path, memory_bytes_max: u64) -> (String, CompileCounts) {
    load_with(root, memory_bytes_max, false).await
}

/// The same, for plugins under development or not.
async fn load_with(
    root: &Path,
    memory_bytes_max: u64,
    is_for_versions: bool,
) -> (String, CompileCounts) {
    let running = Running::start(root, program(memory_bytes_max), is_for_versions);
    let status = running.until(|status| !status["lastLoad"].is_null()).await;
    let shown = format!("{} {}", status["state"], status["lastLoad"]["reason"]);
    let compiles = running.plugins.compiles();
    running.stop().await;
    (shown, compiles)
}

/// A host over `root/plugins` with a cache in `root/code`.
struct Running {
    plugins: Plugins,
    informers: Arc<SharedInformerFactory>,
    shutdown: CancellationToken,
    host: JoinHandle<()>,
}

impl Running {
    fn start(root: &Path, program: CompilerProgram, is_for_versions: bool) -> Self {
        let source = Arc::new(FakeControllerSource::default());
        let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
        let directory = root.join("code");
        let cache = Some(CodeCacheOptions { directory, bytes_max: 64 << 20 });
        let host = PluginHost::new(PluginHostOptions {
            compiler: CompilerOptions { program: Some(program), cache, is_for_versions },
            ..PluginHostOptions::alone(vec![root.join("plugins")], informers.clone())
        })
        .expect("the host can be made");
        let (plugins, shutdown) = (host.plugins(), CancellationToken::new());
        let host = tokio::spawn(host.run(shutdown.clone()));
        Self { plugins, informers, shutdown, host }
    }

    /// The only plugin, once it is shown as wanted.
    async fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let seen = async {
            loop {
                let status = self.plugins.status().first().map(|status| status.to_json());
                if let Some(status) = status.filter(&wanted) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, seen).await.expect("it is shown so in time")
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.host.await.expect("the host ends well");
        self.informers.shutdown().await;
    }
}

fn site() -> tempfile::TempDir {
    site_of(HELLO)
}

/// A directory with this plugin.
fn site_of(text: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    let plugins = root.path().join("plugins");
    fs::create_dir(&plugins).expect("a directory");
    let module = wat::parse_str(text).expect("the plugin is well formed");
    fs::write(plugins.join("hello.wasm"), module).expect("a file");
    root
}

/// The contents of the cache's entries; a mark stands before each.
fn entries(root: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(root.join("code")).expect("the cache");
    let paths = files.map(|file| file.expect("an entry").path());
    let codes = paths.filter(|path| path.extension().is_some_and(|ending| ending == "code"));
    codes.map(|path| fs::read(path).expect("an entry").split_off(40)).collect()
}

async fn a_child_compiles_and_the_cache_spares_the_next_one() {
    let root = site();
    let (shown, compiles) = load(root.path(), ENOUGH).await;
    assert_eq!(shown, r#""running" null"#);
    assert_eq!(compiles, CompileCounts { compiled: 1, ..CompileCounts::default() });
    let (shown, compiles) = load(root.path(), ENOUGH).await;
    assert_eq!(shown, r#""running" null"#);
    assert_eq!(compiles, CompileCounts { cached: 1, ..CompileCounts::default() });
    for entry in fs::read_dir(root.path().join("code")).expect("the cache") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "code") {
            let bytes = fs::read(&path).expect("an entry");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("an entry");
        }
    }
    let (shown, compiles) = load(root.path(), ENOUGH).await;
    assert_eq!(shown, r#""running" null"#);
    assert_eq!(compiles, CompileCounts { compiled: 1, ..CompileCounts::default() });
}

async fn too_little_memory_is_told_and_hurts_nobody() {
    let root = site();
    let (shown, compiles) = load(root.path(), 4 << 20).await;
    assert!(shown.contains("more than the 4 MiB that the compiler may use"), "{shown}");
    assert_eq!(compiles, CompileCounts { failed: 1, ..CompileCounts::default() });
    let (shown, _) = load(root.path(), ENOUGH).await;
    assert_eq!(shown, r#""running" null"#, "a failure is not kept");
}

async fn two_hosts_share_a_cache() {
    let root = site();
    let both = futures::future::join(load(root.path(), ENOUGH), load(root.path(), ENOUGH)).await;
    for (shown, compiles) in [both.0, both.1] {
        assert_eq!(shown, r#""running" null"#);
        assert_eq!(compiles.compiled + compiles.cached, 1);
    }
    let (_, compiles) = load(root.path(), ENOUGH).await;
    assert_eq!(compiles, CompileCounts { cached: 1, ..CompileCounts::default() });
}

async fn plugins_with_the_same_file_share_its_code() {
    let root = site();
    let plugins = root.path().join("plugins");
    for copy in ["again.wasm", "third.wasm"] {
        fs::copy(plugins.join("hello.wasm"), plugins.join(copy)).expect("a copy");
    }
    let running = Running::start(root.path(), program(ENOUGH), false);
    let is_running = |status: Value| status["state"] == "running";
    let all_run = async {
        while running.plugins.status().iter().filter(|it| is_running(it.to_json())).count() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, all_run).await.expect("all run in time");
    let compiles = running.plugins.compiles();
    assert_eq!(compiles, CompileCounts { compiled: 1, cached: 2, failed: 0 });
    running.stop().await;
}

/// A host for versions runs code that a host for production neither makes nor takes from the same cache.
async fn a_version_under_development_is_code_of_the_baseline_compiler() {
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let root = site();
    let mut before = 0;
    for is_for_versions in [true, false] {
        for counts in [(1, 0), (0, 1)] {
            let (shown, compiles) = load_with(root.path(), ENOUGH, is_for_versions).await;
            assert_eq!(shown, r#""running" null"#);
            assert_eq!((compiles.compiled, compiles.cached), counts, "{is_for_versions}");
        }
        let all = entries(root.path());
        assert_eq!(all.len(), before + 1, "its code, and no functions");
        before = all.len();
    }
    let is_baseline = |entry: &Vec<u8>| {
        let report = String::from_utf8_lossy(&entry[..entry.len().min(1_000)]);
        report.contains(r#""is_baseline":true"#)
    };
    assert_eq!(entries(root.path()).iter().filter(|entry| is_baseline(entry)).count(), 1);
}

/// Winch refuses this plugin: it has no tail calls.
fn with_tail_call() -> String {
    let function = "(func (export \"tail\") (return_call $free_all (i32.const 0)))";
    let end = HELLO.rfind(')').expect("the module's end");
    format!("{}{function})", &HELLO[..end])
}

async fn a_version_made_of_the_one_befores_functions_is_the_same_code() {
    let first = with_tail_call();
    let (with, without) = (site_of(&first), site_of(&first));
    let next = first.replace("hello", "salut");
    assert_ne!(next, first);
    load_with(with.path(), ENOUGH, true).await;
    assert_eq!(entries(with.path()).len(), 2, "its code, and its functions");
    for root in [with.path(), without.path()] {
        let module = wat::parse_str(&next).expect("it is well formed");
        fs::write(root.join("plugins/hello.wasm"), module).expect("a file");
    }
    let (shown, compiles) = load_with(with.path(), ENOUGH, true).await;
    assert_eq!(shown, r#""running" null"#);
    assert_eq!(compiles, CompileCounts { compiled: 1, ..CompileCounts::default() });
    load_with(without.path(), ENOUGH, false).await;
    let of_next = entries(without.path());
    assert_eq!(of_next.len(), 1, "its code alone");
    let all = entries(with.path());
    assert_eq!(all.len(), 3, "one entry has the functions of both");
    assert!(all.contains(&of_next[0]), "it is the same code");
}

/// Loads of this host hang from the moment on that there is the file `hangs`.
async fn a_grant_is_gone_while_a_load_hangs() {
    let root = site();
    let hangs = root.path().join("hangs");
    let compiler = program(ENOUGH);
    let script = format!(
        "[ ! -e {} ] || exec sleep 600; exec {} compile-plugin $0 $1",
        hangs.display(),
        compiler.program.display()
    );
    let compiler = CompilerProgram {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        ..compiler
    };
    let running = Running::start(root.path(), compiler, false);
    running.until(|status| status["state"] == "running").await;
    let put = |name: &str, content: &[u8]| {
        let unfinished = root.path().join("unfinished");
        fs::write(&unfinished, content).expect("a file");
        fs::rename(unfinished, root.path().join("plugins").join(name)).expect("a rename");
    };
    fs::write(hangs, "").expect("a file");
    let next = wat::parse_str(HELLO.replace("hello", "salut")).expect("it is well formed");
    put("hello.wasm", &next);
    running.until(|status| status["state"] == "reloading").await;
    let withdrawn = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\nreads: []\n";
    put("hello.yaml", withdrawn.as_bytes());
    let status = running.until(|status| status["restricted"].is_string()).await;
    let restricted = status["restricted"].as_str().unwrap_or_default();
    assert!(restricted.contains("reads no v1/pods"), "{restricted}");
    assert_eq!(status["state"], "reloading", "the load hangs still: {status}");
    // What hangs is killed.
    running.stop().await;
}
