//! The queue of a plugin's name: a line for each of its shards, and what belongs to all of them. Synchronous.
//!
//! An object's events are all in one line, so each line keeps its objects' order by itself, and its shard's event in flight holds up no other.
//! The marks count what waits in all lines, and the rate what is called in all of them. A plugin without shards has one line.

use super::call_rate::CallRate;
use super::replays::ROOM;
use super::{Beside, EventQueue, Initials, Marks, Queued, Settled};
use crate::contract::configuration::RateLimit;
use crate::event::{Event, SubscriptionId};
use crate::shard;
use hashbrown::HashSet;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct ShardedQueue {
    /// One for each shard, at least one.
    lines: Vec<Line>,
    /// How often events may come out; none: as often as they are taken.
    rate: Option<CallRate>,
    /// Subscriptions whose walk has found no room for its replay; one entry for each at most.
    refused: Vec<SubscriptionId>,
}

#[derive(Debug)]
struct Line {
    queue: EventQueue,
    /// Its event in flight came out and has not been handed over yet: a call of the rate is set aside for it.
    is_to_call: bool,
}

impl From<EventQueue> for Line {
    fn from(queue: EventQueue) -> Self {
        Self { queue, is_to_call: false }
    }
}

impl ShardedQueue {
    /// One with one shard.
    pub(crate) fn new(marks: Marks) -> Self {
        Self { lines: vec![EventQueue::new(marks).into()], rate: None, refused: Vec::new() }
    }

    /// How many shards there are.
    #[cfg(test)]
    pub(crate) fn shards(&self) -> usize {
        self.lines.len()
    }

    fn shard_of(&self, event: &Event) -> usize {
        shard::of_object(event.object.key(), self.lines.len())
    }

    /// A shard's line, which knows what waits in the others, or is put aside there.
    fn line(&mut self, shard: usize) -> Option<&mut EventQueue> {
        if self.lines.len() > 1 {
            let others = self.lines.iter().enumerate().filter(|(number, _)| *number != shard);
            let others = others.map(|(_, line)| &line.queue);
            let beside = Beside::of(others.clone());
            let aside = Beside::of(others.filter_map(|queue| queue.aside.as_deref()));
            let queue = &mut self.lines.get_mut(shard)?.queue;
            queue.beside = beside;
            if let Some(put) = &mut queue.aside {
                put.beside = aside;
            }
        }
        self.lines.get_mut(shard).map(|line| &mut line.queue)
    }

    fn queues(&self) -> impl Iterator<Item = &EventQueue> {
        self.lines.iter().map(|line| &line.queue)
    }

    fn each(&mut self, change: impl FnMut(&mut EventQueue)) {
        self.lines.iter_mut().map(|line| &mut line.queue).for_each(change);
    }

    /// Appends an event to its object's line and says which shard's that is.
    pub(crate) fn push(&mut self, event: Event) -> usize {
        let shard = self.shard_of(&event);
        if let Some(line) = self.line(shard) {
            line.push(event);
        }
        shard
    }

    /// The same for an event that a walk has come to.
    pub(crate) fn push_replayed(&mut self, event: Event) -> usize {
        let shard = self.shard_of(&event);
        if let Some(line) = self.line(shard) {
            line.push_replayed(event);
        }
        shard
    }

    /// The same for what a host before this one has attempted.
    pub(crate) fn restore(&mut self, queued: Queued, due: Instant) -> usize {
        let shard = self.shard_of(&queued.event);
        if let Some(line) = self.line(shard) {
            line.restore(queued, due);
        }
        shard
    }

    /// The next event to deliver to a shard. It is in flight until [`settle`](Self::settle).
    pub(crate) fn pop(&mut self, shard: usize, now: Instant) -> Option<Queued> {
        if !self.rate_wait(now).is_zero() {
            return None;
        }
        let queued = self.line(shard)?.pop(now)?;
        self.lines[shard].is_to_call = true;
        Some(queued)
    }

    /// How long until one more call may be made; what came out already may be called first.
    fn rate_wait(&mut self, now: Instant) -> Duration {
        let Some(rate) = &mut self.rate else { return Duration::ZERO };
        let others = self.lines.iter().filter(|line| line.is_to_call).count();
        rate.wait(others, now)
    }

    /// A shard's event in flight is handed to the plugin, for the first time or again.
    pub(crate) fn calls(&mut self, shard: usize, now: Instant) {
        if let Some(line) = self.lines.get_mut(shard) {
            line.is_to_call = false;
        }
        if let Some(rate) = &mut self.rate {
            rate.spend(now);
        }
    }

    /// Says what became of a shard's event in flight. Answers whether a call is free again that others wait for.
    pub(crate) fn settle(&mut self, shard: usize, settled: Settled, now: Instant) -> bool {
        let has_rate = self.rate.is_some() && self.lines.len() > 1;
        let Some(line) = self.lines.get_mut(shard) else { return false };
        line.queue.settle(settled, now);
        std::mem::take(&mut line.is_to_call) && has_rate
    }

    /// Nothing of this subscription comes out of any line from here on.
    pub(crate) fn withhold(&mut self, id: SubscriptionId) {
        self.each(|queue| queue.withhold(id));
    }

    /// A shard's event in flight may not be told: nothing of its subscription comes out of any line from here on. Answers whether a call is free again that
    /// others wait for.
    pub(crate) fn put_by(&mut self, shard: usize, id: SubscriptionId) -> bool {
        self.withhold(id);
        let has_rate = self.rate.is_some() && self.lines.len() > 1;
        let Some(line) = self.lines.get_mut(shard) else { return false };
        line.queue.put_by(id) && std::mem::take(&mut line.is_to_call) && has_rate
    }

    /// What was put by of this subscription comes next in its lines, and it goes on in all of them.
    pub(crate) fn release_withheld(&mut self, id: SubscriptionId, now: Instant) {
        self.each(|queue| queue.release_withheld(id, now));
    }

    /// No event that has failed comes out of any line before this; none: each comes at its own time.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>) {
        self.each(|queue| queue.hold_retries(from));
    }

    /// Puts back what a shard had in flight when whoever had it went without a word.
    pub(crate) fn recover(&mut self, shard: usize, now: Instant) {
        if let Some(line) = self.lines.get_mut(shard) {
            line.queue.recover(now);
            line.is_to_call = false;
        }
    }

    /// When a shard has something to take: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&mut self, shard: usize, now: Instant) -> Option<Instant> {
        let due = self.lines.get(shard)?.queue.next_due(now)?;
        let rate = self.rate.is_some().then(|| now + self.rate_wait(now));
        Some(rate.map_or(due, |rate| due.max(rate)))
    }

    /// Whether an event could come out but for the rate.
    pub(crate) fn is_rate_limited(&mut self, now: Instant) -> bool {
        let waits = self.queues().any(|queue| queue.next_due(now).is_some_and(|due| due <= now));
        waits && !self.rate_wait(now).is_zero()
    }

    /// How long events wait for others of their object from here on, and how often they come out.
    pub(crate) fn set_pauses(&mut self, debounce: Duration, rate: Option<RateLimit>, now: Instant) {
        self.each(|queue| queue.set_debounce(debounce));
        match (&mut self.rate, rate) {
            (Some(rate), Some(limit)) => rate.set(limit, now),
            (rate, limit) => *rate = limit.map(|limit| CallRate::new(limit, now)),
        }
    }

    /// Merging begins elsewhere for what comes from here on.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.each(|queue| queue.set_marks(marks));
    }

    /// Which initial objects a shard has been told of.
    pub(crate) fn initials(&self, shard: usize) -> Option<&Initials> {
        self.lines.get(shard).map(|line| &line.queue.initials)
    }

    /// Tells every line something of initial objects.
    pub(crate) fn change_initials(&mut self, change: impl Fn(&mut Initials)) {
        self.each(|queue| change(&mut queue.initials));
    }

    /// Whether a subscription's walk may go on. If not, [`Self::take_roomy`] says when it may.
    pub(crate) fn has_replay_room(&mut self, id: SubscriptionId) -> bool {
        let has_room = self.is_roomy(id);
        if !has_room && !self.refused.contains(&id) {
            self.refused.push(id);
        }
        has_room
    }

    /// It is one walk for all lines: one that is behind holds it up only once it has what would fill all of them.
    fn is_roomy(&self, id: SubscriptionId) -> bool {
        self.replays_waiting(id) < ROOM * self.lines.len()
    }

    /// Subscriptions that were refused room and have some now.
    pub(crate) fn take_roomy(&mut self) -> Vec<SubscriptionId> {
        if !self.refused.iter().any(|id| self.is_roomy(*id)) {
            return Vec::new();
        }
        let refused = std::mem::take(&mut self.refused);
        let (roomy, refused) = refused.into_iter().partition(|id| self.is_roomy(*id));
        self.refused = refused;
        roomy
    }

    /// Events of a subscription that wait in the lines of replays.
    pub(crate) fn replays_waiting(&self, id: SubscriptionId) -> usize {
        self.queues().map(|queue| queue.replays_waiting(id)).sum()
    }

    /// Whether nothing is left of what was queued for a subscription before it was as this load has it.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        self.queues().all(|queue| queue.is_past_others(id, asked_by))
    }

    /// Drops the waiting events of all other subscriptions and says how many those were.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.refused.retain(|id| keep.contains(id));
        self.lines.iter_mut().map(|line| line.queue.retain(keep)).sum()
    }

    /// From here on what comes is put aside.
    pub(crate) fn close(&mut self) {
        self.each(EventQueue::close);
    }

    /// Goes on with what was put aside.
    pub(crate) fn reopen(&mut self) {
        for shard in 0..self.lines.len() {
            if let Some(line) = self.line(shard) {
                line.reopen();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_closed(&self) -> bool {
        self.queues().any(EventQueue::is_closed)
    }

    /// Whether everything came out, and is through.
    pub(crate) fn is_drained(&self) -> bool {
        self.queues().all(EventQueue::is_drained)
    }

    /// The plugin runs in so many shards from here on. No shard is at work.
    pub(crate) fn reshard(&mut self, shards: usize, now: Instant) {
        if shards == self.lines.len() {
            return;
        }
        (0..self.lines.len()).for_each(|shard| self.recover(shard, now));
        let seq = self.queues().map(EventQueue::seq).max().unwrap_or_default();
        let before = std::mem::take(&mut self.lines).into_iter().map(|line| line.queue);
        let before: Vec<EventQueue> = before.collect();
        let Some(first) = before.first() else { return };
        let mut lines: Vec<EventQueue> = (0..shards.max(1)).map(|_| first.emptied(seq)).collect();
        EventQueue::regroup(before, &mut lines);
        self.lines = lines.into_iter().map(Line::from).collect();
    }

    /// Events that wait in each line.
    pub(crate) fn depths(&self) -> Vec<usize> {
        self.queues().map(EventQueue::depth).collect()
    }

    /// Events that wait, those in flight and the lines of replays not counted.
    pub(crate) fn depth(&self) -> usize {
        self.queues().map(EventQueue::depth).sum()
    }

    /// Events that a call has.
    pub(crate) fn in_flight(&self) -> usize {
        self.queues().filter(|queue| queue.in_flight.is_some()).count()
    }

    /// Bytes of the objects of waiting events.
    pub(crate) fn bytes(&self) -> usize {
        self.queues().map(EventQueue::bytes).sum()
    }

    /// How many events were merged into others or cancelled so far.
    pub(crate) fn coalesced(&self) -> u64 {
        self.queues().map(EventQueue::coalesced).sum()
    }

    /// Objects whose first event has failed and is tried again.
    pub(crate) fn failed(&self) -> usize {
        self.queues().map(EventQueue::failed).sum()
    }

    /// Events that wait for their turn alone, and when the first of them was read.
    pub(crate) fn ready(&self) -> (usize, Option<Instant>) {
        let lines = self.queues().map(EventQueue::ready);
        lines.fold((0, None), |(count, first), (more, at)| {
            (count + more, first.into_iter().chain(at).min())
        })
    }

    /// When the oldest waiting event's bytes were read.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.queues().filter_map(EventQueue::oldest).min()
    }
}

#[cfg(test)]
impl ShardedQueue {
    pub(crate) fn check_invariants(&self) {
        self.queues().for_each(EventQueue::check_invariants);
    }

    /// That the lines of replays are no longer than a walk with its last step makes them.
    pub(crate) fn check_replays(&self) {
        let count: usize = self.queues().map(EventQueue::replayed).sum();
        let most = (self.lines.len() + 1) * ROOM;
        assert!(count < most, "{count} replayed events wait, in {} lines", self.lines.len());
    }
}

#[cfg(test)]
mod tests;
