//! Events of subscriptions that may not be told for now: they are put by, in their order, and come first when they may be told again.
//!
//! They wait for nobody's turn, so they do not count as waiting. Nothing new comes to them but what is under way when a subscription is
//! withheld: its informer tells nobody of it any more. What a queue that is to end puts aside is withheld when it goes on.

use super::{Lane, Mailbox, Queued};
use crate::event::{Event, SubscriptionId};
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::time::Instant;

/// By subscription; one that has none is not withheld. An object's events are in their order.
#[derive(Debug, Default)]
pub(super) struct WithheldEvents(HashMap<SubscriptionId, VecDeque<Queued>>);

impl WithheldEvents {
    pub(super) fn get_mut(&mut self, id: SubscriptionId) -> Option<&mut VecDeque<Queued>> {
        // Nearly always there is nothing.
        if self.0.is_empty() {
            return None;
        }
        self.0.get_mut(&id)
    }

    /// Drops those of other subscriptions and says how many those were.
    pub(super) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        let gone = self.0.iter().filter(|(id, _)| !keep.contains(*id));
        let dropped = gone.map(|(_, events)| events.len()).sum();
        self.0.retain(|id, _| keep.contains(id));
        dropped
    }

    /// What was put by, by subscription.
    pub(super) fn into_subscriptions(
        self,
    ) -> impl Iterator<Item = (SubscriptionId, VecDeque<Queued>)> {
        self.0.into_iter()
    }

    /// Withholds a subscription of which nothing waits, unless it is withheld already.
    pub(super) fn begin(&mut self, id: SubscriptionId) -> &mut VecDeque<Queued> {
        self.0.entry(id).or_default()
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.0.values().flatten().map(|queued| &queued.event)
    }
}

impl Mailbox {
    /// Nothing of this subscription comes out from here on.
    pub(crate) fn withhold(&mut self, id: SubscriptionId) {
        if self.withheld.get_mut(id).is_some() {
            return;
        }
        let mut events = self.held.take_all(id);
        events.extend(self.backlog.take_all(id).into_iter().map(Queued::untried));
        let replays = self.replays.take_all(id);
        events.extend(self.without_resyncs(replays).into_iter().map(Queued::untried));
        self.withheld.0.insert(id, events);
    }

    /// The event in flight may not be told: nothing of its subscription comes out from here on, and it waits before the others of its object. Answers
    /// whether there was one of it.
    pub(crate) fn put_by(&mut self, id: SubscriptionId) -> bool {
        self.withhold(id);
        let in_flight = self.in_flight.take_if(|queued| queued.event.subscription == id);
        match (in_flight, self.withheld.get_mut(id)) {
            (Some(queued), Some(events)) => {
                events.push_front(queued);
                true
            }
            _ => false,
        }
    }

    /// What was put by of this subscription comes next, and it goes on.
    pub(crate) fn release_withheld(&mut self, id: SubscriptionId, now: Instant) {
        let events = self.withheld.0.remove(&id).unwrap_or_default();
        let in_flight = self.in_flight.as_ref().map(|queued| Lane::of(&queued.event));
        for mut queued in events {
            self.number(&mut queued);
            self.held.put_back(queued, in_flight.as_ref(), now);
        }
    }

    /// Puts an event by, if its subscription is withheld.
    pub(super) fn unless_withheld(&mut self, event: Event) -> Option<Event> {
        match self.withheld.get_mut(event.subscription) {
            Some(events) => {
                self.initials.came(&event);
                events.push_back(Queued::untried(event));
                None
            }
            None => Some(event),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SUBSCRIPTION, parse, show};
    use super::super::{Marks, Settled};
    use super::*;
    use std::time::Duration;

    const OTHER: SubscriptionId = SubscriptionId(2);

    /// `w` withholds the subscription and `r` lets it go on; `p` takes the next event, which is shown, and `s` settles it, `f` fails it; `.` shows how
    /// many wait. Everything else is an event, `=+a1` one that a replay has come to, `o+a1` one of another subscription, which are never withheld.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let now = Instant::now();
        let mut queue = Mailbox::new(Marks { events: usize::MAX, bytes: usize::MAX });
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            match step {
                "w" => queue.withhold(SUBSCRIPTION),
                "r" => queue.release_withheld(SUBSCRIPTION, now),
                "p" => match queue.pop(now) {
                    Some(queued) if queued.event.subscription == OTHER => {
                        shown.push(format!("o{}", show(&queued)));
                    }
                    Some(queued) => shown.push(show(&queued)),
                    None => shown.push("-".to_owned()),
                },
                "s" => queue.settle(Settled::Finished, now),
                "f" => queue.settle(Settled::RetryAt(now), now),
                "." => shown.push(queue.load().events.to_string()),
                _ => match (step.strip_prefix('='), step.strip_prefix('o')) {
                    (Some(replayed), _) => queue.push_replayed(parse(replayed)),
                    (_, Some(other)) => {
                        queue.push(Event { subscription: OTHER, ..parse(other) });
                    }
                    _ => queue.push(parse(step)),
                },
            }
            queue.check_invariants();
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn nothing_that_is_withheld_comes_out_and_all_of_it_comes_later() {
        check("+a1 o+b1 ~a2 =+c1 w . p s p . r . p s p s p s p", "1 o+b1 - 0 3 +a1 ~a2 +c1 -");
        check("w +a1 =+b1 . p r p s p s p", "0 - +a1 +b1 -");
        check("+a1 w w r p s p", "+a1 -");
        check("r +a1 p s p", "+a1 -");
    }

    #[test]
    fn what_comes_after_it_goes_on_waits_behind_it() {
        check("+a1 w r ~a2 =~b1 p s p s p s p", "+a1 ~b1 ~a2 -");
        check("+a1 -a2 w r +A3 p s p s p s p", "+a1 -a2 +A3 -");
    }

    #[test]
    fn what_is_in_the_plugins_hands_is_settled_and_its_retry_waits() {
        check("+a1 ~a2 p w s p r p s p", "+a1 - ~a2 -");
        check("+a1 ~a2 p w f p . r . p s p s p", "+a1 - 0 2 +a1#2 ~a2 -");
        // It is let go before the call has ended.
        check("+a1 ~a2 p w r f p s p s p", "+a1 +a1#2 ~a2 -");
        check("+a1 p f w . p r p s p", "+a1 0 - +a1#2 -");
    }

    #[test]
    fn what_a_version_lacks_is_dropped() {
        let mut queue = Mailbox::new(Marks { events: usize::MAX, bytes: usize::MAX });
        queue.push(parse("+a1"));
        queue.withhold(SUBSCRIPTION);
        assert_eq!(queue.retain(&HashSet::from([OTHER])), 1);
        queue.release_withheld(SUBSCRIPTION, Instant::now());
        assert!(queue.pop(Instant::now()).is_none() && queue.is_drained());
    }

    #[test]
    fn what_was_put_aside_is_withheld_as_well() {
        let now = Instant::now();
        let mut queue = Mailbox::new(Marks { events: usize::MAX, bytes: usize::MAX });
        queue.close();
        queue.push(parse("+a1"));
        queue.withhold(SUBSCRIPTION);
        queue.reopen();
        assert!(queue.pop(now + Duration::from_secs(60)).is_none());
        queue.release_withheld(SUBSCRIPTION, now);
        assert_eq!(queue.pop(now).map(|queued| show(&queued)).as_deref(), Some("+a1"));
    }
}
