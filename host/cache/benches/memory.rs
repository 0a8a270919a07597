//! What cached Pods cost: bytes of the heap by part, at the peak of lists, and after many updates.
//!
//! `cargo bench -p informant-cache --features jemalloc --bench memory -- [pods] [workloads] [updates] [metadata]`.
//! With `metadata`, no more of the Pods is cached. Bytes are those that were asked of the allocator,
//! dictionaries and what zstd works with among them; resident memory says what the program's allocator makes of that.

#![allow(clippy::print_stdout)]

mod pods;

use cap::Cap;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    Change, InformerOptions, ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher,
    Object, ObjectKey, SharedIndexInformer, WatchEvent, WatchOptions, WatchStream,
};
use pods::Pods;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tikv_jemallocator::Jemalloc;
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: Cap<Jemalloc> = Cap::new(Jemalloc, usize::MAX);

const RELIST: u64 = 1_000_000;

/// A server whose Pods follow from how often it was listed and how many updates it has sent.
struct Server {
    pods: Pods,
    count: u64,
    metadata_only: bool,
    lists: AtomicU64,
    /// Updates that the next watch sends before it expires.
    updates: AtomicU64,
    watch: Notify,
}

impl Server {
    fn object(&self, number: u64, version: u64) -> Object {
        let object = Object::decode(self.pods.json(number, version).as_bytes(), None);
        let object = object.expect("it is a Pod");
        if self.metadata_only { object.metadata_only() } else { object }
    }
}

struct Source(Arc<Server>);

impl ListerWatcher for Source {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        let server = self.0.clone();
        let list = 1 + server.lists.fetch_add(1, Ordering::SeqCst);
        async move {
            let resource_version = (list * RELIST * RELIST).to_string().into();
            let end = ListEvent::End { resource_version, continue_token: None };
            let objects = (0..server.count).map(move |number| {
                Ok(ListEvent::Object(server.object(number, list * RELIST), Instant::now()))
            });
            Ok(stream::iter(objects).chain(stream::iter([Ok(end)])).boxed())
        }
        .boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        let server = self.0.clone();
        async move {
            if options.send_initial_events {
                return Err(ListWatchError::BadRequest { message: "no watch-lists".to_owned() });
            }
            // Accepted at once, as by a server; what it says comes later.
            let events = async move {
                server.watch.notified().await;
                let mut random = fastrand::Rng::with_seed(1);
                let base = server.lists.load(Ordering::SeqCst) * RELIST;
                let count = server.updates.swap(0, Ordering::SeqCst);
                let expire = server.clone();
                let updates = (0..count).map(move |at| {
                    let object = server.object(random.u64(..server.count), base + 1 + at);
                    Ok(WatchEvent::Changed(Change::Modified, object, Instant::now()))
                });
                let expired = stream::once(async move {
                    if count > 0 {
                        expire.watch.notified().await;
                    }
                    Err(ListWatchError::Expired { message: "on purpose".to_owned() })
                });
                stream::iter(updates).chain(expired)
            };
            Ok(stream::once(events).flatten().boxed())
        }
        .boxed()
    }
}

/// Bytes that the program has of the allocator.
fn heap() -> usize {
    ALLOCATOR.allocated()
}

/// Resident memory in bytes, where the platform says.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0) * 1024
}

/// Runs until `done`; answers the highest count meanwhile.
fn peak_until(done: impl Fn() -> bool) -> usize {
    let highest = AtomicUsize::new(0);
    while !done() {
        highest.fetch_max(heap(), Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2));
    }
    highest.into_inner()
}

/// Waits until nothing is packed anew any more.
fn settled(informer: &SharedIndexInformer) -> usize {
    let mut before = 0;
    while before != informer.indexer().bytes() {
        before = informer.indexer().bytes();
        std::thread::sleep(Duration::from_millis(300));
    }
    heap()
}

struct Bench {
    server: Arc<Server>,
    informer: SharedIndexInformer,
    /// Before there was anything.
    before: usize,
}

impl Bench {
    fn print(&self, what: &str, bytes: usize) {
        let each = bytes.saturating_sub(self.before) / self.server.count as usize;
        println!("{what:<44} {each:>6} bytes a Pod; resident {} MiB", resident() >> 20);
    }

    fn is_at(&self, resource_version: u64) -> bool {
        let known = self.informer.last_sync_resource_version();
        known.and_then(|known| known.parse().ok()) == Some(resource_version)
    }

    fn list(&self) {
        let expect = (1 + self.informer.stats().listed / self.server.count) * RELIST * RELIST;
        if expect > RELIST * RELIST {
            self.server.watch.notify_one();
        }
        let start = Instant::now();
        let peak = peak_until(|| self.is_at(expect));
        let took = start.elapsed();
        let settled = settled(&self.informer);
        self.print("settled after a list of all", settled);
        self.print(&format!("highest in it ({} ms)", took.as_millis()), peak);
    }

    fn update(&self, updates: u64) {
        self.server.updates.store(updates, Ordering::SeqCst);
        let told = || self.informer.stats().modified;
        let expect = told() + updates;
        self.server.watch.notify_one();
        let start = Instant::now();
        let peak = peak_until(|| told() >= expect);
        let took = start.elapsed();
        let settled = settled(&self.informer);
        self.print(&format!("settled after {updates} updates"), settled);
        self.print(&format!("highest in them ({} ms)", took.as_millis()), peak);
    }
}

fn main() {
    // Cargo adds `--bench`.
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let count = numbers.next().unwrap_or(20_000);
    let workloads = numbers.next().unwrap_or(300);
    let updates = numbers.next().unwrap_or(100_000);
    let server = Arc::new(Server {
        pods: Pods::new(workloads),
        count,
        metadata_only: std::env::args().any(|argument| argument == "metadata"),
        lists: AtomicU64::new(0),
        updates: AtomicU64::new(0),
        watch: Notify::new(),
    });
    let bytes: usize = (0..count).map(|number| server.pods.json(number, 1).len()).sum();
    println!("{count} Pods of {workloads} workloads, {} bytes each", bytes / count as usize);
    let before = heap();
    let pods = GroupVersionResource::new("", "v1", "pods");
    let source = Arc::new(Source(server.clone()));
    let informer = SharedIndexInformer::new(pods, source, InformerOptions::default());
    let stop = Arc::new(Notify::new());
    let running = std::thread::spawn({
        let (informer, stop) = (informer.clone(), stop.clone());
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(informer.run(stop.notified()));
        }
    });
    let bench = Bench { server, informer, before };
    bench.list();
    bench.update(updates);
    bench.list();
    bench.list();
    stop.notify_one();
    running.join().expect("the informer ends");
    parts(bench);
}

/// Lets go of one part after the other.
fn parts(bench: Bench) {
    let Bench { informer, server, .. } = bench;
    let snapshot = informer.indexer().snapshot();
    let count = server.count as usize;
    let json: usize = snapshot.objects(None).map(Object::json_len).sum();
    let packed: usize = snapshot.objects(None).map(Object::size).sum();
    let mut objects: Vec<Object> = snapshot.objects(None).cloned().collect();
    let keys: Vec<ObjectKey> = objects.iter().map(|object| object.key().clone()).collect();
    println!("as JSON without managedFields {:>20} bytes a Pod", json / count);
    println!("as the store counts {:>30} bytes a Pod", packed / count);
    let mut last = heap();
    let mut print = |part: &str| {
        let now = heap();
        println!("  {part:<42} {:>6} bytes a Pod", last.saturating_sub(now) / count);
        last = now;
    };
    drop(snapshot);
    drop(informer);
    print("the tree, and what packs");
    objects.clear();
    print("objects, with their labels and owners");
    drop(keys);
    print("keys (with what the list of them took)");
}
