//! Events that the filter of their subscription refuses before they are queued.

use super::{Hands, Mailboxes};
use crate::delivery::mailbox::Mailbox;
use crate::history::EndedDelivery;
use crate::shard;
use informant_cache::ObjectKey;

impl Mailboxes {
    /// The subscriptions of this load queue events from here on.
    pub(crate) fn set_filters_of(&mut self, load: u64) {
        self.filters_of = Some(load);
    }

    /// The shard of an object's events.
    pub(crate) fn shard_of(&self, key: &ObjectKey) -> usize {
        shard::of_object(key, self.shards.len())
    }

    /// Whether a shard's waiting actor would refuse an event that its filter refuses: the filter is that of the actor's
    /// version, and the event would be merged with no other.
    pub(crate) fn would_refuse(&self, shard: usize, hands: Hands) -> bool {
        let is_of_version = hands.filters_of.is_some() && hands.filters_of == self.filters_of;
        is_of_version && self.shards.get(shard).is_some_and(Mailbox::is_idle)
    }

    /// Notes an event that its filter refuses, if a shard's waiting actor would refuse the same event now. `begun_by`: the
    /// load that began the subscription's handler. A handler that another one replaces may still be notified for a moment.
    pub(crate) fn refuse(
        &mut self,
        shard: usize,
        hands: Hands,
        begun_by: u64,
        delivery: &EndedDelivery<'_>,
    ) -> bool {
        let is_of_handler =
            |mailbox: &Mailbox| mailbox.initials.is_begun_by(delivery.subscription, begun_by);
        let refuses =
            self.would_refuse(shard, hands) && self.shards.get(shard).is_some_and(is_of_handler);
        if refuses {
            self.history.push(delivery);
        }
        refuses
    }
}
