//! What outlives the host of one plugin's name, as its tasks tell of it: which retries, letters and values are kept now.
//!
//! Objects that are Secrets never are: the disk is not theirs. What a plugin writes to its state, or says in an error, is its own.
//!
//! Without a state directory nothing is kept and nothing here costs more than a look at a number, as for every event that succeeds
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

/// What is kept of one plugin's name.
pub(crate) struct PluginArchive {
    name: PluginName,
    /// Lanes that have a retry in the file: the end of no other event changes anything, unless letters were sent as it.
    lanes: AtomicUsize,
    retries_bytes_max: AtomicUsize,
    /// What is written of it in a second.
    bytes_per_second: AtomicU32,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// None without a state directory, or where what is in it could not be read.
    archive: Option<Archive>,
    head: NameRecord,
    /// The file has a head of this plugin.
    known: bool,
    /// By lane: the subscription's name and the bytes of each retry in the file.
    retries: HashMap<LaneKey, (Arc<str>, usize)>,
    retries_bytes: usize,
    /// Retries that are not kept because there were too many, or because they were of Secrets.
    unkept: u64,
}

/// How much of one plugin is kept now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// Retries that are on the disk: they outlive a host that is killed now.
    pub retries: usize,
    /// Dead letters that are, with those that were sent again and not told yet.
    pub dead_letters: usize,
    /// Bytes of all retries that are on the disk or on their way to it.
    pub retries_bytes: usize,
    /// Attempts that failed and whose retry is not kept: there were too many, or they were of Secrets.
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

    /// Other limits hold for what is kept from here on.
    pub(crate) fn set_limits(&self, limits: &Limits) {
        self.retries_bytes_max.store(limits.kept_retries_bytes_max, Relaxed);
        self.bytes_per_second.store(limits.state_writes_per_second, Relaxed);
    }

    /// From here on what happens is kept.
    pub(crate) fn open(&self, archive: Archive, kept: &Kept) {
        let mut inner = self.inner.lock();
        inner.archive = Some(archive);
        inner.known = kept.head.is_some();
        inner.head = kept.head.clone().unwrap_or_default();
        if inner.head.gone.take().is_some() {
            self.put_head(&mut inner, Changes::new());
        }
    }

    /// None while nothing is kept.
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

    /// A retry that came from the file waits in the queue.
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

    /// The event is through, and its call changed `state`.
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

    /// The event comes again, as the queue says of it by then. Answers whether it does so whatever becomes of the host; if there
    /// is too much already, or its object is a Secret, the file goes on saying what it said of the lane and of the letters that were sent as the event.
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
            event: Event { object: event.object.at_rest(), letters: Vec::new(), ..event.clone() },
            // What does not count is forgotten with the host.
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

    /// The event is a dead letter, and older letters had to go for it. Call it while the letters are locked.
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

    /// Letters are thrown away. Call it while they are locked.
    pub(crate) fn threw_away(&self, letters: &[DeadLetter]) {
        let ids: Vec<u64> = letters.iter().map(|letter| letter.id).collect();
        self.told(&ids);
    }

    /// Letters that were sent again need not be kept any more; what else waits of their objects does.
    pub(crate) fn told(&self, letters: &[u64]) {
        self.put(&mut self.inner.lock(), self.without(letters));
    }

    /// Somebody holds the plugin, or lets it go on.
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

    /// Forgets the retries of all other subscriptions, as the queue does.
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

    /// Forgets retries that have come to nothing: no subscription has their name any more.
    pub(crate) fn dropped(&self, retries: &[(Arc<str>, WaitingRetry)]) {
        let place = |(subscription, waiting): &(Arc<str>, WaitingRetry)| {
            let (subscription, key) = (subscription.clone(), waiting.event.object.key().clone());
            (self.place(ArchiveKey::Retry { subscription, key }), None)
        };
        self.put(&mut self.inner.lock(), retries.iter().map(place).collect());
    }

    /// What is kept no more when the event is through: its lane's retry, and the letters that were sent as it.
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

    /// Everything that is kept has a head, so that its end can be noted.
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

/// When that is on the clock that goes on without us.
fn wall_time(at: Instant) -> Timestamp {
    let wait = SignedDuration::try_from(at.saturating_duration_since(Instant::now()));
    // A plugin may ask for centuries.
    let at = wait.ok().and_then(|wait| Timestamp::now().checked_add(wait).ok());
    at.unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
