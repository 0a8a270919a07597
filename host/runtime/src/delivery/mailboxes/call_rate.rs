//! The rate of a plugin's `handle` calls: a token for each call, first attempts and retries alike.

use crate::contract::configuration::RateLimit;
use crate::token_bucket::TokenBucket;
use std::time::{Duration, Instant};

/// A shorter wait counts as none: rounding can cause it.
const ROUNDING: Duration = Duration::from_micros(1);

#[derive(Debug)]
pub(super) struct CallRate(TokenBucket);

impl CallRate {
    pub(super) fn new(limit: RateLimit, now: Instant) -> Self {
        Self(TokenBucket::new(limit.events_per_second as f64, limit.burst as f64, now))
    }

    /// This limit holds from here on; earlier calls count.
    pub(super) fn set(&mut self, limit: RateLimit, now: Instant) {
        self.0.set(limit.events_per_second as f64, limit.burst as f64, now);
    }

    /// How long until the next call may be made.
    pub(super) fn wait(&mut self, now: Instant) -> Duration {
        self.0.refill(now);
        let wait = self.0.until(1.0);
        if wait <= ROUNDING { Duration::ZERO } else { wait }
    }

    /// Spends a token for a call.
    pub(super) fn spend(&mut self, now: Instant) {
        self.0.refill(now);
        self.0.spend(1.0);
    }

    /// Gives back the token of a call that was not made.
    pub(super) fn give_back(&mut self) {
        self.0.spend(-1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of calls before each of these times in ms, when calls are made as soon as they may be.
    #[track_caller]
    fn check(events_per_second: u64, burst: u64, expect: &[(u64, usize)]) {
        let start = Instant::now();
        let mut rate = CallRate::new(RateLimit { events_per_second, burst }, start);
        let (mut now, mut calls) = (start, Vec::new());
        while calls.len() < 200 {
            let wait = rate.wait(now);
            now += wait;
            assert!(rate.wait(now).is_zero(), "whoever waited may call");
            rate.spend(now);
            calls.push(now - start);
        }
        for (ms, count) in expect {
            let by_then = calls.iter().filter(|at| **at <= Duration::from_micros(ms * 1_000 + 100));
            assert_eq!(by_then.count(), *count, "by {ms} ms");
        }
    }

    #[test]
    fn a_burst_is_made_at_once_and_then_one_call_after_another() {
        check(10, 1, &[(0, 1), (99, 1), (100, 2), (1_000, 11)]);
        check(10, 5, &[(0, 5), (99, 5), (100, 6), (1_000, 15)]);
        check(100, 100, &[(0, 100), (1_000, 200)]);
    }

    #[test]
    fn tokens_that_were_not_used_make_up_a_burst_and_no_more() {
        let start = Instant::now();
        let limit = RateLimit { events_per_second: 10, burst: 2 };
        let mut rate = CallRate::new(limit, start);
        let later = start + Duration::from_secs(60);
        for _ in 0..2 {
            assert!(rate.wait(later).is_zero());
            rate.spend(later);
        }
        assert_eq!(rate.wait(later), Duration::from_millis(100));
        rate.set(RateLimit { burst: 4, ..limit }, later);
        assert!(rate.wait(later).is_zero(), "of four two are spent");
    }
}
