//! Events that a host before this one has attempted: they come first, and attempts go on where they were.

use super::{EventQueue, Lane, Queued, size};
use crate::event::merge::{Merged, merge};
use crate::event::{Event, Reason};
use std::collections::VecDeque;
use std::time::Instant;

impl EventQueue {
    /// Puts in what a host before this one has attempted, with the number of its next attempt. It comes before its object's other
    /// events, which wait for it from now on.
    pub(crate) fn restore(&mut self, mut queued: Queued, due: Instant) {
        self.number(&mut queued);
        let lane = Lane::of(&queued.event);
        self.depth += 1;
        self.bytes += size(&queued.event);
        self.due.insert(&queued, due, lane.clone());
        self.restored.insert(lane.clone());
        self.held.entry(lane).or_default().push_front(queued);
    }

    /// What the first list tells of an object takes the place of what a host before had attempted and nobody has since, by the rule that
    /// merges events. The attempts go on: an object that always fails is not tried for ever because hosts come and go.
    pub(super) fn unless_superseded(&mut self, lane: &Lane, event: Event) -> Option<Event> {
        if self.restored.is_empty() {
            return Some(event);
        }
        if !self.restored.remove(lane) || event.reason != Reason::Initial {
            return Some(event);
        }
        let Some(head) = self.held.get_mut(lane).and_then(VecDeque::front_mut) else {
            return Some(event);
        };
        match merge(head.event.clone(), event, true) {
            Merged::One(merged) => {
                self.coalesced += 1;
                self.bytes = self.bytes + size(&merged) - size(&head.event);
                head.event = merged;
                None
            }
            Merged::Both(_, event) => Some(event),
            Merged::Nothing => unreachable!("what the plugin was told of has an end worth telling"),
        }
    }
}
