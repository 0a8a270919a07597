//! Whose turn it is: the choice of a shard's next work, and what follows from its end.
//!
//! Of what is due a call that says that a subscription has synced comes first, then a schedule, but never twice in a row, then keys and
//! events by turns. Nothing is due before the breaker's pause is over.

use super::{Completed, Hands, Mailboxes, Reconciles, Woken, Work};
use crate::delivery::breaker::{Ended, Turn};
use crate::delivery::sync_calls::SyncCall;
use crate::delivery::timers::Now;
use jiff::Timestamp;
use std::time::Instant;

/// While both wait, a key has its turn after each event that the guest was told of, and after so many that it was not: they cost it nothing,
/// and what became keys of one name is one key.
pub(super) const EVENTS_BETWEEN_KEYS: u32 = 256;

impl Mailboxes {
    /// The next work of a shard. It is in flight until [`settle`](Self::settle).
    pub(crate) fn next(
        &mut self,
        shard: usize,
        hands: Hands,
        now: Instant,
        wall: impl Fn() -> Timestamp,
    ) -> Option<Work> {
        if self.held_until(hands, now).is_some() {
            return None;
        }
        if !hands.has_instance {
            return Some(Work::Start);
        }
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let [sync, firing, key, event] = self.dues(shard, hands, now).map(is_due);
        if sync {
            return self.next_sync(shard, now).map(Work::Sync);
        }
        // After each firing something else has its turn, so that they starve nobody.
        let yields = hands.fires && std::mem::take(&mut self.fired_last) && (key || event);
        if firing
            && !yields
            && let Some(firing) = self.timers.take(Now { instant: now, wall: wall() })
        {
            self.fired_last = true;
            return Some(Work::Fire(firing));
        }
        let since = self.shards.get(shard)?.events_since_key;
        let is_events_turn = event && since < EVENTS_BETWEEN_KEYS && !self.keys.is_full();
        if key
            && !is_events_turn
            && let Some(work) = self.keys.take(shard, now)
        {
            self.shards[shard].events_since_key = 0;
            return Some(Work::Reconcile(work));
        }
        if !event {
            return None;
        }
        let queued = self.pop(shard, now)?;
        self.shards[shard].events_since_key = since.saturating_add(1);
        Some(Work::Deliver(queued))
    }

    /// Whether events wait for room among the keys that they become.
    fn holds_events(&self, hands: Hands, now: Instant) -> bool {
        hands.reconciles != Reconciles::Never && self.keys.holds_events(now)
    }

    /// Whether a shard's actor that is not held would take an event that came now.
    pub(in crate::delivery) fn takes_events(&self, hands: Hands, now: Instant) -> bool {
        hands.has_instance && !self.holds_events(hands, now)
    }

    /// When something may be done again; none if it may be now.
    pub(crate) fn held_until(&self, hands: Hands, now: Instant) -> Option<Instant> {
        self.not_before(hands).filter(|from| now < *from)
    }

    /// Nothing is done before this.
    fn not_before(&self, hands: Hands) -> Option<Instant> {
        hands.from.max(self.breaker.next_call())
    }

    /// The next call that says that a subscription has synced. A plugin that is tripped is tried with an event.
    fn next_sync(&self, shard: usize, now: Instant) -> Option<SyncCall> {
        let mailbox = self.shards.get(shard).filter(|_| self.breaker.next_call().is_none())?;
        mailbox.next_sync(now)
    }

    /// When a shard has something to do: now if it is past, none if nothing waits.
    pub(crate) fn due(&mut self, shard: usize, hands: Hands, now: Instant) -> Option<Instant> {
        let from = self.not_before(hands);
        if !hands.has_instance {
            return Some(from.unwrap_or(now));
        }
        let due = self.dues(shard, hands, now).into_iter().flatten().min()?;
        Some(from.map_or(due, |from| from.max(due)))
    }

    /// When a shard has a call for a subscription to make, a schedule to look at, a key and an event.
    fn dues(&mut self, shard: usize, hands: Hands, now: Instant) -> [Option<Instant>; 4] {
        let sync = self.next_sync(shard, now).map(|call| call.due);
        let firing = self.timers.look_at().filter(|_| hands.fires);
        // Invariant 21.
        let key = match hands.reconciles {
            Reconciles::Now => self.keys.next_due(shard, now),
            Reconciles::Never | Reconciles::Later => None,
        };
        let event = match self.holds_events(hands, now) {
            true => None,
            false => self.next_due(shard, now),
        };
        [sync, firing, key, event]
    }

    /// Says what became of a shard's work, and how its call ended as far as that says something of the plugin. Answers what the breaker made of it.
    pub(crate) fn settle(
        &mut self,
        shard: usize,
        done: Completed<'_>,
        call: Option<Ended>,
        now: Instant,
    ) -> Option<Turn> {
        match done {
            Completed::Delivered(settled, delivery) => {
                self.history.push(delivery);
                self.settle_event(shard, settled, now);
            }
            Completed::Reconciled(worked) => {
                // Others may wait for room among the keys.
                if self.keys.settle(shard, worked, now) {
                    self.woken = Woken::All;
                }
            }
            Completed::Fired(firing, settled, error, at) => {
                self.timers.settle(firing, settled, error, at);
            }
            Completed::Synced(id, settled, failure) => {
                if let Some(mailbox) = self.shards.get_mut(shard) {
                    mailbox.syncs.settle(id, settled, failure);
                }
            }
            Completed::Started => {}
        }
        let turn = self.breaker.note(call?, now)?;
        match &turn {
            Turn::Opened { retries_from, .. } => self.hold_retries(Some(*retries_from), now),
            Turn::Closed => self.hold_retries(None, now),
        }
        Some(turn)
    }
}
