//! The subscriptions whose initial objects were all delivered: all were queued, and no event that was queued until
//! then is left.

use crate::event::{Event, SubscriptionId};
use hashbrown::{HashMap, HashSet};

/// The state of each subscription; one entry for each subscription of the running version.
#[derive(Debug, Default)]
pub(crate) struct Initials {
    subscriptions: HashMap<SubscriptionId, Initial>,
    /// The last load whose subscriptions are all in place.
    in_place: u64,
}

#[derive(Debug)]
struct Initial {
    /// The load that has the initial objects delivered.
    begun_by: u64,
    are_queued: bool,
    /// Events that were queued before `are_queued` and have not ended.
    left: usize,
}

impl Initials {
    /// A load is about to deliver a subscription's initial objects. Call this before any of them is queued.
    pub(crate) fn begin(&mut self, id: SubscriptionId, load: u64) {
        let begun = Initial { begun_by: load, are_queued: false, left: 0 };
        let initial = self.subscriptions.entry(id).or_insert(begun);
        (initial.begun_by, initial.are_queued) = (load, false);
    }

    /// Whether this load was the last that began the subscription.
    pub(crate) fn is_begun_by(&self, id: SubscriptionId, load: u64) -> bool {
        self.subscriptions.get(&id).is_some_and(|initial| initial.begun_by == load)
    }

    /// All initial objects were queued, unless another load has begun to deliver them since.
    pub(crate) fn queued(&mut self, id: SubscriptionId, load: u64) {
        if let Some(initial) = self.subscriptions.get_mut(&id)
            && initial.begun_by == load
        {
            initial.are_queued = true;
        }
    }

    /// All subscriptions of a load are in place: the replays that the load caused have begun.
    pub(crate) fn put_in_place(&mut self, load: u64) {
        self.in_place = load;
    }

    /// Whether all initial objects were delivered to the version of this load, or never will be. `false` until its
    /// subscriptions are in place.
    pub(crate) fn are_told(&self, id: SubscriptionId, load: u64) -> bool {
        self.in_place == load && self.are_through(id)
    }

    /// Whether the initial objects were queued, and all events that were queued until then have ended.
    pub(super) fn are_through(&self, id: SubscriptionId) -> bool {
        self.subscriptions.get(&id).is_some_and(|it| it.are_queued && it.left == 0)
    }

    /// Counts a queued event.
    pub(super) fn came(&mut self, event: &Event) {
        if event.before_sync
            && let Some(initial) = self.subscriptions.get_mut(&event.subscription)
        {
            initial.left += 1;
        }
    }

    /// Counts the end of so many events that `left` includes.
    pub(super) fn ended(&mut self, id: SubscriptionId, count: usize) {
        if let Some(initial) = self.subscriptions.get_mut(&id) {
            initial.left -= count;
        }
    }

    /// The same subscriptions, with no queued event.
    pub(super) fn emptied(&self) -> Self {
        let empty = |initial: &Initial| Initial { left: 0, ..*initial };
        let subscriptions = self.subscriptions.iter().map(|(id, it)| (*id, empty(it)));
        Self { subscriptions: subscriptions.collect(), in_place: self.in_place }
    }

    /// Forgets the subscriptions that a version lacks.
    pub(super) fn retain(&mut self, keep: &HashSet<SubscriptionId>) {
        self.subscriptions.retain(|id, _| keep.contains(id));
    }

    #[cfg(test)]
    pub(super) fn left(&self, id: SubscriptionId) -> usize {
        self.subscriptions.get(&id).map_or(0, |initial| initial.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::mailbox::tests::{SUBSCRIPTION, parse};
    use crate::delivery::mailbox::{Mailbox, Marks, Settled};
    use std::time::Instant;

    /// Steps for a subscription that load 1 has begun. `!+a1` is queued before its sync, `+a1` after. `1` and `2`
    /// queue all initial objects of that load. `b` begins a second load and `p` puts it in place. `t` delivers the
    /// next event, `f` fails it, and `d` drops all events. Shows the steps after which all objects were delivered
    /// to the version of the last load.
    #[track_caller]
    fn check(mark: usize, steps: &str, expect: &str) {
        let mut queue = Mailbox::new(Marks { events: mark, bytes: usize::MAX });
        queue.initials.begin(SUBSCRIPTION, 1);
        queue.initials.put_in_place(1);
        let (mut load, now, mut shown) = (1, Instant::now(), String::new());
        for step in steps.split(' ') {
            match step {
                "1" => queue.initials.queued(SUBSCRIPTION, 1),
                "2" => queue.initials.queued(SUBSCRIPTION, 2),
                "b" => {
                    load = 2;
                    queue.initials.begin(SUBSCRIPTION, 2);
                }
                "p" => queue.initials.put_in_place(2),
                "t" | "f" => {
                    queue.pop(now).expect("an event waits");
                    let failed = Settled::RetryAt(now);
                    queue.settle(if step == "t" { Settled::Finished } else { failed }, now);
                }
                "d" => _ = queue.retain(&HashSet::new()),
                event => {
                    let before_sync = event.starts_with('!');
                    queue.push(Event { before_sync, ..parse(event.trim_start_matches('!')) });
                }
            }
            queue.check_invariants();
            shown.push(if queue.initials.are_told(SUBSCRIPTION, load) { '+' } else { '-' });
        }
        assert_eq!(shown, expect, "{steps} above {mark}");
    }

    #[test]
    fn where_nothing_is_there_nothing_has_to_be_told() {
        check(100, "1", "+");
        check(100, "1 +a1 t", "+++");
    }

    #[test]
    fn all_that_was_queued_before_has_to_come_to_its_end() {
        check(100, "!+a1 !+b2 t t 1", "----+");
        check(100, "!+a1 !+b2 1 +c3 t t t", "-----++");
        check(100, "!+a1 !+b2 1 f t t", "-----+");
        check(100, "!+a1 1 f ~a2 t t", "----++");
    }

    #[test]
    fn what_merges_counts_as_what_it_stands_for() {
        check(0, "!+a1 1 ~a2 t", "---+");
        check(0, "!+a1 !~a2 1 t", "---+");
        check(0, "!+a1 1 -a2", "--+");
        check(0, "!-a1 1 +A2 t t", "---++");
        check(0, "!+a1 f !~a2 !~a3 1 +b4 t t t", "-------++");
    }

    #[test]
    fn a_load_that_has_them_told_again_begins_anew() {
        check(100, "1 b 1 p 2", "+---+");
        check(100, "!+a1 1 b !+a1 p 2 t t", "-------+");
        check(100, "1 p", "+-");
        check(100, "!+a1 1 d", "---");
    }
}
