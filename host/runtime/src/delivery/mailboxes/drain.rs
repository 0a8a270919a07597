//! The end of deliveries: mailboxes that put new events aside, and whether anything is left.

use super::{Mailboxes, Woken};
use crate::delivery::mailbox::Mailbox;
use std::time::Instant;

impl Mailboxes {
    /// Puts new events aside from here on.
    pub(crate) fn close(&mut self) {
        self.each(Mailbox::close);
    }

    /// Opens the mailboxes again, with the events that were put aside.
    pub(crate) fn reopen(&mut self) {
        self.woken = Woken::All;
        for shard in 0..self.shards.len() {
            if let Some(mailbox) = self.mailbox(shard) {
                mailbox.reopen();
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shards.iter().any(Mailbox::is_closed)
    }

    /// Whether a shard may have work: an event, a key or a schedule, due or not.
    pub(crate) fn may_have_work(&self, shard: usize) -> bool {
        self.shards.get(shard).is_some_and(Mailbox::has_waiting)
            || self.keys.count() > 0
            || self.timers.look_at().is_some()
    }

    /// Whether all events came out and were settled, and all keys are done apart from delayed ones.
    pub(crate) fn is_drained(&mut self, now: Instant) -> bool {
        self.shards.iter().all(Mailbox::is_drained) && self.keys.is_drained(now)
    }
}
