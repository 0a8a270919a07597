//! What cached Pods take of the heap, and how many allocations an update makes: counted, not timed, so that a change that costs memory is
//! noticed where it is made. The bounds are what is known of now with a tenth on top; what lowers a number lowers its bound.
//!
//! What zstd's own code allocates is not counted: contexts of threads and dictionaries, which do not grow with objects.

mod absent;
#[path = "../../benches/pods/mod.rs"]
mod pods;

use allocation_counter::{AllocationInfo, measure};
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    Cause, Change, FinalState, HandlerOptions, InformerOptions, ListEvent, ListOptions, ListStream,
    ListWatchError, ListerWatcher, Object, Registration, ResourceEventHandler, SharedIndexInformer,
    WatchEvent, WatchOptions, WatchStream,
};
use parking_lot::Mutex;
use pods::Pods;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

const PODS: usize = 4_000;
const WORKLOADS: u64 = 60;
const UPDATES: usize = 4_000;

/// Bytes of the heap for each Pod, with its share of the tree and the namespaces.
const BYTES_A_POD_MAX: u64 = 520;
/// The same of Pods as metadata alone.
const BYTES_A_POD_METADATA_MAX: u64 = 230;
/// The same of whole Pods after each was updated once on average.
const BYTES_A_POD_UPDATED_MAX: u64 = 530;
/// Allocations from the bytes of a watch's object to the end of its handler, after those of sending it.
const ALLOCATIONS_AN_UPDATE_MAX: u64 = 20;

/// A copy of the bytes, and its place in the channel.
const SENDING: u64 = 2;

/// A server that has made its bytes before anything is counted.
struct Server {
    listed: Vec<String>,
    metadata_only: bool,
    updates: Mutex<Option<UnboundedReceiver<String>>>,
}

fn decoded(json: &str, metadata_only: bool) -> Object {
    let object = Object::decode(json.as_bytes(), None).expect("it is a Pod");
    if metadata_only { object.metadata_only() } else { object }
}

impl ListerWatcher for Server {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        let (listed, metadata_only) = (self.listed.clone(), self.metadata_only);
        let objects = listed
            .into_iter()
            .map(move |json| Ok(ListEvent::Object(decoded(&json, metadata_only), Instant::now())));
        let end = ListEvent::End { resource_version: "1".into(), continue_token: None };
        async move { Ok(stream::iter(objects).chain(stream::iter([Ok(end)])).boxed()) }.boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        let metadata_only = self.metadata_only;
        async move {
            if options.send_initial_events {
                return Err(ListWatchError::BadRequest { message: "no watch-lists".to_owned() });
            }
            let updates = self.updates.lock().take().expect("there is one watch");
            let changed = move |json: String| {
                let object = decoded(&json, metadata_only);
                Ok(WatchEvent::Changed(Change::Modified, object, Instant::now()))
            };
            Ok(updates.map(changed).boxed())
        }
        .boxed()
    }
}

/// Counts updates.
struct Counter(Arc<AtomicUsize>);

impl ResourceEventHandler for Counter {
    fn on_add(&self, _: &Object, _: Cause) {}
    fn on_update(&self, _: &Object, _: &Object, _: Cause) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

struct Bench {
    _handler: Registration,
    runtime: Runtime,
    informer: SharedIndexInformer,
    task: JoinHandle<()>,
    updates: UnboundedSender<String>,
    updated: Arc<AtomicUsize>,
}

impl Bench {
    /// A synced informer, and what it took.
    fn synced(listed: Vec<String>, metadata_only: bool) -> (Self, AllocationInfo) {
        let builder = &mut Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
        let (updates, receiver) = unbounded();
        let server =
            Arc::new(Server { listed, metadata_only, updates: Mutex::new(Some(receiver)) });
        let pods = GroupVersionResource::new("", "v1", "pods");
        let informer = SharedIndexInformer::new(pods, server, InformerOptions::default());
        let updated = Arc::new(AtomicUsize::new(0));
        let counter = Arc::new(Counter(updated.clone()));
        let _handler = informer.add_inline_handler(counter, HandlerOptions::default());
        let mut task = None;
        let info = measure(|| {
            let running = informer.clone();
            let run = async move { running.run(std::future::pending()).await };
            task = Some(runtime.spawn(run));
            settle(&runtime);
        });
        let task = task.expect("it was started");
        assert!(informer.has_synced() && informer.indexer().count(None) == PODS);
        (Self { _handler, runtime, informer, task, updates, updated }, info)
    }

    /// What it takes to send these and to be told of them.
    fn update(&self, updates: &[String]) -> AllocationInfo {
        let expect = self.updated.load(Ordering::Relaxed) + updates.len();
        let info = measure(|| {
            for update in updates {
                self.updates.unbounded_send(update.clone()).expect("the watch goes on");
            }
            settle(&self.runtime);
        });
        assert_eq!(self.updated.load(Ordering::Relaxed), expect, "each was told");
        info
    }
}

/// Until everything is told and packed, and some seconds more of a paused clock.
fn settle(runtime: &Runtime) {
    runtime.block_on(async { tokio::time::sleep(Duration::from_secs(5)).await });
}

#[track_caller]
fn check(what: &str, found: u64, max: u64) {
    assert!(found <= max, "{what}: {found}, more than {max}");
    assert!(
        found > max * 17 / 20,
        "{what}: {found}, so much less than {max} that the bound should be lowered"
    );
}

/// Invariant 17.
#[test]
fn memory_of_a_pod_and_allocations_of_an_update_are_bounded() {
    let generated = Pods::new(WORKLOADS);
    let json = |number: usize, version: usize| generated.json(number as u64, version as u64);
    let pods: Vec<String> = (0..PODS).map(|number| json(number, 1)).collect();
    let each = |bytes: i64, of: usize| u64::try_from(bytes).unwrap_or(0) / of as u64;
    let (metadata_alone, listed) = Bench::synced(pods.clone(), true);
    check("bytes a Pod of metadata", each(listed.bytes_current, PODS), BYTES_A_POD_METADATA_MAX);
    metadata_alone.task.abort();
    drop(metadata_alone);
    let (bench, listed) = Bench::synced(pods, false);
    check("bytes a Pod", each(listed.bytes_current, PODS), BYTES_A_POD_MAX);
    let mut random = fastrand::Rng::with_seed(1);
    let updates: Vec<_> = (0..UPDATES).map(|at| json(random.usize(..PODS), 2 + at)).collect();
    let updated = bench.update(&updates);
    let allocations = updated.count_total.div_ceil(UPDATES as u64) - SENDING;
    check("allocations an update", allocations, ALLOCATIONS_AN_UPDATE_MAX);
    let updated_bytes = listed.bytes_current + updated.bytes_current;
    check("bytes a Pod after updates", each(updated_bytes, PODS), BYTES_A_POD_UPDATED_MAX);
    bench.task.abort();
    drop(bench.informer);
}
