//! What is shown of a plugin's mailboxes.

use super::{Mailbox, Mailboxes};
use std::time::Instant;

/// What the queue holds at one moment.
#[derive(Debug, Clone, Copy)]
pub struct QueueSnapshot {
    /// Events that wait.
    pub depth: usize,
    /// Events that a call has now: one for each shard at most. They do not count as waiting.
    pub in_flight: usize,
    /// Bytes of their objects.
    pub bytes: usize,
    /// Events merged into others so far.
    pub coalesced: u64,
    /// Whether events wait for nothing but the rate at which the plugin is to be called.
    pub is_rate_limited: bool,
    /// When the oldest one's bytes were read.
    pub oldest: Option<Instant>,
    /// Events that wait for their turn alone: others wait for a retry of their object, or are one.
    pub ready: usize,
    /// When the bytes of the oldest of them were read.
    pub oldest_ready: Option<Instant>,
    /// Objects whose first event has failed and is tried again.
    pub failed: usize,
}

impl Mailboxes {
    pub(crate) fn snapshot(&mut self, now: Instant) -> QueueSnapshot {
        let (load, rate_wait) = (self.load(), self.rate_wait(now));
        let shards = || self.shards.iter();
        let is_due = |mailbox: &Mailbox| mailbox.next_due(now).is_some_and(|due| due <= now);
        let ready = shards().map(Mailbox::ready);
        QueueSnapshot {
            depth: load.events,
            in_flight: shards().filter(|mailbox| mailbox.has_in_flight()).count(),
            bytes: load.bytes,
            coalesced: shards().map(Mailbox::coalesced).sum(),
            is_rate_limited: !rate_wait.is_zero() && shards().any(is_due),
            oldest: shards().filter_map(Mailbox::oldest).min(),
            ready: ready.clone().map(|(count, _)| count).sum(),
            oldest_ready: ready.filter_map(|(_, at)| at).min(),
            failed: shards().map(Mailbox::failed).sum(),
        }
    }
}
