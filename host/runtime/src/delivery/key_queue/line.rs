//! The keys of one shard: each key is in one line, and so is worked on by one instance at a time. What fails waits as one limiter says for all lines.

use super::{KeyQueue, KeyWork, Waits};
use crate::shard;
use informant_cache::workqueue::{
    AddOptions, BucketRateLimiter, ItemExponentialFailureRateLimiter, LaneRule, MaxOfRateLimiter,
    PolledWorkQueue, RateLimiter, WorkQueueOptions,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: PolledWorkQueue<Arc<str>>,
    pub(super) in_flight: Option<InFlight>,
}

#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) work: KeyWork,
    /// Somebody added it meanwhile with a wait of the rate limiter's, which success does not forget then.
    pub(super) rate_limited: bool,
}

impl Line {
    pub(super) fn new(limiter: &SharedLimiter) -> Self {
        let (rate_limiter, lanes) = (Box::new(limiter.clone()), LaneRule::default());
        let queue = PolledWorkQueue::new(WorkQueueOptions { rate_limiter, lanes });
        Self { queue, in_flight: None }
    }

    /// When something of it may make room; now where its shard is at work.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.in_flight.is_some() { Some(now) } else { self.queue.due(now) }
    }
}

/// How long keys wait that failed, whatever line they are in. A clone is the same.
#[derive(Clone)]
pub(super) struct SharedLimiter(Arc<Mutex<MaxOfRateLimiter<Arc<str>>>>);

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

impl RateLimiter<Arc<str>> for SharedLimiter {
    fn when(&mut self, key: &Arc<str>, now: Instant) -> Duration {
        self.0.lock().when(key, now)
    }

    fn forget(&mut self, key: &Arc<str>) {
        self.0.lock().forget(key);
    }

    fn num_requeues(&self, key: &Arc<str>) -> u32 {
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

    /// In how many shards the plugin runs.
    #[cfg(test)]
    pub(crate) fn shards(&self) -> usize {
        self.lines.len()
    }

    /// The plugin runs in so many shards from here on. No shard is at work. What waits keeps its times, and what failed its count.
    pub(crate) fn reshard(&mut self, shards: usize, now: Instant) {
        if shards == self.lines.len() {
            return;
        }
        (0..self.lines.len()).for_each(|shard| self.recover(shard, now));
        let lines = (0..shards.max(1)).map(|_| Line::new(&self.limiter)).collect();
        for line in std::mem::replace(&mut self.lines, lines) {
            for left in line.queue.into_leftovers(now) {
                let after = left.ready_at.map(|at| at.saturating_duration_since(now));
                let options = AddOptions {
                    lane: left.lane,
                    after: after.unwrap_or_default(),
                    rate_limited: false,
                };
                self.put(left.key, options, now);
            }
        }
    }
}
