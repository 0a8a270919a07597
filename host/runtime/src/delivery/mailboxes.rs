//! The mailboxes of a plugin's shards, and what they have together. Synchronous; time is a parameter.
//!
//! An object's events are all in one mailbox, so each keeps its objects' order by itself, and a shard's event in flight holds up no other.
//! The marks count what waits in all of them, and the rate what is called in all of them. A plugin without shards has one.

mod call_rate;
mod snapshot;

use super::mailbox::{Initials, Mailbox, Marks, QueueLoad, Queued, ROOM, Settled, WaitingEvent};
use crate::contract::configuration::RateLimit;
use crate::event::{Event, SubscriptionId};
use crate::shard;
use call_rate::CallRate;
use hashbrown::HashSet;
use informant_cache::ObjectKey;
pub use snapshot::QueueSnapshot;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Mailboxes {
    /// One for each shard, at least one.
    shards: Vec<Mailbox>,
    /// How often events may come out; none: as often as they are taken.
    rate: Option<CallRate>,
    /// Subscriptions whose walk has found no room for its replay; one entry for each at most.
    refused: Vec<SubscriptionId>,
}

impl Mailboxes {
    /// Those of a plugin with one shard.
    pub(crate) fn new(marks: Marks) -> Self {
        Self { shards: vec![Mailbox::new(marks)], rate: None, refused: Vec::new() }
    }

    /// How many shards there are.
    #[cfg(test)]
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    fn shard_of(&self, event: &Event) -> usize {
        shard::of_object(event.object.key(), self.shards.len())
    }

    /// A shard's mailbox, which knows what waits in the others, or is put aside there.
    fn mailbox(&mut self, shard: usize) -> Option<&mut Mailbox> {
        if self.shards.len() > 1 {
            let others = self.shards.iter().enumerate().filter(|(number, _)| *number != shard);
            let others = others.map(|(_, mailbox)| mailbox);
            let beside = others.clone().map(Mailbox::load).sum();
            let aside = others.map(Mailbox::load_aside).sum();
            self.shards.get_mut(shard)?.set_beside(beside, aside);
        }
        self.shards.get_mut(shard)
    }

    fn each(&mut self, change: impl FnMut(&mut Mailbox)) {
        self.shards.iter_mut().for_each(change);
    }

    /// Puts an event behind those of its object and says which shard's it is.
    pub(crate) fn push(&mut self, event: Event) -> usize {
        let shard = self.shard_of(&event);
        if let Some(mailbox) = self.mailbox(shard) {
            mailbox.push(event);
        }
        shard
    }

    /// The same for an event that a walk has come to.
    pub(crate) fn push_replayed(&mut self, event: Event) -> usize {
        let shard = self.shard_of(&event);
        if let Some(mailbox) = self.mailbox(shard) {
            mailbox.push_replayed(event);
        }
        shard
    }

    /// The same for what a host before this one has attempted.
    pub(crate) fn restore(&mut self, queued: Queued, due: Instant) -> usize {
        let shard = self.shard_of(&queued.event);
        if let Some(mailbox) = self.mailbox(shard) {
            mailbox.restore(queued, due);
        }
        shard
    }

    /// The next event to deliver to a shard, for which a call is spent. It is in flight until [`settle`](Self::settle).
    pub(crate) fn pop(&mut self, shard: usize, now: Instant) -> Option<Queued> {
        if !self.rate_wait(now).is_zero() {
            return None;
        }
        let queued = self.mailbox(shard)?.pop(now)?;
        if let Some(rate) = &mut self.rate {
            rate.spend(now);
        }
        Some(queued)
    }

    /// How long until one more call may be made.
    fn rate_wait(&mut self, now: Instant) -> Duration {
        self.rate.as_mut().map_or(Duration::ZERO, |rate| rate.wait(now))
    }

    /// A call that was spent is not made. Answers whether others may wait for it.
    fn give_back_call(&mut self) -> bool {
        let Some(rate) = &mut self.rate else { return false };
        rate.give_back();
        self.shards.len() > 1
    }

    /// Says what became of a shard's event in flight. Answers whether a call is free again that others may wait for.
    pub(crate) fn settle(&mut self, shard: usize, settled: Settled, now: Instant) -> bool {
        let Some(mailbox) = self.shards.get_mut(shard) else { return false };
        let had = mailbox.has_in_flight();
        mailbox.settle(settled, now);
        had && !settled.was_called() && self.give_back_call()
    }

    /// Nothing of this subscription comes out from here on.
    pub(crate) fn withhold(&mut self, id: SubscriptionId) {
        self.each(|mailbox| mailbox.withhold(id));
    }

    /// A shard's event in flight may not be told: nothing of its subscription comes out from here on. Answers whether a call is free again that others may
    /// wait for.
    pub(crate) fn put_by(&mut self, shard: usize, id: SubscriptionId) -> bool {
        self.withhold(id);
        let Some(mailbox) = self.shards.get_mut(shard) else { return false };
        mailbox.put_by(id) && self.give_back_call()
    }

    /// What was put by of this subscription comes next in each mailbox, and it goes on.
    pub(crate) fn release_withheld(&mut self, id: SubscriptionId, now: Instant) {
        self.each(|mailbox| mailbox.release_withheld(id, now));
    }

    /// No event that has failed comes out before this; none: each comes at its own time.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>) {
        self.each(|mailbox| mailbox.hold_retries(from));
    }

    /// Puts back what a shard had in flight when whoever had it went without a word.
    pub(crate) fn recover(&mut self, shard: usize, now: Instant) {
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.recover(now);
        }
    }

    /// When a shard has something to take: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&mut self, shard: usize, now: Instant) -> Option<Instant> {
        let due = self.shards.get(shard)?.next_due(now)?;
        let rate = self.rate.is_some().then(|| now + self.rate_wait(now));
        Some(rate.map_or(due, |rate| due.max(rate)))
    }

    /// Whether a shard has something to take now.
    pub(crate) fn has_due(&mut self, shard: usize, now: Instant) -> bool {
        self.next_due(shard, now).is_some_and(|due| due <= now)
    }

    /// Whether an event could come out but for the rate.
    pub(crate) fn is_rate_limited(&mut self, now: Instant) -> bool {
        let is_due = |mailbox: &Mailbox| mailbox.next_due(now).is_some_and(|due| due <= now);
        self.shards.iter().any(is_due) && !self.rate_wait(now).is_zero()
    }

    /// How long events wait for others of their object from here on, and how often they come out.
    pub(crate) fn set_pauses(&mut self, debounce: Duration, rate: Option<RateLimit>, now: Instant) {
        self.each(|mailbox| mailbox.set_debounce(debounce));
        match (&mut self.rate, rate) {
            (Some(rate), Some(limit)) => rate.set(limit, now),
            (rate, limit) => *rate = limit.map(|limit| CallRate::new(limit, now)),
        }
    }

    /// Merging begins elsewhere for what comes from here on.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.each(|mailbox| mailbox.set_marks(marks));
    }

    /// Which initial objects a shard has been told of.
    pub(crate) fn initials(&self, shard: usize) -> Option<&Initials> {
        self.shards.get(shard).map(|mailbox| &mailbox.initials)
    }

    /// Tells every mailbox something of initial objects.
    pub(crate) fn change_initials(&mut self, change: impl Fn(&mut Initials)) {
        self.each(|mailbox| change(&mut mailbox.initials));
    }

    /// Whether a subscription's walk may go on. If not, [`Self::take_roomy`] says when it may.
    pub(crate) fn has_replay_room(&mut self, id: SubscriptionId) -> bool {
        let has_room = self.is_roomy(id);
        if !has_room && !self.refused.contains(&id) {
            self.refused.push(id);
        }
        has_room
    }

    /// It is one walk for all mailboxes: one that is behind holds it up only once it has what would fill all of them.
    fn is_roomy(&self, id: SubscriptionId) -> bool {
        self.replays_waiting(id) < ROOM * self.shards.len()
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

    /// Replayed events of a subscription that wait.
    pub(crate) fn replays_waiting(&self, id: SubscriptionId) -> usize {
        self.shards.iter().map(|mailbox| mailbox.replays_waiting(id)).sum()
    }

    /// Whether nothing is left of what was queued for a subscription before it was as this load has it.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        self.shards.iter().all(|mailbox| mailbox.is_past_others(id, asked_by))
    }

    /// Drops the waiting events of all other subscriptions and says how many those were.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.refused.retain(|id| keep.contains(id));
        self.shards.iter_mut().map(|mailbox| mailbox.retain(keep)).sum()
    }

    /// From here on what comes is put aside.
    pub(crate) fn close(&mut self) {
        self.each(Mailbox::close);
    }

    /// Goes on with what was put aside.
    pub(crate) fn reopen(&mut self) {
        for shard in 0..self.shards.len() {
            if let Some(mailbox) = self.mailbox(shard) {
                mailbox.reopen();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_closed(&self) -> bool {
        self.shards.iter().any(Mailbox::is_closed)
    }

    /// Whether everything came out, and is through.
    pub(crate) fn is_drained(&self) -> bool {
        self.shards.iter().all(Mailbox::is_drained)
    }

    /// The plugin runs in so many shards from here on. No shard is at work.
    pub(crate) fn reshard(&mut self, shards: usize, now: Instant) {
        if shards == self.shards.len() {
            return;
        }
        (0..self.shards.len()).for_each(|shard| self.recover(shard, now));
        let seq = self.shards.iter().map(Mailbox::seq).max().unwrap_or_default();
        let before = std::mem::take(&mut self.shards);
        let Some(first) = before.first() else { return };
        let mut after: Vec<Mailbox> = (0..shards.max(1)).map(|_| first.emptied(seq)).collect();
        Mailbox::regroup(before, &mut after);
        self.shards = after;
    }

    /// The events of an object that have not come to their end.
    pub(crate) fn waiting_of(&self, key: &ObjectKey) -> Vec<WaitingEvent> {
        self.shards.iter().flat_map(|mailbox| mailbox.waiting_of(key)).collect()
    }

    /// Events that wait for each shard.
    pub(crate) fn depths(&self) -> Vec<usize> {
        self.shards.iter().map(|mailbox| mailbox.load().events).collect()
    }

    /// What waits, events in flight and the lines of replays not counted.
    pub(crate) fn load(&self) -> QueueLoad {
        self.shards.iter().map(Mailbox::load).sum()
    }

    /// Events that a call has.
    pub(crate) fn in_flight(&self) -> usize {
        self.shards.iter().filter(|mailbox| mailbox.has_in_flight()).count()
    }

    /// How many events were merged into others or cancelled so far.
    pub(crate) fn coalesced(&self) -> u64 {
        self.shards.iter().map(Mailbox::coalesced).sum()
    }

    /// Objects whose first event has failed and is tried again.
    pub(crate) fn failed(&self) -> usize {
        self.shards.iter().map(Mailbox::failed).sum()
    }

    /// Events that wait for their turn alone, and when the first of them was read.
    pub(crate) fn ready(&self) -> (usize, Option<Instant>) {
        let ready = self.shards.iter().map(Mailbox::ready);
        ready.fold((0, None), |(count, first), (more, at)| {
            (count + more, first.into_iter().chain(at).min())
        })
    }

    /// When the oldest waiting event's bytes were read.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.shards.iter().filter_map(Mailbox::oldest).min()
    }
}

#[cfg(test)]
impl Mailboxes {
    pub(crate) fn check_invariants(&self) {
        self.shards.iter().for_each(Mailbox::check_invariants);
    }

    /// That the lines of replays are no longer than a walk with its last step makes them.
    pub(crate) fn check_replays(&self) {
        let count: usize = self.shards.iter().map(Mailbox::replayed).sum();
        let shards = self.shards.len();
        assert!(count < (shards + 1) * ROOM, "{count} replayed events wait, in {shards} shards");
    }
}

#[cfg(test)]
mod debounce_tests;
#[cfg(test)]
mod tests;
