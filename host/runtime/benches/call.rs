//! What an event costs between its informer and a guest, in CPU of the two threads that see it.
//!
//! Events are decoded beforehand: the informer's share is the store, the subscriptions and the queue, the guests' share is the queue,
//! the call and the guest's own work. Of plugins that are told of nothing it says what one of them adds. `cargo bench -p informant-runtime --bench call -- [hosts] [additions] [reads] [events] [rounds]`. Linux only: a thread's
//! CPU is read from `/proc`. Last, what one read of some fields costs, canonical ABI included: of the event in hand, and of any object in the cache.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use informant_cache::{Change, FactoryOptions, Object, SharedInformerFactory, WatchEvent};
use informant_runtime::{PluginHost, PluginHostOptions, Plugins};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[path = "../../cache/benches/feed/mod.rs"]
mod feed;
#[path = "../../cache/benches/pods/mod.rs"]
mod pods;

#[path = "call/reader.rs"]
mod reader;

use feed::Feed;
use reader::{Place, reader};

const GUEST: &str = include_str!("guest.wat");
const PODS: u64 = 100;
/// Bytes of one plain object's JSON.
const JSON_BYTES: usize = 2048;
/// Their names begin with it.
const IDLE_NAME: &str = "idle-";
/// Plugins that are told of next to nothing, beside one that is told of everything; more of those that hardly cost anything.
const IDLE: usize = 20;
const IDLE_CHEAP: usize = 100;
/// Events where each takes milliseconds.
const DEAR_EVENTS: usize = 100;
/// Events on their way at once: below the mark above which they are merged.
const BURST: usize = 4000;
/// Where they are read: few enough to wait with their text.
const READ_BURST: usize = 200;
/// Reads of the same in one call.
const AGAIN: usize = 100;

/// A plugin file that asks for pods with these keys of a subscription.
fn guest(keys: &str) -> Vec<u8> {
    wat::parse_str(guest_text(keys)).expect("the guest is well formed")
}

fn guest_text(keys: &str) -> String {
    let descriptor = format!(
        r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","withOld":true{keys}}}]}}"#
    );
    let [low, high] = u16::try_from(descriptor.len()).expect("it is short").to_le_bytes();
    let length = format!("{low:02x}\\{high:02x}");
    let text = GUEST.replace("DESCRIPTOR", &descriptor.replace('"', "\\\""));
    text.replace("LENGTH", &length)
}

/// Makes the pod of this number and version.
type Pod = dyn Fn(u64, u64) -> Object;

/// Flat and of always the same words.
fn plain_pod(number: u64, version: u64) -> Object {
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
struct Bench<'a> {
    pod: &'a Pod,
    feed: mpsc::UnboundedSender<Vec<WatchEvent>>,
    plugins: Plugins,
    version: u64,
    handled: u64,
}

impl<'a> Bench<'a> {
    fn start(
        runtime: &tokio::runtime::Runtime,
        directory: &Path,
        files: usize,
        pod: &'a Pod,
    ) -> Self {
        let (feed, source) = Feed::new();
        let _inside = runtime.enter();
        let informers = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let host = PluginHost::new(PluginHostOptions::alone(
            vec![directory.to_owned()],
            Arc::new(informers),
        ))
        .expect("the host can be made");
        let plugins = host.plugins();
        runtime.spawn(host.run(CancellationToken::new()));
        let bench = Self { pod, feed, plugins, version: 1, handled: 0 };
        let running = || {
            let status = bench.plugins.status();
            status.iter().filter(|status| status.state.name() == "running").count()
        };
        while running() < files {
            bench.end_where_a_plugin_fails();
            std::thread::sleep(Duration::from_millis(20));
        }
        bench
    }

    /// Events that were handled by those that are told of each, once nothing waits.
    fn ok(&self) -> Option<u64> {
        let status = self.plugins.status();
        let settled = status.iter().all(|status| status.queue.depth == 0);
        let counted = status.iter().filter(|status| !status.name.as_str().starts_with(IDLE_NAME));
        settled.then(|| counted.map(|status| status.counters.ok.load(Relaxed)).sum())
    }

    /// Says why and ends the program: what was to be counted would never come.
    fn end_where_a_plugin_fails(&self) {
        for status in self.plugins.status() {
            let counters = &status.counters;
            let not_ok = counters.retry.load(Relaxed) + counters.dead.load(Relaxed);
            if not_ok == 0 && counters.restarts().is_empty() && status.state.reason().is_none() {
                continue;
            }
            let shown = status.to_json();
            let (name, reason, error) = (&shown["name"], &shown["reason"], &shown["lastError"]);
            eprintln!(
                "nothing is measured of a plugin that fails: {name}, reason {reason}, last error {error}"
            );
            std::process::exit(1);
        }
    }

    /// Feeds a burst and waits until all of it was handled.
    fn burst(&mut self, events: usize) {
        let events = (0..events as u64).map(|number| {
            self.version += 1;
            WatchEvent::Changed(
                Change::Modified,
                (self.pod)(number % PODS, self.version),
                Instant::now(),
            )
        });
        let events: Vec<_> = events.collect();
        self.handled += events.len() as u64;
        self.feed.send(events).expect("the watch goes on");
        while self.ok() != Some(self.handled) {
            self.end_where_a_plugin_fails();
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

/// What one measurement has of its own.
struct Row<'a> {
    files: &'a [(String, Vec<u8>)],
    pod: &'a Pod,
    /// Events on their way at once.
    burst: usize,
}

/// Nanoseconds an event.
#[derive(Clone, Copy)]
struct Cost {
    informer: f64,
    guests: f64,
}

/// The least of the rounds, by thread: what else the machine does only adds.
fn measure(Row { files, pod, burst }: Row<'_>, events: usize, rounds: usize) -> Cost {
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
    let mut bench = Bench::start(&runtime, directory.path(), files.len(), pod);
    bench.burst(events.min(burst));
    let mut least = BTreeMap::new();
    for _ in 0..rounds {
        let before = cpu_by_thread();
        let mut left = events;
        while left > 0 {
            bench.burst(left.min(burst));
            left -= left.min(burst);
        }
        for (thread, spent) in cpu_by_thread() {
            let spent = spent - before.get(&thread).copied().unwrap_or(0);
            let least = least.entry(thread).or_insert(u64::MAX);
            *least = spent.min(*least);
        }
    }
    let each = |thread| least.get(thread).copied().unwrap_or(0) as f64 / events as f64;
    runtime.shutdown_background();
    // A plugin whose filter takes long is moved to the others' thread.
    Cost { informer: each("informers"), guests: each("guests-0") + each("slow-guests-0") }
}

fn show(name: &str, Cost { informer, guests }: Cost) {
    println!("{name:<44} {informer:>9.0} {guests:>9.0}");
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let (events, rounds) = (numbers.next().unwrap_or(40_000), numbers.next().unwrap_or(5));
    println!("ns of CPU an event, {events} updates, least of {rounds} rounds");
    let parts = ["hosts", "additions", "reads"];
    let named: Vec<String> = std::env::args().filter(|it| parts.contains(&it.as_str())).collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    if is_wanted("hosts") {
        println!("{:<44} {:>9} {:>9}", "plugins, of 2 KB objects", "informer", "guests");
        whole_hosts(events, rounds);
    }
    if is_wanted("additions") {
        println!("{:<44} {:>9} {:>9}", "what one more adds, of 5 KB pods", "informer", "guests");
        additions(events, rounds);
    }
    if is_wanted("reads") {
        println!("{:<44} {:>9} {:>9}", "one read of fields of 5 KB pods", "", "guests");
        reads(events, rounds);
    }
}

fn whole_hosts(events: usize, rounds: usize) {
    let plain = |name: &str, files: &[(String, Vec<u8>)]| {
        show(name, measure(Row { files, pod: &plain_pod, burst: BURST }, events, rounds));
    };
    let interested = ("all.wasm".to_owned(), guest(""));
    plain("one, which does nothing", std::slice::from_ref(&interested));
    let counter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins/counter.wasm");
    match std::fs::read(&counter) {
        Ok(counter) => plain("counter (Rust)", &[("counter.wasm".to_owned(), counter)]),
        Err(error) => println!("SKIPPED counter: {error}; run `make plugins`"),
    }
    for count in [1, 10, 100] {
        let elsewhere = guest(r#","namespaces":["nowhere"]"#);
        let mut files = vec![interested.clone()];
        files.extend((0..count).map(|n| (format!("elsewhere-{n}.wasm"), elsewhere.clone())));
        plain(&format!("one, and {count} not interested"), &files);
    }
}

/// What a read costs above a guest that is called and reads nothing. Both are handed no object: of whoever was, it would lie nearer.
fn reads(events: usize, rounds: usize) {
    let pods = pods::Pods::new(20);
    let pod = move |number, version| {
        let json = pods.json(number, version);
        Object::decode(json.as_bytes(), None).expect("it is an object")
    };
    let key = pod(0, 1).key().clone();
    let plugin = guest_text(r#","delivery":"lazy""#);
    let of = |plugin: Vec<u8>, events: usize| {
        let files = [("reads.wasm".to_owned(), plugin)];
        measure(Row { files: &files, pod: &pod, burst: READ_BURST }, events, rounds).guests
    };
    let five = [
        "/metadata/labels/pod-template-hash",
        "/metadata/ownerReferences/0/name",
        "/spec/nodeName",
        "/status/phase",
        "/status/podIP",
    ];
    let (one, all, each) = ([&five[2..3]], [&five[..]], five.each_ref().map(std::slice::from_ref));
    let of_event = Place::Event;
    let of_cache = Place::Indexer(&key);
    let rows: [(&str, Place<'_>, &[&[&str]], usize); 7] = [
        ("event-data: 1 pointer, an event's only read", of_event, &one, 1),
        ("event-data: 5 pointers, an event's only read", of_event, &all, 1),
        ("event-data: 1 pointer, of 5 one by one", of_event, &each, 1),
        ("event-data: 1 pointer", of_event, &one, AGAIN),
        ("event-data: 5 pointers", of_event, &all, AGAIN),
        ("indexer: 1 pointer", of_cache, &one, AGAIN),
        ("indexer: 5 pointers", of_cache, &all, AGAIN),
    ];
    let alone = of(wat::parse_str(&plugin).expect("the guest is well formed"), events);
    for (name, from, reads, times) in rows {
        let events = if times == 1 { events } else { events.div_ceil(times) };
        let guests = of(reader(&plugin, from, reads, times), events);
        let read = (guests - alone) / (reads.len() * times) as f64;
        show(name, Cost { informer: 0.0, guests: read });
    }
}

/// What plugins cost that are told of nothing, each by another key.
fn additions(events: usize, rounds: usize) {
    let pods = pods::Pods::new(20);
    let pod = move |number, version| {
        let json = pods.json(number, version);
        Object::decode(json.as_bytes(), None).expect("it is an object")
    };
    let of = |keys: &str, count: usize, events: usize| {
        let mut files = vec![("all.wasm".to_owned(), guest(""))];
        files.extend((0..count).map(|n| (format!("{IDLE_NAME}{n}.wasm"), guest(keys))));
        measure(Row { files: &files, pod: &pod, burst: BURST }, events, rounds)
    };
    let with = |keys: &str, count: usize| of(keys, count, events);
    let cheap = [
        r#","namespaces":["nowhere"]"#,
        r#","labelSelector":"app=nobody""#,
        r#","types":["deleted"]"#,
    ];
    let rows = [
        ("not interested: namespace", cheap[0]),
        ("not interested: label", cheap[1]),
        ("not interested: type", cheap[2]),
        ("not interested: field", r#","fieldSelector":"spec.nodeName=nowhere""#),
        ("onlyIfChanged: 1 pointer", r#","onlyIfChanged":["/spec/nodeName"]"#),
        (
            "onlyIfChanged: 5 pointers",
            r#","onlyIfChanged":["/spec/nodeName","/spec/containers","/metadata/labels","/metadata/ownerReferences","/status/podIP"]"#,
        ),
        ("filter: 1 member", r#","filter":"object.spec.nodeName == 'nowhere'""#),
        (
            "filter: 3 members, old and new",
            r#","filter":"object.spec.nodeName != old.spec.nodeName || has(object.metadata.deletionTimestamp)""#,
        ),
        (
            "filter: a loop over the containers",
            r#","filter":"object.spec.containers.exists(c, c.image.endsWith(':none'))""#,
        ),
        ("filter: the whole object", r#","filter":"size(object) == 1""#),
    ];
    let alone = with("", 0);
    show("(one alone)", alone);
    for (name, keys) in rows {
        let count = if cheap.contains(&keys) { IDLE_CHEAP } else { IDLE };
        let all = with(keys, count);
        let each = |all: f64, alone: f64| (all - alone) / count as f64;
        let informer = each(all.informer, alone.informer);
        show(name, Cost { informer, guests: each(all.guests, alone.guests) });
    }
    let few = events.min(DEAR_EVENTS);
    let (dear, alone) = (of(&at_its_bound(), 1, few), of("", 0, few));
    let cost =
        Cost { informer: dear.informer - alone.informer, guests: dear.guests - alone.guests };
    show("filter: stopped at its bound, and told", cost);
}

/// A filter that would go through more than it may: it fails there, and the event is told.
fn at_its_bound() -> String {
    let loops = ["a", "b", "c", "d", "e"].map(|name| format!("[0,1,2,3,4,5,6,7,8,9].all({name},"));
    format!(r#","filter":"{}true{}""#, loops.concat(), ")".repeat(loops.len()))
}
