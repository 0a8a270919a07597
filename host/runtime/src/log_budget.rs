//! How much one plugin may log. A plugin that logs too fast is slowed down, not silenced: lines go out at
//! once, the debt is paid by waiting before the next event. Only what one call writes above a whole
//! second's worth is dropped, and counted.

use crate::limits::Limits;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A token bucket that may be overdrawn up to a second's worth. A clone is the same bucket: it belongs to
/// the plugin's name, and an instance that is made anew goes on with the debt of the one before.
#[derive(Clone, Debug)]
pub(crate) struct LogBudget {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
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
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        let bucket = |per_second: u32| Bucket {
            per_second: f64::from(per_second),
            tokens: f64::from(per_second),
            at: now,
        };
        let (lines, bytes) = (limits.log_lines_per_second, limits.log_bytes_per_second);
        let state = State { lines: bucket(lines), bytes: bucket(bytes), dropped: 0 };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Whether a line of this many bytes goes out.
    pub(crate) fn take(&self, bytes: usize, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.refill(now);
        if state.lines.overdrawn() || state.bytes.overdrawn() {
            state.dropped += 1;
            return false;
        }
        state.lines.tokens -= 1.0;
        state.bytes.tokens -= bytes as f64;
        true
    }

    /// How long to wait until the debt is paid.
    pub(crate) fn debt(&self, now: Instant) -> Duration {
        let mut state = self.state.lock();
        state.refill(now);
        state.lines.debt().max(state.bytes.debt())
    }

    /// Lines dropped since the last look, and whether there is a debt now.
    pub(crate) fn look(&self, now: Instant) -> (u64, bool) {
        let mut state = self.state.lock();
        // Most plugins log nothing most of the time.
        if state.dropped == 0 && state.lines.is_full() && state.bytes.is_full() {
            return (0, false);
        }
        state.refill(now);
        let owes = state.lines.tokens < 0.0 || state.bytes.tokens < 0.0;
        (std::mem::take(&mut state.dropped), owes)
    }
}

impl State {
    fn refill(&mut self, now: Instant) {
        self.lines.refill(now);
        self.bytes.refill(now);
    }
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.per_second);
        self.at = now;
    }

    fn is_full(&self) -> bool {
        self.tokens >= self.per_second
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

    fn budget(now: Instant) -> LogBudget {
        let limits =
            Limits { log_lines_per_second: 10, log_bytes_per_second: 1_000, ..Limits::default() };
        LogBudget::new(&limits, now)
    }

    #[test]
    fn a_burst_passes_and_is_paid_for_later() {
        let start = Instant::now();
        let budget = budget(start);
        assert!((0..20).all(|_| budget.take(1, start)), "one second's worth on credit");
        assert!(!budget.take(1, start), "but no more");
        assert_eq!(budget.look(start), (1, true));
        assert_eq!(budget.debt(start), Duration::from_secs(1));
        assert_eq!(budget.debt(start + Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(budget.look(start + Duration::from_secs(1)), (0, false));
    }

    #[test]
    fn bytes_count_as_well_as_lines() {
        let start = Instant::now();
        let budget = budget(start);
        assert!(budget.take(1_500, start));
        assert_eq!(budget.debt(start), Duration::from_millis(500));
        assert!(budget.take(2_000, start), "not yet overdrawn by a second's worth");
        assert!(!budget.take(1, start));
    }

    #[test]
    fn a_new_instance_goes_on_with_the_debt() {
        let start = Instant::now();
        let before = budget(start);
        assert!(before.take(2_000, start));
        let after = before.clone();
        drop(before);
        assert!(!after.take(1, start));
        assert_eq!(after.debt(start), Duration::from_secs(1));
    }
}
