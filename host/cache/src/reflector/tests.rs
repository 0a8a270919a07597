//! Reflector, informer and cache against the source in memory, in paused time: what breaks and how it heals.

use super::*;
use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::informer_state::InformerState;
use crate::relist_cause::RelistCause;
use crate::shared_informer::SharedIndexInformer;
use crate::testing::{FakeControllerSource, Request, WatchLists};
use parking_lot::Mutex;

/// A source, its informer, and every failure that was reported.
struct Bench {
    source: FakeControllerSource,
    factory: SharedInformerFactory,
    informer: SharedIndexInformer,
    failures: Arc<Mutex<Vec<String>>>,
}

fn pod(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)
}

fn pod_with(name: &str, label: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","labels":{{"is":"{label}"}}}}}}"#)
}

fn two_pods(source: &FakeControllerSource) {
    source.add(&pod("a"));
    source.add(&pod("b"));
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

impl Bench {
    async fn start(prepare: impl FnOnce(&FakeControllerSource)) -> Self {
        let source = FakeControllerSource::default();
        prepare(&source);
        let failures: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = failures.clone();
        let report = move |failure: &WatchFailure<'_>| {
            let kind = format!("{:?}", failure.error);
            noted.lock().push(kind.split(' ').next().unwrap_or_default().to_owned());
        };
        let options = FactoryOptions {
            seed: 1,
            concurrent_lists_max: 1,
            watch_error_handler: Some(Arc::new(report)),
            ..Default::default()
        };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(120)).await.expect("it syncs");
        Self { source, factory, informer, failures }
    }

    /// The cache holds what the source holds, byte for byte.
    #[track_caller]
    fn check_truth(&self) {
        let objects = self.informer.indexer().chunk(None, usize::MAX);
        let shown = |o: &crate::Object| format!("{}@{}", o.key(), o.resource_version());
        assert_eq!(objects.iter().map(shown).collect::<Vec<_>>(), self.source.truth());
        let bytes: Vec<_> = objects.iter().map(crate::Object::json).collect();
        assert_eq!(bytes, self.source.truth_bytes());
    }

    #[track_caller]
    fn check_failures(&self, expect: &[&str]) {
        assert_eq!(std::mem::take(&mut *self.failures.lock()), expect);
    }

    fn relists(&self, cause: RelistCause) -> u64 {
        let relists = self.informer.stats().relists;
        relists.into_iter().find(|(found, _)| *found == cause).map_or(0, |(_, count)| count)
    }

    fn all_relists(&self) -> u64 {
        self.informer.stats().relists.iter().map(|(_, count)| count).sum()
    }
}

/// Invariant 16.
#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_without_a_word_is_found_by_the_silence_of_bookmarks() {
    let bench = Bench::start(two_pods).await;
    bench.source.bookmark();
    seconds(1).await;
    bench.source.stall_watches();
    bench.source.add(&pod("c"));
    seconds(148).await;
    assert_eq!(bench.informer.stats().objects, 2, "the connection is dead");
    seconds(4).await;
    bench.check_truth();
    bench.check_failures(&["Silent"]);
    assert_eq!(bench.all_relists(), 1, "nothing was listed again");
}

/// Invariant 16.
#[tokio::test(start_paused = true)]
async fn without_bookmarks_a_dead_connection_is_found_when_its_time_is_up() {
    let bench = Bench::start(|source| {
        source.set_watch_lists(WatchLists::Refused);
        source.add(&pod("a"));
        source.add(&pod("b"));
    })
    .await;
    bench.source.stall_watches();
    bench.source.add(&pod("c"));
    seconds(10 * 60 + 15 + 3).await;
    bench.check_truth();
    bench.check_failures(&["BadRequest", "Silent"]);
}

/// The source is set back to a backup of `a` and `b`, and `since` happens before the informer is back.
async fn check_restored(since: impl FnOnce(&FakeControllerSource)) -> Bench {
    let bench = Bench::start(two_pods).await;
    let backup = bench.source.backup();
    bench.source.modify(&pod_with("a", "lost"));
    bench.source.add(&pod("lost"));
    bench.source.delete(&pod("b"));
    bench.source.modify(&pod_with("lost", "lost"));
    seconds(1).await;
    bench.check_truth();
    // The server is gone for the informer until it is restored and has gone on.
    for _ in 0..3 {
        bench.source.refuse_next(ListWatchError::transient("connection refused"));
    }
    bench.source.end_watches(Some(ListWatchError::transient("connection reset")));
    bench.source.restore(&backup);
    since(&bench.source);
    seconds(90).await;
    bench.check_truth();
    assert_eq!(bench.informer.state(), InformerState::Synced);
    bench
}

#[tokio::test(start_paused = true)]
async fn a_restored_server_is_followed_whatever_it_has_done_since() {
    let bench = check_restored(|_| ()).await;
    bench.source.add(&pod("c"));
    seconds(1).await;
    bench.check_truth();
    // Not as far as before, just as far, and further: with other objects, the same, and none of the known ones.
    for changes in 1..=8 {
        for name in ["a", "b", "lost", "c"] {
            let bench = check_restored(|source| {
                for number in 0..changes {
                    source.modify(&pod_with(name, &number.to_string()));
                }
            })
            .await;
            bench.source.modify(&pod_with("b", "at last"));
            bench.source.delete(&pod("a"));
            seconds(1).await;
            bench.check_truth();
            assert_eq!(bench.informer.state(), InformerState::Synced);
        }
    }
}

/// The server has come further again, so only the store shows that its objects are older.
#[tokio::test(start_paused = true)]
async fn a_set_back_that_the_store_shows_leaves_no_informer_stale() {
    let bench = Bench::start(two_pods).await;
    let backup = bench.source.backup();
    for number in 0..4 {
        bench.source.modify(&pod_with("a", &number.to_string()));
    }
    seconds(1).await;
    bench.source.restore(&backup);
    for number in 0..8 {
        bench.source.modify(&pod_with("b", &number.to_string()));
    }
    bench.source.end_watches(Some(ListWatchError::Expired { message: "old".to_owned() }));
    for number in 0..3 {
        seconds(5).await;
        bench.check_truth();
        assert_eq!(bench.informer.state(), InformerState::Synced);
        bench.source.modify(&pod_with("a", &format!("later {number}")));
    }
    assert_eq!(bench.informer.stats().epoch, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_is_announced_once() {
    let bench = check_restored(|_| ()).await;
    assert_eq!(bench.informer.stats().epoch, 1);
    let rewound = bench.failures.lock().iter().filter(|kind| *kind == "Rewound").count();
    assert_eq!(rewound, 1, "{:?}", bench.failures.lock());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_set_back_while_it_runs_is_found_within_seconds() {
    let bench = Bench::start(two_pods).await;
    let backup = bench.source.backup();
    bench.source.add(&pod("lost"));
    bench.source.modify(&pod_with("a", "lost"));
    seconds(20).await;
    bench.source.restore(&backup);
    seconds(12).await;
    bench.check_truth();
}

#[tokio::test(start_paused = true)]
async fn a_list_that_broke_off_before_the_server_was_set_back_leaves_nothing_behind() {
    let bench = Bench::start(|source| {
        source.set_watch_lists(WatchLists::Refused);
        source.add(&pod("a"));
        source.add(&pod("b"));
    })
    .await;
    let backup = bench.source.backup();
    bench.source.modify_drop_watch(&pod_with("a", "lost"));
    bench.source.set_watch_lists(WatchLists::WithoutBookmark);
    bench.source.reset_watch();
    bench.source.refuse_next(ListWatchError::Expired { message: "old".to_owned() });
    seconds(4).await;
    bench.source.restore(&backup);
    seconds(120).await;
    bench.check_truth();
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_comes_back_needs_no_list() {
    let bench = Bench::start(two_pods).await;
    let forbidden = || ListWatchError::Forbidden { message: "no".to_owned() };
    for _ in 0..20 {
        bench.source.refuse_next(forbidden());
    }
    bench.source.end_watches(Some(forbidden()));
    bench.source.add(&pod("c"));
    seconds(20).await;
    assert_eq!(bench.informer.state().as_str(), "forbidden");
    assert_eq!(bench.informer.stats().objects, 2, "what is known is kept");
    seconds(5 * 20).await;
    bench.check_truth();
    assert_eq!(bench.informer.state(), InformerState::Synced);
    assert_eq!(bench.all_relists(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_gone_leaves_an_empty_cache_and_comes_back() {
    let bench = Bench::start(two_pods).await;
    bench.source.set_served(false);
    seconds(2).await;
    assert_eq!(bench.informer.state().as_str(), "waiting");
    bench.check_truth();
    assert_eq!(bench.informer.stats().objects, 0);
    bench.source.set_served(true);
    bench.source.add(&pod("a"));
    seconds(6).await;
    bench.check_truth();
    assert_eq!(bench.relists(RelistCause::Unavailable), 1);
    assert_eq!(bench.informer.stats().epoch, 0);
}

/// Invariant 13.
#[tokio::test(start_paused = true)]
async fn a_404_that_discovery_does_not_confirm_empties_nothing() {
    let not_found = || ListWatchError::NotFound { message: "404 page not found".to_owned() };
    for answers in [true, false] {
        let bench = Bench::start(two_pods).await;
        bench.source.set_discovery(answers);
        for _ in 0..5 {
            bench.source.refuse_next(not_found());
        }
        bench.source.end_watches(Some(not_found()));
        seconds(5).await;
        assert_eq!(bench.informer.state().as_str(), "waiting");
        assert_eq!(bench.informer.stats().objects, 2);
        seconds(30).await;
        bench.check_truth();
        assert_eq!(bench.informer.state(), InformerState::Synced);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_stalls_gives_its_turn_up() {
    let bench = Bench::start(|source| {
        source.add(&pod("a"));
    })
    .await;
    // The first to list hangs; the only permit is its.
    bench.source.set_watch_lists(WatchLists::WithoutBookmark);
    let stalled = bench.factory.for_resource(&"apps/v1/deployments".parse().expect("a resource"));
    bench.factory.start();
    seconds(1).await;
    assert!(!stalled.has_synced());
    bench.source.set_watch_lists(WatchLists::Served);
    let second = bench.factory.for_resource(&"batch/v1/jobs".parse().expect("a resource"));
    bench.factory.start();
    seconds(5).await;
    assert!(!second.has_synced(), "it waits for its turn");
    seconds(7).await;
    assert!(second.has_synced() && stalled.has_synced());
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_asks_for_one_known_event_and_nothing_more() {
    let bench = Bench::start(two_pods).await;
    let deltas = |stats: crate::InformerStats| (stats.added, stats.modified, stats.deleted);
    for _ in 0..5 {
        bench.source.end_watches(Some(ListWatchError::transient("connection reset")));
        seconds(90).await;
    }
    assert_eq!(deltas(bench.informer.stats()), (0, 0, 0), "the repeated event is not queued");
    let requests = bench.source.requests();
    let lists = requests.iter().filter(|request| matches!(request, Request::List(_))).count();
    assert_eq!((lists, requests.len()), (0, 6));
}

/// Every failure of a stream or a request is reported, once, as what it is.
/// Invariant 15.
#[tokio::test(start_paused = true)]
async fn every_failure_is_reported_once_as_what_it_is() {
    let text = String::new;
    let errors = [
        ListWatchError::Expired { message: text() },
        ListWatchError::TooLargeResourceVersion { message: text() },
        ListWatchError::Forbidden { message: text() },
        ListWatchError::Unauthorized { message: text() },
        ListWatchError::NotFound { message: text() },
        ListWatchError::TooManyRequests { message: text(), retry_after: None },
        ListWatchError::BadRequest { message: text() },
        ListWatchError::Internal { message: text() },
        ListWatchError::Unreadable { message: text() },
        ListWatchError::Unreachable { message: text() },
        ListWatchError::transient(""),
    ];
    for error in errors {
        let bench = Bench::start(two_pods).await;
        let kind = format!("{error:?}");
        let kind = kind.split(' ').next().unwrap_or_default();
        // In the middle of the stream, then when it is opened again.
        bench.source.refuse_next(error.clone());
        bench.source.end_watches(Some(error));
        seconds(30).await;
        bench.check_failures(&[kind, kind]);
        bench.check_truth();
        assert_eq!(bench.informer.state(), InformerState::Synced);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_list_that_falls_back_to_pages_is_reported() {
    for (watch_lists, failures) in [
        (WatchLists::Refused, ["BadRequest"]),
        (WatchLists::WithoutBookmark, ["Silent"]),
        (WatchLists::FalseBookmark, ["Silent"]),
        (WatchLists::EndedEarly, ["Incomplete"]),
    ] {
        let bench = Bench::start(|source| {
            two_pods(source);
            source.set_watch_lists(watch_lists);
        })
        .await;
        bench.check_failures(&failures);
        bench.check_truth();
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_is_counted_and_harms_nobody() {
    let source = FakeControllerSource::default();
    two_pods(&source);
    let options = FactoryOptions {
        watch_error_handler: Some(Arc::new(|_: &WatchFailure<'_>| panic!("a test's hook"))),
        ..Default::default()
    };
    source.refuse_next(ListWatchError::transient("connection refused"));
    let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
    let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(120)).await.expect("it syncs");
    assert_eq!((informer.stats().objects, informer.stats().handler_panics), (2, 1));
}
