//! What is shown of a plugin's mailboxes.

use super::Mailboxes;
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
        let ((ready, oldest_ready), load) = (self.ready(), self.load());
        QueueSnapshot {
            ready,
            oldest_ready,
            is_rate_limited: self.is_rate_limited(now),
            depth: load.events,
            in_flight: self.in_flight(),
            bytes: load.bytes,
            coalesced: self.coalesced(),
            oldest: self.oldest(),
            failed: self.failed(),
        }
    }
}
