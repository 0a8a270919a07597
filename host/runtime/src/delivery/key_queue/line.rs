//! The keys of one shard. Each key is in one line, so one instance at a time works on it. One limiter gives the
//! waits of failed keys in all lines.

use super::{HashedKey, KeyQueue, KeyWork, Waits};
use crate::shard;
use informant_cache::workqueue::{
    AddOptions, BucketRateLimiter, ItemExponentialFailureRateLimiter, LaneRule, Leftover,
    MaxOfRateLimiter, PolledWorkQueue, RateLimiter, WorkQueueOptions,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many delayed keys of a line become due while the queue's lock is held once.
const RIPEN_MAX: usize = 128;
/// How many keys come into other lines while the queue's lock is held once.
const REGROUPED_MAX: usize = 128;

#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: PolledWorkQueue<HashedKey>,
    pub(super) in_flight: Option<InFlight>,
}

#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) work: KeyWork,
    /// When it was taken.
    pub(super) since: Instant,
    /// Whether the key was added rate-limited while in flight. A success does not forget that wait.
    pub(super) rate_limited: bool,
}

/// The lines of a former number of shards. Their keys go to the present lines.
#[derive(Debug)]
#[must_use]
pub(crate) struct FormerLines(Vec<Line>);

impl FormerLines {
    /// The keys, without the queue's lock: there may be 200,000.
    pub(crate) fn into_keys(self, now: Instant) -> std::vec::IntoIter<Leftover<HashedKey>> {
        let keys = self.0.into_iter().flat_map(|line| line.queue.into_leftovers(now));
        keys.collect::<Vec<_>>().into_iter()
    }
}

impl Line {
    pub(super) fn new(limiter: &SharedLimiter) -> Self {
        let (rate_limiter, lanes) = (Box::new(limiter.clone()), LaneRule::default());
        let queue = PolledWorkQueue::new(WorkQueueOptions { rate_limiter, lanes });
        Self { queue, in_flight: None }
    }

    /// When the line may make room. Now while its shard works on a key.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.in_flight.is_some() { Some(now) } else { self.queue.due(now) }
    }
}

/// The waits of failed keys in all lines. Clones share one state.
#[derive(Clone)]
pub(super) struct SharedLimiter(Arc<Mutex<MaxOfRateLimiter<HashedKey>>>);

impl SharedLimiter {
    pub(super) fn new(waits: Waits) -> Self {
        let per_key = ItemExponentialFailureRateLimiter::new(waits.base, waits.max);
        let overall = BucketRateLimiter::new(waits.interval, waits.burst).with_max_wait(waits.max);
        let limiter = MaxOfRateLimiter::new(vec![Box::new(per_key), Box::new(overall)]);
        Self(Arc::new(Mutex::new(limiter)))
    }
}

impl std::fmt::Debug for SharedLimiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedLimiter")
    }
}

impl RateLimiter<HashedKey> for SharedLimiter {
    fn when(&mut self, key: &HashedKey, now: Instant) -> Duration {
        self.0.lock().when(key, now)
    }

    fn forget(&mut self, key: &HashedKey) {
        self.0.lock().forget(key);
    }

    fn num_requeues(&self, key: &HashedKey) -> u32 {
        self.0.lock().num_requeues(key)
    }
}

impl KeyQueue {
    pub(super) fn shard_of(&self, key: &str) -> usize {
        shard::of_key(key, self.lines.len())
    }

    pub(super) fn line(&mut self, key: &str) -> &mut Line {
        let shard = self.shard_of(key);
        &mut self.lines[shard]
    }

    /// Moves delayed keys whose time has come behind the due keys, at most [`RIPEN_MAX`] of each line. Returns whether
    /// there may be more.
    pub(crate) fn ripen(&mut self, now: Instant) -> bool {
        let ripens = |line: &mut Line| line.queue.ripen(RIPEN_MAX, now);
        self.lines.iter_mut().map(ripens).fold(false, |any, more| any | more)
    }

    /// The number of shards in which the plugin runs.
    #[cfg(test)]
    pub(crate) fn shards(&self) -> usize {
        self.lines.len()
    }

    /// Changes the number of shards. No shard may have a key in flight. The keys of the former lines, if the number is
    /// another one, come back by [`regroup`](Self::regroup).
    pub(crate) fn reshard(&mut self, shards: usize, now: Instant) -> Option<FormerLines> {
        if shards == self.lines.len() {
            return None;
        }
        self.regroups += 1;
        (0..self.lines.len()).for_each(|shard| self.recover(shard, now));
        let lines = (0..shards.max(1)).map(|_| Line::new(&self.limiter)).collect();
        Some(FormerLines(std::mem::replace(&mut self.lines, lines)))
    }

    /// Puts some keys of former lines into the present lines. Waiting keys keep their times, and failed keys their
    /// counts. Returns whether there are more.
    pub(crate) fn regroup(
        &mut self,
        keys: &mut std::vec::IntoIter<Leftover<HashedKey>>,
        now: Instant,
    ) -> bool {
        for left in keys.take(REGROUPED_MAX) {
            let after = left.ready_at.map(|at| at.saturating_duration_since(now));
            let (after, lane) = (after.unwrap_or_default(), left.lane);
            // The key may have been added, done and forgotten meanwhile.
            self.insert(left.key, AddOptions { lane, after, rate_limited: false }, now);
        }
        let has_more = !keys.as_slice().is_empty();
        if !has_more {
            self.regroups = self.regroups.saturating_sub(1);
        }
        has_more
    }
}
