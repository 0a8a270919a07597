//! Events that wait for their first attempt, in order of arrival. A newer event can be merged into the last event
//! of its object.

use super::Lane;
use super::load::QueueLoad;
use crate::event::merge::Merged;
use crate::event::{Event, SubscriptionId};
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;

/// With fewer entries than this, holes are not closed.
const HOLES_MIN: usize = 64;
/// An empty queue keeps room for so many entries. It gives back what a burst took.
const ROOM_KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// In order of arrival. An event that was taken out of the middle leaves a hole.
    entries: VecDeque<Option<BacklogEntry>>,
    /// The number of the first entry. Entries keep their numbers while others leave.
    first: u64,
    /// The number of each object's last entry. Without an entry here there is no event to merge a newer one into.
    /// Built on first use.
    last: Option<HashMap<Lane, u64>>,
    /// How many events of each object wait. Built on first use, dropped when no event waits.
    counts: Option<HashMap<Lane, usize>>,
    load: QueueLoad,
}

/// A waiting event.
#[derive(Debug)]
struct BacklogEntry {
    event: Event,
    /// Its part of the load: an event that leaves is taken by another thread, which need not read its objects for that.
    load: QueueLoad,
}

/// Counts an event of its object. The key is replaced: an old key would keep an old version of the object alive.
fn count(counts: &mut HashMap<Lane, usize>, event: &Event) {
    let lane = Lane::of(event);
    let before = counts.remove(&lane).unwrap_or_default();
    counts.insert(lane, before + 1);
}

impl Backlog {
    pub(super) fn load(&self) -> QueueLoad {
        self.load
    }

    pub(super) fn is_empty(&self) -> bool {
        self.load.events == 0
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.entries.iter().flatten().map(|entry| &entry.event)
    }

    pub(super) fn into_events(self) -> VecDeque<Event> {
        self.entries.into_iter().flatten().map(|entry| entry.event).collect()
    }

    /// Puts an event at the end.
    pub(super) fn append(&mut self, event: Event) {
        let number = self.first + self.entries.len() as u64;
        if let Some(last) = &mut self.last {
            let lane = Lane::of(&event);
            // The key is replaced too: an old key would keep an old version of the object alive.
            last.remove(&lane);
            last.insert(lane, number);
        }
        self.entries.push_back(None);
        self.fill(self.entries.len() - 1, event);
        self.compact();
    }

    /// Merges an event into the last event of its object, or appends it if there is none.
    pub(super) fn merge(&mut self, newer: Event, merge: impl FnOnce(Event, Event) -> Merged) {
        let lane = Lane::of(&newer);
        let known = self.last().remove(&lane);
        let place = known.map(|number| (number, (number - self.first) as usize));
        let Some((number, index, older)) =
            place.and_then(|(number, index)| Some((number, index, self.empty(index)?)))
        else {
            return self.append(newer);
        };
        match merge(older, newer) {
            Merged::One(event) => {
                self.last().insert(Lane::of(&event), number);
                self.fill(index, event);
                self.compact();
            }
            Merged::Nothing => self.compact(),
            Merged::Both(older, newer) => {
                self.fill(index, older);
                self.append(newer);
            }
        }
    }

    /// Puts an event into a hole.
    fn fill(&mut self, index: usize, event: Event) {
        let load = QueueLoad::of(&event);
        self.load += load;
        if let Some(counts) = &mut self.counts {
            count(counts, &event);
        }
        self.entries[index] = Some(BacklogEntry { event, load });
    }

    /// Takes an event out, which leaves a hole.
    fn empty(&mut self, index: usize) -> Option<Event> {
        let entry = self.entries[index].take()?;
        Some(self.leave(entry))
    }

    /// Counts an event that has left its place.
    fn leave(&mut self, BacklogEntry { event, load }: BacklogEntry) -> Event {
        self.load -= load;
        if self.load.events == 0 {
            self.counts = None;
        }
        let Some(counts) = &mut self.counts else { return event };
        let lane = Lane::of(&event);
        if let Some(count) = counts.get_mut(&lane) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&lane);
            }
        }
        event
    }

    /// Takes the first event, if it is due.
    pub(super) fn pop_if(&mut self, is_due: impl Fn(&Event) -> bool) -> Option<Event> {
        let leaves = |entry: &mut Option<BacklogEntry>| {
            entry.as_ref().is_none_or(|entry| is_due(&entry.event))
        };
        while let Some(entry) = self.entries.pop_front_if(leaves) {
            let number = self.first;
            self.first += 1;
            if self.entries.is_empty() {
                // The next event gets the same place in memory, which is in the caches, unless there was a burst.
                self.entries.clear();
                self.entries.shrink_to(ROOM_KEPT);
            }
            let Some(entry) = entry else { continue };
            let event = self.leave(entry);
            if let Some(last) = &mut self.last {
                let lane = Lane::of(&event);
                if last.get(&lane) == Some(&number) {
                    last.remove(&lane);
                }
            }
            return Some(event);
        }
        None
    }

    /// Drops the index for merging, until the next merge.
    pub(super) fn forget_last(&mut self) {
        self.last = None;
    }

    /// The index `last`, built if it is missing.
    fn last(&mut self) -> &mut HashMap<Lane, u64> {
        let (entries, first) = (&self.entries, self.first);
        self.last.get_or_insert_with(|| {
            let mut last = HashMap::new();
            // From the end: the first event that is found is its object's last one.
            for (index, entry) in entries.iter().enumerate().rev() {
                if let Some(BacklogEntry { event, .. }) = entry {
                    last.entry(Lane::of(event)).or_insert(first + index as u64);
                }
            }
            last
        })
    }

    /// Whether an event of this object waits.
    pub(super) fn has(&mut self, lane: &Lane) -> bool {
        if self.is_empty() {
            return false;
        }
        let entries = &self.entries;
        let counts = self.counts.get_or_insert_with(|| {
            let mut counts = HashMap::new();
            entries.iter().flatten().for_each(|entry| count(&mut counts, &entry.event));
            counts
        });
        counts.contains_key(lane)
    }

    /// Closes the holes, once most entries are holes: objects that come and go above the mark must not make the
    /// queue grow.
    fn compact(&mut self) {
        if self.entries.len() < HOLES_MIN || self.entries.len() < 2 * self.load.events {
            return;
        }
        let entries = std::mem::take(&mut self.entries);
        self.entries = entries.into_iter().filter(Option::is_some).collect();
        let Some(last) = &mut self.last else { return };
        for (entry, number) in self.entries.iter().zip(self.first..) {
            let Some(BacklogEntry { event, .. }) = entry else { continue };
            // Numbers only decrease, to the event's new place.
            if let Some(known) = last.get_mut(&Lane::of(event)) {
                *known = number;
            }
        }
    }

    /// Takes all events of a subscription, in order.
    pub(super) fn take_all(&mut self, id: SubscriptionId) -> Vec<Event> {
        self.take_where(|of| of == id)
    }

    /// Drops the events of all other subscriptions, and returns their number.
    pub(super) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.take_where(|id| !keep.contains(&id)).len()
    }

    fn take_where(&mut self, is_taken: impl Fn(SubscriptionId) -> bool) -> Vec<Event> {
        let mut taken = Vec::new();
        for entry in &mut self.entries {
            let entry = entry.take_if(|entry| is_taken(entry.event.subscription));
            let Some(BacklogEntry { event, load }) = entry else { continue };
            self.load -= load;
            taken.push(event);
        }
        if let Some(last) = &mut self.last {
            last.retain(|lane, _| !is_taken(lane.subscription));
        }
        if let Some(counts) = &mut self.counts {
            counts.retain(|lane, _| !is_taken(lane.subscription));
        }
        self.compact();
        taken
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let events: Vec<&Event> = self.events().collect();
        assert_eq!(self.load, events.iter().copied().sum(), "the load is that of what waits");
        for BacklogEntry { event, load } in self.entries.iter().flatten() {
            assert_eq!(*load, QueueLoad::of(event), "so much is taken off when it leaves");
        }
        let is_large = self.entries.is_empty() && self.entries.capacity() > 2 * ROOM_KEPT;
        assert!(!is_large, "a burst's room is given back");
        if let Some(counts) = &self.counts {
            let count = |lane: &Lane| events.iter().filter(|it| Lane::of(it) == *lane).count();
            assert!(counts.iter().all(|(lane, number)| count(lane) == *number), "{counts:?}");
            assert_eq!(counts.values().sum::<usize>(), events.len(), "all that wait are counted");
        }
        for (lane, number) in self.last.iter().flatten() {
            let is_of = |entry: &Option<BacklogEntry>| {
                entry.as_ref().is_some_and(|it| Lane::of(&it.event) == *lane)
            };
            let last = self.entries.iter().rposition(is_of);
            let place = last.map(|index| self.first + index as u64);
            assert_eq!(place, Some(*number), "`last` is true");
        }
    }
}
