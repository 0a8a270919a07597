//! The whole state of a queue, under one lock and without waiting: queued and delayed keys, the waits of failures, and
//! the shutdown.

use super::AddOptions;
use super::delays::Delays;
use super::lanes::{Lane, LaneRule};
use super::metrics::{Counters, WorkQueueMetrics};
use super::queue::{Added, EndedWork, Queue};
use super::rate_limiters::RateLimiter;
use std::hash::Hash;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueuePhase {
    Open,
    /// No new key is handed out; a caller may wait until the rest is done.
    Draining,
    /// As `Draining`, without a waiting caller.
    ShutDown,
}

/// The result of a look for a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look<K> {
    Taken(K, Lane),
    ShutDown,
    /// No key until `due`, unless one is added before.
    Nothing {
        due: Option<Instant>,
    },
}

/// A key that a queue did not hand out before its shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover<K> {
    /// The key.
    pub key: K,
    /// Its urgency.
    pub lane: Lane,
    /// The end of its delay; `None` if it could have been handed out.
    pub ready_at: Option<Instant>,
}

pub(super) struct WorkQueueState<K> {
    pub(super) queue: Queue<K>,
    pub(super) limiter: Box<dyn RateLimiter<K>>,
    pub(super) phase: QueuePhase,
    delays: Delays<K>,
    /// Added after the shutdown, at the time of the add.
    late: Delays<K>,
    counters: Counters,
}

impl<K: Hash + Eq + Clone> WorkQueueState<K> {
    pub(super) fn new(limiter: Box<dyn RateLimiter<K>>, rule: LaneRule) -> Self {
        Self {
            queue: Queue::new(rule),
            limiter,
            phase: QueuePhase::Open,
            delays: Delays::new(),
            late: Delays::new(),
            counters: Counters::default(),
        }
    }

    /// Returns whether a key can be handed out now that could not before.
    pub(super) fn add(&mut self, key: K, options: AddOptions, now: Instant) -> bool {
        let AddOptions { lane, mut after, rate_limited } = options;
        if rate_limited {
            after = after.max(self.limiter.when(&key, now));
        }
        if rate_limited || !after.is_zero() {
            self.counters.retries_total += 1;
        }
        if !after.is_zero() {
            // A time beyond the clock's range means never, and is not replaced by a shorter one.
            let never = std::time::Duration::from_secs(86_400 * 365);
            let ready_at = now.checked_add(after).unwrap_or(now + never);
            self.delays.note(key, lane, ready_at);
            return false;
        }
        if self.phase != QueuePhase::Open {
            self.late.note(key, lane, now);
            return false;
        }
        self.add_now(key, lane, now)
    }

    fn add_now(&mut self, key: K, lane: Lane, now: Instant) -> bool {
        let added = self.queue.add(key, lane, now);
        if matches!(added, Added::Waits | Added::WaitsForDone) {
            self.counters.adds_total += 1;
        }
        added == Added::Waits
    }

    /// The earliest time at which a delayed key can be handed out.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.phase == QueuePhase::Open { self.delays.due() } else { None }
    }

    /// Whether the key waits, is delayed or is in work.
    pub(super) fn contains(&self, key: &K) -> bool {
        self.queue.contains(key) || self.delays.contains(key)
    }

    /// The number of delayed keys.
    pub(super) fn delayed(&self) -> usize {
        self.delays.len()
    }

    /// Queues the due delayed keys.
    pub(super) fn ripen(&mut self, now: Instant) {
        self.ripen_some(usize::MAX, now);
    }

    /// The same for at most `most` keys. Returns their number.
    pub(super) fn ripen_some(&mut self, most: usize, now: Instant) -> usize {
        let mut count = 0;
        while count < most
            && self.phase == QueuePhase::Open
            && let Some(ripe) = self.delays.pop_due(now)
        {
            self.add_now(ripe.key, ripe.lane, now);
            count += 1;
        }
        count
    }

    pub(super) fn look(&mut self, now: Instant) -> Look<K> {
        self.look_some(usize::MAX, now)
    }

    /// The same, but queues at most `most` due delayed keys first.
    pub(super) fn look_some(&mut self, most: usize, now: Instant) -> Look<K> {
        self.ripen_some(most, now);
        match self.queue.get(now) {
            Some(taken) => {
                self.counters.queue_duration.observe(taken.waited);
                Look::Taken(taken.key, taken.lane)
            }
            None if self.phase == QueuePhase::Open => Look::Nothing { due: self.delays.due() },
            None => Look::ShutDown,
        }
    }

    pub(super) fn done(&mut self, key: &K, now: Instant) -> Option<EndedWork> {
        let ended = self.queue.done(key, now)?;
        self.counters.work_duration.observe(ended.worked);
        Some(ended)
    }

    pub(super) fn is_drained(&self) -> bool {
        self.phase == QueuePhase::ShutDown || self.queue.is_idle()
    }

    pub(super) fn take_leftovers(&mut self, now: Instant) -> Vec<Leftover<K>> {
        if self.phase == QueuePhase::Open {
            return Vec::new();
        }
        let ready = |key, lane| Leftover { key, lane, ready_at: None };
        let queued = self.queue.drain(now).into_iter().map(|(key, lane)| ready(key, lane));
        let mut leftovers: Vec<_> = queued.collect();
        while let Some(late) = self.late.pop() {
            leftovers.push(ready(late.key, late.lane));
        }
        while let Some(delayed) = self.delays.pop() {
            let ready_at = Some(delayed.ready_at);
            leftovers.push(Leftover { key: delayed.key, lane: delayed.lane, ready_at });
        }
        leftovers
    }

    pub(super) fn metrics(&self, name: &str, now: Instant) -> WorkQueueMetrics {
        let worked_for = || self.queue.worked_for(now);
        WorkQueueMetrics {
            name: name.into(),
            depth: Lane::ALL.map(|lane| self.queue.waiting_in(lane)),
            delayed: self.delays.len(),
            working: self.queue.working(),
            adds_total: self.counters.adds_total,
            retries_total: self.counters.retries_total,
            queue_duration: self.counters.queue_duration.clone(),
            work_duration: self.counters.work_duration.clone(),
            unfinished_work: worked_for().sum(),
            longest_running_processor: worked_for().max().unwrap_or_default(),
        }
    }
}
