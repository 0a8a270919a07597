//! How many allocations an event makes between its informer and the end of its call: counted over all threads, not timed, so that a change
//! that adds one is noticed where it is made. The bounds are half an allocation above what is known of now, so that one more breaks them; what lowers a number lowers its bound.
//!
//! One test in a process of its own: whatever else ran meanwhile would be counted, too.

#![allow(clippy::print_stdout)]

#[path = "../../../cache/benches/feed/mod.rs"]
mod feed;

use feed::Feed;
use informant_cache::{
    Change, FactoryOptions, Object, SharedIndexInformer, SharedInformerFactory, WatchEvent,
};
use informant_runtime::bench_parts::Events;
use informant_runtime::configuration::Configurations;
use informant_runtime::{
    CompilerOptions, Counters, NoCluster, NoHttp, PluginHost, PluginHostOptions, Plugins,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const GUEST: &str = include_str!("../../benches/guest.wat");
const PODS: u64 = 50;
/// Few at once: they wait with their text, whatever the threads do.
const BURST: u64 = 50;
const BURSTS: u64 = 120;
const DEADLINE: Duration = Duration::from_secs(120);

/// Tenths of an allocation, so that a mean of many events is a whole number.
const TENTHS: u64 = 10;
/// Of an event that is pushed, taken and settled, in a queue that has grown.
const QUEUE_MAX: u64 = 0;
/// Of an update from its place in the watch to the store and a plugin that is not interested.
const NOT_INTERESTED_MAX: u64 = 58;
/// What an event adds that is told to a plugin, with both states: queue, actor, call.
const TOLD_MAX: u64 = 35;
/// How much less than its bound a number may be before the bound has to be lowered. Threads meet in different ways, but allocate alike.
const SLACK: u64 = 10;

fn allocations(run: impl FnOnce()) -> u64 {
    let region = Region::new(ALLOCATOR);
    run();
    let change = region.change();
    (change.allocations + change.reallocations) as u64
}

fn pod(number: u64, version: u64) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{number:04}","namespace":"team","uid":"{number:08x}-0000-4000-8000-000000000000","resourceVersion":"{version}","labels":{{"app":"web"}}}},"spec":{{"nodeName":"node-{}","args":["{}"]}}}}"#,
        number % 7,
        "--verbose ".repeat(150),
    );
    Object::decode(json.as_bytes(), None).expect("it is a Pod")
}

/// A plugin that does nothing with pods of these keys of a subscription.
fn guest(keys: &str) -> Vec<u8> {
    let descriptor = format!(
        r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","withOld":true{keys}}}]}}"#
    );
    let [low, high] = u16::try_from(descriptor.len()).expect("it is short").to_le_bytes();
    let text = GUEST.replace("DESCRIPTOR", &descriptor.replace('"', "\\\""));
    let text = text.replace("LENGTH", &format!("{low:02x}\\{high:02x}"));
    wat::parse_str(text).expect("the guest is well formed")
}

/// A host with one plugin, and what counts its events.
struct Bench {
    feed: mpsc::UnboundedSender<Vec<WatchEvent>>,
    informer: SharedIndexInformer,
    counters: Arc<Counters>,
    version: u64,
    told: bool,
    shutdown: CancellationToken,
    runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

impl Bench {
    fn start(keys: &str, told: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("one.wasm"), guest(keys)).expect("a plugin");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (feed, source) = Feed::new();
        let inside = runtime.enter();
        let informers =
            Arc::new(SharedInformerFactory::new(Arc::new(source), FactoryOptions::default()));
        let host = PluginHost::new(PluginHostOptions {
            directories: vec![directory.path().to_owned()],
            configurations: Configurations::default(),
            informers: informers.clone(),
            cluster: Arc::new(NoCluster),
            http: Arc::new(NoHttp),
            threads: 1,
            compiler: CompilerOptions::default(),
            state: None,
            leadership: None,
        })
        .expect("the host can be made");
        let (plugins, shutdown) = (host.plugins(), CancellationToken::new());
        runtime.spawn(host.run(shutdown.clone()));
        drop(inside);
        let counters = counters(&plugins);
        let informer = informers.informers().pop().expect("one of pods");
        Self {
            feed,
            informer,
            counters,
            version: 1,
            told,
            shutdown,
            runtime,
            _directory: directory,
        }
    }

    /// Updates of all pods, made before anything is counted.
    fn updates(&mut self) -> Vec<WatchEvent> {
        let update = |number: u64| {
            self.version += 1;
            let object = pod(number % PODS, self.version);
            WatchEvent::Changed(Change::Modified, object, Instant::now())
        };
        (0..BURST).map(update).collect()
    }

    /// Feeds them and waits until they are handled, or known not to be wanted.
    fn tell(&self, updates: Vec<WatchEvent>) {
        let seen = || match self.told {
            true => self.counters.ok.load(Relaxed),
            false => self.stored(),
        };
        let (expect, begin) = (seen() + updates.len() as u64, Instant::now());
        self.feed.send(updates).expect("the watch goes on");
        while seen() < expect {
            assert!(begin.elapsed() < DEADLINE, "the updates are not handled");
            std::thread::yield_now();
        }
    }

    fn stored(&self) -> u64 {
        let stats = self.informer.stats();
        stats.added + stats.modified
    }

    /// Tenths of an allocation for each event.
    fn each(mut self) -> u64 {
        // Buffers that grow have grown.
        for _ in 0..BURSTS {
            let updates = self.updates();
            self.tell(updates);
        }
        let mut counted = Vec::new();
        for _ in 0..BURSTS {
            let updates = self.updates();
            counted.push(allocations(|| self.tell(updates)));
        }
        self.shutdown.cancel();
        self.runtime.shutdown_timeout(Duration::from_secs(10));
        // What else the host does meanwhile, as looking at its directory, only adds.
        counted.into_iter().min().unwrap_or(0) * TENTHS / BURST
    }
}

/// Of the one plugin, once it runs.
fn counters(plugins: &Plugins) -> Arc<Counters> {
    let begin = Instant::now();
    loop {
        let status = plugins.status();
        if let [one] = &status[..]
            && one.state.name() == "running"
        {
            return one.counters.clone();
        }
        assert!(begin.elapsed() < DEADLINE, "the plugin does not run: {:?}", status.first());
        std::thread::yield_now();
    }
}

#[track_caller]
fn check(what: &str, found: u64, max: u64) {
    assert!(found <= max, "{what}: {found} tenths, more than {max}");
    let least = max.saturating_sub(SLACK);
    println!("{what}: {found} tenths of an allocation");
    assert!(
        found >= least,
        "{what}: {found} tenths, so much less than {max} that the bound should be lowered"
    );
}

/// Tenths of an allocation for each event of a queue that has grown.
fn queue() -> u64 {
    let (old, object) = (pod(1, 1).at_rest(), pod(1, 2).at_rest());
    let mut events = Events::new(usize::MAX, Instant::now());
    let mut turn = || {
        for _ in 0..BURST {
            events.push(&old, &object);
        }
        while events.pop() {}
    };
    turn();
    allocations(turn) * TENTHS / BURST
}

#[test]
fn allocations_of_an_event_are_bounded() {
    check("an event in the queue", queue(), QUEUE_MAX);
    let elsewhere = Bench::start(r#","namespaces":["nowhere"]"#, false).each();
    check("an update that nobody wants", elsewhere, NOT_INTERESTED_MAX);
    let told = Bench::start("", true).each();
    check("queue, actor and call", told.saturating_sub(elsewhere), TOLD_MAX);
}
