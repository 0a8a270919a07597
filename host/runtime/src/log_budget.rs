//! How much one plugin may log. A plugin that logs too fast is slowed down, not silenced: lines go out at
//! once, the debt is paid by waiting before the next event. Only what one call writes above a whole
//! second's worth is dropped, and counted.

use std::time::{Duration, Instant};

/// A token bucket that may be overdrawn up to a second's worth.
#[derive(Debug)]
pub(crate) struct LogBudget {
    lines: Bucket,
    bytes: Bucket,
    dropped: u64,
}

#[derive(Debug)]
struct Bucket {
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl LogBudget {
    pub(crate) fn new(lines_per_second: u32, bytes_per_second: u32, now: Instant) -> Self {
        let bucket = |per_second: u32| Bucket {
            per_second: f64::from(per_second),
            tokens: f64::from(per_second),
            at: now,
        };
        Self { lines: bucket(lines_per_second), bytes: bucket(bytes_per_second), dropped: 0 }
    }

    /// Whether a line of this many bytes goes out.
    pub(crate) fn take(&mut self, bytes: usize, now: Instant) -> bool {
        self.lines.refill(now);
        self.bytes.refill(now);
        if self.lines.overdrawn() || self.bytes.overdrawn() {
            self.dropped += 1;
            return false;
        }
        self.lines.tokens -= 1.0;
        self.bytes.tokens -= bytes as f64;
        true
    }

    /// How long to wait until the debt is paid.
    pub(crate) fn debt(&mut self, now: Instant) -> Duration {
        self.lines.refill(now);
        self.bytes.refill(now);
        self.lines.debt().max(self.bytes.debt())
    }

    /// Lines dropped since the last call of this.
    pub(crate) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.per_second);
        self.at = now;
    }

    fn overdrawn(&self) -> bool {
        self.tokens <= -self.per_second
    }

    fn debt(&self) -> Duration {
        Duration::from_secs_f64((-self.tokens / self.per_second).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_is_paid_for_later() {
        let start = Instant::now();
        let mut budget = LogBudget::new(10, 1_000, start);
        assert!((0..20).all(|_| budget.take(1, start)), "one second's worth on credit");
        assert!(!budget.take(1, start), "but no more");
        assert_eq!(budget.take_dropped(), 1);
        assert_eq!(budget.debt(start), Duration::from_secs(1));
        assert_eq!(budget.debt(start + Duration::from_secs(1)), Duration::ZERO);
    }

    #[test]
    fn bytes_count_as_well_as_lines() {
        let start = Instant::now();
        let mut budget = LogBudget::new(10, 1_000, start);
        assert!(budget.take(1_500, start));
        assert_eq!(budget.debt(start), Duration::from_millis(500));
        assert!(budget.take(2_000, start), "not yet overdrawn by a second's worth");
        assert!(!budget.take(1, start));
    }
}
