//! The plugin host over a directory, an informer source in memory and real guests.

#[path = "plugin_host/access.rs"]
mod access;
#[path = "plugin_host/admin.rs"]
mod admin;
#[path = "plugin_host/configuration.rs"]
mod configuration;
#[path = "plugin_host/coverage.rs"]
mod coverage;
#[path = "plugin_host/directory.rs"]
mod directory;
#[path = "plugin_host/flat_handler.rs"]
mod flat_handler;
#[path = "plugin_host/http.rs"]
mod http;
#[path = "plugin_host/keys.rs"]
mod keys;
#[path = "plugin_host/limits.rs"]
mod limits;
#[path = "plugin_host/metrics.rs"]
mod metrics;
#[path = "plugin_host/replay.rs"]
mod replay;
#[path = "plugin_host/shards.rs"]
mod shards;
#[path = "plugin_host/standby.rs"]
mod standby;
#[path = "plugin_host/state.rs"]
mod state;
#[path = "plugin_host/stateful.rs"]
mod stateful;
#[path = "plugin_host/sync.rs"]
mod sync;
#[path = "plugin_host/timers.rs"]
mod timers;
#[path = "plugin_host/traces.rs"]
mod traces;
#[path = "plugin_host/writes.rs"]
mod writes;

use informant_cache::leader_election::Leadership;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use informant_runtime::configuration::Configurations;
use informant_runtime::{
    AccessReviewer, ClusterWriter, CompilerOptions, HttpClient, Limits, NoCluster, NoHttp,
    NoReviews, PluginAdmin, PluginHost, PluginHostOptions, PluginStatus, Plugins, STOPS_TIME_MAX,
    StateDirectoryOptions, Tracer,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A whole plugin as WebAssembly text; `handle` logs and answers well.
const HELLO: &str = include_str!("../../../plugins/hello-wat/hello-wat.wat");
/// What it asks for.
const DESCRIPTOR: &str =
    r#"{"version":"0.1.0","subscriptions":[{"name":"v1/pods","resource":"v1/pods"}]}"#;
/// Generous: a loaded machine compiles the guest in a second.
const DEADLINE: Duration = Duration::from_secs(120);

/// A running host with one directory.
struct Bench {
    root: tempfile::TempDir,
    source: FakeControllerSource,
    informers: Arc<SharedInformerFactory>,
    plugins: Plugins,
    admin: PluginAdmin,
    configurations: watch::Sender<Arc<Configurations>>,
    shutdown: CancellationToken,
    host: JoinHandle<()>,
}

/// The ways out of the host.
type Ways = (Arc<dyn ClusterWriter>, Arc<dyn HttpClient>, Arc<dyn AccessReviewer>);

impl Bench {
    fn start() -> Self {
        Self::start_with(None, &Limits::default())
    }

    fn start_with(state: Option<StateDirectoryOptions>, limits: &Limits) -> Self {
        Self::start_configured(state, Configurations::with_limits(limits))
    }

    fn start_configured(
        state: Option<StateDirectoryOptions>,
        configurations: Configurations,
    ) -> Self {
        Self::start_led(state, configurations, None)
    }

    fn start_led(
        state: Option<StateDirectoryOptions>,
        configurations: Configurations,
        leadership: Option<Leadership>,
    ) -> Self {
        Self::start_beside(state, configurations, leadership, Arc::new(NoCluster))
    }

    fn start_beside(
        state: Option<StateDirectoryOptions>,
        configurations: Configurations,
        leadership: Option<Leadership>,
        cluster: Arc<dyn ClusterWriter>,
    ) -> Self {
        let ways = (cluster, Arc::new(NoHttp) as Arc<dyn HttpClient>);
        Self::start_among(state, configurations, leadership, ways)
    }

    /// With ways to the cluster and to the world outside.
    fn start_among(
        state: Option<StateDirectoryOptions>,
        configurations: Configurations,
        leadership: Option<Leadership>,
        (cluster, http): (Arc<dyn ClusterWriter>, Arc<dyn HttpClient>),
    ) -> Self {
        let ways = (cluster, http, Arc::new(NoReviews) as Arc<dyn AccessReviewer>);
        Self::start_reviewed(state, configurations, leadership, ways)
    }

    /// And with somebody who says what service accounts may read.
    fn start_reviewed(
        state: Option<StateDirectoryOptions>,
        configurations: Configurations,
        leadership: Option<Leadership>,
        ways: Ways,
    ) -> Self {
        Self::start_traced(state, configurations, (leadership, None), ways)
    }

    /// And with traces.
    fn start_traced(
        state: Option<StateDirectoryOptions>,
        configurations: Configurations,
        of_lead_and_traces: (Option<Leadership>, Option<Tracer>),
        ways: Ways,
    ) -> Self {
        Self::start_ending_in(STOPS_TIME_MAX, (state, configurations), of_lead_and_traces, ways)
    }

    /// And with so much time for the end of its plugins.
    fn start_ending_in(
        stops_time: Duration,
        (state, configurations): (Option<StateDirectoryOptions>, Configurations),
        (leadership, tracer): (Option<Leadership>, Option<Tracer>),
        (cluster, http, access): Ways,
    ) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = root.path().join("plugins");
        fs::create_dir(&directory).expect("a directory");
        let source = FakeControllerSource::default();
        let informers = Arc::new(SharedInformerFactory::new(
            Arc::new(source.clone()),
            FactoryOptions::default(),
        ));
        let (configurations, configured) = watch::channel(Arc::new(configurations));
        let host = PluginHost::new(PluginHostOptions {
            directories: vec![directory],
            awaited: Vec::new(),
            configurations: configured,
            informers: informers.clone(),
            cluster,
            access,
            review_every: Duration::from_millis(20),
            http,
            threads: 1,
            compiler: CompilerOptions::default(),
            state,
            leadership,
            tracer,
            stops_time,
        })
        .expect("the host can be made");
        let (plugins, admin) = (host.plugins(), host.admin());
        let shutdown = CancellationToken::new();
        let host = tokio::spawn(host.run(shutdown.clone()));
        Self { root, source, informers, plugins, admin, configurations, shutdown, host }
    }

    fn directory(&self) -> PathBuf {
        self.root.path().join("plugins")
    }

    fn drop_in(&self, name: &str, content: &[u8]) {
        put(&self.directory(), name, content);
    }

    fn status(&self, name: &str) -> Option<PluginStatus> {
        self.plugins.status().into_iter().find(|status| status.name.as_str() == name)
    }

    /// Waits until a plugin is as wanted, and shows it if it never is.
    async fn until(&self, name: &str, wanted: impl Fn(Option<&PluginStatus>) -> bool) {
        let seen = async {
            while !wanted(self.status(name).as_ref()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, seen).await.is_err() {
            let status = self.status(name).map(|status| status.to_json().to_string());
            panic!("{name} never became as wanted; it is {status:?}");
        }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.host.await.expect("the host ends well");
        self.informers.shutdown().await;
    }
}

/// Writes beside and renames, as `make plugins` does.
fn put(directory: &Path, name: &str, content: &[u8]) {
    let temporary = directory.join(format!(".{name}.tmp"));
    fs::write(&temporary, content).expect("a file");
    fs::rename(temporary, directory.join(name)).expect("a rename");
}

fn hello() -> Vec<u8> {
    wat::parse_str(HELLO).expect("the shipped plugin is well formed")
}

/// The text with something else in a place that it has.
fn swap(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the shipped plugin has changed: it has no {from}");
    text.replacen(from, to, 1)
}

/// The same plugin with another content hash.
fn hello_again(version: u32) -> Vec<u8> {
    let mut module = hello();
    let note = version.to_le_bytes();
    // A custom section: id 0, its size, the name's length and the name, then the note.
    module.extend([0, 2 + note.len() as u8, 1, b'v']);
    module.extend(note);
    module
}

/// The same plugin with one more key of its subscription, as JSON.
fn hello_with(key: &str) -> Vec<u8> {
    wat::parse_str(hello_text_with(key)).expect("the changed plugin is well formed")
}

fn hello_text_with(key: &str) -> String {
    described(&DESCRIPTOR.replace("}]}", &format!(",{key}}}]}}")))
}

/// The same plugin with another descriptor.
fn described(descriptor: &str) -> String {
    let quoted = |text: &str| text.replace('"', "\\\"");
    let length = u8::try_from(descriptor.len()).expect("there is room for so much");
    let text = swap(HELLO, &quoted(DESCRIPTOR), &quoted(descriptor));
    swap(&text, r"\4d\00\00\00", &format!(r"\{length:02x}\00\00\00"))
}

fn pod(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"default"}}}}"#)
}

fn is(status: Option<&PluginStatus>, state: &str) -> bool {
    status.is_some_and(|status| status.state.name() == state)
}

fn handled(status: Option<&PluginStatus>) -> u64 {
    status.map_or(0, |status| status.counters.ok.load(Relaxed))
}

fn last_load(status: Option<&PluginStatus>) -> String {
    let json = status.map(PluginStatus::to_json).unwrap_or_default();
    format!("{}: {}", json["lastLoad"]["result"], json["lastLoad"]["reason"])
}

#[tokio::test]
async fn a_dropped_file_is_told_what_is_there_and_what_changes() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.source.add(&pod("b"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running") && handled(status) == 2).await;
    bench.source.modify(&pod("a"));
    bench.source.delete(&pod("b"));
    bench.until("hello", |status| handled(status) == 4).await;
    assert!(bench.plugins.settled());
    bench.stop().await;
}

#[tokio::test]
async fn a_replaced_file_takes_the_queue_over_and_is_not_told_again() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| handled(status) == 1).await;
    bench.drop_in("hello.wasm", &hello_again(2));
    let reloads = |status: Option<&PluginStatus>| {
        status.map_or(0, |status| status.counters.reloads_ok.load(Relaxed))
    };
    bench.until("hello", |status| reloads(status) == 1 && is(status, "running")).await;
    bench.source.add(&pod("b"));
    bench.until("hello", |status| handled(status) >= 2).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 2, "nothing came twice");
    bench.stop().await;
}

#[tokio::test]
async fn what_a_filter_keeps_back_is_settled_without_a_call() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.source.add(&pod("b"));
    let filter = r#""filter":"object.metadata.name != 'a' && (old == null || object.x)""#;
    bench.drop_in("hello.wasm", &hello_with(filter));
    let counts = |status: Option<&PluginStatus>| {
        let json = status.map(PluginStatus::to_json).unwrap_or_default();
        let of = |name: &str| json["counters"][name].as_u64().unwrap_or_default();
        let waiting = json["queue"]["depth"].as_u64().unwrap_or_default();
        (of("ok"), of("filtered"), of("filterErrors"), waiting)
    };
    bench.until("hello", |status| counts(status) == (1, 1, 0, 0)).await;
    bench.source.modify(&pod("a"));
    bench.until("hello", |status| counts(status) == (1, 2, 0, 0)).await;
    // A filter that fails keeps nothing back.
    bench.source.modify(&pod("b"));
    bench.until("hello", |status| counts(status) == (2, 2, 1, 0)).await;
    let json = bench.status("hello").expect("it runs").to_json();
    assert_eq!(json["lastFilterError"], "v1/pods: No such key: x");
    bench.source.delete(&pod("a"));
    bench.until("hello", |status| counts(status) == (3, 2, 1, 0)).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_keeps_the_plugin_from_running() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &hello_with(r#""filter":"objekt.x""#));
    bench.until("hello", |status| is(status, "stopped")).await;
    let reason = last_load(bench.status("hello").as_ref());
    let expect = "subscriptions[0]: filter: line 1, column 1: \\\"objekt\\\" is not known";
    assert!(reason.contains(expect), "{reason}");
    bench.stop().await;
}

/// Invariant 24.
#[tokio::test]
async fn a_broken_file_leaves_the_version_before_it_running() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    let good = last_load(bench.status("hello").as_ref());
    assert_eq!(good, "\"ok\": null");
    bench.drop_in("hello.wasm", &hello()[..200]);
    bench.until("hello", |status| last_load(status).contains("damaged")).await;
    bench.source.add(&pod("a"));
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |status| last_load(status) == good).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_file_that_never_was_a_plugin_is_stopped_with_its_reason() {
    let bench = Bench::start();
    bench.drop_in("text.wasm", b"hello");
    bench.until("text", |status| is(status, "stopped")).await;
    let reason = last_load(bench.status("text").as_ref());
    assert!(reason.contains("not a WebAssembly file"), "{reason}");
    bench.drop_in("text.wasm", &hello());
    bench.until("text", |status| is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_removed_file_ends_its_plugin() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| status.is_none()).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_directory_that_is_made_anew_is_followed_again() {
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    fs::remove_dir_all(bench.directory()).expect("the directory was there");
    fs::create_dir(bench.directory()).expect("a directory");
    bench.until("hello", |status| status.is_none()).await;
    bench.drop_in("again.wasm", &hello());
    bench.until("again", |status| is(status, "running")).await;
    bench.stop().await;
}

/// What the kubelet does to a mounted ConfigMap: a new directory, then `..data` swapped to it.
#[tokio::test]
async fn a_config_map_update_reloads_its_plugins() {
    let bench = Bench::start();
    let directory = bench.directory();
    let publish = |generation: &str, content: &[u8]| {
        let fresh = directory.join(format!("..{generation}"));
        fs::create_dir(&fresh).expect("a directory");
        fs::write(fresh.join("hello.wasm"), content).expect("a file");
        let link = directory.join("..data_tmp");
        std::os::unix::fs::symlink(format!("..{generation}"), &link).expect("a link");
        fs::rename(link, directory.join("..data")).expect("a rename");
    };
    publish("one", &hello());
    std::os::unix::fs::symlink("..data/hello.wasm", directory.join("hello.wasm")).expect("a link");
    bench.until("hello", |status| is(status, "running")).await;
    let before = bench.status("hello").expect("it runs").to_json()["sha256"].clone();
    publish("two", &hello_again(2));
    let changed = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["sha256"] != before)
    };
    bench.until("hello", changed).await;
    bench.stop().await;
}
