//! How long something took, many times, as a person is told it.

use std::fmt;
use std::time::Duration;

/// What half of the times, and 99 of 100, did not exceed, and the longest one; all zero of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// p50.
    pub half: Duration,
    /// p99.
    pub most: Duration,
    /// The longest.
    pub worst: Duration,
    /// How many times there are.
    pub count: usize,
}

impl Percentiles {
    /// Those of times in order, the shortest first.
    pub fn of(sorted: &[Duration]) -> Self {
        let [half, most, worst] = [50, 99, 100].map(|hundredths| percentile(sorted, hundredths));
        Self { half, most, worst, count: sorted.len() }
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { half, most, worst, count } = self;
        write!(formatter, "p50 {half:.1?}, p99 {most:.1?}, max {worst:.1?} of {count}")
    }
}

/// The one that so many hundredths do not exceed.
fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    let at = (sorted.len() * hundredths).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(milliseconds: impl IntoIterator<Item = u64>, text: &str) {
        let sorted: Vec<Duration> = milliseconds.into_iter().map(Duration::from_millis).collect();
        assert_eq!(Percentiles::of(&sorted).to_string(), text);
    }

    #[test]
    fn as_many_as_are_said_do_not_exceed_a_percentile() {
        check([], "p50 0.0ns, p99 0.0ns, max 0.0ns of 0");
        check([7], "p50 7.0ms, p99 7.0ms, max 7.0ms of 1");
        check(1..=100, "p50 50.0ms, p99 99.0ms, max 100.0ms of 100");
        check(1..=101, "p50 51.0ms, p99 100.0ms, max 101.0ms of 101");
    }
}
