//! Live guests that are recorded, and played back: the same each time, to the build that was recorded and to others.

use crate::{compiler, guest};
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use informant_runtime::configuration::{Configurations, Document, Keys, Layer, read};
use informant_runtime::{
    OfflineOptions, OfflinePlugin, PluginHost, PluginHostOptions, PluginStatus, Plugins,
    RECORDING_BYTES_DEFAULT, RecordOptions, Recording, Transcript,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Generous: a loaded machine compiles the guest in a second.
const DEADLINE: Duration = Duration::from_secs(120);

/// A running host that records.
struct Bench {
    root: tempfile::TempDir,
    source: FakeControllerSource,
    informers: Arc<SharedInformerFactory>,
    plugins: Plugins,
    shutdown: CancellationToken,
    host: JoinHandle<()>,
}

impl Bench {
    fn start(bytes_max: u64) -> Self {
        Self::start_configured(bytes_max, Configurations::default(), &[])
    }

    /// Records those that are named; none: all.
    fn start_configured(bytes_max: u64, configurations: Configurations, named: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = root.path().join("plugins");
        fs::create_dir(&directory).expect("a directory");
        let source = FakeControllerSource::default();
        let options = FactoryOptions::default();
        let informers = Arc::new(SharedInformerFactory::new(Arc::new(source.clone()), options));
        let mut host = PluginHost::new(PluginHostOptions {
            configurations: watch::channel(Arc::new(configurations)).1,
            compiler: compiler(),
            ..PluginHostOptions::alone(vec![directory], informers.clone())
        })
        .expect("the host can be made");
        let directory = root.path().join("recordings");
        let plugins = named.iter().map(|name| name.parse().expect("a name")).collect();
        let options = RecordOptions { directory, plugins, bytes_max };
        host.record(options).expect("it can be written");
        let (plugins, shutdown) = (host.plugins(), CancellationToken::new());
        let host = tokio::spawn(host.run(shutdown.clone()));
        Self { root, source, informers, plugins, shutdown, host }
    }

    fn drop_in(&self, from: &str, name: &str) {
        self.drop_bytes(&fs::read(guest(from)).expect("it is there"), name);
    }

    fn drop_bytes(&self, bytes: &[u8], name: &str) {
        let file = self.root.path().join("plugins").join(format!("{name}.wasm"));
        fs::write(file.with_extension("tmp"), bytes).expect("there is room");
        fs::rename(file.with_extension("tmp"), file).expect("a rename");
    }

    async fn until(&self, name: &str, wanted: impl Fn(&PluginStatus) -> bool) {
        let seen = async {
            let is_it = |it: &PluginStatus| it.name.as_str() == name && wanted(it);
            while !self.plugins.status().iter().any(is_it) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let is_seen = tokio::time::timeout(DEADLINE, seen).await.is_ok();
        assert!(is_seen, "{name} never became as wanted");
    }

    /// Ends the host; answers the recordings, by the names of their files.
    async fn stop(self) -> (tempfile::TempDir, Vec<PathBuf>) {
        self.shutdown.cancel();
        self.host.await.expect("the host ends well");
        self.informers.shutdown().await;
        let entries = fs::read_dir(self.root.path().join("recordings")).expect("a directory");
        let mut files: Vec<_> = entries.map(|it| it.expect("an entry").path()).collect();
        files.sort();
        (self.root, files)
    }
}

fn pod(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"default"}}}}"#)
}

fn handled(count: u64) -> impl Fn(&PluginStatus) -> bool {
    move |status| status.counters.ok.load(Relaxed) >= count
}

/// What comes of a playback, which is the same twice.
async fn replayed(recording: &Path, name: &str) -> Transcript {
    let text = fs::read(recording).expect("it is there");
    let recording = Recording::parse(&text).expect("it is one");
    let (compiler, configurations) = (compiler(), Configurations::default());
    let options = OfflineOptions { compiler, configurations, patch: |of| Ok(of.object) };
    let plugin = OfflinePlugin::load(&guest(name), None, options).await.expect("it is a plugin");
    let first = plugin.replay(recording.clone()).await.expect("it is played");
    let second = plugin.replay(recording).await.expect("it is played");
    assert_eq!(first.to_text(), second.to_text(), "each playback is the same");
    assert_eq!(first.to_json_lines(), second.to_json_lines());
    first
}

/// Of the lines that have one of these, what stands behind the time.
fn lines(transcript: &Transcript, of: &[&str]) -> Vec<String> {
    let text = transcript.to_text();
    let all = text.lines().map(|line| line.split_once(' ').map_or("", |(_, rest)| rest).trim());
    all.filter(|line| of.iter().any(|it| line.contains(it))).map(str::to_owned).collect()
}

#[tokio::test]
async fn what_a_plugin_was_told_is_told_again_and_it_does_the_same() {
    let bench = Bench::start(RECORDING_BYTES_DEFAULT);
    bench.source.add(&pod("a"));
    bench.drop_in("witness", "witness");
    bench.until("witness", handled(1)).await;
    bench.source.add(&pod("b"));
    bench.source.modify(&pod("a"));
    bench.until("witness", handled(3)).await;
    bench.source.delete(&pod("b"));
    bench.until("witness", handled(4)).await;
    let (_root, files) = bench.stop().await;
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = fs::metadata(&files[0]).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let transcript = replayed(&files[0], "witness").await;
    assert_eq!(transcript.cut(), None);
    let told = lines(&transcript, &["log "]);
    let expect = ["told 1", "synced", "told 2", "told 3", "told 4"];
    assert_eq!(told.len(), expect.len(), "{told:?}");
    assert!(expect.iter().all(|it| told.iter().any(|line| line.contains(it))), "{told:?}");
    assert_eq!(lines(&transcript, &["recorded=false", "passed over"]), [""; 0]);
    assert_eq!(lines(&transcript, &["end "]), ["end recording=\"the plugin was stopped\""]);
    // Another plugin that subscribes to the same.
    let transcript = replayed(&files[0], "hello-wat").await;
    assert_eq!(lines(&transcript, &["log "]).len(), 4);
}

#[tokio::test]
async fn attempts_and_instances_that_ended_are_in_a_recording() {
    let bench = Bench::start(RECORDING_BYTES_DEFAULT);
    bench.drop_in("fail", "fail");
    bench.drop_in("trap", "trap");
    let running = |status: &PluginStatus| status.state.name() == "running";
    bench.until("fail", running).await;
    bench.until("trap", running).await;
    bench.source.add(&pod("fail-once"));
    bench.until("fail", handled(1)).await;
    bench.source.add(&pod("trap-1"));
    let dead = |status: &PluginStatus| status.counters.dead.load(Relaxed) == 1;
    bench.until("trap", dead).await;
    let (_root, files) = bench.stop().await;
    let [fail, trap] = files.as_slice() else { panic!("{files:?}") };
    let transcript = replayed(fail, "fail").await;
    let answers =
        lines(&transcript, &["key=default/fail-once", "asked to fail", "added default/fail-once"]);
    let expect = ["attempt=1", "asked to fail", "attempt=2", "added default/fail-once"];
    assert_eq!(answers.len(), expect.len(), "{answers:?}");
    assert!(answers.iter().zip(expect).all(|(line, it)| line.contains(it)), "{answers:?}");
    let transcript = replayed(trap, "trap").await;
    assert_eq!(lines(&transcript, &["\"instance\":\"ended\""]).len(), 3);
    assert!(lines(&transcript, &["call start"]).len() >= 3);
    // A build without the mistake is told of the same, and goes on.
    let transcript = replayed(trap, "hello-wat").await;
    assert_eq!(lines(&transcript, &["call start"]).len(), 1);
}

#[tokio::test]
async fn a_recording_ends_where_it_has_as_many_bytes_as_it_may() {
    const BYTES_MAX: u64 = 4_096;
    let bench = Bench::start(BYTES_MAX);
    for number in 0..100 {
        bench.source.add(&pod(&format!("p-{number}")));
    }
    bench.drop_in("hello-wat", "hello");
    bench.until("hello", handled(100)).await;
    let (_root, files) = bench.stop().await;
    let bytes = fs::metadata(&files[0]).expect("it is there").len();
    assert!((BYTES_MAX / 2..=BYTES_MAX).contains(&bytes), "{bytes}");
    let transcript = replayed(&files[0], "hello-wat").await;
    let end = lines(&transcript, &["end "]);
    assert_eq!(end, ["end recording=\"it has as many bytes as it may have\""]);
}

/// The host's configuration of `hello`.
fn configured(text: &str) -> Configurations {
    let declare = |keys: &mut Keys<'_>| keys.object("hello", "", Layer::of_plugin);
    let text = format!("hello: {text}");
    let document = Document::read("host.yaml", text.as_bytes()).expect("it is YAML");
    let layer = read(&document, declare).expect("it is well formed").expect("it is there");
    let plugins = [("hello".parse().expect("a name"), layer)].into_iter().collect();
    let configurations = Configurations::new(Layer::default(), plugins, Default::default());
    configurations.expect("nothing bounds it")
}

#[tokio::test]
async fn who_is_granted_secrets_is_recorded_only_if_named() {
    for (named, expect) in [(&[][..], 0), (&["hello"][..], 1)] {
        let configurations = configured("{reads: [{resources: [v1/pods, v1/secrets]}]}");
        let bench = Bench::start_configured(RECORDING_BYTES_DEFAULT, configurations, named);
        bench.source.add(&pod("a"));
        bench.drop_in("hello-wat", "hello");
        bench.until("hello", handled(1)).await;
        let (_root, files) = bench.stop().await;
        assert_eq!(files.len(), expect, "{named:?}");
    }
}

#[tokio::test]
async fn a_version_that_does_not_take_over_ends_no_recording() {
    let bench = Bench::start(RECORDING_BYTES_DEFAULT);
    bench.source.add(&pod("a"));
    bench.drop_in("hello-wat", "hello");
    bench.drop_in("hello-wat", "other");
    bench.until("hello", handled(1)).await;
    bench.until("other", handled(1)).await;
    bench.drop_in("start-fails", "hello");
    let refused = |status: &PluginStatus| status.to_json()["counters"]["failedReloads"] == 1;
    bench.until("hello", refused).await;
    bench.source.add(&pod("b"));
    bench.until("hello", handled(2)).await;
    let (_root, files) = bench.stop().await;
    let transcript = replayed(&files[0], "hello-wat").await;
    assert_eq!(lines(&transcript, &["log "]).len(), 2, "{}", transcript.to_text());
    assert_eq!(lines(&transcript, &["end "]), ["end recording=\"the plugin was stopped\""]);
}

/// The files of its recordings that this process has open, without their directory.
fn open_recordings(root: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("Linux has it");
    let files = open.filter_map(|it| fs::read_link(it.expect("an entry").path()).ok());
    files.filter(|file| file.parent() == Some(&root.join("recordings"))).count()
}

/// What a recording of a refused version says of its end, while the host goes on. `told` stands among its calls.
async fn check_refused(first: &str, second: &str, told: &str, end: &str) {
    let bench = Bench::start(RECORDING_BYTES_DEFAULT);
    bench.source.add(&pod("a"));
    bench.drop_in(first, "hello");
    bench.until("hello", handled(1)).await;
    let mut bytes = fs::read(guest(second)).expect("it is there");
    // A custom section, so that it is another file than the first.
    bytes.extend([0, 2, 1, b'x']);
    bench.drop_bytes(&bytes, "hello");
    let refused = |status: &PluginStatus| status.to_json()["counters"]["failedReloads"] == 1;
    bench.until("hello", refused).await;
    let one_is_open = async {
        while open_recordings(bench.root.path()) != 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let is_open = tokio::time::timeout(DEADLINE, one_is_open).await;
    assert!(is_open.is_ok(), "{second}: only the recording of the version in charge stays open");
    let (_root, files) = bench.stop().await;
    let recording = fs::read_to_string(&files[1]).expect("it is there");
    assert!(recording.contains(told), "{second}: {recording}");
    let last = recording.lines().last().expect("it has lines");
    assert!(last.contains(end), "{second}: {last}");
}

#[tokio::test]
async fn a_version_that_does_not_start_ends_its_own_recording() {
    check_refused("hello-wat", "start-fails", "start", "its version of the plugin ended").await;
}

#[tokio::test]
async fn a_version_that_does_not_take_over_is_stopped() {
    check_refused("restore-fails", "restore-fails", "\"stop\"", "the plugin was stopped").await;
}

/// `hello-wat` that traps at its start in the third shard.
fn starts_in_two() -> Vec<u8> {
    let hello = include_str!("../../../../plugins/hello-wat/hello-wat.wat");
    let memory = r#"(memory (export "memory") 1)"#;
    let shard = r#"(import "informant:plugin/host-info@0.1.0" "shard" (func $shard (param i32)))"#;
    let start = r#"#start") (param $config i32) (param $len i32) (result i32)"#;
    let traps = "(call $shard (i32.const 400))
        (if (i32.eq (i32.const 2) (i32.load (i32.const 400))) (then unreachable))";
    let changes = [(memory, format!("{shard} {memory}")), (start, format!("{start} {traps}"))];
    let text = changes.iter().fold(hello.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the shipped plugin has changed: it has no {from}");
        text.replace(from, to)
    });
    wat::parse_str(text).expect("it is well formed")
}

#[tokio::test]
async fn instances_beside_one_that_does_not_start_are_stopped() {
    let bench = Bench::start_configured(RECORDING_BYTES_DEFAULT, configured("{shards: 3}"), &[]);
    bench.drop_in("hello-wat", "hello");
    bench.until("hello", |status| status.state.name() == "running").await;
    bench.drop_bytes(&starts_in_two(), "hello");
    let refused = |status: &PluginStatus| status.to_json()["counters"]["failedReloads"] == 1;
    bench.until("hello", refused).await;
    let (_root, files) = bench.stop().await;
    assert_eq!(files.len(), 6, "{files:?}");
    let end = |file: &PathBuf| {
        let text = fs::read_to_string(file).expect("it is there");
        let lines = || text.lines().map(|it| it.parse::<Value>().expect("it is JSON"));
        let (head, last) = (lines().next().expect("a head"), lines().next_back().expect("an end"));
        (head["shard"][0].to_string(), last["why"].to_string())
    };
    let ends: BTreeMap<_, _> = files[3..].iter().map(end).collect();
    let [stopped, ended] = ["the plugin was stopped", "its version of the plugin ended"];
    let expect = [("0", stopped), ("1", stopped), ("2", ended)];
    let expect = expect.map(|(shard, end)| (shard.to_owned(), format!("{end:?}")));
    assert_eq!(ends, BTreeMap::from(expect));
}
