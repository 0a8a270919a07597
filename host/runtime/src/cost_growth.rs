//! For tests: how the processor time of some work grows with its amount.

use crate::guest_threads::thread_time;
use std::time::Duration;

/// Measurements of each amount. The shortest counts: caches and interrupts only make work longer.
const MEASUREMENTS: usize = 5;

/// Fails if eight times as much work takes more than three times its share: quadratic work takes eight times its
/// share.
#[track_caller]
pub(crate) fn check_linear<T>(count: usize, prepare: impl Fn(usize) -> T, work: impl Fn(T)) {
    let time = |count: usize| {
        let measure = |_| {
            let prepared = prepare(count);
            let before = thread_time();
            work(prepared);
            thread_time() - before
        };
        (0..MEASUREMENTS).map(measure).min().unwrap_or_default()
    };
    let (short, long) = (time(count).max(Duration::from_micros(1)), time(8 * count));
    assert!(long < 24 * short, "{count}: {short:?}, eight times as many: {long:?}");
}
