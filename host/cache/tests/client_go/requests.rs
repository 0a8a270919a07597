//! What a reflector asks for, and when (client-go `tools/cache/reflector_test.go`, `reflector_watchlist_test.go`).

use crate::bench::{Bench, back_off, patience, pod, settle, transient};
use informant_cache::testing::WatchLists;
use std::time::Duration;

/// TestReflectorListAndWatchWithErrors.
#[tokio::test(start_paused = true)]
async fn the_cache_follows_lists_and_watches_whatever_fails_between() {
    let bench = Bench::synced(|source| source.set_watch_lists(WatchLists::Refused)).await;
    bench.check_cache();
    bench.source.add(&pod("foo"));
    bench.source.modify(&pod("foo"));
    bench.source.add(&pod("bar"));
    settle().await;
    bench.check_cache();
    // A list after a gap, and a refusal before it: what is known stays meanwhile.
    bench.source.delete_drop_watch(&pod("foo"));
    bench.source.add_drop_watch(&pod("qux"));
    bench.source.refuse_next(transient());
    bench.source.refuse_next(transient());
    bench.source.reset_watch();
    settle().await;
    assert_eq!(bench.cached().len(), 2, "nothing is forgotten");
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.check_cache();
    // A watch that is refused after its list, then one that breaks off.
    bench.source.end_watches(Some(transient()));
    bench.source.refuse_next(transient());
    bench.source.add(&pod("baz"));
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.check_cache();
    assert_eq!(bench.source.truth().len(), 3);
}

/// TestWatchList, "the stream fails with 429": the same request again, and no list.
#[tokio::test(start_paused = true)]
async fn a_watch_list_that_is_to_wait_is_asked_for_again_and_nothing_is_listed() {
    let bench = Bench::synced(|source| {
        source.add(&pod("a"));
        source.refuse_next(patience());
        source.refuse_next(patience());
    })
    .await;
    let watch_list = (String::new(), true);
    assert_eq!(bench.watches(), [watch_list.clone(), watch_list.clone(), watch_list]);
    assert_eq!(bench.lists(), []);
    bench.check_cache();
}

/// TestWatchList, "bookmark without the annotation's value": it ends nothing.
#[tokio::test(start_paused = true)]
async fn a_bookmark_whose_annotation_says_false_does_not_end_the_initial_events() {
    let bench = Bench::new(|source| {
        source.set_watch_lists(WatchLists::FalseBookmark);
        source.add(&pod("a"));
    });
    bench.factory.start();
    settle().await;
    assert!(!bench.informer.has_synced());
    assert_eq!(bench.informer.last_sync_resource_version(), None);
}

/// TestWatchList, updates and deletions before the bookmark: they count.
#[tokio::test(start_paused = true)]
async fn changes_and_deletions_among_the_initial_events_count() {
    let bench = Bench::new(|source| {
        source.set_watch_lists(WatchLists::WithoutBookmark);
        source.add(&pod("a"));
        source.add(&pod("b"));
    });
    bench.factory.start();
    settle().await;
    bench.source.modify(&pod("a"));
    bench.source.delete(&pod("b"));
    bench.source.add(&pod("c"));
    settle().await;
    assert!(!bench.informer.has_synced());
    bench.source.end_initial_events();
    settle().await;
    assert!(bench.informer.has_synced());
    bench.check_cache();
    assert_eq!((bench.lists(), bench.watches()), (vec![], vec![(String::new(), true)]));
}

/// TestWatchList, a watch that is stopped before the bookmark: it was no list. client-go asks for the same again, without end where a proxy cuts each.
#[tokio::test(start_paused = true)]
async fn a_watch_list_that_ends_before_its_bookmark_is_no_list_and_pages_follow() {
    let bench = Bench::new(|source| {
        source.set_watch_lists(WatchLists::WithoutBookmark);
        source.add(&pod("a"));
    });
    bench.factory.start();
    settle().await;
    assert!(!bench.informer.has_synced());
    bench.source.end_watches(None);
    back_off().await;
    assert!(bench.informer.has_synced());
    assert_eq!(bench.lists().len(), 1);
    assert_eq!(bench.watches(), [(String::new(), true), ("1".to_owned(), false)]);
    bench.check_cache();
}

/// TestReflectorResyncWithResourceVersion, in pages: client-go asks for what is not older than what it saw, here each
/// list is a consistent read.
#[tokio::test(start_paused = true)]
async fn a_relist_in_pages_is_a_consistent_read_that_goes_on_by_tokens() {
    let bench = Bench::synced(|source| {
        source.set_watch_lists(WatchLists::Refused);
        for number in 0..700 {
            source.add(&pod(&format!("p{number:03}")));
        }
    })
    .await;
    let before = bench.lists().len();
    assert_eq!(before, 2, "two pages");
    bench.source.reset_watch();
    back_off().await;
    let lists = &bench.lists()[before..];
    assert_eq!(lists.len(), 2);
    assert_eq!((&lists[0].not_older_than, &lists[0].continue_token), (&None, &None));
    assert!(lists[1].continue_token.is_some() && lists[1].not_older_than.is_none());
    bench.check_cache();
    bench.check(&[]);
}

/// TestNewReflectorWithCustomBackoff: refusals are waited out ever longer, and a success starts over.
#[tokio::test(start_paused = true)]
async fn refusals_are_waited_out_longer_and_longer() {
    let bench = Bench::new(|source| (0..5).for_each(|_| source.refuse_next(transient())));
    let begun = tokio::time::Instant::now();
    bench.factory.start();
    bench.factory.wait_for_cache_sync(Duration::from_secs(120)).await.expect("it syncs");
    let waited = begun.elapsed().as_secs_f64();
    // 0.8 + 1.6 + 3.2 + 6.4 + 12.8 s, each of them up to twice as long.
    assert!((24.8..=49.6).contains(&waited), "{waited} s");
}
