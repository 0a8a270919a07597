//! Chooses a shard's next work, and notes its end.
//!
//! A due `synced` call comes first. A due schedule is next, but never twice in a row. Then keys and events take turns.
//! No work is due before the breaker's pause is over.

use super::{Completed, Hands, Mailboxes, Reconciles, Woken, Work};
use crate::delivery::breaker::{BreakerChange, Ended};
use crate::delivery::sync_calls::SyncCall;
use crate::delivery::timers::Now;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Instant;

/// While both wait, a key has its turn after each event that the guest was called with. It also has its turn after so
/// many events without a call: they cost the guest nothing, and their keys of one name are one key.
pub(super) const EVENTS_BETWEEN_KEYS: u32 = 256;

impl Mailboxes {
    /// Has a schedule fire now ([`Timers::fire`](crate::delivery::timers::Timers::fire)). Notes that its actor may wait
    /// for that.
    pub(crate) fn fire(&mut self, schedule: Option<&str>, now: Now) -> Result<Arc<str>, String> {
        let fired = self.timers.fire(schedule, now)?;
        self.woken = Woken::All;
        Ok(fired)
    }

    /// The next work of a shard. It is in flight until [`settle`](Self::settle).
    pub(crate) fn next(
        &mut self,
        shard: usize,
        hands: Hands,
        now: Instant,
        wall: impl Fn() -> Timestamp,
    ) -> Option<Work> {
        let work = self.choose(shard, hands, now, wall)?;
        self.shards.get_mut(shard)?.filters_of = hands.filters_of;
        Some(work)
    }

    fn choose(
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
        // After each firing other work has its turn, so that firings do not starve it.
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

    /// Whether events wait for room in the queue of keys.
    fn holds_events(&self, hands: Hands, now: Instant) -> bool {
        hands.reconciles != Reconciles::Never && self.keys.holds_events(now)
    }

    /// Whether the actor of a shard would take a new event now, if no gate holds it.
    pub(in crate::delivery) fn takes_events(&self, hands: Hands, now: Instant) -> bool {
        hands.has_instance && !self.holds_events(hands, now)
    }

    /// When work may be done again; `None` if it may be done now.
    pub(crate) fn held_until(&self, hands: Hands, now: Instant) -> Option<Instant> {
        self.not_before(hands).filter(|from| now < *from)
    }

    /// The time before which no work may be done.
    fn not_before(&self, hands: Hands) -> Option<Instant> {
        hands.from.max(self.breaker.next_call())
    }

    /// The next `synced` call. `None` while the breaker is open: then an event tries the plugin.
    fn next_sync(&self, shard: usize, now: Instant) -> Option<SyncCall> {
        let mailbox = self.shards.get(shard).filter(|_| self.breaker.next_call().is_none())?;
        mailbox.next_sync(now)
    }

    /// When a shard has work. A time in the past means now; `None` means that no work waits.
    pub(crate) fn due(&mut self, shard: usize, hands: Hands, now: Instant) -> Option<Instant> {
        let from = self.not_before(hands);
        if !hands.has_instance {
            return Some(from.unwrap_or(now));
        }
        let due = self.dues(shard, hands, now).into_iter().flatten().min()?;
        Some(from.map_or(due, |from| from.max(due)))
    }

    /// When a shard has a `synced` call, a schedule to look at, a key and an event.
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

    /// Notes the end of a shard's work. `call` is how its call ended, as far as the breaker counts it. Returns the
    /// breaker's change.
    pub(crate) fn settle(
        &mut self,
        shard: usize,
        done: Completed<'_>,
        call: Option<Ended>,
        now: Instant,
    ) -> Option<BreakerChange> {
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.filters_of = None;
        }
        match done {
            Completed::Delivered(settled, delivery) => {
                self.history.push(delivery);
                self.settle_event(shard, settled, now);
            }
            Completed::Reconciled(worked) => {
                // Other shards may wait for room among the keys.
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
        let change = self.breaker.note(call?, now)?;
        match &change {
            BreakerChange::Opened { retries_from, .. } => {
                self.hold_retries(Some(*retries_from), now)
            }
            BreakerChange::Closed => self.hold_retries(None, now),
        }
        Some(change)
    }
}
