//! How an event leaves the actor for good.

use super::Actor;
use crate::counters::add_one;
use crate::dead_letters::DeadLetter;
use crate::plugin_state::StateChanges;
use crate::queue::{Queued, Settled};
use std::time::Instant;

impl Actor {
    /// The event was queued for a subscription that this version has not. The letters that were sent as it lie as before.
    pub(super) fn drop_event(&self, mut queued: Queued, now: Instant) {
        add_one(&self.status.counters.dropped);
        let letters = std::mem::take(&mut queued.event.letters);
        let is_lost = |letter: &DeadLetter| letters.contains(&letter.id);
        self.status.dead_letters.lock().take_back(is_lost);
        self.finish(&queued, StateChanges::new(), now);
    }

    /// The event does not come again. What its call wrote is kept together with its end.
    pub(super) fn finish(&self, queued: &Queued, state: StateChanges, now: Instant) {
        self.status.archive.finished(&queued.event, state);
        self.status.told(&queued.event.letters);
        self.status.queue.settle(Settled::Finished, now);
    }
}
