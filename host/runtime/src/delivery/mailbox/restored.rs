//! Events that an earlier host attempted.

use super::{Lane, Mailbox, Queued};
use crate::event::merge::merge;
use crate::event::{Event, Reason};
use std::time::Instant;

impl Mailbox {
    /// Puts in an event that an earlier host attempted, with the number of its next attempt. The other events of
    /// its object wait for it from now on.
    pub(crate) fn restore(&mut self, mut queued: Queued, due: Instant) {
        self.number(&mut queued);
        self.held.restore(queued, due);
    }

    /// An object's event from the first list replaces an event that an earlier host attempted and this host did
    /// not. The rule that merges events decides the result.
    pub(super) fn unless_superseded(&mut self, lane: &Lane, event: Event) -> Option<Event> {
        if !self.held.take_restored(lane) || event.reason != Reason::Initial {
            return Some(event);
        }
        let left = self.held.supersede(lane, event, |older, newer| merge(older, newer, true));
        self.coalesced += u64::from(left.is_none());
        left
    }
}
