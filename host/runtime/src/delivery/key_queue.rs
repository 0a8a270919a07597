//! The keys of one plugin's name. Callers add keys and the plugin's actor takes them. Synchronous.
//!
//! The queue is client-go's `TypedRateLimitingInterface`, by way of [`PolledWorkQueue`]: a waiting key comes once, and
//! a key that is added during its call comes again. Of several times for a key the earliest counts. This module adds
//! the bounds and the failures of each key. A key names an object to look at, not a change. A key that was given up
//! comes again once a caller adds it.
//!
//! A plugin in shards has a line for each one (`delivery/key_queue/line.rs`). Bounds and waits hold for all together.

mod bounds;
mod changes;
mod hashed_key;
mod held;
mod line;
mod place;
mod snapshot;

pub(crate) use bounds::{Bounds, Waits};
use changes::KeyChanges;
pub(crate) use hashed_key::HashedKey;
pub(crate) use place::KeyPlace;
pub use snapshot::KeysSnapshot;

use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::trace::TraceId;
use hashbrown::{HashMap, HashSet};
use hashed_key::checked;
use informant_cache::workqueue::{AddOptions, Lane, RateLimiter};
use jiff::Timestamp;
pub(crate) use line::FormerLines;
use line::{InFlight, Line, SharedLimiter};
use snapshot::GivenUp;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// Bytes of a key: a prefix, a namespace and a name.
pub(crate) const KEY_BYTES_MAX: usize = 512;
/// The bytes that a key takes beside its text: places in the queue, among the delays and in the rate limiter.
pub(crate) const KEY_COST_BYTES: usize = 256;
/// How many keys that were given up are still shown, newest last. A key that succeeds later is no longer shown.
pub(crate) const GIVEN_UP_MAX: usize = 20;
/// A longer delay means never.
const DELAY_MAX: Duration = Duration::from_secs(365 * 86_400);
/// Once so many keys are gone, their containers are replaced: a container does not shrink by itself.
const EMPTIED_MIN: usize = 4_096;

/// A key that the guest works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyWork {
    pub(crate) key: HashedKey,
    /// 1 for the first attempt since the key succeeded, was given up or had another version.
    pub(crate) attempt: u32,
    /// How many instances the key has ended since then.
    pub(crate) crashes: u32,
    /// The newest sampled changes that added the key since it was last done, oldest first.
    pub(crate) changes: Vec<TraceId>,
}

/// The end of a call for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worked<'a> {
    /// The guest is done with the key. With `again`, the key comes again after this time.
    Done { again: Option<Duration> },
    /// The call failed, and the key comes again: after this time, or as the rate limiter says.
    Failed { after: Option<Duration>, crashed: bool },
    /// There was no room for a key that this one adds. The key comes again once there may be room, and has not failed.
    NoRoom,
    /// The call failed with this error, and the key does not come again by itself.
    GivenUp { error: &'a str, at: Timestamp },
}

/// Why a key was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddError {
    #[error("a key of {0} bytes: keys have 1 to {KEY_BYTES_MAX}")]
    Length(usize),
    #[error("the workqueue is full: it has {keys} keys of {bytes} bytes")]
    Full { keys: usize, bytes: usize },
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    attempts: u32,
    crashes: u32,
}

#[derive(Debug)]
pub(crate) struct KeyQueue {
    /// One line for each shard, at least one.
    lines: Vec<Line>,
    limiter: SharedLimiter,
    bounds: Bounds,
    waits: Waits,
    /// No failed key is worked on before this time.
    retries_from: Option<Instant>,
    /// Failed keys whose turn came before `retries_from`. They are in no line, and wait for that time.
    held: BTreeSet<HashedKey>,
    /// Keys that failed since the guest was last done with them.
    failed: HashMap<HashedKey, Failed>,
    given_up: VecDeque<GivenUp>,
    changes: KeyChanges,
    /// The text of each known key. `bytes` is the cost of all known keys.
    texts: HashSet<HashedKey>,
    bytes: usize,
    /// How many former numbers of shards have keys that are not in the present lines yet.
    regroups: usize,
}

impl KeyQueue {
    pub(crate) fn new(bounds: Bounds, waits: Waits) -> Self {
        let limiter = SharedLimiter::new(waits);
        Self {
            lines: vec![Line::new(&limiter)],
            limiter,
            bounds,
            waits,
            retries_from: None,
            held: BTreeSet::new(),
            failed: HashMap::new(),
            given_up: VecDeque::new(),
            changes: KeyChanges::default(),
            texts: HashSet::new(),
            bytes: 0,
            regroups: 0,
        }
    }

    /// Adds a key, which does not wait for its earlier failures. They still count: otherwise a key that is added again
    /// and again would never be given up, even if it ends instances. Returns the key's shard.
    pub(crate) fn add(
        &mut self,
        key: impl Into<HashedKey>,
        options: AddOptions,
        now: Instant,
    ) -> Result<usize, AddError> {
        let key = key.into();
        checked(&key)?;
        let Bounds { keys, bytes } = self.bounds;
        let fits = self.texts.len() < keys && self.bytes + cost(&key) <= bytes;
        if !fits && !self.texts.contains(&key) {
            return Err(AddError::Full { keys: self.texts.len(), bytes: self.bytes });
        }
        Ok(self.insert(key, options, now))
    }

    /// Adds a key of an event. A full queue does not refuse it: no event is taken while the queue is full, so only one
    /// event's keys exceed the bounds. While all keys are delayed, keys of events may double the bounds. `change`: the
    /// event's, if it is sampled.
    pub(crate) fn add_of_event(
        &mut self,
        key: impl Into<HashedKey>,
        (lane, change): (Lane, Option<TraceId>),
        now: Instant,
    ) -> Result<usize, AddError> {
        let key = key.into();
        checked(&key)?;
        let noted = change.map(|change| (key.clone(), change));
        let shard = self.insert(key, AddOptions { lane, ..AddOptions::default() }, now);
        // With the text that the queue has anyway.
        if let Some((key, change)) = noted
            && let Some(known) = self.texts.get(&key)
        {
            self.changes.note(known, change);
        }
        Ok(shard)
    }

    fn insert(&mut self, key: HashedKey, options: AddOptions, now: Instant) -> usize {
        let key = match self.texts.get(&key) {
            Some(known) => known.clone(),
            None => {
                self.bytes += cost(&key);
                self.texts.insert(key.clone());
                key
            }
        };
        let in_flight = self.line(&key).in_flight.as_mut();
        if let Some(in_flight) = in_flight.filter(|it| it.work.key == key) {
            in_flight.rate_limited |= options.rate_limited;
        }
        let shard = self.shard_of(&key);
        self.put(key, options, now);
        shard
    }

    fn put(&mut self, key: HashedKey, options: AddOptions, now: Instant) {
        let after = options.after.min(DELAY_MAX);
        self.line(&key).queue.add_with(key, AddOptions { after, ..options }, now);
    }

    /// Whether one more key of the largest size might not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.has_reached(1)
    }

    fn has_reached(&self, times: usize) -> bool {
        let Bounds { keys, bytes } = self.bounds;
        let one_more = self.bytes + KEY_BYTES_MAX + KEY_COST_BYTES;
        self.texts.len() >= keys.saturating_mul(times) || one_more > bytes.saturating_mul(times)
    }

    /// Whether events wait: the queue is full, and there may be room soon. While all keys are delayed, keys of
    /// events are due now and find room beside them, up to twice the bounds.
    pub(crate) fn holds_events(&self, now: Instant) -> bool {
        let soon = now + self.waits.max;
        let lines = || self.lines.iter().filter_map(|line| line.due(now));
        let next = || lines().chain(self.held_until()).min();
        self.is_full() && next().is_some_and(|next| next <= soon || self.has_reached(2))
    }

    /// These bounds hold for new keys; known keys stay.
    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// When a shard can take a key. A time in the past means now; `None` means that no key waits.
    pub(crate) fn next_due(&self, shard: usize, now: Instant) -> Option<Instant> {
        let line = self.lines.get(shard)?.queue.due(now);
        line.into_iter().chain(self.held_until()).min()
    }

    /// The next key for a shard to work on at `now`. It is in flight until [`settle`](Self::settle).
    pub(crate) fn take(&mut self, shard: usize, now: Instant) -> Option<KeyWork> {
        let line = self.lines.get(shard)?;
        assert!(line.in_flight.is_none(), "a shard works on one key at a time");
        let key = self.take_unheld(shard, now)?;
        let failed = self.failed.get(&key).copied();
        let Failed { attempts, crashes } = failed.unwrap_or(Failed { attempts: 0, crashes: 0 });
        let changes = self.changes.take(&key);
        let work = KeyWork { key, attempt: attempts + 1, crashes, changes };
        let in_flight = InFlight { work: work.clone(), since: now, rate_limited: false };
        self.lines[shard].in_flight = Some(in_flight);
        Some(work)
    }

    /// The keys in flight, and when they were taken.
    pub(super) fn calls(&self) -> impl Iterator<Item = (Instant, &str)> {
        let in_flight = self.lines.iter().filter_map(|line| line.in_flight.as_ref());
        in_flight.map(|it| (it.since, &*it.work.key))
    }

    /// Notes the end of the call for a shard's key in flight. Returns whether a full queue may have room now.
    pub(crate) fn settle(&mut self, shard: usize, worked: Worked<'_>, now: Instant) -> bool {
        let in_flight = self.lines.get_mut(shard).and_then(|line| line.in_flight.take());
        let Some(InFlight { work, rate_limited, .. }) = in_flight else { return false };
        let was_full = self.is_full();
        let key = work.key;
        self.failed.remove(&key);
        match worked {
            Worked::Done { again } => {
                if !rate_limited {
                    self.limiter.forget(&key);
                }
                self.given_up.retain(|given_up| given_up.key != key);
                if let Some(after) = again {
                    let options = AddOptions { after, ..AddOptions::default() };
                    self.put(key.clone(), options, now);
                }
            }
            Worked::Failed { after, crashed } => {
                self.changes.put_back(&key, work.changes);
                let crashes = work.crashes + u32::from(crashed);
                self.failed.insert(key.clone(), Failed { attempts: work.attempt, crashes });
                let (rate_limited, after) = (after.is_none(), after.unwrap_or_default());
                let options = AddOptions { after, rate_limited, lane: Lane::Background };
                self.put(key.clone(), options, now);
            }
            Worked::NoRoom => {
                self.changes.put_back(&key, work.changes);
                let (attempts, crashes) = (work.attempt - 1, work.crashes);
                if attempts > 0 {
                    self.failed.insert(key.clone(), Failed { attempts, crashes });
                }
                let (after, lane) = (self.waits.max, Lane::Background);
                self.put(key.clone(), AddOptions { after, lane, rate_limited: false }, now);
            }
            Worked::GivenUp { error, at } => {
                self.limiter.forget(&key);
                self.note_given_up(&key, work.attempt, error, at);
            }
        }
        self.line(&key).queue.done(&key, now);
        self.release(&key);
        was_full
    }

    /// Puts back a shard's key in flight when its caller ended without a result, as if the key had ended the instance.
    pub(crate) fn recover(&mut self, shard: usize, now: Instant) {
        self.settle(shard, Worked::Failed { after: Some(Duration::ZERO), crashed: true }, now);
    }

    /// Notes the error of a key that was given up, for `/plugins`.
    fn note_given_up(&mut self, key: &HashedKey, attempts: u32, error: &str, at: Timestamp) {
        self.given_up.retain(|before| before.key != *key);
        if self.given_up.len() >= GIVEN_UP_MAX {
            self.given_up.pop_front();
        }
        let error = one_line(error, ERROR_BYTES_MAX).into_owned();
        self.given_up.push_back(GivenUp { key: key.clone(), attempts, error, at });
    }

    /// Forgets the failures of a key in its waits. Returns whether a full queue may have room now.
    pub(crate) fn forget(&mut self, key: impl Into<HashedKey>) -> bool {
        let Some(key) = self.texts.get(&key.into()).cloned() else { return false };
        self.limiter.forget(&key);
        let was_full = self.is_full();
        self.release(&key);
        was_full
    }

    /// Another version takes over. The failures of the version before do not count for it.
    pub(crate) fn forgive(&mut self) {
        for (key, _) in std::mem::take(&mut self.failed) {
            self.limiter.forget(&key);
            self.release(&key);
        }
    }

    /// How often the key was added rate-limited or failed, since these counts were last forgotten.
    pub(crate) fn num_requeues(&self, key: impl Into<HashedKey>) -> u32 {
        self.texts.get(&key.into()).map_or(0, |key| self.limiter.num_requeues(key))
    }

    /// Forgets all keys, and returns their number.
    pub(crate) fn clear(&mut self) -> usize {
        let shards = self.lines.len();
        let before = std::mem::replace(self, Self::new(self.bounds, self.waits));
        self.lines.resize_with(shards, || Line::new(&self.limiter));
        before.texts.len()
    }

    /// Whether every key is done, apart from delayed keys: no key waits or is in flight, and no failed key comes
    /// again.
    pub(crate) fn is_drained(&mut self, now: Instant) -> bool {
        self.failed.is_empty()
            && self.regroups == 0
            && self.lines.iter().all(|line| line.in_flight.is_none())
            && self.len(now) == 0
    }

    /// How many keys are due now.
    pub(crate) fn len(&mut self, now: Instant) -> usize {
        self.lines.iter_mut().map(|line| line.queue.len(now)).sum()
    }

    pub(crate) fn count(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn snapshot(&mut self, now: Instant) -> KeysSnapshot {
        let depth = self.len(now);
        let comes_later = |key: &&HashedKey| !self.lines[self.shard_of(key)].queue.is_due(key);
        KeysSnapshot {
            waiting: depth + self.failed.keys().filter(comes_later).count(),
            keys: self.texts.len(),
            bytes: self.bytes,
            holds_events: self.holds_events(now),
            depth,
            delayed: self.lines.iter().map(|line| line.queue.delayed()).sum::<usize>()
                + self.held.len(),
            oldest: self.lines.iter().filter_map(|line| line.queue.oldest()).min(),
            failed: self.failed.len(),
            given_up: self.given_up.iter().cloned().collect(),
        }
    }

    fn is_kept(&self, key: &HashedKey) -> bool {
        let line = &self.lines[self.shard_of(key)];
        line.queue.contains(key) || self.failed.contains_key(key) || self.held.contains(key)
    }

    /// Forgets the text of a key that is no longer known.
    fn release(&mut self, key: &HashedKey) {
        if self.is_kept(key) || !self.texts.remove(key) {
            return;
        }
        self.bytes -= cost(key);
        self.changes.take(key);
        if self.texts.is_empty() && self.texts.capacity() >= EMPTIED_MIN {
            (self.limiter, self.failed) = (SharedLimiter::new(self.waits), HashMap::new());
            self.lines.iter_mut().for_each(|line| *line = Line::new(&self.limiter));
            self.texts = HashSet::new();
        }
    }
}

fn cost(key: &str) -> usize {
    key.len() + KEY_COST_BYTES
}

#[cfg(test)]
mod tests;
