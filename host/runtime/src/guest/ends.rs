//! The ends of instances: the log has the first in full, and counts those with the same error. Calls that succeed in between count for nothing.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The last end of a version's instances in each shard, and how often it came. A clone is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    /// By the shard's number. Nothing of a shard whose instances never ended.
    last: Arc<Mutex<BTreeMap<usize, LastEnd>>>,
}

#[derive(Debug, Default)]
struct LastEnd {
    error: String,
    times: u64,
}

/// How much of an end the log has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// It is another end than the one before.
    Full,
    /// The same end, for the 10th, 100th, 1,000th time and so on.
    Count(u64),
    /// The same end, between those.
    Nothing,
}

impl Ends {
    /// One more instance of the shard ended with this error.
    pub(crate) fn note(&self, shard: usize, error: &str) -> Report {
        let mut shards = self.last.lock();
        let last = shards.entry(shard).or_default();
        if last.error != error {
            *last = LastEnd { error: error.to_owned(), times: 1 };
            return Report::Full;
        }
        last.times = last.times.saturating_add(1);
        if 10u64.pow(last.times.ilog10()) == last.times {
            Report::Count(last.times)
        } else {
            Report::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ends: &Ends, error: &str, times: usize, expect: &[Report]) {
        let reports: Vec<_> = (0..times).map(|_| ends.note(0, error)).collect();
        let told: Vec<_> =
            reports.into_iter().filter(|report| *report != Report::Nothing).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn an_end_that_repeats_the_one_before_is_counted() {
        let ends = Ends::default();
        check(&ends, "trap: boom", 1, &[Report::Full]);
        check(&ends, "trap: boom", 8, &[]);
        check(&ends, "trap: boom", 1, &[Report::Count(10)]);
        check(&ends, "trap: boom", 990, &[Report::Count(100), Report::Count(1_000)]);
        check(&ends, "took more than 1 s", 2, &[Report::Full]);
        check(&ends, "trap: boom", 1, &[Report::Full]);
        assert_eq!(ends.note(1, "trap: boom"), Report::Full, "each shard has a log of its own");
    }
}
