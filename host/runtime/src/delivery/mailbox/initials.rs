//! Which subscriptions' initial objects have all been told: they were all queued, and nothing is left of what was queued until then.

use crate::event::{Event, SubscriptionId};
use hashbrown::{HashMap, HashSet};

/// How far each subscription has come; one entry for each of the running version.
#[derive(Debug, Default)]
pub(crate) struct Initials {
    subscriptions: HashMap<SubscriptionId, Initial>,
    /// The last load whose subscriptions are all in place.
    in_place: u64,
}

#[derive(Debug)]
struct Initial {
    /// The load that has them told.
    begun_by: u64,
    are_queued: bool,
    /// Events from before that, which have not come to their end.
    left: usize,
}

impl Initials {
    /// A load is about to have a subscription's objects told. Call it before any of them is queued.
    pub(crate) fn begin(&mut self, id: SubscriptionId, load: u64) {
        let begun = Initial { begun_by: load, are_queued: false, left: 0 };
        let initial = self.subscriptions.entry(id).or_insert(begun);
        (initial.begun_by, initial.are_queued) = (load, false);
    }

    /// All of them were queued, unless another load has begun to have them told since.
    pub(crate) fn queued(&mut self, id: SubscriptionId, load: u64) {
        if let Some(initial) = self.subscriptions.get_mut(&id)
            && initial.begun_by == load
        {
            initial.are_queued = true;
        }
    }

    /// All subscriptions of a load are in place: what the load has told again has begun.
    pub(crate) fn put_in_place(&mut self, load: u64) {
        self.in_place = load;
    }

    /// Whether all were told to the version of this load, or will never be. Not before its subscriptions are in place.
    pub(crate) fn are_told(&self, id: SubscriptionId, load: u64) -> bool {
        self.in_place == load && self.are_through(id)
    }

    /// Whether everything that was queued until all of them were has come to its end.
    pub(super) fn are_through(&self, id: SubscriptionId) -> bool {
        self.subscriptions.get(&id).is_some_and(|it| it.are_queued && it.left == 0)
    }

    /// An event is queued.
    pub(super) fn came(&mut self, event: &Event) {
        if event.before_sync
            && let Some(initial) = self.subscriptions.get_mut(&event.subscription)
        {
            initial.left += 1;
        }
    }

    /// So many of those that count are no more.
    pub(super) fn ended(&mut self, id: SubscriptionId, count: usize) {
        if let Some(initial) = self.subscriptions.get_mut(&id) {
            initial.left -= count;
        }
    }

    /// The same subscriptions, of which nothing is queued.
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

    /// What happens to a subscription that load 1 has begun: `!+a1` is queued before its sync, `+a1` after; `1` and `2` say of a load that all are
    /// queued; `b` begins a second load and `p` puts it in place; `t` tells the next event, `f` fails to, `d` drops all. Shows after which steps
    /// all were told to the version of the last load.
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
