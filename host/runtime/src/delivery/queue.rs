//! The queue of one plugin's events: a synchronous cupboard between the informers and the plugin's actor. Of a plugin that runs in shards this is one
//! shard's line, and `delivery/queue/shards.rs` the whole.
//!
//! Events come out in the order they went in. Up to the mark every one is kept; above it a newer event is
//! merged into the last waiting one of the same object and subscription, so memory is bounded by the
//! number of objects. A failed event waits for its retry at the head of its object's lane; later events
//! of that object wait behind it, other objects do not: while a retry and another event are due they take turns. Replays have a line
//! beside (`delivery/queue/replays.rs`).

mod call_rate;
mod drain;
mod due;
mod initials;
mod lane;
mod merging;
mod pauses;
mod replays;
mod resharding;
mod restored;
mod retain;
mod settled;
mod shards;
mod withheld;

use crate::contract::limits::Limits;
use crate::event::{Event, SubscriptionId};
use due::Due;
use hashbrown::{HashMap, HashSet};
use informant_cache::Object;
pub(crate) use initials::Initials;
use lane::Lane;
use replays::Replays;
pub(crate) use settled::{Again, Settled};
pub(crate) use shards::ShardedQueue;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use withheld::Withheld;

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

impl From<&Limits> for Marks {
    fn from(limits: &Limits) -> Self {
        Self { events: limits.queue_events_mark, bytes: limits.queue_bytes_mark }
    }
}

/// An event with its history of attempts.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) event: Event,
    /// 1 for the first delivery.
    pub(crate) attempt: u32,
    /// How many of the attempts before it do not count, because they failed for want of the cluster, of a grant or of the lead.
    pub(crate) excused: u32,
    /// How many instances this event has ended.
    pub(crate) crashes: u32,
    /// Given at the first delivery; a retry keeps it.
    pub(crate) seq: u64,
}

impl Queued {
    /// An event that was not tried yet.
    pub(crate) fn untried(event: Event) -> Self {
        Self { event, attempt: 1, excused: 0, crashes: 0, seq: 0 }
    }

    /// The attempts that count, with the one that it has now.
    pub(crate) fn counted(&self) -> u32 {
        self.attempt - self.excused
    }
}

/// What waits in other lines of the same plugin and counts with what waits here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    events: usize,
    bytes: usize,
}

impl Beside {
    fn of<'a>(lines: impl Iterator<Item = &'a EventQueue>) -> Self {
        lines.fold(Self::default(), |sum, line| Self {
            events: sum.events + line.depth,
            bytes: sum.bytes + line.bytes,
        })
    }
}

#[derive(Debug)]
pub(crate) struct EventQueue {
    marks: Marks,
    beside: Beside,
    /// An event waits so long for others of its object, which are merged into it.
    debounce: Duration,
    /// What came since nothing new is taken in; none while everything is.
    aside: Option<Box<EventQueue>>,
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
    due: Due,
    /// Of the held lanes those whose head was attempted by a host before this one, and not by this one yet.
    restored: HashSet<Lane>,
    in_flight: Option<Queued>,
    /// Of subscriptions that may not be told for now.
    withheld: Withheld,
    replays: Replays,
    /// How many of each object stand in `waiting`. Made where a replay asks, kept until nothing waits there.
    waits: Option<HashMap<Lane, usize>>,
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
            beside: Beside::default(),
            debounce: Duration::ZERO,
            aside: None,
            waiting: VecDeque::new(),
            first: 0,
            last: None,
            held: HashMap::new(),
            due: Due::default(),
            restored: HashSet::new(),
            in_flight: None,
            withheld: Withheld::default(),
            replays: Replays::default(),
            waits: None,
            initials: Initials::default(),
            depth: 0,
            bytes: 0,
            seq: 0,
            coalesced: 0,
        }
    }

    /// Events that wait, the one in flight and the line of replays not counted.
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
    pub(crate) fn push(&mut self, event: Event) {
        if let Some(aside) = &mut self.aside {
            return aside.push(event);
        }
        let Some(mut event) = self.unless_withheld(event) else { return };
        if self.bytes + self.beside.bytes >= TEXT_BYTES_MAX {
            event.object = event.object.at_rest();
            event.old = event.old.map(|old| old.at_rest());
        }
        self.initials.came(&event);
        let lane = Lane::of(&event);
        self.bring_along(&lane);
        if let Some(event) = self.unless_superseded(&lane, event) {
            self.push_live(lane, event);
        }
    }

    /// Puts an event behind everything of its object.
    fn push_live(&mut self, lane: Lane, event: Event) {
        let into = if self.over_mark() || !self.debounce.is_zero() {
            self.last_waiting().get(&lane).copied()
        } else {
            None
        };
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
        self.wait_more(&event);
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
        let queued = self.pop_next(now)?;
        self.depth -= 1;
        self.bytes -= size(&queued.event);
        let (events, bytes) = self.counted();
        let is_low = events < self.marks.events / 2 && bytes < self.marks.bytes / 2;
        // A debounce asks for it as well.
        if is_low && self.debounce.is_zero() {
            self.last = None;
        }
        if self.waiting.is_empty() {
            self.waits = None;
        }
        self.in_flight = Some(queued.clone());
        Some(queued)
    }

    fn pop_waiting(&mut self, now: Instant) -> Option<Queued> {
        let debounce = self.debounce();
        let is_due = |entry: &mut Option<Event>| {
            let waits = |event: &Event| !debounce.is_zero() && event.received + debounce > now;
            !entry.as_ref().is_some_and(waits)
        };
        while let Some(entry) = self.waiting.pop_front_if(is_due) {
            let number = self.first;
            self.first += 1;
            let Some(event) = entry else { continue };
            let lane = Lane::of(&event);
            self.wait_less(&lane);
            if let Some(last) = &mut self.last
                && last.get(&lane) == Some(&number)
            {
                last.remove(&lane);
            }
            if let Some(queued) = self.unless_held(event) {
                self.live_had_turn();
                return Some(queued);
            }
        }
        None
    }

    /// An event that has its turn, unless it waits behind one of its object's that comes again.
    fn unless_held(&mut self, event: Event) -> Option<Queued> {
        let mut queued = Queued::untried(event);
        let lane = Lane::of(&queued.event);
        if let Some(held) = self.held.get_mut(&lane) {
            held.push_back(queued);
            self.merge_held(&lane);
            return None;
        }
        self.number(&mut queued);
        Some(queued)
    }

    fn over_mark(&self) -> bool {
        let (events, bytes) = self.counted();
        events >= self.marks.events || bytes >= self.marks.bytes
    }

    /// What counts towards the marks.
    fn counted(&self) -> (usize, usize) {
        (self.depth + self.beside.events, self.bytes + self.beside.bytes)
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
        let Some(Again { at, attempts, excused, crashes }) = settled.again() else {
            return self.release(lane, now);
        };
        queued.attempt += attempts;
        queued.excused += excused;
        queued.crashes += crashes;
        if let Some(events) = self.withheld.get_mut(queued.event.subscription) {
            return events.push_front(queued);
        }
        self.depth += 1;
        self.bytes += size(&queued.event);
        self.due.insert(&queued, at, lane.clone());
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
                self.due.insert(next, now, lane);
            }
            None => {
                self.held.remove(&lane);
            }
        }
    }

    /// Whether a subscription's objects were told since it is as this load has it, and nothing waits that was queued for it as another had it. It
    /// looks at everything that waits.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        let is_old = |event: &Event| event.subscription == id && event.asked_by != asked_by;
        let held = self.held.values().flatten().chain(&self.in_flight);
        self.aside.is_none()
            && self.initials.are_through(id)
            && !self.waiting.iter().flatten().any(is_old)
            && !held.map(|queued| &queued.event).chain(self.withheld.events()).any(is_old)
    }
}

fn size(event: &Event) -> usize {
    event.object.size() + event.old.as_ref().map_or(0, Object::size) + event.keys.bytes()
}

#[cfg(test)]
mod debounce_tests;
#[cfg(test)]
pub(crate) mod tests;
