//! The queue of one plugin's events: a synchronous cupboard between the informers and the plugin's actor.
//!
//! Events come out in the order they went in. Up to the mark every one is kept; above it a newer event is
//! merged into the last waiting one of the same object and subscription, so memory is bounded by the
//! number of objects. A failed event waits for its retry at the head of its object's lane; later events
//! of that object wait behind it, other objects do not.

mod initials;
mod lane;
mod merging;
mod restored;

use crate::event::{Event, SubscriptionId};
use hashbrown::{HashMap, HashSet};
use informant_cache::Object;
pub(crate) use initials::Initials;
use lane::Lane;
use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

/// Fewer entries than this are not worth closing holes for.
const HOLES_MIN: usize = 64;

/// Once the waiting events take this many bytes, those that come wait without the text that their objects carry for whoever reads them soon:
/// a plugin that is behind has it unpacked when its turn comes. Four hundred updates of 5 KB objects, of each plugin that is behind.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// Where merging begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// An event with its history of attempts.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) event: Event,
    /// 1 for the first delivery.
    pub(crate) attempt: u32,
    /// How many instances this event has ended.
    pub(crate) crashes: u32,
    /// Given at the first delivery; a retry keeps it.
    pub(crate) seq: u64,
}

/// What became of a delivered event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The guest took it, or it is a dead letter: it will not come again.
    Finished,
    /// It comes again at this time, and its object's later events wait for it.
    RetryAt(Instant),
    /// Like `RetryAt`; this attempt also ended the instance.
    CrashedRetryAt(Instant),
}

#[derive(Debug)]
pub(crate) struct EventQueue {
    marks: Marks,
    /// In order of arrival; a hole where an event was merged away.
    waiting: VecDeque<Option<Event>>,
    /// Number of the first entry of `waiting`: entries keep their number while others leave.
    first: u64,
    /// Where an object's last entry in `waiting` stands. An object that is not here has nothing that a
    /// newer event could be merged into. Made where the mark is reached, let go at half of it: below, nobody asks.
    last: Option<HashMap<Lane, u64>>,
    /// Objects that have an attempted event, with everything of theirs that had its turn since.
    held: HashMap<Lane, VecDeque<Queued>>,
    /// When the head of each held lane may be tried; one entry for each lane of `held`, but for the one
    /// in flight.
    due: BTreeSet<(Instant, u64, Lane)>,
    /// Of the held lanes those whose head was attempted by a host before this one, and not by this one yet.
    restored: HashSet<Lane>,
    in_flight: Option<Queued>,
    /// Of which subscriptions all initial objects were told.
    pub(crate) initials: Initials,
    depth: usize,
    bytes: usize,
    seq: u64,
    coalesced: u64,
}

impl EventQueue {
    pub(crate) fn new(marks: Marks) -> Self {
        Self {
            marks,
            waiting: VecDeque::new(),
            first: 0,
            last: None,
            held: HashMap::new(),
            due: BTreeSet::new(),
            restored: HashSet::new(),
            in_flight: None,
            initials: Initials::default(),
            depth: 0,
            bytes: 0,
            seq: 0,
            coalesced: 0,
        }
    }

    /// Events that wait, the one in flight not counted.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Bytes of the objects of waiting events; an object that the cache holds too is counted all the same.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many events were merged into others or cancelled so far.
    pub(crate) fn coalesced(&self) -> u64 {
        self.coalesced
    }

    /// When the oldest waiting event's bytes were read.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        let waiting = self.waiting.iter().flatten().next().map(|event| event.received);
        let held = self.held.values().filter_map(|lane| lane.front());
        held.map(|queued| queued.event.received).chain(waiting).min()
    }

    /// Appends an event, merging it into its object's last waiting one above the mark.
    pub(crate) fn push(&mut self, mut event: Event) {
        if self.bytes >= TEXT_BYTES_MAX {
            event.object = event.object.at_rest();
            event.old = event.old.map(|old| old.at_rest());
        }
        self.initials.came(&event);
        let lane = Lane::of(&event);
        if !self.restored.is_empty() {
            match self.supersede(&lane, event) {
                Some(kept) => event = kept,
                None => return,
            }
        }
        let into = if self.over_mark() { self.last_waiting().get(&lane).copied() } else { None };
        match into {
            Some(number) => self.merge_at(&lane, number, event),
            None => self.append(event),
        }
        self.compact();
    }

    fn append(&mut self, event: Event) {
        self.depth += 1;
        self.bytes += size(&event);
        if let Some(last) = &mut self.last {
            let (lane, number) = (Lane::of(&event), self.first + self.waiting.len() as u64);
            // The key is replaced too: it must not keep an old version of the object alive.
            last.remove(&lane);
            last.insert(lane, number);
        }
        self.waiting.push_back(Some(event));
    }

    /// `last`, made if it is not there.
    fn last_waiting(&mut self) -> &mut HashMap<Lane, u64> {
        let (waiting, first) = (&self.waiting, self.first);
        self.last.get_or_insert_with(|| {
            let mut last = HashMap::new();
            // From the end: the first that is met is an object's last.
            for (index, event) in waiting.iter().enumerate().rev() {
                if let Some(event) = event {
                    last.entry(Lane::of(event)).or_insert(first + index as u64);
                }
            }
            last
        })
    }

    /// Closes the holes that merging left, once they are most of the queue: objects that come and go above
    /// the mark must not make it grow.
    fn compact(&mut self) {
        let live = self.last.as_ref().map_or(0, HashMap::len).max(self.depth);
        if self.waiting.len() < HOLES_MIN || self.waiting.len() < 2 * live {
            return;
        }
        let kept: VecDeque<Option<Event>> =
            self.waiting.drain(..).filter(Option::is_some).collect();
        self.waiting = kept;
        let Some(last) = &mut self.last else { return };
        for (event, number) in self.waiting.iter().zip(self.first..) {
            let Some(event) = event else { continue };
            // Numbers only ever move down, to where the event now stands.
            if let Some(known) = last.get_mut(&Lane::of(event)) {
                *known = number;
            }
        }
    }

    /// The next event to deliver at `now`. It is in flight until [`settle`](Self::settle).
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Queued> {
        assert!(self.in_flight.is_none(), "one event is delivered at a time");
        let queued = self.pop_due(now).or_else(|| self.pop_waiting())?;
        self.depth -= 1;
        self.bytes -= size(&queued.event);
        if self.depth < self.marks.events / 2 && self.bytes < self.marks.bytes / 2 {
            self.last = None;
        }
        self.in_flight = Some(queued.clone());
        Some(queued)
    }

    fn pop_due(&mut self, now: Instant) -> Option<Queued> {
        if self.due.first()?.0 > now {
            return None;
        }
        let (_, _, lane) = self.due.pop_first()?;
        let mut queued = self.held.get_mut(&lane)?.pop_front()?;
        self.restored.remove(&lane);
        self.number(&mut queued);
        Some(queued)
    }

    fn pop_waiting(&mut self) -> Option<Queued> {
        while let Some(entry) = self.waiting.pop_front() {
            let number = self.first;
            self.first += 1;
            let Some(event) = entry else { continue };
            let lane = Lane::of(&event);
            if let Some(last) = &mut self.last
                && last.get(&lane) == Some(&number)
            {
                last.remove(&lane);
            }
            let mut queued = Queued { event, attempt: 1, crashes: 0, seq: 0 };
            match self.held.get_mut(&lane) {
                Some(held) => {
                    held.push_back(queued);
                    self.merge_held(&lane);
                }
                None => {
                    self.number(&mut queued);
                    return Some(queued);
                }
            }
        }
        None
    }

    fn over_mark(&self) -> bool {
        self.depth >= self.marks.events || self.bytes >= self.marks.bytes
    }

    fn number(&mut self, queued: &mut Queued) {
        if queued.seq == 0 {
            self.seq += 1;
            queued.seq = self.seq;
        }
    }

    /// Says what became of the event in flight.
    pub(crate) fn settle(&mut self, settled: Settled, now: Instant) {
        let Some(mut queued) = self.in_flight.take() else { return };
        if settled == Settled::Finished {
            self.initials.ended(queued.event.subscription, queued.event.before_sync.into());
            if self.held.is_empty() {
                return;
            }
        }
        let lane = Lane::of(&queued.event);
        let (at, crashed) = match settled {
            Settled::Finished => return self.release(lane, now),
            Settled::RetryAt(at) => (at, 0),
            Settled::CrashedRetryAt(at) => (at, 1),
        };
        queued.attempt += 1;
        queued.crashes += crashed;
        self.depth += 1;
        self.bytes += size(&queued.event);
        self.due.insert((at, queued.seq, lane.clone()));
        self.held.entry(lane).or_default().push_front(queued);
    }

    /// Puts back what was in flight when whoever had it went without a word: as if it had ended the instance.
    pub(crate) fn recover(&mut self, now: Instant) {
        self.settle(Settled::CrashedRetryAt(now), now);
    }

    /// Lets the next event of a held lane go, or the lane itself.
    fn release(&mut self, lane: Lane, now: Instant) {
        let Some(held) = self.held.get(&lane) else { return };
        match held.front() {
            Some(next) => {
                self.due.insert((now, next.seq, lane));
            }
            None => {
                self.held.remove(&lane);
            }
        }
    }

    /// When something can be popped: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter().flatten().next().map(|_| now);
        waiting.or_else(|| self.due.first().map(|(at, _, _)| *at))
    }

    /// Drops the waiting events of all other subscriptions and says how many those were.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        let before = self.depth;
        let (mut dropped_events, mut dropped_bytes) = (0, 0);
        let mut drop_unless = |event: &Event| {
            let kept = keep.contains(&event.subscription);
            if !kept {
                dropped_events += 1;
                dropped_bytes += size(event);
            }
            kept
        };
        for entry in &mut self.waiting {
            if entry.as_ref().is_some_and(|event| !drop_unless(event)) {
                *entry = None;
            }
        }
        for lane in self.held.values_mut() {
            lane.retain(|queued| drop_unless(&queued.event));
        }
        if let Some(last) = &mut self.last {
            last.retain(|lane, _| keep.contains(&lane.subscription));
        }
        self.held.retain(|lane, _| keep.contains(&lane.subscription));
        self.due.retain(|(_, _, lane)| keep.contains(&lane.subscription));
        self.restored.retain(|lane| keep.contains(&lane.subscription));
        self.initials.retain(keep);
        self.depth -= dropped_events;
        self.bytes -= dropped_bytes;
        before - self.depth
    }
}

fn size(event: &Event) -> usize {
    event.object.size() + event.old.as_ref().map_or(0, Object::size)
}

#[cfg(test)]
mod tests;
