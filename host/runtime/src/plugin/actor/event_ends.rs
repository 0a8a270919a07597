//! The ends of an event: it succeeded, or it is given up.

use super::Actor;
use super::recorded::DeliveryResult;
use crate::counters::add_one;
use crate::delivery::breaker::Outcome;
use crate::delivery::mailbox::{Queued, Settled};
use crate::delivery::mailboxes::{Completed, Hands, Mailboxes};
use crate::delivery::reevaluation::Seen;
use crate::history::DeliveryEnd;
use crate::kept::dead_letters::DeadLetter;
use crate::kept::plugin_state::StateChanges;
use std::time::Instant;

impl Actor {
    /// Settles a successful delivery. `seen` is the reevaluated event, if there is one. `owes`: the guest has to wait
    /// because it logged too much. Returns whether other work may follow.
    pub(super) async fn succeeded(
        &mut self,
        queued: &Queued,
        (asked_by, seen): (u64, Option<&Seen>),
        now: Instant,
        owes: bool,
    ) -> bool {
        self.together.settle(&queued.event, asked_by, seen);
        let call = Some((Outcome::Succeeded, queued.tried.is_first()));
        // The end of an old version takes time. What is taken must be done at once.
        let takes = !owes && self.retired.is_none();
        let hands = self.hands_for_more(now).filter(|_| takes);
        let has_more =
            self.finish(queued, (Settled::Finished, DeliveryEnd::Ok), (call, hands), now);
        self.retire().await;
        has_more && !owes
    }

    /// Drops an event of a subscription that this version lacks. The letters that were redriven as this event lie as
    /// before. Returns whether other work may follow.
    pub(super) fn drop_event(&mut self, queued: &Queued, now: Instant) -> bool {
        add_one(&self.core.counters.dropped);
        let letters = &queued.event.letters;
        let is_lost = |letter: &DeadLetter| letters.contains(&letter.id);
        self.core.dead_letters.lock().take_back(is_lost);
        self.pass_over(queued, DeliveryEnd::Dropped, now)
    }

    /// Settles an event that the guest did not get. The event does not come again. Returns whether other work may follow.
    pub(super) fn pass_over(&mut self, queued: &Queued, end: DeliveryEnd, now: Instant) -> bool {
        self.core.archive.finished(&queued.event, StateChanges::new());
        let hands = self.hands_for_more(now);
        self.finish(queued, (Settled::PassedOver, end), (None, hands), now)
    }

    /// Ends an event: its end is kept, together with the writes of its call. With `hands`, the next work of this turn is
    /// taken under the same lock. Returns whether work was taken or, without `hands`, may wait.
    fn finish(
        &mut self,
        queued: &Queued,
        (settled, end): (Settled, DeliveryEnd),
        (call, hands): (Option<(Outcome, bool)>, Option<Hands>),
        now: Instant,
    ) -> bool {
        self.core.told(&queued.event.letters);
        let delivery = self.ended(queued, DeliveryResult::of(end), now);
        let take = |mailboxes: &mut Mailboxes| match hands {
            Some(hands) => {
                let next = mailboxes.next(self.shard, hands, now, || self.surroundings.wall());
                (next.is_some(), next)
            }
            None => (mailboxes.may_have_work(self.shard), None),
        };
        let (has_more, next) =
            self.settle_and(Completed::Delivered(settled, &delivery), call, now, take);
        debug_assert!(self.turn.next.is_none(), "it was taken and is not done");
        self.turn.next = next;
        has_more
    }
}
