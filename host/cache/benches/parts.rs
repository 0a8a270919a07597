//! What the cache's parts cost, each by itself: `cargo bench -p informant-cache --bench parts`.
//!
//! A thousand Pods of about 6 KB, as a busy cluster has them; times are those of one Pod or key.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use informant_cache::bench_parts::BenchPacker;
use informant_cache::workqueue::{AddOptions, PolledWorkQueue, WorkQueueOptions};
use informant_cache::{
    Change, GroupVersionResource, IndexFunc, InformerOptions, JsonPointer, LabelSelector, Object,
    ObjectKey, SharedIndexInformer, WatchEvent,
};
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

mod feed;
mod pods;

use feed::Feed;
use pods::Pods;

const PODS: u64 = 1_000;
const PAGE: usize = 50;
const POINTERS: [&str; 4] =
    ["/spec/nodeName", "/status/phase", "/status/podIP", "/spec/serviceAccountName"];

fn main() {
    divan::main();
}

/// An informer of all Pods, and the thread that it shares with nobody.
struct Cache {
    runtime: Runtime,
    informer: SharedIndexInformer,
    feed: mpsc::UnboundedSender<Vec<WatchEvent>>,
    pods: Pods,
    version: u64,
}

impl Cache {
    fn new(indexes: usize) -> Self {
        let (feed, source) = Feed::new();
        let resource = GroupVersionResource::new("", "v1", "pods");
        let informer =
            SharedIndexInformer::new(resource, Arc::new(source), InformerOptions::default());
        for pointer in &POINTERS[..indexes] {
            let function =
                IndexFunc::json_pointer(pointer.parse::<JsonPointer>().expect("a pointer"));
            informer.indexer().add_index(pointer, function).expect("a new index");
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.spawn({
            let informer = informer.clone();
            async move { informer.run(pending()).await }
        });
        let mut cache = Self { runtime, informer, feed, pods: Pods::new(30), version: 1 };
        let all = cache.burst(Change::Added);
        cache.tell(all);
        cache
    }

    /// A change of each Pod, decoded.
    fn burst(&mut self, change: Change) -> Vec<WatchEvent> {
        let events = (0..PODS).map(|number| {
            self.version += 1;
            let json = self.pods.json(number, self.version);
            let object = Object::decode(json.as_bytes(), None).expect("it is a Pod");
            WatchEvent::Changed(change, object, Instant::now())
        });
        events.collect()
    }

    /// Until the store has all of it.
    fn tell(&self, events: Vec<WatchEvent>) {
        let stats = || self.informer.stats();
        let told = || stats().added + stats().modified;
        let expect = told() + events.len() as u64;
        self.feed.send(events).expect("the watch goes on");
        self.runtime.block_on(async {
            while told() < expect {
                tokio::task::yield_now().await;
            }
        });
    }

    fn keys(&self) -> Vec<ObjectKey> {
        let all = self.informer.indexer().list(None, &LabelSelector::default(), 0, None);
        all.expect("a page").items.iter().map(|object| object.key().clone()).collect()
    }
}

/// A change in the store: what was packed is told apart from what is new, packed and filed under the indexes.
#[divan::bench(args = [0, 1, 4], sample_count = 20, sample_size = 1)]
fn change_with_indexes(bencher: Bencher<'_, '_>, indexes: usize) {
    let cache = std::cell::RefCell::new(Cache::new(indexes));
    bencher
        .counter(ItemsCount::new(PODS))
        .with_inputs(|| cache.borrow_mut().burst(Change::Modified))
        .bench_local_values(|events| cache.borrow().tell(events));
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let cache = Cache::new(0);
    let mut keys = cache.keys().into_iter().cycle();
    bencher
        .with_inputs(|| keys.next().expect("there are keys"))
        .bench_local_refs(|key| cache.informer.indexer().get(black_box(key)));
}

/// The JSON of an object at rest.
#[divan::bench]
fn unpack(bencher: Bencher<'_, '_>) {
    let cache = Cache::new(0);
    let mut keys = cache.keys().into_iter().cycle();
    bencher
        .with_inputs(|| {
            let key = keys.next().expect("there are keys");
            cache.informer.indexer().get(&key).expect("it is there").at_rest()
        })
        .bench_local_refs(|object| object.json());
}

/// All Pods of one version, as their handlers are told of them.
fn decoded(pods: &Pods, version: u64) -> Vec<Object> {
    let one = |number| {
        let json = pods.json(number, version);
        Object::decode(json.as_bytes(), None).expect("it is a Pod")
    };
    (0..PODS).map(one).collect()
}

/// An object packed by itself, with a dictionary that was trained on its like.
#[divan::bench]
fn pack(bencher: Bencher<'_, '_>) {
    let objects = decoded(&Pods::new(30), 1);
    let packer = BenchPacker::train(&objects).expect("a dictionary");
    let mut objects = objects.iter().cycle();
    bencher
        .with_inputs(|| objects.next().expect("there are objects"))
        .bench_local_values(|object| packer.pack(black_box(object)));
}

/// The text of such an object.
#[divan::bench]
fn unpack_alone(bencher: Bencher<'_, '_>) {
    let objects = decoded(&Pods::new(30), 1);
    let packer = BenchPacker::train(&objects).expect("a dictionary");
    let packed: Vec<Object> = objects.iter().map(|object| packer.pack(object)).collect();
    let mut packed = packed.iter().cycle();
    bencher
        .with_inputs(|| packed.next().expect("there are objects"))
        .bench_local_values(|object| black_box(object).json());
}

/// All objects in the order of a list, most of them as edits of a sibling.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn pack_siblings(bencher: Bencher<'_, '_>) {
    let objects = decoded(&Pods::new(30), 1);
    bencher
        .counter(ItemsCount::new(PODS))
        .with_inputs(|| BenchPacker::train(&objects).expect("a dictionary"))
        .bench_local_values(|mut packer| {
            let packed = objects.iter().map(|object| packer.pack_among(object, None));
            packed.collect::<Vec<Object>>()
        });
}

/// The next version of each of those, as edits; the text of the version before is unpacked for it.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn pack_next_versions(bencher: Bencher<'_, '_>) {
    let pods = Pods::new(30);
    let (before, next) = (decoded(&pods, 1), decoded(&pods, 2));
    bencher
        .counter(ItemsCount::new(PODS))
        .with_inputs(|| {
            let mut packer = BenchPacker::train(&before).expect("a dictionary");
            let packed: Vec<Object> =
                before.iter().map(|object| packer.pack_among(object, None)).collect();
            (packer, packed)
        })
        .bench_local_values(|(mut packer, packed)| {
            let pairs = next.iter().zip(&packed);
            let packed = pairs.map(|(object, old)| packer.pack_among(object, Some(old)));
            packed.collect::<Vec<Object>>()
        });
}

#[divan::bench]
fn page_of_an_index(bencher: Bencher<'_, '_>) {
    let cache = Cache::new(1);
    let indexer = cache.informer.indexer();
    let values = indexer.index_values(POINTERS[0], 0, None).expect("values").items;
    let mut values = values.into_iter().cycle();
    bencher
        .with_inputs(|| values.next().expect("there are nodes"))
        .bench_local_refs(|value| indexer.by_index(POINTERS[0], black_box(value), PAGE, None));
}

/// A key that is added, taken and done.
#[divan::bench]
fn work_queue(bencher: Bencher<'_, '_>) {
    let mut queue = PolledWorkQueue::new(WorkQueueOptions::default());
    let mut now = Instant::now();
    let keys: Vec<Arc<str>> =
        (0..PODS).map(|number| format!("team-1/web-{number}").into()).collect();
    bencher.counter(ItemsCount::new(PODS)).bench_local(|| {
        now += Duration::from_millis(1);
        for key in &keys {
            queue.add_with(key.clone(), AddOptions::default(), now);
        }
        while let Some((key, _)) = queue.take(now) {
            queue.done(&key, now);
        }
    });
}
