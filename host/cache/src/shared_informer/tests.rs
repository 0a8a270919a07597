//! The informer from its requests to its handlers, against the source in memory, in paused time.

use super::*;
use crate::handler_queue::HandlerOptions;
use crate::indexer::Indexer;
use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::list_watch::{ListOptions, ListWatchError};
use crate::object::Object;
use crate::recorder::{Recorder, at};
use crate::resource_event_handler::ResourceEventHandler;
use crate::resource_event_handler::{Cause, FinalState};
use crate::shared_processor::Registration;
use crate::testing::{FakeControllerSource, Request, WatchLists};
use parking_lot::Mutex;
use tokio::task::JoinSet;

pub(super) fn pod(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)
}

fn pod_with_uid(name: &str, uid: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}"}}}}"#)
}

/// A source, its informer, and a handler from the start.
pub(super) struct Bench {
    pub(super) source: FakeControllerSource,
    factory: SharedInformerFactory,
    pub(super) informer: SharedIndexInformer,
    pub(super) recorder: Recorder,
    _registration: Registration,
}

impl Bench {
    /// Nothing is started; `prepare` makes the initial objects.
    fn new(prepare: impl FnOnce(&FakeControllerSource)) -> Self {
        let source = FakeControllerSource::default();
        prepare(&source);
        let options = FactoryOptions { seed: 1, ..Default::default() };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
        let recorder = Recorder::default();
        let registration = informer.add_event_handler(Arc::new(recorder.clone()));
        Self { source, factory, informer, recorder, _registration: registration }
    }

    pub(super) async fn start(prepare: impl FnOnce(&FakeControllerSource)) -> Self {
        let bench = Self::new(prepare);
        bench.factory.start();
        bench.factory.wait_for_cache_sync(Duration::from_secs(120)).await.expect("it syncs");
        settle().await;
        bench
    }

    /// Checks the notifications since the last check, in order.
    #[track_caller]
    fn check(&self, expect: &[&str]) {
        assert_eq!(self.recorder.take(), expect);
    }

    /// The cache, by key.
    #[track_caller]
    fn check_cache(&self, expect: &[&str]) {
        let objects = self.informer.indexer().chunk(None, usize::MAX);
        assert_eq!(objects.iter().map(at).collect::<Vec<_>>(), expect);
    }

    fn lists_and_watches(&self) -> (usize, usize) {
        let requests = self.source.requests();
        let lists = requests.iter().filter(|r| matches!(r, Request::List(_))).count();
        (lists, requests.len() - lists)
    }
}

/// Lets all pending work happen: paused time only moves on when all tasks wait.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Long enough for any one backoff.
pub(super) async fn back_off() {
    tokio::time::sleep(Duration::from_secs(5)).await;
}

fn transient() -> ListWatchError {
    ListWatchError::transient("connection reset")
}

#[tokio::test(start_paused = true)]
async fn what_is_there_comes_as_initial_then_every_change_once_and_in_order() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
        source.add(&pod("b"));
    })
    .await;
    bench.check(&["add a@1 Initial", "add b@2 Initial", "synced"]);
    bench.source.add(&pod("c"));
    bench.source.modify(&pod("a"));
    bench.source.modify(&pod("a"));
    bench.source.delete(&pod("b"));
    settle().await;
    bench.check(&[
        "add c@3 Watch",
        "update a@4 from 1 Watch",
        "update a@5 from 4 Watch",
        "delete b@6 Known Watch",
    ]);
    bench.check_cache(&["a@5", "c@3"]);
    assert_eq!(bench.informer.last_sync_resource_version().as_deref(), Some("6"));
    assert_eq!(bench.lists_and_watches(), (0, 1), "one watch-list, no list");
    assert_eq!(bench.informer.state(), InformerState::Synced);
}

#[tokio::test(start_paused = true)]
async fn bytes_and_counts_follow_the_cache() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
    })
    .await;
    let bytes = bench.informer.stats().bytes;
    bench.source.add(&pod("b"));
    bench.source.modify(&pod("b"));
    bench.source.delete(&pod("b"));
    bench.source.bookmark();
    settle().await;
    let stats = bench.informer.stats();
    let counts = (stats.listed, stats.added, stats.modified, stats.deleted, stats.bookmarks);
    assert_eq!(counts, (1, 1, 1, 1, 1));
    assert_eq!((stats.objects, stats.bytes), (1, bytes));
    assert!(stats.last_event_age.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_empty_resource_syncs() {
    let bench = Bench::start(|_| {}).await;
    bench.check(&["synced"]);
}

#[tokio::test(start_paused = true)]
async fn changes_that_the_watch_missed_come_once_as_relist() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
        source.add(&pod("b"));
        source.add(&pod("c"));
    })
    .await;
    bench.recorder.take();
    bench.source.modify_drop_watch(&pod("a"));
    bench.source.delete_drop_watch(&pod("b"));
    bench.source.add_drop_watch(&pod("d"));
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["delete b@2 Unknown Relist", "update a@4 from 1 Relist", "add d@6 Relist"]);
    bench.check_cache(&["a@4", "c@3", "d@6"]);
}

#[tokio::test(start_paused = true)]
async fn a_recreated_object_seen_across_a_gap_is_deleted_then_added() {
    let bench = Bench::start(|source| {
        source.add(&pod_with_uid("a", "one"));
    })
    .await;
    bench.recorder.take();
    bench.source.delete_drop_watch(&pod_with_uid("a", "one"));
    bench.source.add_drop_watch(&pod_with_uid("a", "two"));
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["delete a@1 Unknown Relist", "add a@3 Relist"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_off_goes_on_where_it_was() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
        source.add(&pod("z"));
    })
    .await;
    bench.recorder.take();
    bench.source.end_watches(Some(transient()));
    bench.source.refuse_next(transient());
    bench.source.refuse_next(transient());
    bench.source.modify(&pod("a"));
    bench.source.add(&pod("b"));
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.check(&["update a@3 from 1 Watch", "add b@4 Watch"]);
    assert_eq!(bench.lists_and_watches(), (0, 4), "no list for what a watch can tell");
    let last = bench.source.requests().pop();
    let expect = Request::Watch { resource_version: "1".into(), send_initial_events: false };
    assert_eq!(last, Some(expect));
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_relists_and_tells_nothing_that_did_not_change() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
    })
    .await;
    bench.recorder.take();
    bench.source.reset_watch();
    back_off().await;
    bench.check(&[]);
    let stats = bench.informer.stats();
    let expired = stats.relists.iter().find(|(cause, _)| cause.as_str() == "expired");
    assert_eq!(expired.map(|(_, count)| *count), Some(1));
    assert_eq!(bench.informer.state(), InformerState::Synced);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_does_not_relist() {
    let bench = Bench::start(|_| {}).await;
    for _ in 0..4 {
        let message = "slow down".to_owned();
        bench.source.refuse_next(ListWatchError::TooManyRequests { message, retry_after: None });
    }
    bench.source.end_watches(None);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(bench.lists_and_watches(), (0, 6));
    assert_eq!(bench.informer.state(), InformerState::Synced);
}

async fn check_falls_back_to_pages(watch_lists: WatchLists) {
    let bench = Bench::start(|source| {
        source.set_watch_lists(watch_lists);
        for number in 0..1200 {
            source.add(&pod(&format!("p{number:04}")));
        }
    })
    .await;
    let told = bench.recorder.take();
    assert_eq!(told.len(), 1201, "{watch_lists:?}: each object once, then synced");
    assert_eq!(told.last().map(String::as_str), Some("synced"));
    assert_eq!(bench.lists_and_watches().0, 3, "{watch_lists:?}: three pages");
    bench.source.modify(&pod("p0000"));
    settle().await;
    bench.check(&["update p0000@1201 from 1 Watch"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_watch_lists_is_listed_in_pages() {
    check_falls_back_to_pages(WatchLists::Refused).await;
    check_falls_back_to_pages(WatchLists::WithoutBookmark).await;
    check_falls_back_to_pages(WatchLists::FalseBookmark).await;
    check_falls_back_to_pages(WatchLists::EndedEarly).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_do_watch_lists_is_not_asked_again_soon() {
    let bench = Bench::start(|source| source.set_watch_lists(WatchLists::Refused)).await;
    bench.source.reset_watch();
    back_off().await;
    let watch_lists = bench.source.requests().into_iter();
    let watch_lists =
        watch_lists.filter(|r| matches!(r, Request::Watch { send_initial_events: true, .. }));
    assert_eq!(watch_lists.count(), 1);
}

/// Invariant 8.
#[tokio::test(start_paused = true)]
async fn every_list_is_a_consistent_read() {
    let bench = Bench::start(|source| {
        source.set_watch_lists(WatchLists::Refused);
        source.add(&pod("a"));
    })
    .await;
    bench.source.reset_watch();
    back_off().await;
    let lists: Vec<_> = bench.source.requests().into_iter().filter_map(list_options).collect();
    let list = || ListOptions { limit: 500, ..ListOptions::default() };
    assert_eq!(lists, [list(), list()], "consistent reads, both of them");
}

fn list_options(request: Request) -> Option<ListOptions> {
    match request {
        Request::List(options) => Some(options),
        Request::Watch { .. } => None,
    }
}

/// Invariant 5.
#[tokio::test(start_paused = true)]
async fn an_interrupted_relist_forgets_nothing() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
        source.add(&pod("b"));
        source.add(&pod("c"));
    })
    .await;
    bench.recorder.take();
    bench.source.delete_drop_watch(&pod("b"));
    bench.source.delete_drop_watch(&pod("c"));
    bench.source.reset_watch();
    // The first relist shows `a` and breaks off; it may delete nothing.
    bench.source.set_watch_lists(WatchLists::WithoutBookmark);
    tokio::time::sleep(Duration::from_secs(2)).await;
    bench.check(&[]);
    bench.check_cache(&["a@1", "b@2", "c@3"]);
    bench.source.set_watch_lists(WatchLists::Served);
    bench.source.add_drop_watch(&pod("b"));
    bench.source.end_watches(Some(transient()));
    back_off().await;
    bench.check(&["delete c@3 Unknown Relist", "update b@7 from 2 Relist"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_is_believed() {
    let bench = Bench::start(|source| {
        for _ in 0..5 {
            source.add(&pod("a"));
        }
        source.add(&pod("b"));
    })
    .await;
    bench.recorder.take();
    bench.source.rewind(0);
    bench.source.add(&pod("a"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    bench.check(&["delete b@6 Unknown Relist", "update a@1 from 5 Relist"]);
    bench.source.modify(&pod("a"));
    settle().await;
    bench.check(&["update a@2 from 1 Watch"]);
}

#[tokio::test(start_paused = true)]
async fn an_absent_resource_is_waited_for() {
    let absent = || ListWatchError::NotFound { message: "no such resource".to_owned() };
    let bench = Bench::new(|source| {
        source.refuse_next(absent());
        source.refuse_next(absent());
        source.add(&pod("a"));
    });
    bench.factory.start();
    settle().await;
    let expect = "resource is not served: no such resource".to_owned();
    assert_eq!(bench.informer.state(), InformerState::Waiting { message: expect });
    let error = bench.factory.wait_for_cache_sync(Duration::from_millis(1)).await;
    let error = error.expect_err("it is not there").to_string();
    let expect = "not synced in time: v1/pods (waiting: resource is not served: no such resource)";
    assert_eq!(error, expect);
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.check(&["add a@1 Initial", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_a_state_that_ends_by_itself() {
    let forbidden = || ListWatchError::Forbidden { message: "pods is forbidden".to_owned() };
    let bench = Bench::new(|source| {
        source.refuse_next(forbidden());
        source.refuse_next(forbidden());
    });
    bench.factory.start();
    settle().await;
    let expect = "not allowed: pods is forbidden".to_owned();
    assert_eq!(bench.informer.state(), InformerState::Forbidden { message: expect });
    assert_eq!(bench.lists_and_watches(), (1, 1), "the permission to list may be there");
    back_off().await;
    bench.check(&["synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_gets_the_store_then_live_events() {
    let bench = Bench::start(|source| {
        for number in 0..1000 {
            source.add(&pod(&format!("p{number:04}")));
        }
    })
    .await;
    let late = Recorder::default();
    let registration = bench.informer.add_event_handler(Arc::new(late.clone()));
    assert!(!registration.has_synced());
    // While the replay runs: before and after its cursor.
    for _ in 0..3 {
        bench.source.modify(&pod("p0000"));
        bench.source.modify(&pod("p0999"));
        tokio::task::yield_now().await;
    }
    bench.source.delete(&pod("p0500"));
    settle().await;
    assert!(registration.has_synced());
    check_one_coherent_story(&late.take(), &bench.informer.indexer());
}

/// Each object is added once, updated from the version of the last notification, and deleted at most once; the rest is
/// the cache.
#[track_caller]
fn check_one_coherent_story(told: &[String], indexer: &Indexer) {
    let known = tell_story(told);
    let cached = indexer.chunk(None, usize::MAX);
    let cached = cached.iter().map(|o| (o.key().to_string(), o.resource_version().to_owned()));
    assert_eq!(known.into_iter().collect::<Vec<_>>(), cached.collect::<Vec<_>>());
}

#[track_caller]
fn tell_story(told: &[String]) -> std::collections::BTreeMap<String, String> {
    let mut known = std::collections::BTreeMap::new();
    for line in told.iter().filter(|line| *line != "synced") {
        let words: Vec<_> = line.split([' ', '@']).collect();
        let (what, name, version) = (words[0], words[1].to_owned(), words[2].to_owned());
        match what {
            "add" => assert_eq!(known.insert(name, version), None, "{line}: added twice"),
            "update" => {
                let before = known.insert(name, version);
                assert_eq!(before.as_deref(), Some(words[4]), "{line}: a version is missing");
            }
            _ => assert!(known.remove(&name).is_some(), "{line}: it was not known"),
        }
    }
    known
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_hears_nothing_more_and_the_others_do() {
    let bench = Bench::start(|_| {}).await;
    let other = Recorder::default();
    let registration = bench.informer.add_event_handler(Arc::new(other.clone()));
    settle().await;
    registration.remove();
    registration.remove();
    settle().await;
    drop(registration);
    assert_eq!(Arc::strong_count(&other.told), 1, "the informer let go of it at once");
    bench.source.add(&pod("a"));
    settle().await;
    assert_eq!(other.take(), ["synced"]);
    bench.check(&["synced", "add a@1 Watch"]);
    drop(bench.informer.add_event_handler(Arc::new(other.clone())));
    settle().await;
    assert_eq!(other.take(), Vec::<String>::new(), "a dropped registration removes");
}

#[tokio::test(start_paused = true)]
async fn a_replacing_handler_is_told_of_every_change_that_its_predecessor_was_not() {
    let bench = Bench::start(|source| {
        for number in 0..1000 {
            source.add(&pod(&format!("p{number:04}")));
        }
    })
    .await;
    let old = Recorder::default();
    let options = HandlerOptions::default();
    let registration = bench.informer.add_inline_handler(Arc::new(old.clone()), options);
    settle().await;
    old.take();
    let new = Recorder::default();
    let (handler, options) = (Arc::new(new.clone()), HandlerOptions::default());
    let _registration = bench.informer.replace_inline_handler(registration, handler, options);
    for number in [0, 500, 999] {
        bench.source.modify(&pod(&format!("p{number:04}")));
        bench.source.delete(&pod(&format!("p{number:04}")));
        bench.source.add(&pod(&format!("q{number:04}")));
        tokio::task::yield_now().await;
    }
    settle().await;
    let live = |told: Vec<String>| told.into_iter().filter(|line| line.ends_with("Watch"));
    let told: Vec<_> = live(old.take()).chain(live(new.take())).collect();
    let told: Vec<_> = told.iter().map(|line| line.split('@').next().unwrap_or_default()).collect();
    let expect = ["0000", "0500", "0999"]
        .map(|n| [format!("update p{n}"), format!("delete p{n}"), format!("add q{n}")]);
    assert_eq!(told, expect.concat(), "each once, by one of them");
    bench.source.add(&pod("x"));
    settle().await;
    assert_eq!((old.take().len(), new.take().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_taken_in_before_what_is_queued_meanwhile_is_told() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
    })
    .await;
    // Both exist when the informer's task has its turn.
    bench.source.modify(&pod("a"));
    let recorder = Recorder::default();
    let options = HandlerOptions { replay: false, ..HandlerOptions::default() };
    let handler = Arc::new(recorder.clone());
    let _registration = bench.informer.add_inline_handler(handler, options);
    settle().await;
    assert_eq!(recorder.take(), ["update a@2 from 1 Watch", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_without_replay_is_told_of_every_change_from_then_on() {
    let bench = Bench::start(|source| {
        for number in 0..1000 {
            source.add(&pod(&format!("p{number:04}")));
        }
    })
    .await;
    let recorder = Recorder::default();
    let handler = Arc::new(recorder.clone());
    let options = HandlerOptions { replay: false, ..HandlerOptions::default() };
    let registration = bench.informer.add_event_handler_with_options(handler, options);
    settle().await;
    bench.source.modify(&pod("p0999"));
    bench.source.delete(&pod("p0500"));
    settle().await;
    assert!(registration.has_synced());
    let mut told = recorder.take();
    told.retain(|line| line != "synced");
    assert_eq!(told, ["update p0999@1001 from 1000 Watch", "delete p0500@1002 Known Watch"]);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_lists_run_at_once() {
    let source = FakeControllerSource::default();
    source.set_watch_lists(WatchLists::WithoutBookmark);
    let options = FactoryOptions { concurrent_lists_max: 2, ..Default::default() };
    let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
    for resource in ["v1/pods", "v1/nodes", "v1/services", "v1/events", "v1/secrets"] {
        factory.for_resource(&resource.parse().expect("a resource"));
    }
    factory.start();
    settle().await;
    assert_eq!(source.requests().len(), 2);
    factory.wait_for_cache_sync(Duration::from_secs(60)).await.expect("each gets its turn");
}

/// Adds another handler and removes itself, within a call.
struct Restless {
    informer: SharedIndexInformer,
    other: Recorder,
    registrations: Mutex<Vec<Registration>>,
}

impl ResourceEventHandler for Restless {
    fn on_add(&self, _: &Object, _: Cause) {
        let added = self.informer.add_event_handler(Arc::new(self.other.clone()));
        let mut registrations = self.registrations.lock();
        for registration in registrations.drain(..) {
            registration.remove();
        }
        registrations.push(added);
    }

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

#[tokio::test(start_paused = true)]
async fn handlers_come_and_go_from_within_a_handler() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
        source.add(&pod("b"));
    })
    .await;
    let other = Recorder::default();
    let restless = Arc::new(Restless {
        informer: bench.informer.clone(),
        other: other.clone(),
        registrations: Mutex::new(Vec::new()),
    });
    let registration = bench.informer.add_event_handler(restless.clone());
    restless.registrations.lock().push(registration);
    settle().await;
    assert_eq!(other.take(), ["add a@1 Initial", "add b@2 Initial", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn handlers_count_until_they_are_removed() {
    let bench = Bench::start(|_| ()).await;
    let informer = bench.informer.clone();
    let check = |expect| assert_eq!(informer.stats().handlers, expect);
    check(1);
    let first = informer.add_event_handler(Arc::new(Recorder::default()));
    let pulling = informer.notifications(HandlerOptions::default());
    check(3);
    first.remove();
    first.remove();
    check(2);
    drop((first, pulling));
    check(1);
    let options = HandlerOptions::default();
    let inline = informer.add_inline_handler(Arc::new(Recorder::default()), options);
    settle().await;
    check(2);
    bench.factory.shutdown().await;
    check(0);
    let late = informer.add_event_handler(Arc::new(Recorder::default()));
    check(0);
    drop((inline, late));
    check(0);
}

/// Panics whenever it can.
struct Panicking;

impl ResourceEventHandler for Panicking {
    fn on_add(&self, _: &Object, _: Cause) {
        panic!("on purpose");
    }

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {
        panic!("on purpose");
    }

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {
        panic!("on purpose");
    }

    fn on_synced(&self) {
        panic!("on purpose");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_handler_harms_nobody() {
    let bench = Bench::new(|source| {
        source.add(&pod("a"));
    });
    let registration = bench.informer.add_event_handler(Arc::new(Panicking));
    bench.factory.start();
    settle().await;
    bench.source.modify(&pod("a"));
    bench.source.delete(&pod("a"));
    settle().await;
    bench.check(&[
        "add a@1 Initial",
        "synced",
        "update a@2 from 1 Watch",
        "delete a@3 Known Watch",
    ]);
    assert!(registration.has_synced(), "a panic counts as told");
    assert_eq!(bench.informer.stats().handler_panics, 4);
}

#[tokio::test(start_paused = true)]
async fn each_handler_is_resynced_in_its_own_period() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
    })
    .await;
    let (two, three) = (Recorder::default(), Recorder::default());
    let add = |recorder: &Recorder, seconds| {
        let handler = Arc::new(recorder.clone());
        let period = Duration::from_secs(seconds);
        bench.informer.add_event_handler_with_resync_period(handler, period)
    };
    let _registrations = [add(&two, 2), add(&three, 3)];
    tokio::time::sleep(Duration::from_millis(6500)).await;
    let resync = "update a@1 from 1 Resync";
    assert_eq!(two.take(), ["add a@1 Initial", "synced", resync, resync, resync]);
    assert_eq!(three.take(), ["add a@1 Initial", "synced", resync, resync]);
    bench.check(&["add a@1 Initial", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_taken_for_dead() {
    let bench = Bench::start(|_| {}).await;
    bench.source.bookmark();
    tokio::time::sleep(Duration::from_secs(149)).await;
    assert_eq!(bench.lists_and_watches(), (0, 1));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.lists_and_watches(), (0, 2), "bookmarks come about once a minute");
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        bench.source.bookmark();
    }
    assert_eq!(bench.lists_and_watches(), (0, 2), "a bookmark is a sign of life");
}

#[tokio::test(start_paused = true)]
async fn every_failure_is_reported_with_what_is_done_about_it() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let noted = reports.clone();
    let source = FakeControllerSource::default();
    source.add(&pod("a"));
    source.add(&pod("b"));
    let report = move |failure: &crate::WatchFailure<'_>| {
        let next = failure.next.split(" in ").next().unwrap_or_default().to_owned();
        noted.lock().push(format!("{} {}: {next}", failure.resource, failure.error));
    };
    let options =
        FactoryOptions { watch_error_handler: Some(Arc::new(report)), ..Default::default() };
    let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
    factory.for_resource(&"v1/pods".parse().expect("a resource"));
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("it syncs");
    source.end_watches(Some(transient()));
    back_off().await;
    source.reset_watch();
    back_off().await;
    let expect = [
        "v1/pods connection reset: watching again",
        "v1/pods resource version is too old: too old resource version: 2 (3): listing again",
    ];
    assert_eq!(*reports.lock(), expect);
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_every_task_and_is_final() {
    let bench = Bench::start(|_| {}).await;
    bench.factory.shutdown().await;
    assert_eq!(bench.informer.state(), InformerState::Stopped { message: None });
    bench.factory.start();
    bench.source.add(&pod("a"));
    settle().await;
    bench.check(&["synced"]);
    assert_eq!(Arc::strong_count(&bench.recorder.told), 2, "the informer let go of its handler");
}

#[tokio::test(start_paused = true)]
async fn start_is_idempotent_and_a_resource_has_one_informer() {
    let bench = Bench::start(|_| {}).await;
    bench.factory.start();
    let again = bench.factory.for_resource(bench.informer.resource());
    assert!(again.has_synced());
    settle().await;
    assert_eq!(bench.lists_and_watches(), (0, 1));
    assert_eq!(bench.factory.informers().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_that_come_and_go_at_random_never_miss_or_repeat_anything() {
    let bench = Bench::start(|_| {}).await;
    let mut users = JoinSet::new();
    for user in 0..16 {
        let informer = bench.informer.clone();
        users.spawn(async move {
            let mut random = fastrand::Rng::with_seed(user);
            for _ in 0..20 {
                let recorder = Recorder::default();
                let registration = informer.add_event_handler(Arc::new(recorder.clone()));
                for _ in 0..random.u8(0..50) {
                    tokio::task::yield_now().await;
                }
                drop(registration);
                tell_story(&recorder.take());
            }
        });
    }
    let stayer = Recorder::default();
    let registration = bench.informer.add_event_handler(Arc::new(stayer.clone()));
    for number in 0..5000 {
        let name = pod(&format!("p{}", fastrand::u16(0..600)));
        match number % 5 {
            0 | 1 => bench.source.add(&name),
            2 | 3 => bench.source.modify(&name),
            _ => bench.source.delete(&name),
        };
        if number % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    while let Some(user) = users.join_next().await {
        user.expect("what a handler is told is coherent");
    }
    bench.source.add(&pod("last"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !stayer.told.lock().iter().any(|line| line.contains(" last@")) {
        assert!(Instant::now() < deadline, "the informer and its handler follow");
        tokio::task::yield_now().await;
    }
    // Waiting notifications are dropped when the informer stops: the handler has its time before.
    while registration.queue_stats().depth > 0 {
        assert!(Instant::now() < deadline, "the handler follows");
        tokio::task::yield_now().await;
    }
    bench.factory.shutdown().await;
    check_one_coherent_story(&stayer.take(), &bench.informer.indexer());
    assert!(registration.has_synced());
}

#[tokio::test(start_paused = true)]
async fn random_histories_with_gaps_converge_and_tell_one_coherent_story() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bench = Bench::start(|_| {}).await;
        for _ in 0..200 {
            let name = pod(&format!("p{}", random.u8(0..12)));
            match random.u8(0..100) {
                0..30 => drop(bench.source.add(&name)),
                30..60 => drop(bench.source.modify(&name)),
                60..80 => drop(bench.source.delete(&name)),
                80..84 => drop(bench.source.modify_drop_watch(&name)),
                84..88 => drop(bench.source.delete_drop_watch(&name)),
                88..92 => bench.source.end_watches(Some(transient())),
                92..95 => bench.source.refuse_next(transient()),
                95..97 => bench.source.reset_watch(),
                _ => tokio::time::sleep(Duration::from_millis(random.u64(0..2000))).await,
            }
        }
        bench.source.reset_watch();
        tokio::time::sleep(Duration::from_secs(600)).await;
        check_one_coherent_story(&bench.recorder.take(), &bench.informer.indexer());
        let truth = bench.source.truth();
        let cached = bench.informer.indexer().chunk(None, usize::MAX);
        let cached: Vec<_> = cached.iter().map(at).collect();
        assert_eq!(cached, truth, "seed {seed}");
    }
}
