//! What an event costs between its informer and a guest, in CPU of the two threads that see it.
//!
//! Events are decoded beforehand: the informer's share is the store, the subscriptions and the queue, the guests' share is the queue,
//! the call and the guest's own work. `cargo bench -p informant-runtime --bench call -- [events] [rounds]`. Linux only: a thread's
//! CPU is read from `/proc`.

#![allow(clippy::print_stdout)]

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    Change, FactoryOptions, ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher,
    ListerWatcherSource, Object, Part, SharedInformerFactory, WatchEvent, WatchOptions,
    WatchStream,
};
use informant_runtime::{Limits, PluginHost, PluginHostOptions, Plugins};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const GUEST: &str = include_str!("guest.wat");
const PODS: u64 = 100;
/// Bytes of one object's JSON.
const JSON_BYTES: usize = 2048;
/// Events on their way at once: below the mark above which they are merged.
const BURST: usize = 4000;

/// The one resource: an empty list, then what is fed.
#[derive(Clone)]
struct Feed {
    events: Arc<Mutex<Option<mpsc::UnboundedReceiver<Vec<WatchEvent>>>>>,
}

impl ListerWatcherSource for Feed {
    fn lister_watcher(&self, _: &GroupVersionResource, _: &Part) -> Arc<dyn ListerWatcher> {
        Arc::new(self.clone())
    }
}

impl ListerWatcher for Feed {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        let end = ListEvent::End { resource_version: "1".into(), continue_token: None };
        async { Ok(stream::iter([Ok(end)]).boxed()) }.boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        async move {
            let none = ListWatchError::BadRequest { message: "no watch-lists".to_owned() };
            if options.send_initial_events {
                return Err(none);
            }
            let events = self.events.lock().expect("nobody panics").take().ok_or(none)?;
            let bursts = stream::unfold(events, async |mut events| {
                let burst = events.recv().await?;
                Some((stream::iter(burst.into_iter().map(Ok)), events))
            });
            Ok(bursts.flatten().boxed())
        }
        .boxed()
    }
}

/// A plugin file that asks for pods of these namespaces.
fn guest(namespaces: &str) -> Vec<u8> {
    let descriptor = format!(
        r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","withOld":true{namespaces}}}]}}"#
    );
    let length = format!("{:02x}", descriptor.len());
    let text = GUEST.replace("DESCRIPTOR", &descriptor.replace('"', "\\\""));
    wat::parse_str(text.replace("LENGTH", &length)).expect("the guest is well formed")
}

fn pod(number: u64, version: u64) -> Object {
    let fixed = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{number:04}","namespace":"team-{}","uid":"{number:08x}-0000-4000-8000-000000000000","resourceVersion":"{version}","labels":{{"app":"web","tier":"front"}}}},"spec":{{"nodeName":"node-{}","args":["#,
        number % 7,
        number % 13,
    );
    let mut json = fixed;
    while json.len() < JSON_BYTES - 16 {
        json.push_str(r#""--verbose","#);
    }
    json.push_str(r#""end"]}}"#);
    Object::decode(json.as_bytes(), None).expect("it is an object")
}

/// A host with its plugins.
struct Bench {
    feed: mpsc::UnboundedSender<Vec<WatchEvent>>,
    plugins: Plugins,
    version: u64,
    handled: u64,
}

impl Bench {
    fn start(runtime: &tokio::runtime::Runtime, directory: &Path, files: usize) -> Self {
        let (feed, events) = mpsc::unbounded_channel();
        let source = Feed { events: Arc::new(Mutex::new(Some(events))) };
        let _inside = runtime.enter();
        let informers = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let host = PluginHost::new(PluginHostOptions {
            directories: vec![directory.to_owned()],
            limits: Limits::default(),
            informers: Arc::new(informers),
            threads: 1,
        })
        .expect("the host can be made");
        let plugins = host.plugins();
        runtime.spawn(host.run(CancellationToken::new()));
        let bench = Self { feed, plugins, version: 1, handled: 0 };
        let running = || {
            let status = bench.plugins.status();
            status.iter().filter(|status| status.state.name() == "running").count()
        };
        while running() < files {
            std::thread::sleep(Duration::from_millis(20));
        }
        bench
    }

    fn ok(&self) -> u64 {
        let status = self.plugins.status();
        status.iter().map(|status| status.counters.ok.load(Relaxed)).sum()
    }

    /// Feeds a burst and waits until all of it was handled.
    fn burst(&mut self, events: usize) {
        let events = (0..events as u64).map(|number| {
            self.version += 1;
            WatchEvent::Changed(Change::Modified, pod(number % PODS, self.version), Instant::now())
        });
        let events: Vec<_> = events.collect();
        self.handled += events.len() as u64;
        self.feed.send(events).expect("the watch goes on");
        while self.ok() < self.handled {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// Nanoseconds on a CPU by the name of the thread.
fn cpu_by_thread() -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").expect("Linux").flatten() {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let name = read("comm").trim().to_owned();
        let spent = read("schedstat").split(' ').next().and_then(|text| text.parse::<u64>().ok());
        *found.entry(name).or_default() += spent.unwrap_or(0);
    }
    found
}

/// The least of the rounds, by thread: what else the machine does only adds.
fn measure(name: &str, files: &[(String, Vec<u8>)], events: usize, rounds: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content).expect("a file");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("informers")
        .enable_all()
        .build()
        .expect("a runtime");
    let mut bench = Bench::start(&runtime, directory.path(), files.len());
    bench.burst(BURST);
    let mut least = BTreeMap::new();
    for _ in 0..rounds {
        let before = cpu_by_thread();
        let mut left = events;
        while left > 0 {
            bench.burst(left.min(BURST));
            left -= left.min(BURST);
        }
        for (thread, spent) in cpu_by_thread() {
            let spent = spent - before.get(&thread).copied().unwrap_or(0);
            let least = least.entry(thread).or_insert(u64::MAX);
            *least = spent.min(*least);
        }
    }
    let each = |thread| least.get(thread).copied().unwrap_or(0) as f64 / events as f64;
    println!("{name:<44} {:>9.0} {:>9.0}", each("informers"), each("guests-0"));
    runtime.shutdown_background();
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (events, rounds) = (numbers.next().unwrap_or(40_000), numbers.next().unwrap_or(5));
    println!("ns of CPU an event, {events} updates, least of {rounds} rounds");
    println!("{:<44} {:>9} {:>9}", "plugins", "informer", "guests");
    let interested = ("all.wasm".to_owned(), guest(""));
    measure("one, which does nothing", std::slice::from_ref(&interested), events, rounds);
    let counter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins/counter.wasm");
    match std::fs::read(&counter) {
        Ok(counter) => {
            measure("counter (Rust)", &[("counter.wasm".to_owned(), counter)], events, rounds);
        }
        Err(error) => println!("SKIPPED counter: {error}; run `make plugins`"),
    }
    for count in [1, 10, 100] {
        let elsewhere = guest(r#","namespaces":["nowhere"]"#);
        let mut files = vec![interested.clone()];
        files.extend((0..count).map(|n| (format!("elsewhere-{n}.wasm"), elsewhere.clone())));
        measure(&format!("one, and {count} not interested"), &files, events, rounds);
    }
}
