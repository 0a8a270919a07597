//! How long readers take while the store is at rest, and while all of it is listed again.
//!
//! One reader and one informer, each on a thread of its own, so that two cores are enough and nobody waits for the scheduler. Rounds
//! alternate: a full relist in which a tenth of the objects changed, each decoded from its bytes as in earnest, then as long at rest, so that
//! what else the machine does falls on both. The reads of all rounds are counted together.
//! `cargo bench -p informant-cache --bench readers -- [objects] [rounds]`.

#![allow(clippy::print_stdout)]

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use hdrhistogram::Histogram;
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{
    IndexFunc, Indexer, InformerOptions, ListEvent, ListOptions, ListStream, ListWatchError,
    ListerWatcher, Object, ObjectKey, SharedIndexInformer, WatchOptions, WatchStream,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const NAMESPACES: u64 = 200;
const NODES: u64 = 2000;
const PAGE: usize = 50;
const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];
/// An informer lets this time pass between two lists, or backs off.
const BETWEEN_LISTS: Duration = Duration::from_secs(10);

/// A server whose objects follow from the number of the list.
struct Server {
    objects: u64,
    /// How many lists began.
    lists: AtomicU64,
    /// A list after the first has begun, and the informer has not taken in all of it.
    relisting: AtomicBool,
    expire: Arc<Notify>,
}

fn name(number: u64) -> String {
    format!("web-{number:06}")
}

fn namespace(number: u64) -> String {
    format!("team-{:03}", number % NAMESPACES)
}

/// About a KiB: readers do not touch the bytes, and the machine need not have room for real pods.
fn json(number: u64, list: u64) -> String {
    // A tenth changes from one list to the next.
    let version = 1 + number + (list + number % 10) / 10 * 1_000_000;
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"{}","name":"{}","uid":"{number:08x}-0000-4000-8000-000000000000","resourceVersion":"{version}","labels":{{"app":"web","tier":"{}"}}}},"spec":{{"nodeName":"node-{:04}","containers":[{{"name":"c","image":"registry.example/web:1","args":["{}"]}}]}}}}"#,
        namespace(number),
        name(number),
        number % 7,
        number % NODES,
        "x".repeat(600),
    )
}

impl ListerWatcher for Server {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        let list = self.lists.fetch_add(1, Ordering::SeqCst);
        self.relisting.store(list > 0, Ordering::SeqCst);
        let objects = (0..self.objects).map(move |number| {
            let object = Object::decode(json(number, list).as_bytes(), None).expect("it is one");
            Ok(ListEvent::Object(object, Instant::now()))
        });
        let resource_version = ((list + 1) * 1_000_000_000).to_string().into();
        let end = ListEvent::End { resource_version, continue_token: None };
        async move { Ok(stream::iter(objects).chain(stream::iter([Ok(end)])).boxed()) }.boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        async move {
            if options.send_initial_events {
                return Err(ListWatchError::BadRequest { message: "no watch-lists".to_owned() });
            }
            // Accepted at once, as by a server; what it says comes later.
            let expired = self.expire.clone();
            let expires = async move {
                expired.notified().await;
                Err(ListWatchError::Expired { message: "on purpose".to_owned() })
            };
            Ok(stream::once(expires).boxed())
        }
        .boxed()
    }
}

/// Reads in turn what readers read; notes how long each read takes.
struct Reader {
    indexer: Indexer,
    random: fastrand::Rng,
    objects: u64,
    everything: LabelSelector,
}

impl Reader {
    fn read(&mut self, histogram: &mut Histogram<u64>) {
        let number = self.random.u64(0..self.objects);
        let (namespace, name) = (namespace(number), name(number));
        let key = ObjectKey::new(&namespace, &name);
        let node = format!("node-{:04}", number % NODES);
        let mut note = |start: Instant, found: bool| {
            assert!(found, "what is there throughout is always found");
            let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            histogram.saturating_record(nanoseconds);
        };
        let start = Instant::now();
        note(start, self.indexer.get(&key).is_some());
        let start = Instant::now();
        let page = self.indexer.list(Some(&namespace), &self.everything, PAGE, None);
        note(start, page.is_ok_and(|page| !page.items.is_empty()));
        let start = Instant::now();
        let page = self.indexer.by_index("node", &node, PAGE, None);
        note(start, page.is_ok_and(|page| !page.items.is_empty()));
    }

    fn read_while(&mut self, mut goes_on: impl FnMut() -> bool) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_max(60_000_000_000, 3).expect("these bounds are");
        while goes_on() {
            self.read(&mut histogram);
        }
        histogram
    }
}

/// How long reads took, in nanoseconds.
struct Reads {
    rest: Histogram<u64>,
    relist: Histogram<u64>,
}

fn main() {
    // Cargo adds `--bench`.
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let objects = numbers.next().unwrap_or(160_000);
    let rounds = numbers.next().unwrap_or(20);
    let server = Arc::new(Server {
        objects,
        lists: AtomicU64::new(0),
        relisting: AtomicBool::new(false),
        expire: Arc::default(),
    });
    let pods = GroupVersionResource::new("", "v1", "pods");
    let informer = SharedIndexInformer::new(pods, server.clone(), InformerOptions::default());
    let node = "/spec/nodeName".parse().expect("it is a pointer");
    informer.indexer().add_index("node", IndexFunc::json_pointer(node)).expect("it is new");
    let stop = Arc::new(Notify::new());
    let running = std::thread::spawn({
        let (informer, stop) = (informer.clone(), stop.clone());
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(informer.run(stop.notified()));
        }
    });
    while !informer.has_synced() {
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("{objects} objects, {} MiB", informer.indexer().bytes() >> 20);
    measure(&informer, &server, rounds);
    stop.notify_one();
    running.join().expect("the informer ends");
}

fn measure(informer: &SharedIndexInformer, server: &Server, rounds: u64) {
    let mut reader = Reader {
        indexer: informer.indexer(),
        random: fastrand::Rng::with_seed(1),
        objects: server.objects,
        everything: LabelSelector::default(),
    };
    let empty = || Histogram::new_with_max(60_000_000_000, 3).expect("these bounds are");
    let mut all = Reads { rest: empty(), relist: empty() };
    let warm_up = Instant::now();
    reader.read_while(|| warm_up.elapsed() < Duration::from_secs(2));
    for round in 1..=rounds {
        let expect = ((round + 1) * 1_000_000_000).to_string();
        std::thread::sleep(BETWEEN_LISTS);
        server.expire.notify_one();
        // The informer waits a little before it lists again.
        while !server.relisting.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let start = Instant::now();
        let relist = reader.read_while(|| {
            informer.last_sync_resource_version().as_deref() != Some(expect.as_str())
        });
        server.relisting.store(false, Ordering::SeqCst);
        let took = start.elapsed();
        let start = Instant::now();
        let rest = reader.read_while(|| start.elapsed() < took);
        println!("round {round}: relist took {} ms", took.as_millis());
        all.relist += relist;
        all.rest += rest;
    }
    report(&all);
}

fn report(all: &Reads) {
    let Reads { rest, relist } = all;
    println!("{} reads at rest, {} during relists", rest.len(), relist.len());
    println!("percentile  at rest, ns  relist, ns  ratio");
    for percentile in PERCENTILES {
        let at = |reads: &Histogram<u64>| reads.value_at_quantile(percentile / 100.0);
        let (rest, relist) = (at(rest), at(relist));
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds are far below 2^52")]
        let ratio = relist as f64 / rest as f64;
        println!("{percentile:>10} {rest:>12} {relist:>11} {ratio:>6.2}");
    }
    println!("up to, ns   at rest    relist");
    let bound = |power: u32| 1000_u64 << power;
    let count = |reads: &Histogram<u64>, power: u32| {
        let from = if power == 0 { 0 } else { bound(power - 1) + 1 };
        reads.count_between(from, bound(power))
    };
    for power in (0..20).filter(|power| count(rest, *power) + count(relist, *power) > 0) {
        println!("{:>9} {:>9} {:>9}", bound(power), count(rest, power), count(relist, power));
    }
}
