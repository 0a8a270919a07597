//! The ends of instances. The log has the first end in full, and counts later ends with the same
//! error. Calls that succeed between them change nothing.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The last end of a version's instances in each shard, and how often it came. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstanceEnds {
    /// By the shard's number. No entry for a shard whose instances never ended.
    last: Arc<Mutex<BTreeMap<usize, LastEnd>>>,
}

#[derive(Debug, Default)]
struct LastEnd {
    error: String,
    times: u64,
}

/// The part of an end that the log gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EndReport {
    /// The end differs from the one before.
    Full,
    /// The same end, for the 10th, 100th, 1,000th time and so on.
    Count(u64),
    /// The same end, between these counts.
    Nothing,
}

impl InstanceEnds {
    /// Notes that one more instance of the shard ended with this error.
    pub(crate) fn note(&self, shard: usize, error: &str) -> EndReport {
        let mut shards = self.last.lock();
        let last = shards.entry(shard).or_default();
        if last.error != error {
            *last = LastEnd { error: error.to_owned(), times: 1 };
            return EndReport::Full;
        }
        last.times = last.times.saturating_add(1);
        if 10u64.pow(last.times.ilog10()) == last.times {
            EndReport::Count(last.times)
        } else {
            EndReport::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ends: &InstanceEnds, error: &str, times: usize, expect: &[EndReport]) {
        let reports: Vec<_> = (0..times).map(|_| ends.note(0, error)).collect();
        let told: Vec<_> =
            reports.into_iter().filter(|report| *report != EndReport::Nothing).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn an_end_that_repeats_the_one_before_is_counted() {
        let ends = InstanceEnds::default();
        check(&ends, "trap: boom", 1, &[EndReport::Full]);
        check(&ends, "trap: boom", 8, &[]);
        check(&ends, "trap: boom", 1, &[EndReport::Count(10)]);
        check(&ends, "trap: boom", 990, &[EndReport::Count(100), EndReport::Count(1_000)]);
        check(&ends, "took more than 1 s", 2, &[EndReport::Full]);
        check(&ends, "trap: boom", 1, &[EndReport::Full]);
        assert_eq!(ends.note(1, "trap: boom"), EndReport::Full, "each shard has a log of its own");
    }
}
