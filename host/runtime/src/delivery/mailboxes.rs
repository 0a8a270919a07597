//! The mailboxes of a plugin's shards, and what they have together: keys, schedules, the breaker, the rate of calls. Synchronous; time is a parameter.
//!
//! An object's events are all in one mailbox, so each keeps its objects' order by itself, and a shard's event in flight holds up no other.
//! The marks count what waits in all of them, and the rate what is called in all of them. A plugin without shards has one.

mod call_rate;
mod next;
mod room;
mod snapshot;
mod woken;
mod work;

use super::mailbox::{Initials, Mailbox, Marks, QueueLoad, Queued, Settled, WaitingEvent};
use crate::contract::configuration::RateLimit;
use crate::contract::limits::Limits;
use crate::delivery::breaker::Breaker;
use crate::delivery::key_queue::{AddError, Bounds, KeyQueue, Waits};
use crate::delivery::retry_waits::{RETRY_BURST, RETRY_INTERVAL, RETRY_MAX};
use crate::delivery::sync_calls::SyncCalls;
use crate::delivery::timers::Timers;
use crate::event::{Event, SubscriptionId};
use crate::history::History;
use crate::shard;
use call_rate::CallRate;
use hashbrown::{HashMap, HashSet};
use informant_cache::workqueue::{AddOptions, BucketRateLimiter, Lane, RateLimiter};
use informant_cache::{ObjectKey, RoomSignal};
use next::EVENTS_BETWEEN_KEYS;
pub use snapshot::QueueSnapshot;
use std::mem::take;
use std::time::{Duration, Instant};
pub(super) use woken::Woken;
pub(crate) use work::{Completed, Hands, Reconciles, Work};

/// Retries of all events together.
fn retries() -> BucketRateLimiter {
    BucketRateLimiter::new(RETRY_INTERVAL, RETRY_BURST).with_max_wait(RETRY_MAX)
}

#[derive(Debug)]
pub(crate) struct Mailboxes {
    /// One for each shard, at least one.
    shards: Vec<Mailbox>,
    /// How often events may come out; none: as often as they are taken.
    rate: Option<CallRate>,
    pub(crate) keys: KeyQueue,
    pub(crate) timers: Timers,
    breaker: Breaker,
    /// The deliveries that ended last.
    pub(crate) history: History,
    /// How long one more retry waits for those of all events together.
    retries: BucketRateLimiter,
    /// The last call of the shard that has the schedules was for one.
    fired_last: bool,
    /// What lets a subscription's walk go on when there is room again; one for each of the running version.
    rooms: HashMap<SubscriptionId, RoomSignal>,
    /// Subscriptions whose walk has found no room for its replay; one entry for each at most.
    refused: Vec<SubscriptionId>,
    woken: Woken,
}

impl Mailboxes {
    /// Those of a plugin with one shard.
    pub(crate) fn new(marks: Marks) -> Self {
        // Until a version takes over the limits are those of a plugin of which nothing is said.
        let bounds = Bounds::from(&Limits::default());
        Self {
            shards: vec![Mailbox::new(marks)],
            rate: None,
            keys: KeyQueue::new(bounds, Waits::default()),
            timers: Timers::default(),
            breaker: Breaker::default(),
            // The limits say how much is kept, once there is a version.
            history: History::new(0, Instant::now()),
            retries: retries(),
            fired_last: false,
            rooms: HashMap::new(),
            refused: Vec::new(),
            woken: Woken::None,
        }
    }

    /// How many shards there are.
    #[cfg(test)]
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
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

    /// Changes all mailboxes: each actor may wait for that.
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

    /// The mailbox of an event, whose actor may wait for it.
    fn mailbox_of(&mut self, event: &Event) -> Option<&mut Mailbox> {
        let shard = shard::of_object(event.object.key(), self.shards.len());
        self.woken.add(shard);
        self.mailbox(shard)
    }

    /// Puts an event behind those of its object.
    pub(crate) fn push(&mut self, event: Event) {
        if let Some(mailbox) = self.mailbox_of(&event) {
            mailbox.push(event);
        }
    }

    /// The same for an event that a walk has come to.
    pub(crate) fn push_replayed(&mut self, event: Event) {
        if let Some(mailbox) = self.mailbox_of(&event) {
            mailbox.push_replayed(event);
        }
    }

    /// The same for what a host before this one has attempted.
    pub(crate) fn restore(&mut self, queued: Queued, due: Instant) {
        if let Some(mailbox) = self.mailbox_of(&queued.event) {
            mailbox.restore(queued, due);
        }
    }

    /// Adds a key; the actor of its shard may wait for one.
    pub(crate) fn add_key(
        &mut self,
        key: &str,
        options: AddOptions,
        now: Instant,
    ) -> Result<(), AddError> {
        self.keys.add(key, options, now).map(|shard| self.woken.add(shard))
    }

    /// The same for a key of an event.
    pub(crate) fn add_key_of_event(
        &mut self,
        key: &str,
        lane: Lane,
        now: Instant,
    ) -> Result<(), AddError> {
        self.keys.add_of_event(key, lane, now).map(|shard| self.woken.add(shard))
    }

    /// The failures of a key count no more towards its waits.
    pub(crate) fn forget_key(&mut self, key: &str) {
        if self.keys.forget(key) {
            self.woken = Woken::All;
        }
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

    /// A call that was spent is not made. Others may wait for it.
    fn give_back_call(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.give_back();
            self.woken = Woken::All;
        }
    }

    /// Says what became of a shard's event in flight.
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

    /// Nothing of this subscription comes out from here on.
    pub(crate) fn withhold(&mut self, id: SubscriptionId) {
        self.each(|mailbox| mailbox.withhold(id));
    }

    /// A shard's event in flight may not be told: nothing of its subscription comes out of any shard from here on.
    pub(crate) fn put_by(&mut self, shard: usize, id: SubscriptionId) {
        self.withhold(id);
        if self.shards.get_mut(shard).is_some_and(|mailbox| mailbox.put_by(id)) {
            self.give_back_call();
        }
    }

    /// What was put by of this subscription comes next in each mailbox, and it goes on.
    pub(crate) fn release_withheld(&mut self, id: SubscriptionId, now: Instant) {
        self.each(|mailbox| mailbox.release_withheld(id, now));
    }

    /// No event or key that has failed comes out before this; none: each comes at its own time.
    fn hold_retries(&mut self, from: Option<Instant>, now: Instant) {
        self.each(|mailbox| mailbox.hold_retries(from));
        self.keys.hold_retries(from, now);
    }

    /// Why the breaker is open.
    pub(crate) fn tripped(&self) -> Option<&str> {
        self.breaker.reason()
    }

    /// Forgets what failed before: a new version is in charge, or somebody says that it should try again.
    pub(crate) fn forget_failures(&mut self, now: Instant) {
        (self.breaker, self.retries) = (Breaker::default(), retries());
        self.hold_retries(None, now);
    }

    /// Another version takes the keys. If it reconciles none, the waiting keys are dropped; answers how many. Failures of the
    /// version before do not count.
    pub(crate) fn swap_keys(&mut self, limits: &Limits, reconciles: bool, now: Instant) -> usize {
        self.keys.set_bounds(limits.into());
        self.keys.forgive();
        let dropped = if reconciles { 0 } else { self.keys.clear() };
        self.forget_failures(now);
        dropped
    }

    /// How long one more retry waits for those of all events together.
    pub(crate) fn retry_wait(&mut self, now: Instant) -> Duration {
        RateLimiter::<()>::when(&mut self.retries, &(), now)
    }

    /// A version takes over in a shard: its instance is to be told of these subscriptions.
    pub(crate) fn set_syncs(&mut self, shard: usize, syncs: SyncCalls) {
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.syncs = syncs;
        }
    }

    /// A shard has another instance, which was told of nothing.
    pub(crate) fn restart_syncs(&mut self, shard: usize) {
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.syncs.restart();
        }
    }

    /// The failed `synced` calls of all shards: how many, and the text of the first.
    pub(crate) fn failed_syncs(&self) -> (usize, Option<String>) {
        let mut failures = self.shards.iter().flat_map(|mailbox| mailbox.syncs.failures());
        let first = failures.next().map(|text| text.to_string());
        (usize::from(first.is_some()) + failures.count(), first)
    }

    /// Puts back what a shard had in flight when whoever had it went without a word.
    pub(crate) fn recover(&mut self, shard: usize, now: Instant) {
        self.keys.recover(shard, now);
        if let Some(mailbox) = self.shards.get_mut(shard) {
            mailbox.recover(now);
        }
    }

    /// When a shard has something to take: now if it is past, none if nothing waits.
    fn next_due(&mut self, shard: usize, now: Instant) -> Option<Instant> {
        let due = self.shards.get(shard)?.next_due(now)?;
        let rate = self.rate.is_some().then(|| now + self.rate_wait(now));
        Some(rate.map_or(due, |rate| due.max(rate)))
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

    /// Tells every mailbox something of initial objects.
    pub(crate) fn change_initials(&mut self, change: impl Fn(&mut Initials)) {
        self.each(|mailbox| change(&mut mailbox.initials));
    }

    /// Whether nothing is left of what was queued for a subscription before it was as this load has it.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        self.shards.iter().all(|mailbox| mailbox.is_past_others(id, asked_by))
    }

    /// Drops the waiting events of all other subscriptions and says how many those were.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.rooms.retain(|id, _| keep.contains(id));
        self.refused.retain(|id| keep.contains(id));
        self.shards.iter_mut().map(|mailbox| mailbox.retain(keep)).sum()
    }

    /// From here on what comes is put aside.
    pub(crate) fn close(&mut self) {
        self.each(Mailbox::close);
    }

    /// Goes on with what was put aside.
    pub(crate) fn reopen(&mut self) {
        self.woken = Woken::All;
        for shard in 0..self.shards.len() {
            if let Some(mailbox) = self.mailbox(shard) {
                mailbox.reopen();
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shards.iter().any(Mailbox::is_closed)
    }

    /// Whether everything came out, and is through: events, and keys that are not for later.
    pub(crate) fn is_drained(&mut self, now: Instant) -> bool {
        self.shards.iter().all(Mailbox::is_drained) && self.keys.is_drained(now)
    }

    /// The plugin runs in so many shards from here on. No shard is at work.
    pub(crate) fn reshard(&mut self, shards: usize, now: Instant) {
        self.keys.reshard(shards, now);
        if shards == self.shards.len() {
            return;
        }
        self.each(|mailbox| mailbox.recover(now));
        let seq = self.shards.iter().map(Mailbox::seq).max().unwrap_or_default();
        let before = take(&mut self.shards);
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
