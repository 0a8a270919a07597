//! How long to wait after a failure: 0.8 s, doubled up to 30 s, each stretched by up to its own length.
//!
//! The figures are client-go's (`tools/cache/reflector.go`, `NewReflectorWithOptions`). The reset is not: there
//! it counts from the reset before, so that a long outage starts over every two minutes; here only
//! health resets.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(800);
const MAX: Duration = Duration::from_secs(30);
/// What lasts this long was not a brief success between two failures.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub(super) struct Backoff {
    next: Duration,
    healthy_since: Option<Instant>,
    random: fastrand::Rng,
}

impl Backoff {
    pub(super) fn new(seed: u64) -> Self {
        Self { next: FIRST, healthy_since: None, random: fastrand::Rng::with_seed(seed) }
    }

    /// A list was completed or a watch was accepted.
    pub(super) fn succeeded(&mut self, now: Instant) {
        self.healthy_since.get_or_insert(now);
    }

    /// The server answers again: the waits begin anew.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }

    /// Something failed: how long to wait, but not less than `at_least`.
    pub(super) fn failed(&mut self, now: Instant, at_least: Option<Duration>) -> Duration {
        let healthy_since = self.healthy_since.take();
        if healthy_since.is_some_and(|since| now.duration_since(since) >= HEALTHY_AFTER) {
            self.next = FIRST;
        }
        let base = self.next;
        self.next = (base * 2).min(MAX);
        let wait = base.mul_f64(1.0 + self.random.f64());
        wait.max(at_least.unwrap_or_default())
    }

    /// A number in the range, from the same seed.
    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        from + (to - from).mul_f64(self.random.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each step: seconds healthy before the failure (None: never), and the expected base in seconds.
    #[track_caller]
    fn check(steps: &[(Option<u64>, f64)]) {
        let mut backoff = Backoff::new(1);
        let mut now = Instant::now();
        for &(healthy, base) in steps {
            if let Some(seconds) = healthy {
                backoff.succeeded(now);
                now += Duration::from_secs(seconds);
            }
            let wait = backoff.failed(now, None).as_secs_f64();
            assert!((base..2.0 * base).contains(&wait), "waited {wait}, base {base}");
            now += Duration::from_secs_f64(wait);
        }
    }

    #[test]
    fn waits_double_up_to_thirty_seconds() {
        check(&[(None, 0.8), (None, 1.6), (None, 3.2), (None, 6.4), (None, 12.8), (None, 25.6)]);
        let mut backoff = Backoff::new(2);
        for _ in 0..10 {
            backoff.failed(Instant::now(), None);
        }
        let wait = backoff.failed(Instant::now(), None);
        assert!(wait >= MAX && wait < 2 * MAX, "{wait:?}");
    }

    #[test]
    fn only_lasting_health_starts_over() {
        check(&[(None, 0.8), (None, 1.6), (Some(10), 0.8)]);
        check(&[(None, 0.8), (None, 1.6), (Some(9), 3.2), (Some(0), 6.4)]);
    }

    #[test]
    fn the_servers_word_counts_when_it_asks_for_more() {
        let mut backoff = Backoff::new(3);
        let asked = Duration::from_secs(7);
        assert_eq!(backoff.failed(Instant::now(), Some(asked)), asked);
    }
}
