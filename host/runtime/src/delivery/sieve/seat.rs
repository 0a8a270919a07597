//! The place of one subscription in a sieve, and the places of one plugin's subscriptions.

use super::SubscriptionSieve;
use super::refusing::RefusingBit;
use crate::delivery::plugin_queue::PluginQueue;
use crate::event::SubscriptionId;
use crate::history::{EndedDelivery, PastDelivery};
use informant_cache::{ObjectKey, SievePlace};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// A subscription's place. When it is dropped, the plugin's counters and its history get the refused updates.
pub(crate) struct SieveSeat {
    seated: Seated,
    queue: Arc<PluginQueue>,
    /// Shows whether the plugin would refuse an update now, if the subscription has a filter.
    bit: Option<RefusingBit>,
}

#[derive(Clone)]
struct Seated {
    sieve: Arc<SubscriptionSieve>,
    place: usize,
    id: SubscriptionId,
}

/// The places of a plugin's subscriptions.
#[derive(Default)]
pub(crate) struct Seats {
    taken: Mutex<Vec<Seated>>,
}

impl SieveSeat {
    pub(super) fn new(
        sieve: Arc<SubscriptionSieve>,
        (place, bit): (usize, Option<RefusingBit>),
        id: SubscriptionId,
        queue: Arc<PluginQueue>,
    ) -> Self {
        let seated = Seated { sieve, place, id };
        queue.seats.taken.lock().push(seated.clone());
        bit.iter().for_each(|bit| queue.show_in(bit.clone()));
        Self { seated, queue, bit }
    }

    pub(crate) fn place(&self) -> SievePlace {
        SievePlace { sieve: self.seated.sieve.clone(), place: self.seated.place }
    }

    /// Notes that another handler is about to replace the one in this place. Only the queue knows then which of them
    /// decides about an event.
    pub(crate) fn note_replaced(&self) {
        self.bit.iter().for_each(|bit| self.queue.hide_from(bit));
    }
}

impl Drop for SieveSeat {
    fn drop(&mut self) {
        // Another subscription may get the place.
        self.note_replaced();
        let Self { seated: Seated { sieve, place, id }, queue, .. } = self;
        let (past, forgotten) = {
            // A reader of the counters sees the updates here or there.
            let mut taken = queue.seats.taken.lock();
            taken.retain(|one| !(Arc::ptr_eq(&one.sieve, sieve) && one.place == *place));
            let (refused, past) = sieve.leave((*place, *id));
            queue.counters.filtered.fetch_add(refused, Relaxed);
            past
        };
        queue.look(|it| {
            it.history.forget_until(forgotten);
            past.iter().for_each(|past| it.history.push_if_room(&EndedDelivery::from(past)));
        });
    }
}

impl PluginQueue {
    /// Changes within the plugin's views that its subscriptions did not want.
    pub(crate) fn filtered(&self) -> u64 {
        let taken = self.seats.taken.lock();
        let refused = taken.iter().map(|it| it.sieve.refused(it.place)).sum::<u64>();
        self.counters.filtered.load(Relaxed) + refused
    }

    /// The updates of an object that filters refused and the history does not have, and the end of the newest one of any
    /// object that is not there any more.
    pub(crate) fn refused_updates(&self, key: &ObjectKey) -> (Vec<PastDelivery>, Option<Instant>) {
        let taken = self.seats.taken.lock();
        let of = taken.iter().map(|it| it.sieve.filtered((it.place, it.id), key));
        let (past, forgotten): (Vec<_>, Vec<_>) = of.unzip();
        (past.into_iter().flatten().collect(), forgotten.into_iter().flatten().max())
    }
}
