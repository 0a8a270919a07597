//! The log rate of one plugin. A plugin that logs too fast is slowed down, not silenced: its lines
//! are written at once, and it waits before its next event. Only lines of one call beyond the
//! amount of one second are dropped, and counted.

use crate::contract::limits::Limits;
use crate::token_bucket::TokenBucket;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The most bytes of a message, or of a line's fields; longer ones are cut. A line must stay one line for any log
/// viewer, and container runtimes split longer ones.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Two token buckets that may be overdrawn by a second's worth. Clones share the buckets. They belong to the plugin's
/// name: a new instance continues with the debt of the one before.
#[derive(Clone, Debug)]
pub(crate) struct LogBudget {
    shared: Arc<SharedBudget>,
}

#[derive(Debug)]
struct SharedBudget {
    /// Whether a line was logged since the budget was last full. Most plugins log nothing most of the time, and a lock is
    /// dearer than a look.
    was_used: AtomicBool,
    state: Mutex<BudgetState>,
}

#[derive(Debug)]
struct BudgetState {
    lines: TokenBucket,
    bytes: TokenBucket,
    /// Of lines and of bytes.
    per_second: (u32, u32),
    dropped: u64,
}

impl LogBudget {
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        let bucket = |rate: u32| TokenBucket::new(f64::from(rate), f64::from(rate), now);
        let (lines, bytes) = (limits.log_lines_per_second, limits.log_bytes_per_second);
        let per_second = (lines, bytes);
        let state =
            BudgetState { lines: bucket(lines), bytes: bucket(bytes), per_second, dropped: 0 };
        let shared = SharedBudget { was_used: AtomicBool::new(false), state: Mutex::new(state) };
        Self { shared: Arc::new(shared) }
    }

    /// Sets other limits; the debt stays.
    pub(crate) fn set_rates(&self, limits: &Limits, now: Instant) {
        let mut state = self.shared.state.lock();
        self.shared.was_used.store(true, Relaxed);
        let (lines, bytes) = (limits.log_lines_per_second, limits.log_bytes_per_second);
        state.lines.set(f64::from(lines), f64::from(lines), now);
        state.bytes.set(f64::from(bytes), f64::from(bytes), now);
        state.per_second = (lines, bytes);
    }

    /// Whether a line of this many bytes is logged.
    pub(crate) fn take(&self, bytes: usize, now: Instant) -> bool {
        let mut state = self.shared.state.lock();
        self.shared.was_used.store(true, Relaxed);
        state.refill(now);
        let (lines, bytes_rate) = state.per_second;
        if is_overdrawn(&state.lines, lines) || is_overdrawn(&state.bytes, bytes_rate) {
            state.dropped += 1;
            return false;
        }
        state.lines.spend(1.0);
        state.bytes.spend(bytes as f64);
        true
    }

    /// Whether no line was logged for a while.
    pub(crate) fn is_full(&self) -> bool {
        !self.shared.was_used.load(Relaxed)
    }

    /// How long to wait until the debt is paid.
    pub(crate) fn debt(&self, now: Instant) -> Duration {
        let mut state = self.shared.state.lock();
        state.refill(now);
        state.lines.until(0.0).max(state.bytes.until(0.0))
    }

    /// Lines dropped since the last call, and whether there is a debt now.
    pub(crate) fn look(&self, now: Instant) -> (u64, bool) {
        if self.is_full() {
            return (0, false);
        }
        let mut state = self.shared.state.lock();
        state.refill(now);
        self.shared.was_used.store(!state.is_full(), Relaxed);
        let owes = state.lines.tokens() < 0.0 || state.bytes.tokens() < 0.0;
        (std::mem::take(&mut state.dropped), owes)
    }
}

impl BudgetState {
    /// Whether no line was logged for a while.
    fn is_full(&self) -> bool {
        self.lines.is_full() && self.bytes.is_full()
    }

    fn refill(&mut self, now: Instant) {
        self.lines.refill(now);
        self.bytes.refill(now);
    }
}

fn is_overdrawn(bucket: &TokenBucket, per_second: u32) -> bool {
    bucket.tokens() <= -f64::from(per_second)
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
    fn other_limits_leave_the_debt_what_it_was() {
        let start = Instant::now();
        let budget = budget(start);
        assert!(budget.take(1_500, start));
        let fast =
            Limits { log_lines_per_second: 10, log_bytes_per_second: 2_000, ..Limits::default() };
        budget.set_rates(&fast, start);
        assert_eq!(budget.debt(start), Duration::from_millis(500));
        let slow =
            Limits { log_lines_per_second: 10, log_bytes_per_second: 1, ..Limits::default() };
        budget.set_rates(&slow, start);
        assert_eq!(budget.debt(start), Duration::from_millis(500));
        let later = start + Duration::from_millis(500);
        assert_eq!(budget.debt(later), Duration::ZERO);
        assert!(budget.take(1, later));
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
