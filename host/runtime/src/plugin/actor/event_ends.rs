//! The ends of an event: it succeeded, or it is given up.

use super::Actor;
use super::recorded::DeliveryResult;
use crate::counters::add_one;
use crate::delivery::breaker::Outcome;
use crate::delivery::mailbox::{Queued, Settled};
use crate::delivery::mailboxes::Completed;
use crate::delivery::reevaluation::Seen;
use crate::history::DeliveryEnd;
use crate::kept::dead_letters::DeadLetter;
use crate::kept::plugin_state::StateChanges;
use std::time::Instant;

impl Actor {
    /// Settles a successful delivery. `seen` is the reevaluated event, if there is one. Returns whether the shard may
    /// have more work.
    pub(super) async fn succeeded(
        &mut self,
        queued: &Queued,
        (asked_by, seen): (u64, Option<&Seen>),
        now: Instant,
    ) -> bool {
        self.together.settle(&queued.event, asked_by, seen);
        let call = Some((Outcome::Succeeded, queued.tried.is_first()));
        let has_more = self.finish(queued, (Settled::Finished, DeliveryEnd::Ok), call, now);
        self.retire().await;
        has_more
    }

    /// Drops an event of a subscription that this version lacks. The letters that were redriven as this event lie as
    /// before.
    pub(super) fn drop_event(&self, queued: &Queued, now: Instant) {
        add_one(&self.core.counters.dropped);
        let letters = &queued.event.letters;
        let is_lost = |letter: &DeadLetter| letters.contains(&letter.id);
        self.core.dead_letters.lock().take_back(is_lost);
        self.pass_over(queued, DeliveryEnd::Dropped, now);
    }

    /// Settles an event that the guest did not get. The event does not come again.
    pub(super) fn pass_over(&self, queued: &Queued, end: DeliveryEnd, now: Instant) {
        self.core.archive.finished(&queued.event, StateChanges::new());
        self.finish(queued, (Settled::PassedOver, end), None, now);
    }

    /// Ends an event: its end is kept, together with the writes of its call.
    fn finish(
        &self,
        queued: &Queued,
        (settled, end): (Settled, DeliveryEnd),
        call: Option<(Outcome, bool)>,
        now: Instant,
    ) -> bool {
        self.core.told(&queued.event.letters);
        let delivery = self.ended(queued, DeliveryResult::of(end), now);
        self.settle(Completed::Delivered(settled, &delivery), call, now)
    }
}
