//! Keys that are to be added later. As `delayingType` of client-go's `util/workqueue/delaying_queue.go`, without its
//! goroutine, channel and heartbeat: a worker that waits for a key also waits for the earliest time here.

use super::lanes::Lane;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Instant;

/// Bounded by the number of different keys: one entry for each.
#[derive(Debug)]
pub(super) struct Delays<K> {
    /// By time, then by the order of the first notes: equal times keep their order.
    by_time: BTreeMap<(Instant, u64), (K, Lane)>,
    /// The place in `by_time` of each key.
    places: HashMap<K, (Instant, u64)>,
    noted: u64,
}

/// A key whose time has come, or will not come any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delayed<K> {
    pub(super) key: K,
    pub(super) lane: Lane,
    pub(super) ready_at: Instant,
}

impl<K: Hash + Eq + Clone> Delays<K> {
    pub(super) fn new() -> Self {
        Self { by_time: BTreeMap::new(), places: HashMap::new(), noted: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        self.places.contains_key(key)
    }

    /// The earliest time.
    pub(super) fn due(&self) -> Option<Instant> {
        self.by_time.first_key_value().map(|((at, _), _)| *at)
    }

    /// Notes the key for this time. Of two times for a key the earlier one counts, of two lanes the more urgent one.
    pub(super) fn note(&mut self, key: K, lane: Lane, ready_at: Instant) {
        let (ready_at, lane) = match self.places.remove(&key) {
            Some(place) => {
                let old = self.by_time.remove(&place).map_or(lane, |(_, lane)| lane);
                (ready_at.min(place.0), lane.max(old))
            }
            None => (ready_at, lane),
        };
        let place = (ready_at, self.noted);
        self.noted += 1;
        self.by_time.insert(place, (key.clone(), lane));
        self.places.insert(key, place);
    }

    /// The first key whose time has come.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Delayed<K>> {
        if self.due()? > now { None } else { self.pop() }
    }

    /// The first key, due or not.
    pub(super) fn pop(&mut self) -> Option<Delayed<K>> {
        let ((ready_at, _), (key, lane)) = self.by_time.pop_first()?;
        self.places.remove(&key);
        Some(Delayed { key, lane, ready_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Notes key, lane and seconds in order, and compares the due keys at this time.
    #[track_caller]
    fn check(notes: &[(&str, Lane, u64)], now: u64, expect: &[(&str, Lane, u64)]) {
        let start = Instant::now();
        let mut delays = Delays::new();
        for &(key, lane, seconds) in notes {
            delays.note(key, lane, start + Duration::from_secs(seconds));
            assert_eq!(delays.places.len(), delays.by_time.len());
        }
        let now = start + Duration::from_secs(now);
        let due = std::iter::from_fn(|| delays.pop_due(now));
        let due: Vec<_> = due
            .map(|one| (one.key, one.lane, one.ready_at.duration_since(start).as_secs()))
            .collect();
        assert_eq!(due, expect);
    }

    use Lane::{Background, Live};

    #[test]
    fn keys_come_when_their_time_has_come() {
        let notes = [("late", Live, 9), ("b", Live, 2), ("a", Live, 1)];
        check(&notes, 0, &[]);
        check(&notes, 2, &[("a", Live, 1), ("b", Live, 2)]);
    }

    #[test]
    fn the_earlier_of_two_times_counts() {
        check(&[("a", Live, 5), ("a", Live, 1)], 9, &[("a", Live, 1)]);
        check(&[("a", Live, 1), ("a", Live, 5)], 9, &[("a", Live, 1)]);
    }

    #[test]
    fn the_more_urgent_of_two_lanes_counts() {
        check(&[("a", Live, 5), ("a", Background, 1)], 9, &[("a", Live, 1)]);
    }

    #[test]
    fn equal_times_keep_their_order() {
        let notes = [("c", Live, 1), ("a", Live, 1), ("b", Live, 1)];
        check(&notes, 1, &[("c", Live, 1), ("a", Live, 1), ("b", Live, 1)]);
    }
}
