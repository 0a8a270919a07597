//! The mailboxes of a plugin's shards, and their shared parts: keys, schedules, the breaker, the rate of calls.
//! Synchronous; time is a parameter.
//!
//! All events of an object are in one mailbox. So each mailbox keeps the order of its objects by itself, and a shard's
//! event in flight delays no other shard. The marks count the waiting events of all mailboxes, and the rate counts all
//! calls. A plugin without shards has one mailbox.

mod call_rate;
mod drain;
mod next;
mod refusals;
mod room;
mod snapshot;
mod woken;
mod work;

use super::mailbox::{Initials, Mailbox, Marks, QueueLoad, Queued, Settled, WaitingEvent};
use crate::contract::configuration::RateLimit;
use crate::contract::limits::Limits;
use crate::delivery::breaker::Breaker;
use crate::delivery::key_queue::{AddError, Bounds, FormerLines, HashedKey, KeyQueue, Waits};
use crate::delivery::retry_waits::{RETRY_BURST, RETRY_INTERVAL, RETRY_MAX};
use crate::delivery::sync_calls::SyncCalls;
use crate::delivery::timers::Timers;
use crate::event::{Event, SubscriptionId};
use crate::history::History;
use crate::trace::TraceId;
use call_rate::CallRate;
use hashbrown::{HashMap, HashSet};
use informant_cache::workqueue::{AddOptions, BucketRateLimiter, Lane, Leftover, RateLimiter};
use informant_cache::{ObjectKey, RoomSignal};
use next::EVENTS_BETWEEN_KEYS;
pub(crate) use refusals::Refusing;
pub(crate) use snapshot::OpenCall;
pub use snapshot::QueueSnapshot;
use std::mem::take;
use std::time::{Duration, Instant};
use std::vec::IntoIter;
pub(super) use woken::Woken;
pub(crate) use work::{Completed, Hands, Reconciles, Work};

/// The rate of retries of all events together.
fn retries() -> BucketRateLimiter {
    BucketRateLimiter::new(RETRY_INTERVAL, RETRY_BURST).with_max_wait(RETRY_MAX)
}

#[derive(Debug)]
pub(crate) struct Mailboxes {
    /// One mailbox for each shard, at least one.
    shards: Vec<Mailbox>,
    /// How often events may come out. `None`: as often as they are taken.
    rate: Option<CallRate>,
    pub(crate) keys: KeyQueue,
    pub(crate) timers: Timers,
    breaker: Breaker,
    /// The deliveries that ended last.
    pub(crate) history: History,
    /// The wait of one more retry, for all events together.
    retries: BucketRateLimiter,
    /// Whether the last call of the shard with the schedules was a firing.
    fired_last: bool,
    /// The signals that let a replay go on when there is room again; one for each subscription of the running version.
    rooms: HashMap<SubscriptionId, RoomSignal>,
    /// Subscriptions whose replay found no room; at most one entry for each.
    refused: Vec<SubscriptionId>,
    woken: Woken,
    /// The load whose subscriptions queue events.
    filters_of: Option<u64>,
}

impl Mailboxes {
    /// The mailboxes of a plugin with one shard.
    pub(crate) fn new(marks: Marks) -> Self {
        // Until a version takes over, the default limits hold.
        let bounds = Bounds::from(&Limits::default());
        Self {
            shards: vec![Mailbox::new(marks)],
            rate: None,
            keys: KeyQueue::new(bounds, Waits::default()),
            timers: Timers::default(),
            breaker: Breaker::default(),
            // A version's limits set the size of the history.
            history: History::new(0, Instant::now()),
            retries: retries(),
            fired_last: false,
            rooms: HashMap::new(),
            refused: Vec::new(),
            woken: Woken::None,
            filters_of: None,
        }
    }

    /// The number of shards.
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// A shard's mailbox, with the current load of the other mailboxes.
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

    /// Changes all mailboxes, and notes that every actor may wait for the change.
    fn each(&mut self, change: impl FnMut(&mut Mailbox)) {
        self.woken = Woken::All;
        self.shards.iter_mut().for_each(change);
    }

    /// The actors that changes concern since the last [`take_woken`](Self::take_woken).
    pub(super) fn woken(&self) -> Woken {
        self.woken
    }

    pub(super) fn take_woken(&mut self) -> Woken {
        take(&mut self.woken)
    }

    /// The mailbox of an event. Notes that its actor may wait for the event.
    fn mailbox_of(&mut self, event: &Event) -> Option<&mut Mailbox> {
        let shard = self.shard_of(event.object.key());
        self.woken.add(shard);
        self.mailbox(shard)
    }

    /// Puts an event behind the others of its object.
    pub(crate) fn push(&mut self, event: Event) {
        if let Some(mailbox) = self.mailbox_of(&event) {
            mailbox.push(event);
        }
    }

    /// The same for a replayed event.
    pub(crate) fn push_replayed(&mut self, event: Event) {
        if let Some(mailbox) = self.mailbox_of(&event) {
            mailbox.push_replayed(event);
        }
    }

    /// The same for an event that an earlier host attempted.
    pub(crate) fn restore(&mut self, queued: Queued, due: Instant) {
        if let Some(mailbox) = self.mailbox_of(&queued.event) {
            mailbox.restore(queued, due);
        }
    }

    /// Adds a key. Notes that the actor of its shard may wait for one.
    pub(crate) fn add_key(
        &mut self,
        key: impl Into<HashedKey>,
        options: AddOptions,
        now: Instant,
    ) -> Result<(), AddError> {
        self.keys.add(key, options, now).map(|shard| self.woken.add(shard))
    }

    /// The same for a key of an event.
    pub(crate) fn add_key_of_event(
        &mut self,
        key: impl Into<HashedKey>,
        added: (Lane, Option<TraceId>),
        now: Instant,
    ) -> Result<(), AddError> {
        self.keys.add_of_event(key, added, now).map(|shard| self.woken.add(shard))
    }

    /// Forgets the failures of a key in its waits.
    pub(crate) fn forget_key(&mut self, key: HashedKey) {
        if self.keys.forget(key) {
            self.woken = Woken::All;
        }
    }

    /// The next event to deliver to a shard. Taking it spends a call. It is in flight until [`settle`](Self::settle).
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

    /// How long to wait until one more call may be made.
    fn rate_wait(&mut self, now: Instant) -> Duration {
        self.rate.as_mut().map_or(Duration::ZERO, |rate| rate.wait(now))
    }

    /// Gives back a spent call that is not made. Other shards may wait for it.
    fn give_back_call(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.give_back();
            self.woken = Woken::All;
        }
    }

    /// Notes the end of the delivery of a shard's event in flight.
    pub(super) fn settle_event(&mut self, shard: usize, settled: Settled, now: Instant) {
        let Some(mailbox) = self.shards.get_mut(shard) else { return };
        let had = mailbox.has_in_flight();
        mailbox.settle(settled, now);
        if settled.was_called() {
            mailbox.events_since_key = EVENTS_BETWEEN_KEYS;
        }
        if had && !settled.was_called() {
            self.give_back_call();
        }
    }

    /// No event of this subscription comes out from here on.
    pub(crate) fn withhold(&mut self, id: SubscriptionId) {
        self.each(|mailbox| mailbox.withhold(id));
    }

    /// Withholds the event in flight of a shard, which may not be delivered. No event of its subscription comes out of
    /// any shard from here on.
    pub(crate) fn put_by(&mut self, shard: usize, id: SubscriptionId) {
        self.withhold(id);
        if self.shards.get_mut(shard).is_some_and(|mailbox| mailbox.put_by(id)) {
            self.give_back_call();
        }
    }

    /// The withheld events of this subscription come next in each mailbox, and the subscription goes on.
    pub(crate) fn release_withheld(&mut self, id: SubscriptionId, now: Instant) {
        self.each(|mailbox| mailbox.release_withheld(id, now));
    }

    /// No failed event or key comes out before `from`. With `None`, each comes at its own time.
    fn hold_retries(&mut self, from: Option<Instant>, now: Instant) {
        self.each(|mailbox| mailbox.hold_retries(from));
        self.keys.hold_retries(from, now);
    }

    /// The reason for which the breaker is open.
    pub(crate) fn tripped(&self) -> Option<&str> {
        self.breaker.reason()
    }

    /// Forgets earlier failures: a new version took over, or a user asked to try again.
    pub(crate) fn forget_failures(&mut self, now: Instant) {
        (self.breaker, self.retries) = (Breaker::default(), retries());
        self.hold_retries(None, now);
    }

    /// Gives the keys to another version. If the version reconciles none, the waiting keys are dropped; returns their
    /// number. Failures of the version before do not count.
    pub(crate) fn swap_keys(&mut self, limits: &Limits, reconciles: bool, now: Instant) -> usize {
        self.keys.set_bounds(limits.into());
        self.keys.forgive();
        let dropped = if reconciles { 0 } else { self.keys.clear() };
        self.forget_failures(now);
        dropped
    }

    /// The wait of one more retry, for all events together.
    pub(crate) fn retry_wait(&mut self, now: Instant) -> Duration {
        RateLimiter::<()>::when(&mut self.retries, &(), now)
    }

    /// A version takes over in a shard: its instance is to get these `synced` calls.
    pub(crate) fn set_syncs(&mut self, shard: usize, syncs: SyncCalls) {
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.syncs = syncs;
        }
    }

    /// A shard has another instance, which has had no `synced` call.
    pub(crate) fn restart_syncs(&mut self, shard: usize) {
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.syncs.restart();
        }
    }

    /// The failed `synced` calls of all shards: their number, and the text of the first.
    pub(crate) fn failed_syncs(&self) -> (usize, Option<String>) {
        let failures = || self.shards.iter().flat_map(|mailbox| mailbox.syncs.failures());
        (failures().count(), failures().next().map(str::to_owned))
    }

    /// Puts back a shard's work in flight when its caller ended without a result.
    pub(crate) fn recover(&mut self, shard: usize, now: Instant) {
        self.keys.recover(shard, now);
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.recover(now);
        }
    }

    /// When a shard can take an event. A time in the past means now; `None` means that no event waits.
    fn next_due(&mut self, shard: usize, now: Instant) -> Option<Instant> {
        let due = self.shards.get(shard)?.next_due(now)?;
        let rate = self.rate.is_some().then(|| now + self.rate_wait(now));
        Some(rate.map_or(due, |rate| due.max(rate)))
    }

    /// Sets how long new events wait for later events of their object, and how often events come out.
    pub(crate) fn set_pauses(&mut self, debounce: Duration, rate: Option<RateLimit>, now: Instant) {
        self.each(|mailbox| mailbox.set_debounce(debounce));
        match (&mut self.rate, rate) {
            (Some(rate), Some(limit)) => rate.set(limit, now),
            (rate, limit) => *rate = limit.map(|limit| CallRate::new(limit, now)),
        }
    }

    /// Sets the marks for new events.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.each(|mailbox| mailbox.set_marks(marks));
    }

    /// Changes the state of initial objects in every mailbox.
    pub(crate) fn change_initials(&mut self, change: impl Fn(&mut Initials)) {
        self.each(|mailbox| change(&mut mailbox.initials));
    }

    /// Whether no event is left that was queued for a subscription before this load changed it.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        self.shards.iter().all(|mailbox| mailbox.is_past_others(id, asked_by))
    }

    /// Drops the waiting events of all other subscriptions, and returns their number.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.rooms.retain(|id, _| keep.contains(id));
        self.refused.retain(|id| keep.contains(id));
        self.shards.iter_mut().map(|mailbox| mailbox.retain(keep)).sum()
    }

    /// Changes the number of shards. No shard may have work in flight. Returns the former lines of keys.
    pub(super) fn reshard(&mut self, shards: usize, now: Instant) -> Option<FormerLines> {
        let lines = self.keys.reshard(shards, now);
        if shards == self.shards.len() {
            return lines;
        }
        self.each(|mailbox| mailbox.recover(now));
        let seq = self.shards.iter().map(Mailbox::seq).max().unwrap_or_default();
        let before = take(&mut self.shards);
        let Some(first) = before.first() else { return lines };
        let mut after: Vec<Mailbox> = (0..shards.max(1)).map(|_| first.emptied(seq)).collect();
        Mailbox::regroup(before, &mut after);
        self.shards = after;
        lines
    }

    /// Puts some keys of former lines into the present lines. Returns whether there are more.
    pub(super) fn regroup_keys(
        &mut self,
        keys: &mut IntoIter<Leftover<HashedKey>>,
        now: Instant,
    ) -> bool {
        self.woken = Woken::All;
        self.keys.regroup(keys, now)
    }

    /// The events of an object that have not ended.
    pub(crate) fn waiting_of(&self, key: &ObjectKey) -> Vec<WaitingEvent> {
        self.shards.iter().flat_map(|mailbox| mailbox.waiting_of(key)).collect()
    }

    /// The number of waiting events of each shard.
    pub(crate) fn depths(&self) -> Vec<usize> {
        self.shards.iter().map(|mailbox| mailbox.load().events).collect()
    }

    /// The waiting events. Events in flight and replayed events do not count.
    pub(crate) fn load(&self) -> QueueLoad {
        self.shards.iter().map(Mailbox::load).sum()
    }
}

#[cfg(test)]
impl Mailboxes {
    pub(crate) fn check_invariants(&self) {
        self.shards.iter().for_each(Mailbox::check_invariants);
    }
}

#[cfg(test)]
mod debounce_tests;
#[cfg(test)]
mod next_tests;
#[cfg(test)]
mod tests;
