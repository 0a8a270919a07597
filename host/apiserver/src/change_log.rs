//! The recent changes of one resource: what a watch from an older resourceVersion is answered from.

use std::collections::VecDeque;

use crate::{ApiObject, Change};

/// How much of a resource's past is kept. A real server keeps etcd's last five minutes. A watcher further behind
/// gets 410, which is also how a watcher that reads too slowly is cut off.
#[derive(Clone, Copy, Debug)]
pub struct LogBounds {
    /// Changes.
    pub changes_max: usize,
    /// Bytes of JSON that the log may keep alive.
    pub bytes_max: usize,
}

/// Changes in order. Those at or below `floor` are forgotten.
#[derive(Debug)]
pub struct ChangeLog {
    bounds: LogBounds,
    /// Their resourceVersions rise strictly.
    changes: VecDeque<Change>,
    /// The sum of [`cost`] over `changes`.
    bytes: usize,
    floor: u64,
}

/// Changes after this point are no longer all known.
#[derive(Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The oldest point that would have been answered.
    pub oldest: u64,
}

impl ChangeLog {
    /// An empty log whose past is unknown up to `floor`.
    pub fn starting_at(floor: u64, bounds: LogBounds) -> Self {
        Self { bounds, changes: VecDeque::new(), bytes: 0, floor }
    }

    /// Keeps at most so many bytes from the next change on.
    pub fn bound(&mut self, bytes_max: usize) {
        self.bounds.bytes_max = bytes_max;
    }

    /// Appends, and forgets the oldest where a bound is passed.
    pub fn push(&mut self, change: Change) {
        debug_assert!(
            self.last().is_none_or(|last| last < change.resource_version()),
            "changes are logged in the order of their resourceVersions"
        );
        self.bytes += cost(&change);
        self.changes.push_back(change);
        let LogBounds { changes_max, bytes_max } = self.bounds;
        while self.changes.len() > changes_max || self.bytes > bytes_max {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.bytes -= cost(&oldest);
            self.floor = oldest.resource_version();
        }
    }

    /// The changes after a resourceVersion, in order.
    pub fn after(
        &self,
        version: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Change>, Forgotten> {
        if version < self.floor {
            return Err(Forgotten { oldest: self.floor });
        }
        let start = self.changes.partition_point(|change| change.resource_version() <= version);
        Ok(self.changes.range(start..))
    }

    /// The resourceVersion of the newest change.
    pub fn last(&self) -> Option<u64> {
        self.changes.back().map(Change::resource_version)
    }

    /// The resourceVersion of the newest change, or the one up to which the past is unknown.
    pub fn newest(&self) -> u64 {
        self.last().unwrap_or(self.floor)
    }

    /// Forgets every change up to and including a resourceVersion.
    pub fn forget(&mut self, up_to: u64) {
        while self.changes.front().is_some_and(|change| change.resource_version() <= up_to) {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.bytes -= cost(&oldest);
        }
        self.floor = self.floor.max(up_to);
    }
}

/// The bytes that a change keeps alive: its new state, its handles, and its place in the log. The state before is that
/// of an earlier change, or the source's own until then.
fn cost(change: &Change) -> usize {
    let handles = if matches!(change, Change::Added(_)) { 1 } else { 2 };
    size_of::<Change>() + handles * size_of::<ApiObject>() + change.json_len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    const BOUNDS: LogBounds = LogBounds { changes_max: 100, bytes_max: 64 * 1024 };

    fn added(version: u64) -> Change {
        let value = json!({"metadata": {"name": "a", "resourceVersion": version.to_string()}});
        Change::Added(Arc::new(ApiObject::from_value(&value, &[])))
    }

    #[track_caller]
    fn check(log: &ChangeLog, after: u64, expect: Result<&[u64], u64>) {
        let seen = match log.after(after) {
            Ok(changes) => Ok(changes.map(Change::resource_version).collect::<Vec<_>>()),
            Err(forgotten) => Err(forgotten.oldest),
        };
        assert_eq!(seen.as_deref().map_err(|oldest| *oldest), expect);
    }

    #[test]
    fn changes_are_given_out_after_a_version() {
        let mut log = ChangeLog::starting_at(0, BOUNDS);
        for version in [2, 5, 9] {
            log.push(added(version));
        }
        check(&log, 0, Ok(&[2, 5, 9]));
        check(&log, 2, Ok(&[5, 9]));
        check(&log, 7, Ok(&[9]));
        check(&log, 9, Ok(&[]));
    }

    #[test]
    fn what_is_forgotten_is_refused_and_not_skipped() {
        let mut log = ChangeLog::starting_at(1, BOUNDS);
        for version in [2, 5, 9] {
            log.push(added(version));
        }
        check(&log, 0, Err(1));
        log.forget(5);
        check(&log, 4, Err(5));
        check(&log, 5, Ok(&[9]));
        log.forget(20);
        check(&log, 19, Err(20));
        check(&log, 20, Ok(&[]));
    }

    #[test]
    fn the_bounds_forget_the_oldest() {
        let mut log = ChangeLog::starting_at(0, BOUNDS);
        for version in 1..=102 {
            log.push(added(version));
        }
        check(&log, 1, Err(2));
        assert_eq!(log.after(2).ok().map(Iterator::count), Some(100));
        let bytes_max = 2 * cost(&added(100));
        let mut log = ChangeLog::starting_at(0, LogBounds { bytes_max, ..BOUNDS });
        for version in 101..=104 {
            log.push(added(version));
        }
        check(&log, 101, Err(102));
        check(&log, 102, Ok(&[103, 104]));
    }
}
