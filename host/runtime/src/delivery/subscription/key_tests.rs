//! The keys of the events of a subscription with `enqueue` rules.

use super::tests::{Told, pod, spec, tell};
use super::*;
use crate::delivery::mailbox::{Marks, Settled};
use informant_cache::Reason as CacheReason;
use std::time::Instant;

/// The phase is the key.
const RULES: &str = r#","enqueue":[{"pointer":"/status/phase","namespace":"none"}]"#;

fn of(version: u64, key: &str) -> Object {
    pod(version, "", key)
}

/// Notifies a subscription whose events merge above this mark, and shows the keys of each waiting event.
#[track_caller]
fn check_told(mark: usize, told: impl FnOnce(&SubscriptionHandler), expect: &str) {
    let spec = spec(RULES);
    let marks = Marks { events: mark, bytes: usize::MAX };
    let queue = Arc::new(PluginQueue::new(marks, Arc::default()));
    told(&SubscriptionHandler::new(SubscriptionId(1), &spec, queue.clone()));
    let (now, mut shown) = (Instant::now(), Vec::new());
    while let Some(queued) = queue.pop(0, now) {
        let keys = queued.event.enqueued(&spec.enqueue);
        shown.push(keys.iter().collect::<Vec<_>>().join("+"));
        queue.settle_event(0, Settled::Finished, now);
    }
    assert_eq!(shown.join(" "), expect);
}

#[track_caller]
fn check(mark: usize, told: &[Told], expect: &str) {
    check_told(mark, |handler| tell(handler, told, false), expect);
}

#[test]
fn what_moved_while_it_waited_is_looked_at_wherever_it_was() {
    let moves = |from: u64, [old, new]: [&str; 2]| Told::Updated(of(from, old), of(from + 1, new));
    let goes = |version, last| Told::Deleted(FinalState::Known, of(version, last));
    let comes = |version, state| Told::Added(CacheReason::Watch, of(version, state));
    let twice = [moves(1, ["a", "b"]), moves(2, ["b", "c"])];
    check(100, &twice, "a+b b+c");
    check(0, &twice, "a+b+c");
    check(0, &[moves(1, ["a", "b"]), goes(3, "b")], "a+b");
    check(0, &[moves(1, ["a", "b"]), comes(2, "b")], "a+b");
    check(0, &[comes(1, "a"), moves(1, ["a", "b"])], "a+b");
    check(0, &[comes(1, "a"), moves(1, ["a", "b"]), moves(2, ["b", "c"])], "a+b+c");
    // A reader may have seen the object in between.
    check(0, &[comes(1, "a"), goes(2, "b")], "a+b");
}

#[test]
fn a_last_state_that_nobody_has_seen_is_not_all_that_an_object_was() {
    let cause = Cause { reason: CacheReason::Watch, received: Instant::now() };
    let ends = |handler: &SubscriptionHandler| {
        handler.on_delete_known_as(&of(1, "a"), &of(2, "b"), FinalState::Known, cause);
    };
    check_told(100, ends, "a+b");
}

#[test]
fn what_goes_ahead_of_the_replay_may_have_been_looked_at() {
    let goes = [Told::Deleted(FinalState::Known, of(2, "a"))];
    check_told(100, |handler| tell(handler, &goes, true), "a");
}

#[test]
fn what_a_host_before_knew_of_an_object_is_looked_at_too() {
    let listed = [Told::Added(CacheReason::Initial, pod(2, "", "b")), Told::Synced];
    let spec = spec(RULES);
    let marks = Marks { events: 100, bytes: usize::MAX };
    let queue = Arc::new(PluginQueue::new(marks, Arc::default()));
    let handler = SubscriptionHandler::new(SubscriptionId(1), &spec, queue.clone());
    let handler = handler.knowing(vec![of(1, "a")], Box::new(|_| None));
    tell(&handler, &listed, false);
    let queued = queue.pop(0, Instant::now()).expect("it waits");
    let keys = queued.event.enqueued(&spec.enqueue);
    assert_eq!(keys.iter().collect::<Vec<_>>(), ["a", "b"]);
}
