//! What waits in some lines finds its places in others: the plugin runs in another number of shards.

use super::{EventQueue, Lane, size};
use crate::event::Event;
use crate::shard;
use std::collections::VecDeque;

impl EventQueue {
    /// Puts all that waits in lines into those that it belongs to now, which are empty. Each object's events stay in their order, with their attempts, and
    /// what waits for its first attempt in the order in which it came. Nothing is in flight.
    pub(super) fn regroup(mut before: Vec<Self>, lines: &mut [Self]) {
        for line in &mut before {
            line.scatter(lines);
        }
        let waiting = before.iter_mut().map(|line| std::mem::take(&mut line.waiting));
        let waiting = waiting.map(|events| events.into_iter().flatten().collect()).collect();
        for event in by_arrival(waiting) {
            let line = &mut lines[shard::of_object(event.object.key(), lines.len())];
            line.initials.came(&event);
            line.append(event);
        }
        let asides: Vec<Self> = before.into_iter().filter_map(|line| Some(*line.aside?)).collect();
        if asides.is_empty() {
            return;
        }
        let mut put: Vec<Self> = lines.iter().map(|line| Self::new(line.marks)).collect();
        Self::regroup(asides, &mut put);
        for (line, put) in lines.iter_mut().zip(put) {
            line.aside = Some(Box::new(put));
        }
    }

    /// Everything of a line but what waits for its first attempt, and what is put aside.
    fn scatter(&mut self, lines: &mut [Self]) {
        let shards = lines.len();
        let of = |lane: &Lane| shard::of_object(lane.key(), shards);
        self.due.scatter(of, lines);
        for lane in std::mem::take(&mut self.restored) {
            lines[of(&lane)].restored.insert(lane);
        }
        for (lane, held) in std::mem::take(&mut self.held) {
            let line = &mut lines[of(&lane)];
            for queued in &held {
                line.initials.came(&queued.event);
                line.depth += 1;
                line.bytes += size(&queued.event);
            }
            line.held.insert(lane, held);
        }
        for event in std::mem::take(&mut self.replays).into_events() {
            let lane = Lane::of(&event);
            let line = &mut lines[of(&lane)];
            line.initials.came(&event);
            line.replays.push(lane, event);
        }
        for (id, events) in std::mem::take(&mut self.withheld).into_subscriptions() {
            // Nothing of it comes out of any line, nor of one that has nothing of it yet.
            for line in &mut *lines {
                line.withheld.begin(id);
            }
            for queued in events {
                let line = &mut lines[shard::of_object(queued.event.object.key(), shards)];
                line.initials.came(&queued.event);
                line.withheld.begin(id).push_back(queued);
            }
        }
        lines[0].coalesced += self.coalesced;
    }

    /// An empty line for the same plugin, whose numbers rise above those that were given.
    pub(super) fn emptied(&self, seq: u64) -> Self {
        let initials = self.initials.emptied();
        Self { debounce: self.debounce, initials, seq, ..Self::new(self.marks) }
    }

    /// The number that was given last.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }
}

/// The events of several lines, each of which stays in its order: always the oldest of those that are first.
fn by_arrival(mut lines: Vec<VecDeque<Event>>) -> impl Iterator<Item = Event> {
    std::iter::from_fn(move || {
        let first = lines.iter_mut().filter(|line| !line.is_empty());
        first.min_by_key(|line| line.front().map(|event| event.received))?.pop_front()
    })
}
