//! A token bucket: tokens come at a steady rate up to a maximum. A caller may overdraw it and wait
//! afterwards.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Buckets by their subject.
pub(crate) type TokenBuckets<K> = BTreeMap<K, TokenBucket>;

/// Drops full buckets: a new bucket is equal.
pub(crate) fn forget_full<K: Ord>(buckets: &mut TokenBuckets<K>, now: Instant) {
    buckets.retain(|_, bucket| {
        bucket.refill(now);
        !bucket.is_full()
    });
}

/// The bucket of one rate-limited subject.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    per_second: f64,
    capacity: f64,
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub(crate) fn new(per_second: f64, capacity: f64, now: Instant) -> Self {
        Self { per_second, capacity, tokens: capacity, at: now }
    }

    /// Sets other bounds. Spent tokens stay spent, but cause no new debt; a present debt takes as long to pay as
    /// before.
    pub(crate) fn set(&mut self, per_second: f64, capacity: f64, now: Instant) {
        self.refill(now);
        self.tokens = match self.tokens < 0.0 {
            true => self.tokens * per_second / self.per_second,
            false => (self.tokens + capacity - self.capacity).max(0.0),
        };
        (self.per_second, self.capacity) = (per_second, capacity);
    }

    pub(crate) fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.capacity);
        self.at = now;
    }

    pub(crate) fn spend(&mut self, tokens: f64) {
        self.tokens -= tokens;
    }

    /// Takes one token, or returns the time until there is one.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.refill(now);
        if self.tokens < 1.0 {
            // A remainder from rounding is not worth another look.
            return Err(self.until(1.0) + Duration::from_millis(1));
        }
        self.spend(1.0);
        Ok(())
    }

    /// The tokens after the last refill.
    pub(crate) fn tokens(&self) -> f64 {
        self.tokens
    }

    pub(crate) fn is_full(&self) -> bool {
        self.tokens >= self.capacity
    }

    /// The time after the last refill until there are so many tokens, if none is spent meanwhile.
    pub(crate) fn until(&self, tokens: f64) -> Duration {
        Duration::from_secs_f64(((tokens - self.tokens) / self.per_second).max(0.0))
    }
}
