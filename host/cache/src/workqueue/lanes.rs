//! The order in which waiting keys are handed out: two lanes, first in first out within each, and a rule by which
//! neither starves the other.
//!
//! As client-go's queue of `util/workqueue/queue.go`, which has one lane. Under the priorities of controller-runtime's
//! `pkg/controller/priorityqueue` a key with a low one may wait for ever.

use crate::resource_event_handler::Reason;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The urgency of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A key of a look at all objects: after a start, a relist or a resync.
    Background,
    /// A key of a change.
    #[default]
    Live,
}

impl Lane {
    /// Both, in the order of their names in metrics.
    pub const ALL: [Self; 2] = [Self::Background, Self::Live];

    /// `background` or `live`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Live => "live",
        }
    }
}

/// Only a key from a watch's change is live.
impl From<Reason> for Lane {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Watch => Self::Live,
            Reason::Initial | Reason::Relist | Reason::Resync => Self::Background,
        }
    }
}

/// The rule while keys wait in both lanes.
///
/// Its guarantees, whatever is added meanwhile: with `p` keys of its lane in front of it, a live key is handed out
/// after at most `p + 1` background keys. A background key is handed out after at most `(p + 1) * live_in_a_row` live
/// ones. Once the oldest background key has waited for `background_wait`, there is at most one live key for each
/// background one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRule {
    /// After this many live keys in a row it is one background key's turn; 0 counts as 1.
    pub live_in_a_row: u32,
    /// While the oldest background key has waited for this long, the lanes take turns.
    pub background_wait: Duration,
}

impl Default for LaneRule {
    /// A background key for every 16 live ones costs live work 6 % of the workers; after a second of waiting half.
    fn default() -> Self {
        Self { live_in_a_row: 16, background_wait: Duration::from_secs(1) }
    }
}

/// The place of a key in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LanePlace(u64);

#[derive(Debug)]
pub(super) struct Lanes<K> {
    rule: LaneRule,
    live: BTreeMap<LanePlace, K>,
    /// With the time since which each waits.
    background: BTreeMap<LanePlace, (K, Instant)>,
    next: LanePlace,
    /// Live keys handed out while a background key waited.
    live_run: u32,
}

impl<K> Lanes<K> {
    pub(super) fn new(rule: LaneRule) -> Self {
        let (live, background) = (BTreeMap::new(), BTreeMap::new());
        Self { rule, live, background, next: LanePlace(0), live_run: 0 }
    }

    pub(super) fn len(&self, lane: Lane) -> usize {
        match lane {
            Lane::Background => self.background.len(),
            Lane::Live => self.live.len(),
        }
    }

    /// The first key of each lane.
    pub(super) fn first(&self) -> impl Iterator<Item = &K> {
        let live = self.live.first_key_value().map(|(_, key)| key);
        let background = self.background.first_key_value().map(|(_, (key, _))| key);
        live.into_iter().chain(background)
    }

    /// Adds the key at the end of its lane.
    pub(super) fn push(&mut self, key: K, lane: Lane, now: Instant) -> LanePlace {
        let place = self.next;
        self.next = LanePlace(place.0 + 1);
        match lane {
            Lane::Background => drop(self.background.insert(place, (key, now))),
            Lane::Live => drop(self.live.insert(place, key)),
        }
        place
    }

    /// Moves a background key to the end of the live lane; `None` if it is not there.
    pub(super) fn lift(&mut self, place: LanePlace, now: Instant) -> Option<LanePlace> {
        let (key, _) = self.background.remove(&place)?;
        Some(self.push(key, Lane::Live, now))
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<(K, Lane)> {
        let lane = self.turn(now)?;
        let key = match lane {
            Lane::Background => self.background.pop_first().map(|(_, (key, _))| key)?,
            Lane::Live => self.live.pop_first().map(|(_, key)| key)?,
        };
        self.live_run = match lane {
            Lane::Live if !self.background.is_empty() => self.live_run.saturating_add(1),
            Lane::Live | Lane::Background => 0,
        };
        Some((key, lane))
    }

    /// The lane with the next turn; `None` when no key waits.
    fn turn(&self, now: Instant) -> Option<Lane> {
        let Some((_, (_, since))) = self.background.first_key_value() else {
            return (!self.live.is_empty()).then_some(Lane::Live);
        };
        let waited = now.saturating_duration_since(*since);
        let in_a_row =
            if waited >= self.rule.background_wait { 1 } else { self.rule.live_in_a_row };
        let live_turn = !self.live.is_empty() && self.live_run < in_a_row.max(1);
        Some(if live_turn { Lane::Live } else { Lane::Background })
    }
}

#[cfg(test)]
mod tests;
