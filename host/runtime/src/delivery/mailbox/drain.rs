//! A mailbox before its plugin's end. Waiting and replayed events still come out. New events are put aside, in case
//! the plugin goes on after all.

use super::{Lane, Mailbox};
use crate::event::SubscriptionId;
use informant_cache::Object;
use std::time::Duration;

impl Mailbox {
    /// Puts new events aside from here on. Their memory has the same bound as the mailbox.
    pub(crate) fn close(&mut self) {
        if self.aside.is_none() {
            self.aside = Some(Box::new(Self::new(self.marks)));
        }
    }

    /// Opens the mailbox again, with the events that were put aside.
    pub(crate) fn reopen(&mut self) {
        let Some(aside) = self.aside.take() else { return };
        self.coalesced += aside.coalesced;
        for event in aside.backlog.into_events() {
            self.push(event);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.aside.is_some()
    }

    /// Whether all events came out and were settled.
    pub(crate) fn is_drained(&self) -> bool {
        self.load().events == 0 && self.in_flight.is_none() && self.replays.is_empty()
    }

    /// Whether an event waits that may come out.
    pub(in crate::delivery) fn has_waiting(&self) -> bool {
        self.load().events > 0 || !self.replays.is_empty()
    }

    /// Whether a new event waits neither for later ones of its object, nor apart from the others.
    pub(crate) fn is_plain(&self) -> bool {
        self.debounce.is_zero() && self.aside.is_none() && self.withheld.events().next().is_none()
    }

    /// Whether no event of an object waits for a subscription or is in flight, in a [plain](Self::is_plain) mailbox. A new
    /// one is merged with no other, and no other decides about it.
    pub(crate) fn is_free(&mut self, id: SubscriptionId, object: &Object) -> bool {
        let lane = Lane::new(id, object);
        let is_in_flight = self.in_flight.as_ref().is_some_and(|it| Lane::of(&it.event) == lane);
        !is_in_flight
            && !self.held.has(&lane)
            && !self.replays.has(&lane)
            && !self.backlog.has(&lane)
    }

    /// How long events wait for later events of their object. Zero in a closed mailbox, which gets no later events.
    pub(super) fn debounce(&self) -> Duration {
        if self.is_closed() { Duration::ZERO } else { self.debounce }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, show};
    use super::super::{Marks, Settled};
    use super::*;
    use std::time::Instant;

    /// Pushes `before`, with `(+a1)` as a replay, closes, pushes `after`, and takes all events out. Then reopens,
    /// and takes all events out again.
    #[track_caller]
    fn check(debounce: Duration, before: &str, after: &str, expect: &str) {
        let now = Instant::now();
        let mut queue = Mailbox::new(Marks { events: usize::MAX, bytes: usize::MAX });
        queue.set_debounce(debounce);
        let push = |queue: &mut Mailbox, texts: &str| {
            for text in texts.split(' ') {
                match text.strip_prefix('(') {
                    Some(text) => queue.push_replayed(parse(text.trim_end_matches(')'))),
                    None => queue.push(super::super::Event { received: now, ..parse(text) }),
                }
            }
        };
        push(&mut queue, before);
        queue.close();
        push(&mut queue, after);
        let mut told = Vec::new();
        for turn in 0..2 {
            while let Some(due) = queue.next_due(now) {
                told.push(show(&queue.pop(due.max(now)).expect("it is due")));
                assert!(!queue.is_drained(), "one is in flight");
                queue.settle(Settled::Finished, now);
            }
            assert!(queue.is_drained());
            queue.check_invariants();
            if turn == 0 {
                told.push("|".to_owned());
                queue.reopen();
            }
        }
        assert_eq!(told.join(" "), expect);
    }

    #[test]
    fn what_comes_to_a_closed_queue_waits_until_it_is_open_again() {
        check(Duration::ZERO, "+a1 ~b2", "~a3 +c4", "+a1 ~b2 | ~a3 +c4");
        check(Duration::from_secs(60), "~a1 ~a2", "~a3 ~a4", "~a2*1 | ~a4*1");
    }

    #[test]
    fn a_replay_goes_on_in_a_closed_queue_behind_what_was_put_aside() {
        check(Duration::ZERO, "(+a1)", "(+b1) (+c1)", "+a1 +b1 +c1 |");
        check(Duration::ZERO, "(+a1) ~x2", "~b2 (+b2) (+c1)", "+a1 ~x2 +c1 | ~b2 +b2");
        check(Duration::ZERO, "(+a1)", "-a2 (+b1)", "+a1 +b1 | -a2");
    }
}
