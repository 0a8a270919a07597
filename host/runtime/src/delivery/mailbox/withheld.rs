//! Events of withheld subscriptions, which may not be delivered now. They are kept in order, and come first when
//! their subscription goes on.
//!
//! Withheld events have no turn, so they do not count as waiting. Only events under way join them: the informer no
//! longer notifies a withheld subscription. Events that a closed mailbox put aside are withheld when it opens
//! again.

use super::{Lane, Mailbox, Queued};
use crate::event::{Event, SubscriptionId};
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::time::Instant;

/// By subscription; a subscription without an entry is not withheld. An object's events are in order.
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

    /// Drops the events of all other subscriptions, and returns their number.
    pub(super) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        let gone = self.0.iter().filter(|(id, _)| !keep.contains(*id));
        let dropped = gone.map(|(_, events)| events.len()).sum();
        self.0.retain(|id, _| keep.contains(id));
        dropped
    }

    /// The withheld events, by subscription.
    pub(super) fn into_subscriptions(
        self,
    ) -> impl Iterator<Item = (SubscriptionId, VecDeque<Queued>)> {
        self.0.into_iter()
    }

    /// Withholds a subscription that has no waiting events, unless it is withheld already.
    pub(super) fn begin(&mut self, id: SubscriptionId) -> &mut VecDeque<Queued> {
        self.0.entry(id).or_default()
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.0.values().flatten().map(|queued| &*queued.event)
    }
}

impl Mailbox {
    /// No event of this subscription comes out from here on.
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

    /// Withholds the event in flight, which may not be delivered, with its subscription. The event waits before the
    /// others of its object. Returns whether the event in flight was of this subscription.
    pub(crate) fn put_by(&mut self, id: SubscriptionId) -> bool {
        self.withhold(id);
        self.filters_of = None;
        let in_flight = self.in_flight.take_if(|queued| queued.event.subscription == id);
        match (in_flight, self.withheld.get_mut(id)) {
            (Some(queued), Some(events)) => {
                events.push_front(queued);
                true
            }
            _ => false,
        }
    }

    /// The withheld events of this subscription come next, and the subscription goes on.
    pub(crate) fn release_withheld(&mut self, id: SubscriptionId, now: Instant) {
        let events = self.withheld.0.remove(&id).unwrap_or_default();
        let in_flight = self.in_flight.as_ref().map(|queued| Lane::of(&queued.event));
        for mut queued in events {
            self.number(&mut queued);
            self.held.put_back(queued, in_flight.as_ref(), now);
        }
    }

    /// Returns the event, unless its subscription is withheld.
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

    /// `w` withholds the subscription and `r` releases it. `p` takes the next event and shows it, `s` settles it,
    /// and `f` fails it. `.` shows how many events wait. Every other step is an event, `=+a1` a replayed one, and
    /// `o+a1` one of another subscription, which is never withheld.
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
        // The subscription is released before the call has ended.
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
