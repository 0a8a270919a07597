//! The waits of failed keys. As client-go's `util/workqueue/default_rate_limiters.go`.
//!
//! Nothing here sleeps or reads a clock: the time is a parameter, and a duration is the result.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Decides how long a key waits. Each keeps at most one counter for each key that failed and was not forgotten.
pub trait RateLimiter<K>: Send {
    /// Notes one more failure of the key, and returns its wait.
    fn when(&mut self, key: &K, now: Instant) -> Duration;
    /// The key succeeded or was given up: its failures no longer count.
    fn forget(&mut self, key: &K);
    /// How often the key has failed since it was last forgotten.
    fn num_requeues(&self, key: &K) -> u32;
}

impl<K, L: RateLimiter<K> + ?Sized> RateLimiter<K> for Box<L> {
    fn when(&mut self, key: &K, now: Instant) -> Duration {
        (**self).when(key, now)
    }

    fn forget(&mut self, key: &K) {
        (**self).forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        (**self).num_requeues(key)
    }
}

/// client-go's `DefaultTypedControllerRateLimiter`: per key 5 ms doubled up to 1000 s, and for all together 10 a
/// second after a burst of 100, whichever is longer.
pub fn default_controller_rate_limiter<K>() -> MaxOfRateLimiter<K>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    let per_key =
        ItemExponentialFailureRateLimiter::new(Duration::from_millis(5), Duration::from_secs(1000));
    let overall = BucketRateLimiter::new(Duration::from_millis(100), 100);
    MaxOfRateLimiter::new(vec![Box::new(per_key), Box::new(overall)])
}

/// client-go's `DefaultTypedItemBasedRateLimiter`: per key 1 ms doubled up to 1000 s, without a common limit.
pub fn default_item_based_rate_limiter<K: Hash + Eq + Clone + Send + 'static>()
-> ItemExponentialFailureRateLimiter<K> {
    ItemExponentialFailureRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1000))
}

/// `base` for a first failure, doubled with each further one, up to `max`.
pub fn exponential(base: Duration, failures_before: u32, max: Duration) -> Duration {
    let factor = 1u128.checked_shl(failures_before).unwrap_or(u128::MAX);
    let nanos = base.as_nanos().saturating_mul(factor);
    if nanos < max.as_nanos() { Duration::from_nanos_u128(nanos) } else { max }
}

/// Waits that double with each failure of a key.
#[derive(Clone, Debug)]
pub struct ItemExponentialFailureRateLimiter<K> {
    base: Duration,
    max: Duration,
    failures: Failures<K>,
}

impl<K: Hash + Eq + Clone> ItemExponentialFailureRateLimiter<K> {
    /// From `base` up to `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Failures::default() }
    }
}

impl<K: Hash + Eq + Clone + Send> RateLimiter<K> for ItemExponentialFailureRateLimiter<K> {
    fn when(&mut self, key: &K, _: Instant) -> Duration {
        exponential(self.base, self.failures.add(key), self.max)
    }

    fn forget(&mut self, key: &K) {
        self.failures.of.remove(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.count(key)
    }
}

/// A short wait for the first failures of a key, a long one for all further ones.
#[derive(Clone, Debug)]
pub struct ItemFastSlowRateLimiter<K> {
    fast: Duration,
    slow: Duration,
    fast_attempts_max: u32,
    failures: Failures<K>,
}

impl<K: Hash + Eq + Clone> ItemFastSlowRateLimiter<K> {
    /// `fast` for the first `fast_attempts_max` failures, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_attempts_max: u32) -> Self {
        Self { fast, slow, fast_attempts_max, failures: Failures::default() }
    }
}

impl<K: Hash + Eq + Clone + Send> RateLimiter<K> for ItemFastSlowRateLimiter<K> {
    fn when(&mut self, key: &K, _: Instant) -> Duration {
        let fast = self.failures.add(key) < self.fast_attempts_max;
        if fast { self.fast } else { self.slow }
    }

    fn forget(&mut self, key: &K) {
        self.failures.of.remove(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.count(key)
    }
}

/// A token bucket for all keys together: a key above the rate waits for its token. Forgetting gives no token back.
///
/// The state is the time at which the bucket will be full again, so nothing is rounded and nothing ticks.
#[derive(Clone, Debug)]
pub struct BucketRateLimiter {
    interval: Duration,
    burst: u32,
    wait_max: Duration,
    /// When all taken tokens will have come back; `None` before the first.
    full_at: Option<Instant>,
}

impl BucketRateLimiter {
    /// A token every `interval` (zero: no limit), and up to `burst` saved up (0 counts as 1).
    pub fn new(interval: Duration, burst: u32) -> Self {
        Self { interval, burst: burst.max(1), wait_max: Duration::MAX, full_at: None }
    }

    /// The longest wait: a key that would wait longer takes no token. Without it later keys wait for all earlier ones,
    /// however many.
    #[must_use]
    pub fn with_max_wait(self, wait_max: Duration) -> Self {
        Self { wait_max, ..self }
    }
}

impl<K> RateLimiter<K> for BucketRateLimiter {
    fn when(&mut self, _: &K, now: Instant) -> Duration {
        let full_at = self.full_at.map_or(now, |full_at| full_at.max(now));
        let missing = full_at.duration_since(now);
        let saved = self.interval.saturating_mul(self.burst - 1);
        let wait = missing.saturating_sub(saved);
        if wait > self.wait_max {
            return self.wait_max;
        }
        // If the sum leaves the clock's range, no more is taken, and the wait stays the same.
        self.full_at = Some(full_at.checked_add(self.interval).unwrap_or(full_at));
        wait
    }

    fn forget(&mut self, _: &K) {}

    fn num_requeues(&self, _: &K) -> u32 {
        0
    }
}

/// The longest wait of several limiters, each of which gets every failure.
pub struct MaxOfRateLimiter<K> {
    limiters: Vec<Box<dyn RateLimiter<K>>>,
}

impl<K> MaxOfRateLimiter<K> {
    /// Without limiters there is no wait.
    pub fn new(limiters: Vec<Box<dyn RateLimiter<K>>>) -> Self {
        Self { limiters }
    }
}

impl<K> RateLimiter<K> for MaxOfRateLimiter<K> {
    fn when(&mut self, key: &K, now: Instant) -> Duration {
        let waits = self.limiters.iter_mut().map(|limiter| limiter.when(key, now));
        waits.max().unwrap_or_default()
    }

    fn forget(&mut self, key: &K) {
        self.limiters.iter_mut().for_each(|limiter| limiter.forget(key));
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.limiters.iter().map(|limiter| limiter.num_requeues(key)).max().unwrap_or_default()
    }
}

/// Another limiter's waits, cut at a maximum.
#[derive(Clone, Debug)]
pub struct WithMaxWaitRateLimiter<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWaitRateLimiter<L> {
    /// Never longer than `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWaitRateLimiter<L> {
    fn when(&mut self, key: &K, now: Instant) -> Duration {
        self.limiter.when(key, now).min(self.max)
    }

    fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }
}

#[derive(Clone, Debug)]
struct Failures<K> {
    of: HashMap<K, u32>,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self { of: HashMap::new() }
    }
}

impl<K: Hash + Eq + Clone> Failures<K> {
    /// Counts one more; returns the number before.
    fn add(&mut self, key: &K) -> u32 {
        let Some(count) = self.of.get_mut(key) else {
            self.of.insert(key.clone(), 1);
            return 0;
        };
        *count = count.saturating_add(1);
        *count - 1
    }

    fn count(&self, key: &K) -> u32 {
        self.of.get(key).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
