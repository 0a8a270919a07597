//! The log rate of one plugin. A plugin that logs too fast is slowed down, not silenced: its lines are written at once,
//! and it waits before its next event. Only lines of one call beyond the amount of one second are dropped, and counted.
//!
//! The plugin's own lines and the host's lines about its calls ([`HostLine`]) share the budget: a plugin chooses how
//! often its calls fail, and with what text. Other lines of the host about a plugin are outside of it, because an
//! operator needs them most during a flood, and each is rare by its nature:
//!
//! - the breaker opens or closes: once for each of its pauses, which grow;
//! - a load begins, fails, takes over or is rolled back: once for each change of a file or request, one at a time for a
//!   plugin. This includes the first key that is missing, and reads that have not synced: once for each version;
//! - the plugin is paused, stopped or removed, or the API server changes its permissions;
//! - a recording begins or ends: once for each version and shard;
//! - dropped lines: once after a call, and the plugin then waits for a second.

use crate::counters::{Counters, add_one};
use crate::event::ShownObject;
use crate::token_bucket::TokenBucket;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tracing::{Level, error, info, warn};

/// The most bytes of a message, or of a line's fields; longer ones are cut. A line must stay one line for any log
/// viewer, and container runtimes split longer ones.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// The bounds of a plugin's log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRates {
    pub(crate) lines_per_second: u32,
    pub(crate) bytes_per_second: u32,
}

/// Two token buckets that may be overdrawn by a second's worth. Clones share the buckets. They belong to the plugin's
/// name: a new instance and a load continue with the debt of the instance before.
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
    /// Of the plugin; its ledger has the bytes of the written lines.
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct BudgetState {
    lines: TokenBucket,
    bytes: TokenBucket,
    rates: LogRates,
    /// Lines dropped since the log had their number.
    dropped: u64,
}

/// A line of the host about a call or a load of a plugin.
#[derive(Clone, Copy)]
pub(crate) struct HostLine<'a> {
    level: Level,
    message: &'a str,
    object: Option<&'a ShownObject<'a>>,
    key: Option<&'a str>,
    schedule: Option<&'a str>,
}

impl<'a> HostLine<'a> {
    pub(crate) fn error(message: &'a str) -> Self {
        Self { level: Level::ERROR, message, object: None, key: None, schedule: None }
    }

    pub(crate) fn warn(message: &'a str) -> Self {
        Self { level: Level::WARN, ..Self::error(message) }
    }

    pub(crate) fn info(message: &'a str) -> Self {
        Self { level: Level::INFO, ..Self::error(message) }
    }

    /// The same, about this object.
    pub(crate) fn of_object(self, object: &'a ShownObject<'a>) -> Self {
        Self { object: Some(object), ..self }
    }

    /// The same, about this key.
    pub(crate) fn of_key(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same, about this schedule.
    pub(crate) fn of_schedule(self, schedule: &'a str) -> Self {
        Self { schedule: Some(schedule), ..self }
    }

    /// Bytes of the texts.
    fn bytes(&self) -> usize {
        let words = self.key.map_or(0, str::len) + self.schedule.map_or(0, str::len);
        self.message.len() + words + self.object.map_or(0, ShownObject::bytes)
    }

    fn write(&self, plugin: &str) {
        let Self { level, message, object, key, schedule } = *self;
        let namespace = object.map(|it| &*it.namespace);
        let name = object.map(|it| &*it.name);
        let resource_version = object.map(|it| &*it.resource_version);
        match level {
            Level::ERROR => {
                error!(plugin, namespace, name, resource_version, key, schedule, "{message}");
            }
            Level::WARN => {
                warn!(plugin, namespace, name, resource_version, key, schedule, "{message}");
            }
            _ => info!(plugin, namespace, name, resource_version, key, schedule, "{message}"),
        }
    }
}

impl LogBudget {
    pub(crate) fn new(rates: impl Into<LogRates>, counters: Arc<Counters>, now: Instant) -> Self {
        let rates = rates.into();
        let bucket = |rate: u32| TokenBucket::new(f64::from(rate), f64::from(rate), now);
        let (lines, bytes) = (bucket(rates.lines_per_second), bucket(rates.bytes_per_second));
        let state = BudgetState { lines, bytes, rates, dropped: 0 };
        let (was_used, state) = (AtomicBool::new(false), Mutex::new(state));
        Self { shared: Arc::new(SharedBudget { was_used, state, counters }) }
    }

    /// Sets other rates; the debt stays.
    pub(crate) fn set_rates(&self, rates: impl Into<LogRates>, now: Instant) {
        let rates = rates.into();
        let mut state = self.shared.state.lock();
        self.shared.was_used.store(true, Relaxed);
        let [lines, bytes] = [rates.lines_per_second, rates.bytes_per_second].map(f64::from);
        state.lines.set(lines, lines, now);
        state.bytes.set(bytes, bytes, now);
        state.rates = rates;
    }

    /// Writes a line of the host about a call or a load of the plugin, if the budget has its bytes.
    pub(crate) fn tell(&self, plugin: &str, line: HostLine<'_>, now: Instant) {
        if self.take(line.bytes(), now) {
            line.write(plugin);
        }
    }

    /// Whether a line of this many bytes is logged. Counts it either way.
    pub(crate) fn take(&self, bytes: usize, now: Instant) -> bool {
        let mut state = self.shared.state.lock();
        self.shared.was_used.store(true, Relaxed);
        state.refill(now);
        let LogRates { lines_per_second, bytes_per_second } = state.rates;
        if is_overdrawn(&state.lines, lines_per_second)
            || is_overdrawn(&state.bytes, bytes_per_second)
        {
            state.dropped += 1;
            add_one(&self.shared.counters.log_lines_dropped);
            return false;
        }
        state.lines.spend(1.0);
        state.bytes.spend(bytes as f64);
        self.shared.counters.ledger.logged(bytes);
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

    /// Logs the number of lines that were dropped since the last time. Returns whether there is a debt now.
    pub(crate) fn settle(&self, plugin: &str, now: Instant) -> bool {
        let (dropped, owes) = self.look(now);
        if dropped > 0 {
            warn!(plugin, "{dropped} log lines were over the limit and dropped");
        }
        owes
    }

    /// Lines dropped since the last call, and whether there is a debt now.
    fn look(&self, now: Instant) -> (u64, bool) {
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

    const RATES: LogRates = LogRates { lines_per_second: 10, bytes_per_second: 1_000 };

    fn budget(now: Instant) -> LogBudget {
        LogBudget::new(RATES, Arc::default(), now)
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

    /// Tells this many lines of the host at once, each of 100 bytes, and expects the number of written ones.
    #[track_caller]
    fn check_told(line: HostLine<'_>, count: u64, written: u64) {
        let (start, counters) = (Instant::now(), Arc::<Counters>::default());
        let budget = LogBudget::new(RATES, counters.clone(), start);
        (0..count).for_each(|_| budget.tell("p", line, start));
        assert_eq!(counters.log_lines_dropped.load(Relaxed), count - written);
        assert_eq!(counters.ledger.log_bytes(), written * 100);
        assert_eq!(budget.settle("p", start), written > 10);
    }

    #[test]
    fn lines_of_the_host_about_calls_are_counted_with_all_their_words() {
        let [long, half, short] = [100, 50, 10].map(|bytes| "x".repeat(bytes));
        check_told(HostLine::error(&long), 10, 10);
        check_told(HostLine::error(&long), 3_000, 20);
        check_told(HostLine::warn(&half).of_key(&half), 3_000, 20);
        check_told(HostLine::info(&half).of_schedule(&half), 3_000, 20);
        let [namespace, name, resource_version] =
            [&short, &half, &short].map(|text| text.as_str().into());
        let object = ShownObject { namespace, name, resource_version };
        let rest = "x".repeat(30);
        check_told(HostLine::warn(&rest).of_object(&object), 3_000, 20);
    }

    #[test]
    fn other_limits_leave_the_debt_what_it_was() {
        let start = Instant::now();
        let budget = budget(start);
        assert!(budget.take(1_500, start));
        budget.set_rates(LogRates { bytes_per_second: 2_000, ..RATES }, start);
        assert_eq!(budget.debt(start), Duration::from_millis(500));
        budget.set_rates(LogRates { bytes_per_second: 1, ..RATES }, start);
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
