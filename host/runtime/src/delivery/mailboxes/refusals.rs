//! Events that the filter of their subscription refuses before they are queued.

use super::{Hands, Mailboxes};
use crate::delivery::mailbox::Mailbox;
use crate::event::SubscriptionId;
use crate::history::EndedDelivery;
use crate::shard;
use informant_cache::{Object, ObjectKey};

/// The events that need no place in the queue if their filter refuses them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refusing {
    /// None: no actor can say yet that it would refuse them.
    #[default]
    Nothing,
    /// Those of an object of which no event waits for the subscription or is in flight.
    Free,
    /// All: no event waits or is in flight.
    Everything,
}

impl Mailboxes {
    /// The subscriptions of this load queue events from here on.
    pub(crate) fn set_filters_of(&mut self, load: u64) {
        self.filters_of = Some(load);
    }

    /// The shard of an object's events.
    pub(crate) fn shard_of(&self, key: &ObjectKey) -> usize {
        shard::of_object(key, self.shards.len())
    }

    /// The events that a shard's actor would refuse if their filter refuses them: the filter is that of the actor's version,
    /// and a refused event would be merged with no other. `waiting`: the abilities of an actor that waits for events.
    pub(crate) fn refusing(&self, shard: usize, waiting: Option<Hands>) -> Refusing {
        let Some(mailbox) = self.shards.get(shard) else { return Refusing::Nothing };
        let decides = waiting.map_or(mailbox.filters_of, |hands| hands.filters_of);
        match decides.is_some() && decides == self.filters_of && mailbox.is_plain() {
            false => Refusing::Nothing,
            true if mailbox.is_drained() => Refusing::Everything,
            true => Refusing::Free,
        }
    }

    /// Whether a shard's actor would refuse an event of this object now that its filter refuses.
    pub(crate) fn would_refuse(
        &mut self,
        (shard, waiting): (usize, Option<Hands>),
        id: SubscriptionId,
        object: &Object,
    ) -> bool {
        match self.refusing(shard, waiting) {
            Refusing::Nothing => false,
            Refusing::Free => self.shards[shard].is_free(id, object),
            Refusing::Everything => true,
        }
    }

    /// Notes an event that its filter refuses, if the shard's actor would refuse the same event now. `begun_by`: the
    /// load that began the subscription's handler. A handler that another one replaces may still be notified for a moment.
    pub(crate) fn refuse(
        &mut self,
        (shard, waiting): (usize, Option<Hands>),
        object: &Object,
        begun_by: u64,
        delivery: &EndedDelivery<'_>,
    ) -> bool {
        let id = delivery.subscription;
        let is_of_handler = |mailbox: &Mailbox| mailbox.initials.is_begun_by(id, begun_by);
        let refuses = self.shards.get(shard).is_some_and(is_of_handler)
            && self.would_refuse((shard, waiting), id, object);
        if refuses {
            self.history.push(delivery);
        }
        refuses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::mailbox::Settled;
    use crate::delivery::mailbox::tests::{NO_MARK, SUBSCRIPTION, parse};
    use crate::event::Event;
    use informant_cache::workqueue::AddOptions;
    use jiff::Timestamp;
    use std::time::{Duration, Instant};

    /// Makes these steps, and shows the objects among a, b and c whose updates need no place in the queue if their filter
    /// refuses them. `t` takes the next work with the filters of load 1, `T` without any. `s` finishes the work, `f` has
    /// it again at once, and `l` loses it. `w`: the actor waits. `n`: the subscriptions of load 2 queue events. `h`
    /// withholds the subscription with the event in work, `c` closes the queue, and `d` lets events wait for later ones.
    /// `k` adds a key. Every other step is an event: `=+a1` a replayed one, `o+a1` one of another subscription.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (mut queue, mut waiting, now) = (Mailboxes::new(NO_MARK), None, Instant::now());
        queue.set_filters_of(1);
        for step in steps.split_whitespace() {
            match step {
                "t" | "T" => {
                    let filters_of = (step == "t").then_some(1);
                    let hands = Hands { filters_of, ..Hands::ALL };
                    waiting = None;
                    assert!(queue.next(0, hands, now, Timestamp::now).is_some(), "{steps}");
                }
                "s" => queue.settle_event(0, Settled::Finished, now),
                "f" => queue.settle_event(0, Settled::RetryAt(now), now),
                "l" => queue.recover(0, now),
                "w" => waiting = Some(Hands::waiting(1)),
                "n" => queue.set_filters_of(2),
                "h" => queue.put_by(0, SUBSCRIPTION),
                "c" => queue.close(),
                "d" => queue.set_pauses(Duration::from_secs(1), None, now),
                "k" => queue.add_key("key", AddOptions::default(), now).expect("there is room"),
                _ => match (step.strip_prefix('='), step.strip_prefix('o')) {
                    (Some(event), _) => queue.push_replayed(parse(event)),
                    (_, Some(event)) => {
                        let subscription = SubscriptionId(SUBSCRIPTION.0 + 1);
                        queue.push(Event { subscription, ..parse(event) });
                    }
                    _ => queue.push(parse(step)),
                },
            }
            queue.check_invariants();
        }
        let mut refuses = |name: &&str| {
            let object = parse(&format!("~{name}9")).object;
            queue.would_refuse((0, waiting), SUBSCRIPTION, &object)
        };
        let refused: String = ["a", "b", "c"].iter().filter(|it| refuses(it)).copied().collect();
        assert_eq!(refused, expect, "{steps}");
    }

    #[test]
    fn an_actor_that_waits_or_works_refuses_the_updates_of_objects_of_which_nothing_waits() {
        check("w", "abc");
        check("w +b1", "ac");
        check("+a1 t", "bc");
        check("+a1 +b1 t", "c");
        check("=+a1 =+b1 t", "c");
        check("+a1 +b1 t f t", "c");
        check("+a1 +b1 t f ~a2 t s t", "c");
        check("+a1 +b1 t f ~a2 t f t s", "");
        check("+a1 t s w", "abc");
        check("o+a1 t", "abc");
        check("k t", "abc");
        check("+a1 k t", "bc");
    }

    #[test]
    fn where_another_version_or_a_later_event_may_decide_no_update_is_refused() {
        for steps in ["", "+a1 t s", "+a1 t f", "+a1 t l", "+a1 t n", "w n", "+a1 T", "+a1 t h"] {
            check(steps, "");
        }
        for steps in ["+a1 t c", "w c", "+a1 t d", "w d"] {
            check(steps, "");
        }
    }
}
