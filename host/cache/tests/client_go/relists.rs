//! What a relist makes of what was known (client-go `tools/cache/delta_fifo_test.go`, `the_real_fifo_test.go`,
//! `shared_informer_test.go`, `reflector_test.go`).

use crate::bench::{Bench, back_off, internal, pod, pod_with_uid, settle};

/// TestReflectorReplacesStoreOnUnsafeDelete: no event says that a damaged object was removed by force.
#[tokio::test(start_paused = true)]
async fn an_object_whose_end_no_event_can_tell_leaves_with_the_relist() {
    let bench = Bench::synced(|source| {
        for name in ["a", "b", "c"] {
            source.add(&pod(name));
        }
    })
    .await;
    bench.source.add(&pod("damaged"));
    settle().await;
    bench.check(&["add damaged@4 Watch"]);
    bench.source.delete_drop_watch(&pod("damaged"));
    bench.source.end_watches(Some(internal()));
    back_off().await;
    bench.check(&["delete damaged@4 Unknown Relist"]);
    bench.check_cache();
    let relists = bench.informer.stats().relists;
    let relists = relists.iter().map(|(cause, count)| (cause.as_str(), *count));
    let relists: Vec<_> =
        relists.filter(|(cause, count)| *cause != "start" && *count > 0).collect();
    assert_eq!(relists, [("server_error", 1)]);
}

/// TestDeltaFIFO_replaceWithDeleteDeltaIn: what was told of before a list stays before it.
#[tokio::test(start_paused = true)]
async fn a_delete_before_a_relist_is_told_before_it() {
    let bench = Bench::synced(|source| {
        source.add(&pod_with_uid("foo", "one"));
    })
    .await;
    bench.source.delete(&pod_with_uid("foo", "one"));
    bench.source.add_drop_watch(&pod_with_uid("foo", "two"));
    settle().await;
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["delete foo@2 Known Watch", "add foo@3 Relist"]);
    bench.check_cache();
}

/// TestDeltaFIFO_ReplaceMakesDeletions: a tombstone carries the newest state that was told.
#[tokio::test(start_paused = true)]
async fn what_a_relist_lacks_is_deleted_with_the_last_state_that_was_told() {
    let bench = Bench::synced(|source| {
        for name in ["bar", "baz", "foo"] {
            source.add(&pod(name));
        }
    })
    .await;
    bench.source.modify(&pod("bar"));
    settle().await;
    bench.check(&["update bar@4 from 1 Watch"]);
    bench.source.modify_drop_watch(&pod("baz"));
    bench.source.delete_drop_watch(&pod("bar"));
    bench.source.delete_drop_watch(&pod("baz"));
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["delete bar@4 Unknown Relist", "delete baz@2 Unknown Relist"]);
    bench.check_cache();
}

/// TestDeltaFIFO_enqueueingNoLister: a deletion of what nobody was told of is nobody's news.
#[tokio::test(start_paused = true)]
async fn a_delete_of_what_was_never_told_is_not_told() {
    let bench = Bench::synced(|_| {}).await;
    bench.source.add(&pod("foo"));
    bench.source.add_drop_watch(&pod("baz"));
    bench.source.delete(&pod("baz"));
    bench.source.modify(&pod("foo"));
    settle().await;
    bench.check(&["add foo@1 Watch", "update foo@4 from 1 Watch"]);
    bench.check_cache();
}

/// TestDeltaFIFO_addReplace: the store decides what a list's item is, not the list.
#[tokio::test(start_paused = true)]
async fn what_was_added_before_a_relist_is_an_update_in_it() {
    let bench = Bench::synced(|_| {}).await;
    bench.source.add(&pod("foo"));
    settle().await;
    bench.source.modify_drop_watch(&pod("foo"));
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["add foo@1 Watch", "update foo@2 from 1 Relist"]);
}

/// TestResetWatch: what a relist brings is news, and nobody's initial list.
#[tokio::test(start_paused = true)]
async fn only_the_first_list_is_initial() {
    let bench = Bench::new(|source| {
        source.add(&pod("pod1"));
    });
    bench.factory.start();
    settle().await;
    bench.check(&["add pod1@1 Initial", "synced"]);
    bench.source.modify_drop_watch(&pod("pod1"));
    bench.source.add_drop_watch(&pod("pod2"));
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["update pod1@2 from 1 Relist", "add pod2@3 Relist"]);
}

/// client-go shows an object that was deleted and made again while the watch was away as an update of the first
/// one (k/k#133565); here the first one's end is told.
#[tokio::test(start_paused = true)]
async fn another_object_of_the_same_name_is_a_delete_and_an_add() {
    let bench = Bench::synced(|source| {
        source.add(&pod_with_uid("foo", "one"));
    })
    .await;
    // Across a gap, then on the watch itself, where the server leaves a deletion out.
    bench.source.modify_drop_watch(&pod_with_uid("foo", "two"));
    bench.source.reset_watch();
    back_off().await;
    bench.check(&["delete foo@1 Unknown Relist", "add foo@2 Relist"]);
    bench.source.modify(&pod_with_uid("foo", "three"));
    settle().await;
    bench.check(&["delete foo@2 Unknown Watch", "add foo@4 Watch"]);
    bench.check_cache();
}
