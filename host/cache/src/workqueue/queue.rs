//! The waiting keys and those in work: no key is in work twice at once, and no add is lost.
//!
//! As `Type` of client-go's `util/workqueue/queue.go`. Its three sets (queue, dirty, processing) are one map here,
//! from key to state, so that they cannot disagree. It has no shutdown and no delays; the time is a parameter.

use super::lanes::{Lane, LanePlace, LaneRule, Lanes};
use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The state of a key. A missing key is neither waiting nor in work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyState {
    /// In the lanes at `place`, since it was first added.
    Waiting { lane: Lane, place: LanePlace, since: Instant },
    /// Handed out; an add meanwhile waits for `done`.
    Working { since: Instant, again: Option<(Lane, Instant)> },
}

/// The effect of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It can be handed out now.
    Waits,
    /// It is in work: it can be handed out after `done`.
    WaitsForDone,
    /// It was waiting in the other lane.
    Lifted,
    /// It was waiting already.
    Known,
}

/// A key that was handed out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken<K> {
    pub(super) key: K,
    pub(super) lane: Lane,
    pub(super) waited: Duration,
}

/// The end of the work on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndedWork {
    pub(super) worked: Duration,
    /// Whether it was added meanwhile and waits again.
    pub(super) again: bool,
}

/// Bounded by the number of different keys: one entry for each that waits or is in work.
#[derive(Debug)]
pub(super) struct Queue<K> {
    /// A key is in `lanes` if and only if it is `Waiting` here.
    entries: HashMap<K, KeyState>,
    lanes: Lanes<K>,
}

impl<K: Hash + Eq + Clone> Queue<K> {
    pub(super) fn new(rule: LaneRule) -> Self {
        Self { entries: HashMap::new(), lanes: Lanes::new(rule) }
    }

    /// Keys that can be handed out.
    pub(super) fn waiting(&self) -> usize {
        Lane::ALL.iter().map(|lane| self.lanes.len(*lane)).sum()
    }

    pub(super) fn waiting_in(&self, lane: Lane) -> usize {
        self.lanes.len(lane)
    }

    /// Keys in work.
    pub(super) fn working(&self) -> usize {
        self.entries.len() - self.waiting()
    }

    /// Whether the key waits or is in work.
    pub(super) fn contains(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    /// Since when the first key of the lanes waits.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let since = |key: &K| match self.entries.get(key) {
            Some(KeyState::Waiting { since, .. }) => Some(*since),
            Some(KeyState::Working { .. }) | None => None,
        };
        self.lanes.first().filter_map(since).min()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.entries.is_empty()
    }

    /// The time in work of each such key, in no order.
    pub(super) fn worked_for(&self, now: Instant) -> impl Iterator<Item = Duration> {
        self.entries.values().filter_map(move |entry| match entry {
            KeyState::Working { since, .. } => Some(now.saturating_duration_since(*since)),
            KeyState::Waiting { .. } => None,
        })
    }

    pub(super) fn add(&mut self, key: K, lane: Lane, now: Instant) -> Added {
        match self.entries.get_mut(&key) {
            None => {
                let place = self.lanes.push(key.clone(), lane, now);
                self.entries.insert(key, KeyState::Waiting { lane, place, since: now });
                Added::Waits
            }
            Some(KeyState::Waiting { lane: old, place, .. }) => {
                let lifted = (lane > *old).then(|| self.lanes.lift(*place, now)).flatten();
                let Some(to) = lifted else { return Added::Known };
                (*old, *place) = (lane, to);
                Added::Lifted
            }
            Some(KeyState::Working { again: Some((old, _)), .. }) => {
                let lifted = lane > *old;
                *old = lane.max(*old);
                if lifted { Added::Lifted } else { Added::Known }
            }
            Some(KeyState::Working { again, .. }) => {
                *again = Some((lane, now));
                Added::WaitsForDone
            }
        }
    }

    /// The next key, which is then in work; `None` when no key waits.
    pub(super) fn get(&mut self, now: Instant) -> Option<Taken<K>> {
        let (key, lane) = self.lanes.pop(now)?;
        let working = KeyState::Working { since: now, again: None };
        let waited = match self.entries.insert(key.clone(), working) {
            Some(KeyState::Waiting { since, .. }) => now.saturating_duration_since(since),
            entry => unreachable!("a key in the lanes waits, and is not {entry:?}"),
        };
        Some(Taken { key, lane, waited })
    }

    /// The work on the key has ended; `None` if there was none.
    pub(super) fn done(&mut self, key: &K, now: Instant) -> Option<EndedWork> {
        let Some(KeyState::Working { since, again }) = self.entries.get(key).copied() else {
            return None;
        };
        let (key, _) = self.entries.remove_entry(key)?;
        if let Some((lane, since)) = again {
            let place = self.lanes.push(key.clone(), lane, now);
            self.entries.insert(key, KeyState::Waiting { lane, place, since });
        }
        let worked = now.saturating_duration_since(since);
        Some(EndedWork { worked, again: again.is_some() })
    }

    /// Takes the waiting keys without handing them out, in the order of the turns.
    pub(super) fn drain(&mut self, now: Instant) -> Vec<(K, Lane)> {
        let mut drained = Vec::with_capacity(self.waiting());
        while let Some((key, lane)) = self.lanes.pop(now) {
            self.entries.remove(&key);
            drained.push((key, lane));
        }
        drained
    }
}

#[cfg(test)]
mod tests;
