//! The recent changes of one resource, from the events of its informer: a synchronous decision on the changes that a
//! watcher gets.
//!
//! A watch is a promise of every change after a resourceVersion. Changes that the informer learns by other means than
//! its own watch (a list after a gap, a missed deletion, an API server that was set back) break the promise: then
//! every watcher gets 410, lists again, and goes on from there. That is simple, and such events are rare.

use crate::metrics::WatchEndReason;
use informant_apimachinery::Status;
use informant_apiserver::{Change, ChangeLog, LogBounds};

/// At 500 changes of Pods in a second the past seven seconds; a client further behind lists again.
pub(super) const BOUNDS: LogBounds = LogBounds { changes_max: 20_000, bytes_max: 16 << 20 };

/// The bytes of the kept changes of all resources together.
const BYTES_OF_ALL_MAX: usize = 32 << 20;

/// The bytes of one of so many resources with kept changes.
pub(super) fn share(resources: usize) -> usize {
    BOUNDS.bytes_max.min(BYTES_OF_ALL_MAX / resources.max(1))
}

/// Changes that a watcher takes at once, and their bytes, if it is more than one: a slow watcher holds as much as
/// that beside the log.
const TAKEN: LogBounds = LogBounds { changes_max: 64, bytes_max: 64 << 10 };

/// A watcher's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The place is valid as long as the changes have no gap.
    generation: u64,
    /// The watcher has every change up to this version.
    pub(super) seen: u64,
}

/// Whether a watch can begin after a resourceVersion.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begin {
    At(Place),
    /// The informer has not come so far.
    NotYet,
}

/// The end of a watch that has missed a change: 410.
#[derive(Debug)]
pub(super) struct Missed {
    pub(super) reason: WatchEndReason,
    pub(super) status: Status,
}

/// The changes since the first list or watch of the resource.
pub(super) struct RecentChanges {
    log: ChangeLog,
    generation: u64,
    /// The log has every change up to this version; none before the informer has synced.
    reached: Option<u64>,
    /// Something changed without an event of the informer's watch.
    has_gap: bool,
    /// The last gap may be part of a longer one: the cache has shown a part of a list before its end.
    is_unsettled: bool,
}

impl Default for RecentChanges {
    fn default() -> Self {
        let log = ChangeLog::starting_at(0, BOUNDS);
        Self { log, generation: 0, reached: None, has_gap: false, is_unsettled: false }
    }
}

impl RecentChanges {
    /// Starts anew: every change after this version follows.
    pub(super) fn begin(&mut self, resource_version: u64) {
        self.log = ChangeLog::starting_at(resource_version, BOUNDS);
        self.generation += 1;
        self.reached = Some(resource_version);
        self.has_gap = false;
    }

    /// Adds a change of the informer's watch. The kept changes have at most so many bytes.
    pub(super) fn push(&mut self, change: Change, bytes_max: usize) {
        if self.reached.is_none() || self.has_gap {
            return;
        }
        // An informer of several namespaces has a watch of each: their changes come in any order.
        if change.resource_version() <= self.log.newest() {
            self.has_gap = true;
            return;
        }
        self.log.bound(bytes_max);
        self.log.push(change);
    }

    /// The informer has learnt of a change by other means.
    pub(super) fn gap(&mut self) {
        self.has_gap = true;
    }

    /// Every change up to this resourceVersion was added. Answers whether that is news.
    pub(super) fn reach(&mut self, resource_version: u64) -> bool {
        let Some(reached) = self.reached else { return false };
        let is_more = self.is_unsettled && resource_version != reached;
        if self.has_gap || is_more || resource_version < reached {
            self.is_unsettled = self.has_gap && resource_version == reached;
            self.begin(resource_version);
            return true;
        }
        self.reached = Some(resource_version);
        resource_version > reached
    }

    /// The place of a watch after this resourceVersion, or after the newest change.
    pub(super) fn place(&self, after: Option<u64>) -> Result<Begin, Status> {
        let Some(reached) = self.reached else { return Ok(Begin::NotYet) };
        let seen = after.unwrap_or(reached);
        if seen > reached || self.has_gap {
            return Ok(Begin::NotYet);
        }
        if let Err(forgotten) = self.log.after(seen) {
            return Err(Status::too_old_resource_version(seen, forgotten.oldest));
        }
        Ok(Begin::At(Place { generation: self.generation, seen }))
    }

    /// The changes after this place, while all of them are kept.
    pub(super) fn after(&self, place: &Place) -> Result<impl Iterator<Item = &Change>, Missed> {
        let missed = |reason, oldest| Missed {
            reason,
            status: Status::too_old_resource_version(place.seen, oldest),
        };
        if place.generation != self.generation || self.has_gap {
            return Err(missed(WatchEndReason::Gap, self.log.newest()));
        }
        let changes = self.log.after(place.seen);
        changes.map_err(|lost| missed(WatchEndReason::TooSlow, lost.oldest))
    }

    /// The next changes for this place, within [`TAKEN`]. The place moves behind them.
    pub(super) fn take(&self, place: &mut Place) -> Result<Vec<Change>, Missed> {
        let changes = self.after(place)?;
        let mut bytes = 0;
        let is_room = |change: &&Change| {
            let is_first = bytes == 0;
            bytes += change.json_len();
            is_first || bytes <= TAKEN.bytes_max
        };
        let changes: Vec<Change> =
            changes.take(TAKEN.changes_max).take_while(is_room).cloned().collect();
        if let Some(last) = changes.last() {
            place.seen = last.resource_version();
        }
        Ok(changes)
    }

    /// The resourceVersion of a bookmark for a watcher at this place.
    pub(super) fn progress(&self, place: &Place) -> u64 {
        let newest = self.log.newest();
        match self.reached {
            Some(reached) if place.generation == self.generation && newest <= place.seen => {
                place.seen.max(reached)
            }
            _ => place.seen,
        }
    }

    /// The newest resourceVersion up to which every change is known.
    pub(super) fn reached(&self) -> Option<u64> {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_apiserver::ApiObject;
    use serde_json::json;
    use std::sync::Arc;

    fn added(version: u64) -> Change {
        let value = json!({"metadata": {"name": "a", "resourceVersion": version.to_string()}});
        Change::Added(Arc::new(ApiObject::from_value(&value, &[])))
    }

    /// `b5`: begins at 5; `+7`: a change; `g`: a gap; `r9`: every event up to 9 was handled.
    fn changes(steps: &str) -> RecentChanges {
        let mut changes = RecentChanges::default();
        for step in steps.split_whitespace() {
            let (what, version) = step.split_at(1);
            let version = || version.parse().expect("a number");
            match what {
                "b" => changes.begin(version()),
                "+" => changes.push(added(version()), BOUNDS.bytes_max),
                "g" => changes.gap(),
                "r" => _ = changes.reach(version()),
                other => panic!("{other}"),
            }
        }
        changes
    }

    /// What a watch after `version` begins with: the changes, `later` or `expired`.
    #[track_caller]
    fn check(steps: &str, version: u64, expect: &str) {
        let changes = changes(steps);
        let seen = match changes.place(Some(version)) {
            Ok(Begin::NotYet) => "later".to_owned(),
            Ok(Begin::At(mut place)) => {
                let taken = changes.take(&mut place).expect("it was there");
                let shown = taken.iter().map(|change| change.resource_version().to_string());
                let bookmark = changes.progress(&place);
                shown.chain([format!("@{bookmark}")]).collect::<Vec<_>>().join(" ")
            }
            Err(status) => {
                assert_eq!(status.code, 410);
                "expired".to_owned()
            }
        };
        assert_eq!(seen, expect, "{steps} after {version}");
    }

    #[test]
    fn a_watch_begins_where_its_client_is() {
        check("", 5, "later");
        check("b5", 4, "expired");
        check("b5", 5, "@5");
        check("b5 +7 +9 r9", 5, "7 9 @9");
        check("b5 +7 +9 r9", 8, "9 @9");
        check("b5 +7 r20", 5, "7 @20");
        check("b5 +7 r20", 20, "@20");
        check("b5 +7 r20", 21, "later");
    }

    #[test]
    fn what_happens_before_the_informer_has_begun_counts_for_nothing() {
        check("+4 r4 b5", 4, "expired");
        check("+4 r4 b5 +6 r6", 5, "6 @6");
    }

    #[test]
    fn a_gap_ends_what_was_known_before() {
        check("b5 +7 r7 g r30", 7, "expired");
        check("b5 +7 r7 g r30", 30, "@30");
        check("b5 +7 r7 g r30 +31 r31", 30, "31 @31");
        check("b5 +7 r7 g", 7, "later");
        // Changes that come in another order than their versions.
        check("b5 +9 +7 r9", 5, "expired");
        check("b5 +9 +7 r9", 9, "@9");
        // An API server that was set back.
        check("b5 +9 r9 r7", 9, "later");
        check("b5 +9 r9 r7", 7, "@7");
    }

    /// The cache shows part of a long list before its end, and its resourceVersion is still the old one. A watch that
    /// begins there has missed that part, and gets 410 when the list ends.
    #[test]
    fn a_gap_in_parts_lasts_until_the_version_moves() {
        let mut changes = changes("b5 g r5");
        let Ok(Begin::At(mut place)) = changes.place(Some(5)) else { panic!("it is known") };
        changes.reach(5);
        assert!(changes.take(&mut place).is_ok());
        changes.reach(30);
        assert_eq!(
            changes.take(&mut place).map_err(|missed| missed.status.code).map(drop),
            Err(410)
        );
        let Ok(Begin::At(mut place)) = changes.place(Some(30)) else { panic!("it is known") };
        changes.reach(40);
        assert!(changes.take(&mut place).is_ok(), "once is enough");
    }

    #[test]
    fn a_watcher_learns_of_a_gap_with_its_next_question() {
        let mut changes = changes("b5 +7 r7");
        let Ok(Begin::At(mut place)) = changes.place(Some(5)) else { panic!("it is known") };
        changes.gap();
        let missed = changes.take(&mut place).expect_err("a change is missing");
        assert_eq!((missed.reason, missed.status.code), (WatchEndReason::Gap, 410));
        changes.reach(7);
        assert_eq!(
            changes.take(&mut place).map_err(|missed| missed.status.code).map(drop),
            Err(410)
        );
    }

    /// How many of these changes, each with so many bytes of data, a watcher takes at once.
    #[track_caller]
    fn check_taken(count: u64, bytes: usize, expect: &[usize]) {
        let mut changes = changes("b0");
        for version in 1..=count {
            let metadata = json!({"name": "a", "resourceVersion": version.to_string()});
            let value = json!({"metadata": metadata, "data": "x".repeat(bytes)});
            let change = Change::Added(Arc::new(ApiObject::from_value(&value, &[])));
            changes.push(change, BOUNDS.bytes_max);
        }
        changes.reach(count);
        let Ok(Begin::At(mut place)) = changes.place(Some(0)) else { panic!("it is known") };
        let mut taken = Vec::new();
        while let Some(last) = changes.take(&mut place).expect("they are there").last() {
            let before: usize = taken.iter().sum();
            assert_eq!(changes.progress(&place), last.resource_version());
            taken.push(last.resource_version() as usize - before);
        }
        assert_eq!(taken, expect, "{count} changes of {bytes} bytes");
    }

    #[test]
    fn a_watcher_takes_few_changes_and_few_bytes_at_once() {
        check_taken(0, 0, &[]);
        check_taken(3, 10, &[3]);
        check_taken(130, 10, &[64, 64, 2]);
        check_taken(20, 10 << 10, &[6, 6, 6, 2]);
        check_taken(3, 100 << 10, &[1, 1, 1]);
    }

    #[test]
    fn a_watcher_that_is_too_slow_falls_off() {
        let mut changes = changes("b5");
        let Ok(Begin::At(mut place)) = changes.place(None) else { panic!("it is known") };
        for version in 6..=(BOUNDS.changes_max as u64 + 6) {
            changes.push(added(version), BOUNDS.bytes_max);
        }
        let missed = changes.take(&mut place).expect_err("it was too slow");
        assert_eq!((missed.reason, missed.status.code), (WatchEndReason::TooSlow, 410));
    }

    #[test]
    fn resources_share_the_bytes_of_their_changes() {
        assert_eq!([0, 1, 2].map(share), [BOUNDS.bytes_max; 3]);
        assert_eq!([4, 32].map(share), [8 << 20, 1 << 20]);
        // With a smaller share the oldest are forgotten at the next change.
        let mut changes = changes("b0 +1 +2 +3");
        let Ok(Begin::At(mut place)) = changes.place(Some(0)) else { panic!("it is known") };
        changes.push(added(4), 1);
        let missed = changes.take(&mut place).expect_err("there is no room for four");
        assert_eq!(missed.reason, WatchEndReason::TooSlow);
    }
}
