//! A plugin in Go lives through as many events as it likes: its garbage collector, whose memory the host only sees grow, keeps up. `make sdk-go` sends it
//! 200,000; everybody else some thousands.
//!
//! The plugin is the one that the SDK's facts are tried with (`plugin-sdk/go/fails`): it decodes the object's JSON and logs nothing of an update.

use informant_cache::{Change, FactoryOptions, Object, SharedInformerFactory, WatchEvent};
use informant_runtime::{PluginHost, PluginHostOptions, Plugins};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[path = "../../cache/benches/feed/mod.rs"]
mod feed;

use feed::Feed;

/// How many events; with it the plugin has to be there.
const EVENTS_VARIABLE: &str = "INFORMANT_GO_EVENTS";
const EVENTS: u64 = 20_000;
/// Events on their way at once: below the mark above which they are merged.
const BURST: u64 = 4_000;
const PODS: u64 = 100;
/// After so many events the collector has found its pace.
const WARM: u64 = 8_000;
/// What it may have more at the end: less than six bytes an event, of 100,000.
const GROWTH_MAX: u64 = 512 << 10;
/// Generous: a loaded machine compiles it in some seconds, and a burst takes less than one.
const DEADLINE: Duration = Duration::from_secs(120);

/// A small pod, another one with each version.
fn pod(number: u64, version: u64) -> Object {
    let words = r#""--verbose","#.repeat(8);
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{number}","namespace":"shop","uid":"{number}","resourceVersion":"{version}","annotations":{{"version":"{version}"}}}},"spec":{{"args":[{words}"end"]}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it is an object")
}

/// A host with the plugin, and what it has been sent.
struct Bench {
    feed: mpsc::UnboundedSender<Vec<WatchEvent>>,
    plugins: Plugins,
    sent: u64,
}

impl Bench {
    fn start(directory: PathBuf) -> Self {
        let (feed, source) = Feed::new();
        let informers = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let host = PluginHost::new(PluginHostOptions::alone(vec![directory], Arc::new(informers)));
        let host = host.expect("the host can be made");
        let plugins = host.plugins();
        tokio::spawn(host.run(CancellationToken::new()));
        Self { feed, plugins, sent: 0 }
    }

    /// Waits for something to be so.
    async fn until(&self, what: &str, is: impl Fn(&Plugins) -> bool) {
        let begun = Instant::now();
        while !is(&self.plugins) {
            assert!(begun.elapsed() < DEADLINE, "waited in vain for {what}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Sends a burst, and waits until all of it was handled.
    async fn burst(&mut self) {
        let events = (self.sent..self.sent + BURST).map(|version| {
            let pod = pod(version % PODS, version + 1);
            WatchEvent::Changed(Change::Modified, pod, Instant::now())
        });
        self.feed.send(events.collect()).expect("the watch goes on");
        self.sent += BURST;
        self.until("a burst to be handled", |plugins| handled(plugins) >= self.sent).await;
    }

    /// The linear memory of its instance.
    fn memory(&self) -> u64 {
        self.plugins.status()[0].account.memory_of("instances")
    }
}

fn handled(plugins: &Plugins) -> u64 {
    plugins.status().iter().map(|status| status.counters.ok.load(Relaxed)).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stderr, reason = "what was not tested is said, and what was measured")]
async fn memory_is_flat_however_many_events_there_are() {
    let asked = std::env::var(EVENTS_VARIABLE).ok().map(|text| text.parse().expect("a number"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let plugin = root.join(target).join("sdk/fails-go.wasm");
    if !plugin.exists() {
        assert!(asked.is_none(), "{} is not built", plugin.display());
        eprintln!("SKIPPED: the plugin in Go is not built; `make sdk-go` builds it");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::copy(&plugin, directory.path().join("fails.wasm")).expect("it can be copied");
    let mut bench = Bench::start(directory.path().to_owned());
    let runs = |plugins: &Plugins| {
        plugins.status().first().is_some_and(|status| status.state.name() == "running")
    };
    bench.until("it to run", runs).await;

    let mut warm = 0;
    let begun = Instant::now();
    while bench.sent < asked.unwrap_or(EVENTS) {
        bench.burst().await;
        if bench.sent == WARM {
            warm = bench.memory();
        }
    }
    let (end, sent) = (bench.memory(), bench.sent);
    eprintln!(
        "{sent} events in {:?}: {warm} bytes after {WARM}, {end} at the end",
        begun.elapsed()
    );
    assert_eq!(handled(&bench.plugins), sent, "each was handled once");
    let restarts = bench.plugins.status()[0].counters.restarts();
    assert!(restarts.is_empty(), "by the instance that there was: {restarts:?}");
    assert!(warm > 0 && end <= warm + GROWTH_MAX, "it had {warm} bytes, and has {end}");
}
