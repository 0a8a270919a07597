//! Handlers that are slow, come and go, or fail, in paused time unless a thread must block.

use super::*;
use crate::handler_queue::{HandlerOptions, HighWaterMark};
use crate::indexer::Write;
use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::notifications::Notifications;
use crate::object::{Object, ObjectKey};
use crate::recorder::{Recorder, at};
use crate::resource_event_handler::{
    Cause, FilteringResourceEventHandler, FinalState, Interest, Reason, ResourceEventHandler,
};
use crate::shared_informer::SharedIndexInformer;
use crate::testing::FakeControllerSource;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

struct Bench {
    source: FakeControllerSource,
    factory: SharedInformerFactory,
    informer: SharedIndexInformer,
}

impl Bench {
    /// An informer of so many objects, `p0000` and on, that has synced.
    async fn start(objects: usize) -> Self {
        let source = FakeControllerSource::default();
        for number in 0..objects {
            source.add(&pod(number));
        }
        let options = FactoryOptions { seed: 1, ..Default::default() };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
        factory.start();
        assert!(informer.synced().await);
        Self { source, factory, informer }
    }
}

fn pod(number: usize) -> String {
    format!(r#"{{"metadata":{{"name":"p{number:04}"}}}}"#)
}

fn object(name: usize, version: u32) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{name:04}","uid":"u","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn shown(notification: &Notification) -> String {
    match notification {
        Notification::Added { object, cause, .. } => {
            format!("add {} {:?}", at(object), cause.reason)
        }
        Notification::Updated { new, cause, .. } => {
            format!("update {} {:?}", at(new), cause.reason)
        }
        Notification::Deleted { last, .. } => format!("delete {}", at(last)),
        Notification::Synced => "synced".to_owned(),
    }
}

/// All waiting notifications.
fn drain(notifications: &mut Notifications) -> Vec<String> {
    std::iter::from_fn(|| notifications.try_next()).map(|told| shown(&told)).collect()
}

/// Invariant 12.
#[test]
fn a_handler_that_sleeps_through_a_million_changes_holds_a_bounded_queue() {
    const OBJECTS: usize = 100;
    let progress = Arc::new(Progress::new(Instant::now()));
    let inbox: Arc<Inbox> = Arc::default();
    let mut processor = SharedProcessor::new(inbox.clone(), progress);
    let (queue, registration) = inbox.add_queue(Beginning::default());
    let mut sleeper = Notifications::new(queue, registration);
    let now = Instant::now();
    processor.admit(now);
    processor.walk(&Indexer::default(), now);
    let versions: Vec<Vec<Object>> =
        (0..OBJECTS).map(|name| (1..4).map(|version| object(name, version)).collect()).collect();
    for change in 0..1_000_000usize {
        let of_object = &versions[change % OBJECTS];
        let (old, new) = (of_object[change % 3].clone(), of_object[(change + 1) % 3].clone());
        let cause = Cause { reason: Reason::Watch, received: now };
        let notification = Notification::Updated { old, new, cause, coalesced: 0 };
        let to_tell = ToTell { notification, listing: false, is_completed: false };
        processor.distribute_all(&[to_tell], now);
    }
    let stats = sleeper.registration().queue_stats();
    let mark = HighWaterMark::default();
    assert!(stats.depth <= mark.notifications + OBJECTS, "each object has one more at most");
    assert!(stats.bytes <= mark.bytes + OBJECTS * 2 * versions[0][0].size());
    let waiting = std::iter::from_fn(|| sleeper.try_next()).count();
    assert_eq!(waiting as u64 + stats.coalesced, 1_000_000, "each waits or is counted");
}

/// A processor with so many queues over a store of so many objects, and what each queue has got.
struct Walkers {
    processor: SharedProcessor,
    indexer: Indexer,
    queues: Vec<Notifications>,
    told: Vec<Vec<String>>,
}

impl Walkers {
    fn new(handlers: usize, objects: usize, options: &HandlerOptions, now: Instant) -> Self {
        let progress = Arc::new(Progress::new(now));
        let (inbox, indexer) = (Arc::<Inbox>::default(), Indexer::default());
        for name in 0..objects {
            indexer.write().put(object(name, 1), Write::Listed { consistent: true });
        }
        progress.synced();
        let queue = |_| {
            let beginning = Beginning { options: options.clone(), ..Beginning::default() };
            let (queue, registration) = inbox.add_queue(beginning);
            Notifications::new(queue, registration)
        };
        let queues: Vec<Notifications> = (0..handlers).map(queue).collect();
        let mut processor = SharedProcessor::new(inbox, progress);
        processor.admit(now);
        Self { processor, indexer, told: vec![Vec::new(); handlers], queues }
    }

    /// One step of the walks: the number of its notifications, and whether the walks go on.
    fn step(&mut self, now: Instant) -> (usize, bool) {
        let goes_on = self.processor.walk(&self.indexer, now);
        let mut count = 0;
        for (queue, told) in self.queues.iter_mut().zip(&mut self.told) {
            let new = drain(queue);
            count += new.iter().filter(|line| *line != "synced").count();
            told.extend(new);
        }
        (count, goes_on)
    }
}

/// A step of replays or resyncs is as long for many handlers as for one, and no handler is left out.
#[test]
fn many_walks_take_turns_in_steps_of_so_many_objects() {
    const HANDLERS: usize = 100;
    const OBJECTS: usize = 600;
    let start = Instant::now();
    let resync_period = Some(Duration::from_secs(1));
    let options = HandlerOptions { resync_period, ..HandlerOptions::default() };
    let mut walkers = Walkers::new(HANDLERS, OBJECTS, &options, start);
    for (round, now) in [start, start + Duration::from_secs(1)].into_iter().enumerate() {
        let mut steps = 0;
        loop {
            let (count, goes_on) = walkers.step(now);
            assert!(count <= WALK_STEP_OBJECTS, "{count} in step {steps}");
            steps += 1;
            if steps == HANDLERS {
                let is_left_out = |told: &Vec<String>| told.len() == round * (OBJECTS + 1);
                assert!(!walkers.told.iter().any(is_left_out), "each has had a turn");
            }
            if !goes_on {
                break;
            }
        }
        let (least, most) = (HANDLERS * OBJECTS / WALK_STEP_OBJECTS, HANDLERS * 4);
        assert!((least..most).contains(&steps), "{steps}");
    }
    let replay = (0..OBJECTS).map(|name| format!("add p{name:04}@1 Initial"));
    let resync = (0..OBJECTS).map(|name| format!("update p{name:04}@1 Resync"));
    let expect: Vec<String> = replay.chain(["synced".to_owned()]).chain(resync).collect();
    assert!(walkers.told.iter().all(|told| *told == expect), "each object once, in order");
}

/// A replay that waits for whole objects takes no turn from others, and asks for no step at once.
#[test]
fn replays_that_wait_for_whole_objects_do_not_go_on() {
    let now = Instant::now();
    let progress = Arc::new(Progress::new(now));
    let (inbox, indexer) = (Arc::<Inbox>::default(), Indexer::default());
    for name in 0..2 * WALK_STEP_OBJECTS {
        let part = object(name, 1).metadata_only();
        indexer.write().put(part, Write::Listed { consistent: true });
    }
    let queues: Vec<_> = (0..2).map(|_| inbox.add_queue(Beginning::default())).collect();
    let mut processor = SharedProcessor::new(inbox, progress.clone());
    processor.admit(now);
    assert!(!processor.walk(&indexer, now), "nothing can go on");
    for name in 0..2 * WALK_STEP_OBJECTS {
        indexer.write().put(object(name, 2), Write::Listed { consistent: true });
    }
    progress.synced();
    let steps = (0..).find(|_| !processor.walk(&indexer, now)).expect("it ends");
    assert!(steps >= 4, "{steps} steps of so many objects");
    assert_eq!(queues.len(), 2);
}

/// The resourceVersion of its last notification.
#[derive(Default)]
struct Last(Mutex<String>);

impl Last {
    fn note(&self, object: &Object) {
        *self.0.lock() = object.resource_version().to_owned();
    }
}

impl ResourceEventHandler for Last {
    fn on_add(&self, object: &Object, _: Cause) {
        self.note(object);
    }
    fn on_update(&self, _: &Object, new: &Object, _: Cause) {
        self.note(new);
    }
    fn on_delete(&self, last: &Object, _: FinalState, _: Cause) {
        self.note(last);
    }
}

/// Invariant 12.
#[tokio::test(start_paused = true)]
async fn a_call_between_notifications_sees_what_was_told_and_no_more() {
    let bench = Bench::start(1).await;
    let told = Arc::new(Last::default());
    let _registration = bench.informer.add_inline_handler(told.clone(), HandlerOptions::default());
    settle().await;
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..200 {
        bench.source.modify(&pod(0));
        let (told, indexer, sender) = (told.clone(), bench.informer.indexer(), sender.clone());
        bench.informer.between_notifications(move || {
            let shown = indexer
                .get(&ObjectKey::new("", "p0000"))
                .map(|object| object.resource_version().to_owned());
            // A receiver that is gone has failed already.
            let _ = sender.send((told.0.lock().clone(), shown.unwrap_or_default()));
        });
        if number % 7 == 0 {
            settle().await;
        }
    }
    bench.informer.between_notifications(|| panic!("it harms nobody"));
    settle().await;
    drop(sender);
    let mut calls = 0;
    while let Some((told, shown)) = seen.recv().await {
        assert_eq!(told, shown);
        calls += 1;
    }
    assert_eq!((calls, bench.informer.stats().handler_panics), (200, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_to_an_informer_that_has_stopped_is_dropped() {
    let bench = Bench::start(1).await;
    bench.factory.shutdown().await;
    let (sender, called) = tokio::sync::oneshot::channel();
    bench.informer.between_notifications(move || {
        let _ = sender.send(());
    });
    assert!(called.await.is_err(), "nobody will call it");
}

/// Invariant 12.
#[tokio::test(start_paused = true)]
async fn a_slow_handler_holds_nobody_up() {
    let bench = Bench::start(1).await;
    let mut slow = bench.informer.notifications(HandlerOptions::default());
    let fast = Recorder::default();
    let _registration = bench.informer.add_event_handler(Arc::new(fast.clone()));
    for _ in 0..3 {
        bench.source.modify(&pod(0));
    }
    settle().await;
    assert_eq!(fast.take().len(), 5, "initial, synced, three updates");
    assert_eq!(bench.informer.last_sync_resource_version().as_deref(), Some("4"));
    let stats = slow.registration().queue_stats();
    assert_eq!((stats.depth, stats.coalesced), (5, 0));
    assert_eq!(stats.oldest_age, Some(Duration::from_millis(1)));
    assert_eq!(drain(&mut slow).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn has_synced_waits_for_the_last_initial_call() {
    let bench = Bench::start(2).await;
    let mut late = bench.informer.notifications(HandlerOptions::default());
    settle().await;
    for _ in 0..2 {
        assert!(!late.registration().has_synced());
        late.next().await.expect("an initial object");
    }
    assert!(!late.registration().has_synced(), "the second may still be worked on");
    assert!(matches!(late.next().await, Some(Notification::Synced)));
    assert!(late.registration().has_synced());
}

#[tokio::test(start_paused = true)]
async fn the_replay_of_a_slow_handler_is_a_cursor_and_no_copy_of_the_store() {
    let bench = Bench::start(5000).await;
    let mut slow = bench.informer.notifications(HandlerOptions::default());
    settle().await;
    assert!(slow.registration().queue_stats().depth <= 1024 + WALK_STEP_OBJECTS);
    // Before and after the cursor.
    bench.source.modify(&pod(0));
    bench.source.modify(&pod(4999));
    bench.source.delete(&pod(4998));
    settle().await;
    let mut told = Vec::new();
    while !slow.registration().has_synced() {
        told.push(shown(&slow.next().await.expect("it goes on")));
    }
    let added = told.iter().filter(|line| line.starts_with("add ")).count();
    assert_eq!(added, 4999, "each that lives is added once");
    assert!(told.contains(&"update p0000@5001 Watch".to_owned()));
    assert!(told.contains(&"add p4999@5002 Initial".to_owned()), "as it was when its turn came");
    assert!(!told.iter().any(|line| line.contains("p4998")), "it was never told of");
}

/// An inline handler whose replay comes as far as it has room.
#[derive(Clone, Default)]
struct Paced {
    recorder: Recorder,
    replayed: Arc<Mutex<Vec<String>>>,
    room: Arc<AtomicUsize>,
}

impl Paced {
    fn options() -> HandlerOptions {
        HandlerOptions { paced: true, ..HandlerOptions::default() }
    }

    fn with_room(room: usize) -> Self {
        Self { room: Arc::new(room.into()), ..Self::default() }
    }
}

impl ResourceEventHandler for Paced {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.recorder.on_add(object, cause);
    }
    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        self.recorder.on_update(old, new, cause);
    }
    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        self.recorder.on_delete(last, final_state, cause);
    }
    fn on_replay(&self, object: &Object, _: Cause) {
        self.replayed.lock().push(at(object));
    }
    fn on_ahead(&self, notification: &Notification) {
        self.recorder.note(format!("ahead: {}", shown(notification)));
    }
    fn has_room(&self) -> bool {
        self.replayed.lock().len() < self.room.load(Ordering::Relaxed)
    }
    fn on_synced(&self) {
        self.recorder.on_synced();
    }
}

#[tokio::test(start_paused = true)]
async fn a_paced_replay_waits_for_room_and_what_happens_ahead_of_it_is_told_as_such() {
    let bench = Bench::start(1000).await;
    let paced = Paced::with_room(1);
    let handler = Arc::new(paced.clone());
    let _registration = bench.informer.add_inline_handler(handler, Paced::options());
    settle().await;
    assert_eq!(paced.replayed.lock().len(), WALK_STEP_OBJECTS, "a step, and then it waits");
    bench.source.modify(&pod(0));
    bench.source.modify(&pod(999));
    bench.source.delete(&pod(998));
    bench.source.add(&pod(1000));
    settle().await;
    let expect = [
        "update p0000@1001 from 1 Watch",
        "ahead: update p0999@1002 Watch",
        "ahead: delete p0998@1003",
        "ahead: add p1000@1004 Watch",
    ];
    assert_eq!(paced.recorder.take(), expect);
    paced.room.store(usize::MAX, Ordering::Relaxed);
    settle().await;
    assert_eq!(paced.replayed.lock().len(), WALK_STEP_OBJECTS, "nobody said so");
    bench.informer.room_signal().send();
    settle().await;
    let replayed = paced.replayed.lock().clone();
    assert_eq!(replayed.len(), 1000, "each that lives");
    assert!(replayed.is_sorted(), "by key");
    assert_eq!(replayed.last().map(String::as_str), Some("p1000@1004"), "as it is then");
    bench.source.modify(&pod(999));
    settle().await;
    assert_eq!(paced.recorder.take(), ["synced", "update p0999@1005 from 1002 Watch"]);
}

/// A handler from before the first list, and the number of its notifications after `room` and in the end.
async fn check_first_list(room: usize, expect: usize) {
    let source = FakeControllerSource::default();
    (0..1000).for_each(|number| _ = source.add(&pod(number)));
    let options = FactoryOptions { seed: 1, ..Default::default() };
    let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
    let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
    let paced = Paced::with_room(room);
    let handler = Arc::new(paced.clone());
    let _registration = informer.add_inline_handler(handler, Paced::options());
    factory.start();
    assert!(informer.synced().await);
    settle().await;
    assert_eq!(paced.replayed.lock().len(), expect);
    paced.room.store(usize::MAX, Ordering::Relaxed);
    informer.room_signal().send();
    settle().await;
    let mut told = paced.replayed.lock().clone();
    told.sort();
    told.dedup();
    assert_eq!((told.len(), paced.replayed.lock().len()), (1000, 1000), "each once");
    let mut other = paced.recorder.take();
    other.retain(|line| !(line.starts_with("ahead: add ") && line.ends_with("Initial")));
    assert_eq!(other, ["synced"]);
}

#[tokio::test(start_paused = true)]
async fn of_a_first_list_a_paced_handler_hears_while_it_has_room() {
    check_first_list(usize::MAX, 1000).await;
    check_first_list(10, 10).await;
    check_first_list(0, 0).await;
}

#[test]
fn what_a_watch_adds_behind_a_paced_walk_is_not_jumped_over() {
    let progress = Arc::new(Progress::new(Instant::now()));
    let (inbox, indexer, now) = (Arc::<Inbox>::default(), Indexer::default(), Instant::now());
    let mut processor = SharedProcessor::new(inbox.clone(), progress);
    let paced = Paced::with_room(usize::MAX);
    let beginning = Beginning { options: Paced::options(), ..Beginning::default() };
    let _registration = inbox.add_inline(Arc::new(paced.clone()), beginning);
    processor.admit(now);
    let added = |name, reason, listing| {
        let object = object(name, 1);
        indexer.write().put(object.clone(), Write::Listed { consistent: true });
        let cause = Cause { reason, received: now };
        let notification = Notification::Added { object, cause, coalesced: 0 };
        ToTell { notification, listing, is_completed: false }
    };
    processor.walk(&indexer, now);
    // Two parts of a scope: one follows its watch, and the other one is in its first list.
    let both = [added(6, Reason::Watch, false), added(9, Reason::Relist, true)];
    processor.distribute_all(&both, now);
    while processor.walk(&indexer, now) {}
    assert_eq!(*paced.replayed.lock(), ["p0006@1", "p0009@1"]);
}

#[test]
fn what_a_first_list_shows_behind_a_paced_walk_is_told_at_once() {
    let progress = Arc::new(Progress::new(Instant::now()));
    let (inbox, indexer, now) = (Arc::<Inbox>::default(), Indexer::default(), Instant::now());
    let mut processor = SharedProcessor::new(inbox.clone(), progress);
    let paced = Paced::with_room(2);
    let beginning = Beginning { options: Paced::options(), ..Beginning::default() };
    let _registration = inbox.add_inline(Arc::new(paced.clone()), beginning);
    processor.admit(now);
    for name in [5, 3, 7, 9, 8] {
        assert!(!processor.walk(&indexer, now), "there is nothing to come to, or no room");
        let object = object(name, 1);
        indexer.write().put(object.clone(), Write::Listed { consistent: true });
        let cause = Cause { reason: Reason::Relist, received: now };
        let notification = Notification::Added { object, cause, coalesced: 0 };
        let to_tell = ToTell { notification, listing: true, is_completed: false };
        processor.distribute_all(&[to_tell], now);
    }
    assert_eq!(*paced.replayed.lock(), ["p0005@1", "p0007@1"]);
    let mut told = paced.recorder.take();
    told.retain(|line| !line.starts_with("ahead"));
    assert_eq!(told, ["add p0003@1 Initial"]);
    paced.room.store(3, Ordering::Relaxed);
    processor.walk(&indexer, now);
    assert_eq!(*paced.replayed.lock(), ["p0005@1", "p0007@1", "p0008@1", "p0009@1"]);
}

/// A handler that begins when it is ready, and then walks the store by itself in small steps.
#[derive(Default)]
struct OwnWalk {
    is_ready: AtomicBool,
    /// Its looks at objects before it begins.
    looks: AtomicUsize,
    told: Mutex<Vec<String>>,
    passed: AtomicUsize,
    batches: AtomicUsize,
}

impl ResourceEventHandler for OwnWalk {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.told.lock().push(format!("add {} {:?}", at(object), cause.reason));
    }
    fn on_update(&self, _: &Object, new: &Object, _: Cause) {
        self.told.lock().push(format!("update {}", at(new)));
    }
    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
    fn on_batch_told(&self) -> bool {
        self.batches.fetch_add(1, Ordering::SeqCst);
        false
    }
    fn is_ready(&self, looks_left: &mut usize) -> bool {
        let looks = self.looks.load(Ordering::SeqCst);
        if !self.is_ready.load(Ordering::SeqCst) || (looks > 0 && *looks_left == 0) {
            return false;
        }
        *looks_left = looks_left.saturating_sub(looks);
        true
    }
    fn walk(&self, store: &Indexer, takes: &dyn Fn(&Object) -> bool, objects_max: usize) -> usize {
        let passed = self.passed.load(Ordering::SeqCst);
        let (all, count) = (Default::default(), objects_max.min(2));
        let objects = store.list(None, &all, 0, None).map(|page| page.items).unwrap_or_default();
        let next: Vec<&Object> = objects.iter().skip(passed).take(count).collect();
        let taken = next.iter().filter(|object| takes(object));
        self.told.lock().extend(taken.map(|object| format!("walk {}", at(object))));
        self.passed.fetch_add(next.len(), Ordering::SeqCst);
        next.len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_begins_when_it_is_ready_and_until_then_the_replaced_one_goes_on() {
    let bench = Bench::start(3).await;
    let informer = &bench.informer;
    let options = HandlerOptions { paced: true, ..HandlerOptions::default() };
    let walks = || Arc::new(OwnWalk { passed: AtomicUsize::new(9), ..OwnWalk::default() });
    let (first, second, third) = (walks(), walks(), walks());
    first.is_ready.store(true, Ordering::SeqCst);
    let place = informer.add_inline_handler(first.clone(), options.clone());
    settle().await;
    first.told.lock().clear();
    let place = informer.replace_inline_handler(place, second.clone(), options.clone());
    settle().await;
    bench.source.modify(&pod(0));
    settle().await;
    assert_eq!(*first.told.lock(), ["update p0000@4"], "it goes on");
    // The third one comes in place of the second, which never begins, and ends the first.
    let place = informer.replace_inline_handler(place, third.clone(), options);
    settle().await;
    bench.source.modify(&pod(1));
    settle().await;
    assert_eq!(first.told.lock().len(), 2);
    third.is_ready.store(true, Ordering::SeqCst);
    informer.room_signal().send();
    settle().await;
    bench.source.modify(&pod(2));
    settle().await;
    assert_eq!(first.told.lock().len(), 2, "it was replaced");
    assert!(second.told.lock().is_empty());
    let expect = ["add p0000@4 Initial", "add p0001@5 Initial", "add p0002@3 Initial"];
    assert_eq!(third.told.lock()[..3], expect);
    assert_eq!(third.told.lock()[3..], ["update p0002@6"]);
    assert!(place.has_synced());
    drop(place);
    bench.factory.shutdown().await;
}

/// A handler that names a namespace without objects.
#[derive(Default)]
struct Elsewhere {
    has_room: AtomicBool,
    told: Mutex<Vec<String>>,
}

impl ResourceEventHandler for Elsewhere {
    fn interest(&self) -> Interest {
        Interest::Namespaces(Arc::new(["elsewhere".to_owned()].into()))
    }
    fn on_add(&self, object: &Object, _: Cause) {
        self.told.lock().push(format!("add {}", at(object)));
    }
    fn on_update(&self, _: &Object, new: &Object, _: Cause) {
        self.told.lock().push(format!("update {}", at(new)));
    }
    fn on_delete(&self, last: &Object, _: FinalState, _: Cause) {
        self.told.lock().push(format!("delete {}", at(last)));
    }
    fn on_ahead(&self, notification: &Notification) {
        let object = notification.object().expect("it has one");
        self.told.lock().push(format!("ahead {}", at(object)));
    }
    fn has_room(&self) -> bool {
        self.has_room.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_hears_of_other_namespaces_only_until_its_replay_is_over() {
    let bench = Bench::start(2).await;
    let informer = &bench.informer;
    let options = HandlerOptions { paced: true, ..HandlerOptions::default() };
    let [first, second] = [true, false].map(|has_room| {
        let has_room = AtomicBool::new(has_room);
        Arc::new(Elsewhere { has_room, ..Elsewhere::default() })
    });
    let place = informer.add_inline_handler(first.clone(), options.clone());
    settle().await;
    first.told.lock().clear();
    bench.source.modify(&pod(0));
    settle().await;
    assert!(first.told.lock().is_empty(), "no object is in its namespace");
    // The second one continues the first one's knowledge, which may have other objects.
    let place = informer.replace_inline_handler(place, second.clone(), options);
    settle().await;
    bench.source.modify(&pod(1));
    bench.source.delete(&pod(1));
    settle().await;
    assert_eq!(*second.told.lock(), ["ahead p0001@4", "ahead p0001@5"]);
    second.has_room.store(true, Ordering::SeqCst);
    informer.room_signal().send();
    settle().await;
    assert_eq!(second.told.lock()[2..], ["add p0000@3"], "the signal is heard");
    bench.source.modify(&pod(0));
    settle().await;
    assert_eq!(second.told.lock().len(), 3);
    drop(place);
    bench.factory.shutdown().await;
}

#[tokio::test]
async fn handlers_that_look_at_many_objects_begin_one_after_the_other_and_delay_no_others() {
    let now = Instant::now();
    let inbox: Arc<Inbox> = Arc::default();
    let mut processor = SharedProcessor::new(inbox.clone(), Arc::new(Progress::new(now)));
    let indexer = Indexer::default();
    let places: Vec<_> = [WALK_STEP_OBJECTS, WALK_STEP_OBJECTS, 1, 1, 0]
        .map(|looks| {
            let handler = OwnWalk { passed: AtomicUsize::new(9), ..OwnWalk::default() };
            handler.is_ready.store(true, Ordering::SeqCst);
            handler.looks.store(looks, Ordering::SeqCst);
            inbox.add_inline(Arc::new(handler), Beginning::default())
        })
        .into();
    // After each step: the handlers that have begun, and whether more of them may.
    let mut steps = Vec::new();
    for _ in 0..4 {
        processor.admit(now);
        steps.push((processor.active.len(), processor.walk(&indexer, now)));
    }
    assert_eq!(steps, [(2, true), (3, true), (5, false), (5, false)]);
    drop(places);
}

#[tokio::test(start_paused = true)]
async fn a_handler_walks_by_itself_between_changes_until_nothing_is_left() {
    let bench = Bench::start(5).await;
    let handler = Arc::new(OwnWalk::default());
    handler.is_ready.store(true, Ordering::SeqCst);
    let options = HandlerOptions { paced: true, replay: false, ..HandlerOptions::default() };
    let place = bench.informer.add_inline_handler(handler.clone(), options);
    settle().await;
    let expect: Vec<String> = (0..5).map(|n| format!("walk p{n:04}@{}", n + 1)).collect();
    assert_eq!(*handler.told.lock(), expect);
    assert_eq!(handler.batches.load(Ordering::SeqCst), 3, "each step ends a batch");
    drop(place);
    bench.factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_hot_object_does_not_starve_a_replay() {
    let bench = Bench::start(3000).await;
    let slow = bench.informer.notifications(HandlerOptions::default());
    settle().await;
    let before = slow.registration().queue_stats().depth;
    for _ in 0..2000 {
        bench.source.modify(&pod(0));
    }
    settle().await;
    let mut slow = slow;
    // As many as the replay alone had queued: then it goes on, whatever else waits.
    for _ in 0..before {
        slow.next().await.expect("it goes on");
    }
    settle().await;
    let told = drain(&mut slow);
    assert!(told.iter().any(|line| line.starts_with("add p1500")), "{} waited", told.len());
}

#[tokio::test(start_paused = true)]
async fn a_period_without_end_is_never() {
    let bench = Bench::start(1).await;
    let recorder = Recorder::default();
    let (handler, period) = (Arc::new(recorder.clone()), Duration::MAX);
    let _registration = bench.informer.add_event_handler_with_resync_period(handler, period);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(recorder.take(), ["add p0000@1 Initial", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn resyncs_of_a_slow_handler_do_not_pile_up() {
    let bench = Bench::start(3).await;
    let resync_period = Some(Duration::from_secs(2));
    let options = HandlerOptions { resync_period, ..HandlerOptions::default() };
    let mut slow = bench.informer.notifications(options);
    tokio::time::sleep(Duration::from_secs(61)).await;
    // All objects of the first resync have a waiting notification already: their addition.
    assert_eq!(slow.registration().queue_stats().depth, 4);
    assert_eq!(drain(&mut slow).len(), 4);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let resync = ["p0000@1", "p0001@2", "p0002@3"].map(|at| format!("update {at} Resync"));
    assert_eq!(drain(&mut slow), resync, "thirty periods, one resync");
}

#[tokio::test(start_paused = true)]
async fn a_resync_period_is_at_least_a_second() {
    let bench = Bench::start(1).await;
    let recorder = Recorder::default();
    let (handler, period) = (Arc::new(recorder.clone()), Duration::from_millis(1));
    let _registration = bench.informer.add_event_handler_with_resync_period(handler, period);
    tokio::time::sleep(Duration::from_millis(5500)).await;
    assert_eq!(recorder.take().iter().filter(|line| line.ends_with("Resync")).count(), 5);
}

#[tokio::test(start_paused = true)]
async fn removing_drops_what_waits_and_leaves_the_others_alone() {
    let bench = Bench::start(2).await;
    let mut removed = bench.informer.notifications(HandlerOptions::default());
    let mut other = bench.informer.notifications(HandlerOptions::default());
    settle().await;
    removed.registration().remove();
    removed.registration().remove();
    assert!(removed.next().await.is_none() && removed.registration().is_removed());
    assert_eq!(removed.registration().queue_stats().depth, 0);
    assert!(!removed.registration().synced().await, "it never heard of everything");
    assert_eq!(drain(&mut other), ["add p0000@1 Initial", "add p0001@2 Initial", "synced"]);
}

/// Signals its call, then waits until it may go on.
struct Blocking {
    called: std::sync::mpsc::Sender<()>,
    go_on: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl ResourceEventHandler for Blocking {
    fn on_add(&self, _: &Object, _: Cause) {
        self.called.send(()).expect("the test listens");
        let waited = self.go_on.lock().recv_timeout(Duration::from_secs(60));
        waited.expect("the test lets it go on");
    }

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remove_and_wait_waits_for_the_call_that_is_being_made() {
    let bench = Bench::start(2).await;
    let (called, was_called) = std::sync::mpsc::channel();
    let (let_go_on, go_on) = std::sync::mpsc::channel();
    let handler = Arc::new(Blocking { called, go_on: Mutex::new(go_on) });
    let registration = Arc::new(bench.informer.add_event_handler(handler.clone()));
    tokio::task::block_in_place(|| was_called.recv()).expect("it is called");
    registration.remove();
    let waiting = registration.clone();
    let waiting = tokio::spawn(async move { waiting.remove_and_wait().await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished(), "the call goes on");
    let_go_on.send(()).expect("it waits");
    waiting.await.expect("no panic");
    assert!(was_called.try_recv().is_err(), "the second object was never told");
    assert!(!registration.has_synced());
    drop(registration);
    // The informer's task drops it at its next turn.
    let let_go = async {
        while Arc::strong_count(&handler) > 1 {
            tokio::task::yield_now().await;
        }
    };
    let let_go = tokio::time::timeout(Duration::from_secs(60), let_go).await;
    let_go.expect("nobody holds the handler any more");
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_removed_and_waited_for_before_the_informer_ever_ran() {
    let source = FakeControllerSource::default();
    let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
    let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
    informer.add_event_handler(Arc::new(Recorder::default())).remove_and_wait().await;
    let mut forgotten = informer.notifications(HandlerOptions::default());
    factory.shutdown().await;
    assert!(forgotten.next().await.is_none(), "it will never run");
    assert!(!informer.synced().await);
}

#[tokio::test(start_paused = true)]
async fn a_kept_handler_stays_and_a_dropped_one_goes() {
    let bench = Bench::start(0).await;
    let (kept, dropped) = (Recorder::default(), Recorder::default());
    bench.informer.add_event_handler(Arc::new(kept.clone())).keep();
    drop(bench.informer.add_event_handler(Arc::new(dropped.clone())));
    bench.source.add(&pod(1));
    settle().await;
    assert!(!kept.take().is_empty());
    assert_eq!(dropped.take(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_tells_nobody_anything() {
    let bench = Bench::start(1).await;
    let mut before = bench.informer.notifications(HandlerOptions::default());
    bench.factory.shutdown().await;
    assert!(bench.informer.is_stopped());
    assert!(before.next().await.is_none());
    let recorder = Recorder::default();
    let after = bench.informer.add_event_handler(Arc::new(recorder.clone()));
    assert!(after.is_removed() && !after.synced().await);
    after.remove_and_wait().await;
    assert!(bench.informer.notifications(HandlerOptions::default()).next().await.is_none());
    assert_eq!(recorder.take(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn dropping_a_factory_ends_its_handlers_too() {
    let bench = Bench::start(1).await;
    let recorder = Recorder::default();
    let registration = bench.informer.add_event_handler(Arc::new(recorder.clone()));
    let mut notifications = bench.informer.notifications(HandlerOptions::default());
    settle().await;
    let Bench { factory, informer, .. } = bench;
    drop(factory);
    assert_eq!(drain(&mut notifications).len(), 2, "dropping aborts; nothing ran since");
    assert!(notifications.next().await.is_none());
    assert!(registration.is_removed() && informer.is_stopped());
    registration.remove_and_wait().await;
    drop(registration);
    settle().await;
    assert_eq!(Arc::strong_count(&recorder.told), 1, "nobody holds the handler any more");
}

/// A filter that accepts objects with an even version.
fn even(object: &Object) -> bool {
    object.resource_version().parse::<u64>().is_ok_and(|version| version % 2 == 0)
}

#[tokio::test(start_paused = true)]
async fn a_filter_leaves_the_pace_to_the_handler() {
    let bench = Bench::start(1000).await;
    let paced = Paced::with_room(1);
    let handler = Arc::new(FilteringResourceEventHandler::new(even, paced.clone()));
    let _registration = bench.informer.add_inline_handler(handler, Paced::options());
    settle().await;
    assert_eq!(paced.replayed.lock().len(), WALK_STEP_OBJECTS / 2, "a step, and then it waits");
    bench.source.modify(&pod(999));
    bench.source.modify(&pod(998));
    settle().await;
    assert_eq!(paced.recorder.take(), ["ahead: update p0998@1002 Watch"]);
    paced.room.store(usize::MAX, Ordering::Relaxed);
    bench.informer.room_signal().send();
    settle().await;
    assert_eq!(paced.replayed.lock().len(), 500, "the accepted half");
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_flips_adds_and_deletes() {
    let bench = Bench::start(1).await;
    let recorder = Recorder::default();
    let handler = FilteringResourceEventHandler::new(even, recorder.clone());
    let _registration = bench.informer.add_event_handler(Arc::new(handler));
    for _ in 0..2 {
        bench.source.modify(&pod(0));
    }
    bench.source.bookmark();
    bench.source.add(&pod(1));
    bench.source.modify(&pod(0));
    bench.source.modify(&pod(1));
    bench.source.delete(&pod(0));
    settle().await;
    assert_eq!(
        recorder.take(),
        [
            "synced",
            "add p0000@2 Watch",
            "delete p0000@2 LeftScope Watch",
            "add p0001@4 Watch",
            "update p0001@6 from 4 Watch",
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_workers_that_come_and_go_while_the_informer_stops_deadlock_nothing() {
    let bench = Bench::start(50).await;
    let mut workers = JoinSet::new();
    for seed in 0..100 {
        let informer = bench.informer.clone();
        workers.spawn(async move {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut held = Vec::new();
            while !informer.is_stopped() {
                match random.u8(0..4) {
                    0 => held.push(informer.add_event_handler(Arc::new(Recorder::default()))),
                    1 => drop(held.pop()),
                    2 => {
                        if let Some(registration) = held.pop() {
                            registration.remove_and_wait().await;
                        }
                    }
                    _ => tokio::task::yield_now().await,
                }
                held.truncate(5);
            }
            for registration in held {
                registration.synced().await;
                registration.remove_and_wait().await;
            }
        });
    }
    for number in 0..10_000 {
        let name = pod(fastrand::usize(0..100));
        match number % 5 {
            0 | 1 => bench.source.add(&name),
            2 | 3 => bench.source.modify(&name),
            _ => bench.source.delete(&name),
        };
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    bench.factory.shutdown().await;
    let all = async { while workers.join_next().await.transpose().expect("no panic").is_some() {} };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("every worker ends");
}
