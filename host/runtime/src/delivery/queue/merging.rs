//! What becomes of two events of one object where the queue is above its mark.

use super::{EventQueue, Lane, Marks, Queued, size};
use crate::event::Event;
use crate::event::merge::{Merged, merge};

impl EventQueue {
    /// Merging begins elsewhere for what comes from here on.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.marks = marks;
    }

    /// Merges an event into the one with this number.
    pub(super) fn merge_at(&mut self, lane: &Lane, number: u64, newer: Event) {
        let index = (number - self.first) as usize;
        let waiting = self.waiting[index].take().expect("`last` points at an event");
        self.depth -= 1;
        self.bytes -= size(&waiting);
        self.last_waiting().remove(lane);
        self.wait_less(lane);
        let since = waiting.received;
        match self.merge(waiting, newer) {
            Merged::One(mut event) => {
                if !self.debounce.is_zero() {
                    // Whatever comes, it waits no longer than the first one would have.
                    event.received = since;
                }
                self.depth += 1;
                self.bytes += size(&event);
                self.last_waiting().insert(Lane::of(&event), number);
                self.wait_more(&event);
                self.waiting[index] = Some(event);
            }
            Merged::Nothing => {}
            Merged::Both(waiting, newer) => {
                self.depth += 1;
                self.bytes += size(&waiting);
                self.wait_more(&waiting);
                self.waiting[index] = Some(waiting);
                self.append(newer);
            }
        }
    }

    /// Above the mark, merges the last two of a held lane, as long as neither has been attempted.
    pub(super) fn merge_held(&mut self, lane: &Lane) {
        if !self.over_mark() {
            return;
        }
        let Some(held) = self.held.get_mut(lane) else { return };
        let mergeable = held.len() > 1 && held[held.len() - 2].seq == 0;
        if !mergeable {
            return;
        }
        let (Some(newer), Some(older)) = (held.pop_back(), held.pop_back()) else { return };
        self.depth -= 2;
        self.bytes -= size(&older.event) + size(&newer.event);
        let merged = match self.merge(older.event, newer.event) {
            Merged::One(event) => vec![event],
            Merged::Nothing => Vec::new(),
            Merged::Both(older, newer) => vec![older, newer],
        };
        let held = self.held.entry(lane.clone()).or_default();
        for event in merged {
            self.depth += 1;
            self.bytes += size(&event);
            held.push_back(Queued::untried(event));
        }
    }

    /// What is left of two waiting events, counted.
    fn merge(&mut self, waiting: Event, newer: Event) -> Merged {
        let initial = |event: &Event| usize::from(event.before_sync);
        let (id, before) = (waiting.subscription, initial(&waiting) + initial(&newer));
        let merged = merge(waiting, newer, false);
        let (coalesced, after) = match &merged {
            Merged::One(event) => (1, initial(event)),
            Merged::Nothing => (2, 0),
            Merged::Both(waiting, newer) => (0, initial(waiting) + initial(newer)),
        };
        self.coalesced += coalesced;
        self.initials.ended(id, before - after);
        merged
    }
}
