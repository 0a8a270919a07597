//! A snapshot of a plugin's mailboxes.

use super::{Mailbox, Mailboxes};
use crate::event::ShownObject;
use std::time::Instant;

/// The content of the mailboxes at one moment.
#[derive(Debug, Clone, Copy)]
pub struct QueueSnapshot {
    /// The number of waiting events.
    pub depth: usize,
    /// Events in flight: at most one for each shard. They do not count as waiting.
    pub in_flight: usize,
    /// The bytes of the waiting events' objects.
    pub bytes: usize,
    /// The number of events that were merged into others so far.
    pub coalesced: u64,
    /// Whether only the plugin's call rate delays the next event.
    pub is_rate_limited: bool,
    /// When the bytes of the oldest waiting event were read.
    pub oldest: Option<Instant>,
    /// Events that wait only for their turn. The others are retries, or wait behind a retry of their object.
    pub ready: usize,
    /// When the bytes of the oldest such event were read.
    pub oldest_ready: Option<Instant>,
    /// The number of objects whose first event has failed and is tried again.
    pub failed: usize,
}

/// A call of the plugin's guest that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenCall {
    pub(crate) since: Instant,
    /// The object of its event, or its key.
    pub(crate) of: String,
}

impl Mailboxes {
    /// The oldest call for an event or a key.
    pub(crate) fn oldest_call(&self) -> Option<OpenCall> {
        let events = self.shards.iter().filter_map(Mailbox::call);
        let event = events.min_by_key(|(since, _)| *since);
        let event =
            event.map(|(since, event)| (since, ShownObject::from(&event.object).to_string()));
        let key = self.keys.calls().min_by_key(|(since, _)| *since);
        let key = key.map(|(since, key)| (since, format!("the key {key}")));
        let oldest = event.into_iter().chain(key).min_by_key(|(since, _)| *since);
        oldest.map(|(since, of)| OpenCall { since, of })
    }

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
