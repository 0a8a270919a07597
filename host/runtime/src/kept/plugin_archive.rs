//! The part of the archive for one plugin's name. The plugin's tasks report its retries, letters and values.
//!
//! Objects that are Secrets are never kept on the disk. A plugin's own `state` and error texts are kept unchanged.
//!
//! Without a state directory nothing is kept. Each call then costs one atomic read, as for every event that succeeds
//! at once.

use crate::contract::limits::Limits;
use crate::delivery::mailbox::{Again, Queued};
use crate::event::{Event, SubscriptionId};
use crate::kept::archive::{
    Archive, ArchiveKey, ArchiveValue, Changes, Kept, NameRecord, WaitingRetry,
};
use crate::kept::dead_letters::{DeadLetter, Pushed};
use crate::kept::plugin_state::StateChanges;
use crate::names::is_of_secrets;
use crate::plugin_name::PluginName;
use hashbrown::{HashMap, HashSet};
use informant_cache::ObjectKey;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

type LaneKey = (SubscriptionId, ObjectKey);

/// The part of the archive for one plugin's name.
pub(crate) struct PluginArchive {
    name: PluginName,
    /// The number of lanes with a retry in the file. At 0, the end of an event changes nothing, unless letters were
    /// redriven as the event.
    lanes: AtomicUsize,
    retries_bytes_max: AtomicUsize,
    /// The plugin's rate of writes.
    bytes_per_second: AtomicU32,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// `None` without a state directory, or if its content could not be read.
    archive: Option<Archive>,
    head: NameRecord,
    /// Whether the file has a head of this plugin.
    known: bool,
    /// By lane: the subscription's name and the bytes of each retry in the file.
    retries: HashMap<LaneKey, (Arc<str>, usize)>,
    retries_bytes: usize,
    /// Retries that are not kept: there were too many, or their objects are Secrets.
    unkept: u64,
}

/// The size of one plugin's kept data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// Retries on the disk: they outlive a host that is killed now.
    pub retries: usize,
    /// Dead letters on the disk, with those that were redriven and not delivered yet.
    pub dead_letters: usize,
    /// Bytes of all retries that are on the disk or wait for it.
    pub retries_bytes: usize,
    /// Failed attempts without a kept retry: there were too many, or their objects are Secrets.
    pub unkept: u64,
}

impl KeptSnapshot {
    pub(crate) fn to_json(self) -> Value {
        json!({
            "retries": self.retries,
            "deadLetters": self.dead_letters,
            "bytes": self.retries_bytes,
            "notKept": self.unkept,
        })
    }
}

impl PluginArchive {
    pub(crate) fn new(name: PluginName, limits: &Limits) -> Self {
        Self {
            name,
            lanes: AtomicUsize::new(0),
            retries_bytes_max: AtomicUsize::new(limits.kept_retries_bytes_max),
            bytes_per_second: AtomicU32::new(limits.state_writes_per_second),
            inner: Mutex::default(),
        }
    }

    /// Sets the limits for later changes.
    pub(crate) fn set_limits(&self, limits: &Limits) {
        self.retries_bytes_max.store(limits.kept_retries_bytes_max, Relaxed);
        self.bytes_per_second.store(limits.state_writes_per_second, Relaxed);
    }

    /// From here on changes are kept.
    pub(crate) fn open(&self, archive: Archive, kept: &Kept) {
        let mut inner = self.inner.lock();
        inner.archive = Some(archive);
        inner.known = kept.head.is_some();
        inner.head = kept.head.clone().unwrap_or_default();
        if inner.head.gone.take().is_some() {
            self.put_head(&mut inner, Changes::new());
        }
    }

    /// The snapshot; `None` without an archive.
    pub(crate) fn snapshot(&self) -> Option<KeptSnapshot> {
        let inner = self.inner.lock();
        let on_disk = inner.archive.as_ref()?.on_disk(&self.name);
        Some(KeptSnapshot {
            retries: on_disk.retries,
            dead_letters: on_disk.letters,
            retries_bytes: inner.retries_bytes,
            unkept: inner.unkept,
        })
    }

    /// Notes that a retry from the file waits in the queue.
    pub(crate) fn restored(
        &self,
        id: SubscriptionId,
        subscription: &Arc<str>,
        waiting: &WaitingRetry,
    ) {
        let mut inner = self.inner.lock();
        let key = waiting.event.object.key().clone();
        let place = ArchiveKey::Retry { subscription: subscription.clone(), key: key.clone() };
        inner.note_retry((id, key), subscription.clone(), place.size() + waiting.size());
        self.count(&inner);
    }

    /// The event has ended, and its call changed `state`.
    pub(crate) fn finished(&self, event: &Event, state: StateChanges) {
        if self.lanes.load(Relaxed) == 0 && state.is_empty() && event.letters.is_empty() {
            return;
        }
        let mut inner = self.inner.lock();
        let mut changes = self.ended(&mut inner, event);
        for (key, value) in state {
            changes.insert(self.place(ArchiveKey::State(key)), value.map(ArchiveValue::State));
        }
        self.put(&mut inner, changes);
    }

    /// A call that was not for an event succeeded, and changed `state`.
    pub(crate) fn wrote(&self, state: StateChanges) {
        if state.is_empty() {
            return;
        }
        let changes = state.into_iter().map(|(key, value)| {
            (self.place(ArchiveKey::State(key)), value.map(ArchiveValue::State))
        });
        self.put(&mut self.inner.lock(), changes.collect());
    }

    /// Keeps the event's next attempt, with the queue's numbers for it. Returns whether the retry outlives the host.
    /// With too many retries, or for a Secret, the file keeps its earlier records of the lane and of the event's
    /// letters.
    pub(crate) fn waits(
        &self,
        (subscription, resource): (&str, &Arc<str>),
        queued: &Queued,
        again: Again,
    ) -> bool {
        let mut inner = self.inner.lock();
        if inner.archive.is_none() {
            return true;
        }
        let event = &queued.event;
        let waiting = WaitingRetry {
            resource: resource.clone(),
            event: Event {
                object: event.object.at_rest(),
                letters: Vec::new(),
                ..Event::clone(event)
            },
            // Attempts that do not count are forgotten with the host.
            attempt: (queued.tried.counted() + again.attempts - again.excused)
                .max(1 + again.attempts),
            crashes: queued.tried.crashes + again.crashes,
            due: wall_time(again.at),
            wait: again.at.saturating_duration_since(Instant::now()),
        };
        let lane = (event.subscription, event.object.key().clone());
        let subscription: Arc<str> = subscription.into();
        let place = ArchiveKey::Retry { subscription: subscription.clone(), key: lane.1.clone() };
        let size = place.size() + waiting.size();
        let before = inner.retries.get(&lane).map_or(0, |(_, size)| *size);
        if is_of_secrets(resource)
            || inner.retries_bytes - before + size > self.retries_bytes_max.load(Relaxed)
        {
            inner.unkept += 1;
            return false;
        }
        inner.note_retry(lane, subscription, size);
        self.count(&inner);
        let mut changes = self.without(&event.letters);
        changes.insert(self.place(place), Some(ArchiveValue::Retry(Box::new(waiting))));
        self.put(&mut inner, changes);
        true
    }

    /// The event became a dead letter, and older letters were dropped. Call this while the letters are locked.
    pub(crate) fn gave_up(&self, event: &Event, pushed: &Pushed) {
        let mut inner = self.inner.lock();
        if inner.archive.is_none() {
            return;
        }
        let mut changes = self.ended(&mut inner, event);
        changes.extend(self.without(&pushed.dropped));
        let letter = &pushed.letter;
        if !is_of_secrets(&letter.resource) {
            let content = ArchiveValue::Letter(Box::new(letter.clone()));
            changes.insert(self.place(ArchiveKey::Letter(letter.id)), Some(content));
        }
        inner.head.letters = letter.id;
        self.put_head(&mut inner, changes);
    }

    /// Letters were purged. Call this while the letters are locked.
    pub(crate) fn threw_away(&self, letters: &[DeadLetter]) {
        let ids: Vec<u64> = letters.iter().map(|letter| letter.id).collect();
        self.told(&ids);
    }

    /// Drops redriven letters that were delivered; the other records of their objects stay.
    pub(crate) fn told(&self, letters: &[u64]) {
        self.put(&mut self.inner.lock(), self.without(letters));
    }

    /// The plugin was paused or resumed.
    pub(crate) fn paused(&self, paused: bool) {
        let mut inner = self.inner.lock();
        inner.head.paused = paused;
        if paused || inner.known {
            self.put_head(&mut inner, Changes::new());
        }
    }

    /// The plugin's file is gone.
    pub(crate) fn gone(&self, now: Timestamp) {
        let mut inner = self.inner.lock();
        inner.head.gone = Some(now.as_second());
        if inner.known {
            self.put_head(&mut inner, Changes::new());
        }
    }

    /// Drops the retries of all other subscriptions, as the queue does.
    pub(crate) fn retain(&self, keep: &HashSet<SubscriptionId>) {
        let mut inner = self.inner.lock();
        let gone: Vec<LaneKey> =
            inner.retries.keys().filter(|lane| !keep.contains(&lane.0)).cloned().collect();
        let mut changes = Changes::new();
        for lane in gone {
            let Some(subscription) = inner.forget_retry(&lane) else { continue };
            changes.insert(self.place(ArchiveKey::Retry { subscription, key: lane.1 }), None);
        }
        self.count(&inner);
        self.put(&mut inner, changes);
    }

    /// Drops retries whose subscription no longer exists.
    pub(crate) fn dropped(&self, retries: &[(Arc<str>, WaitingRetry)]) {
        let place = |(subscription, waiting): &(Arc<str>, WaitingRetry)| {
            let (subscription, key) = (subscription.clone(), waiting.event.object.key().clone());
            (self.place(ArchiveKey::Retry { subscription, key }), None)
        };
        self.put(&mut self.inner.lock(), retries.iter().map(place).collect());
    }

    /// The records to remove at the event's end: its lane's retry, and its letters.
    fn ended(&self, inner: &mut Inner, event: &Event) -> Changes {
        let lane = (event.subscription, event.object.key().clone());
        let mut changes = self.without(&event.letters);
        if let Some(subscription) = inner.forget_retry(&lane) {
            let key = lane.1.clone();
            changes.insert(self.place(ArchiveKey::Retry { subscription, key }), None);
        }
        self.count(inner);
        changes
    }

    fn without(&self, letters: &[u64]) -> Changes {
        letters.iter().map(|id| (self.place(ArchiveKey::Letter(*id)), None)).collect()
    }

    fn place(&self, place: ArchiveKey) -> (PluginName, ArchiveKey) {
        (self.name.clone(), place)
    }

    fn count(&self, inner: &Inner) {
        self.lanes.store(inner.retries.len(), Relaxed);
    }

    /// Every plugin with records has a head, so that its end can be noted.
    fn put(&self, inner: &mut Inner, changes: Changes) {
        if !inner.known && changes.values().any(Option::is_some) {
            self.put_head(inner, changes);
        } else if let Some(archive) = &inner.archive {
            archive.put_at(self.bytes_per_second.load(Relaxed), changes);
        }
    }

    fn put_head(&self, inner: &mut Inner, mut changes: Changes) {
        let Some(archive) = &inner.archive else { return };
        changes.insert(self.place(ArchiveKey::Head), Some(ArchiveValue::Head(inner.head.clone())));
        archive.put_at(self.bytes_per_second.load(Relaxed), changes);
        inner.known = true;
    }
}

impl Inner {
    fn note_retry(&mut self, lane: LaneKey, subscription: Arc<str>, size: usize) {
        self.retries_bytes += size;
        if let Some((_, before)) = self.retries.insert(lane, (subscription, size)) {
            self.retries_bytes -= before;
        }
    }

    fn forget_retry(&mut self, lane: &LaneKey) -> Option<Arc<str>> {
        let (subscription, size) = self.retries.remove(lane)?;
        self.retries_bytes -= size;
        Some(subscription)
    }
}

/// The time on the wall clock, which goes on without the host.
fn wall_time(at: Instant) -> Timestamp {
    let wait = SignedDuration::try_from(at.saturating_duration_since(Instant::now()));
    // A plugin may ask for centuries.
    let at = wait.ok().and_then(|wait| Timestamp::now().checked_add(wait).ok());
    at.unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
