//! Events that a simple filter refuses before they are queued.

use super::tests::{Told, pod, spec, tell};
use super::*;
use crate::counters::Counters;
use crate::delivery::mailbox::{Marks, Settled};
use crate::delivery::mailboxes::{Hands, Mailboxes};
use informant_cache::Reason as CacheReason;
use std::time::Duration;

const RUNNING: &str = r#","filter":"object.status.phase == 'Running'""#;

/// Notifies a subscription that shares the values of objects, and shows the states that are queued and the number of
/// filtered ones. With `handled`, the guest handles each event at once; otherwise all wait.
#[track_caller]
fn check(keys: &str, filters: bool, handled: bool, told: &[Told], expect: &str) {
    check_where(|_| {}, keys, (filters, handled), told, expect);
}

/// The subscriptions are those of the load 1, as is the actor's version, but for a change of the mailboxes.
#[track_caller]
fn check_where(
    change: impl FnOnce(&mut Mailboxes),
    keys: &str,
    (filters, handled): (bool, bool),
    told: &[Told],
    expect: &str,
) {
    let counters = Arc::new(Counters::default());
    let marks = Marks { events: 100, bytes: usize::MAX };
    let queue = Arc::new(PluginQueue::new(marks, counters.clone()));
    let (spec, shared) = (spec(keys), Arc::new(SharedProjection::default()));
    // Another subscription of the informer asks for other values.
    let _other = shared.reader(["/kind", "/status/phase"]);
    let handler = SubscriptionHandler::new(SubscriptionId(1), &spec, queue.clone()).of_loads(1, 1);
    let handler = handler.reading_with(&shared, &spec, filters);
    handler.on_synced();
    queue.change(|mailboxes| {
        mailboxes.set_filters_of(1);
        mailboxes.change_initials(|initials| initials.begin(SubscriptionId(1), 1));
        mailboxes.history.set_bytes_max(1 << 10);
        change(mailboxes);
    });
    queue.wait_without_actor(0, Hands::waiting(1));
    let (mut shown, now) = (Vec::new(), Instant::now() + Duration::from_secs(1));
    let mut take = || {
        while let Some(queued) = queue.pop(0, now) {
            shown.push(queued.event.object.resource_version().to_owned());
            queue.settle_event(0, Settled::Finished, now);
        }
    };
    for told in told {
        tell(&handler, std::slice::from_ref(told), false);
        if handled {
            take();
        }
    }
    take();
    let filtered = counters.filtered.load(Relaxed);
    let key = pod(1, "", "").key().clone();
    let noted = queue.look(|mailboxes| mailboxes.history.of(&key).len());
    assert_eq!(noted as u64, filtered, "each is in the history");
    assert_eq!(format!("{}; {filtered} filtered", shown.join(" ")), expect, "{keys}");
}

fn changes() -> [Told; 5] {
    [
        Told::Added(CacheReason::Watch, pod(1, "", "Pending")),
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
        Told::Updated(pod(2, "", "Running"), pod(3, "", "Failed")),
        Told::Updated(pod(3, "", "Failed"), pod(4, "", "Failed")),
        Told::Deleted(FinalState::Known, pod(5, "", "Failed")),
    ]
}

#[test]
fn an_event_that_would_be_the_only_one_is_refused_before_it_is_queued() {
    check(RUNNING, true, true, &changes(), "2 5; 3 filtered");
    let entered = r#","filter":"old == null || old.status.phase != object.status.phase""#;
    check(entered, true, true, &changes(), "1 2 3 5; 1 filtered");
    let deletions = r#","filter":"change != 'deleted' || old.status.phase != 'Failed'""#;
    check(deletions, true, true, &changes(), "1 2 3 4; 1 filtered");
    let with_view =
        r#","fieldSelector":"status.phase!=Failed","filter":"object.status.phase == 'x'""#;
    // Leaving the view is a deletion, which this filter does not concern.
    check(with_view, true, true, &changes(), "2; 2 filtered");
}

#[test]
fn behind_another_event_it_is_queued_because_it_may_be_merged() {
    check(RUNNING, true, false, &changes(), "2 3 4 5; 1 filtered");
}

#[test]
fn the_actor_decides_where_events_are_recorded_and_where_tests_cannot() {
    check(RUNNING, false, true, &changes(), "1 2 3 4 5; 0 filtered");
    let missing = r#","filter":"object.status.reason == 'x'""#;
    check(missing, true, true, &changes(), "1 2 3 4 5; 0 filtered");
    let length = r#","filter":"size(object.status.phase) > 90""#;
    check(length, true, true, &changes(), "1 2 3 4 5; 0 filtered");
}

#[test]
fn an_event_for_another_version_is_queued() {
    let all = "1 2 3 4 5; 0 filtered";
    check_where(|it| it.set_filters_of(2), RUNNING, (true, true), &changes(), all);
    // Another handler replaces this one, which gets the rest of a batch.
    let replaced = |it: &mut Mailboxes| it.change_initials(|it| it.begin(SubscriptionId(1), 2));
    check_where(replaced, RUNNING, (true, true), &changes(), all);
}

#[test]
fn an_event_that_would_wait_for_later_ones_is_queued() {
    let debounced =
        |it: &mut Mailboxes| it.set_pauses(Duration::from_nanos(1), None, Instant::now());
    check_where(debounced, RUNNING, (true, false), &changes()[..1], "1; 0 filtered");
}
