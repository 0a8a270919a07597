//! What one handler still has to be told: a synchronous cupboard between the informer and the handler's task.
//!
//! Notifications come out in the order they went in. Up to the mark every one is kept; above it a newer one is merged into the
//! last waiting one of the same object, so memory is bounded by the objects that live or that the handler was told of. Answers to
//! client-go's `processorListener.pendingNotifications`, which has no bound.

use super::{HighWaterMark, QueueStats};
use crate::merge_rule::{Merge, MergeKind, merge};
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::{Cause, Notification, Reason};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Fewer entries than this are not worth closing holes for.
const HOLES_MIN: usize = 64;

#[derive(Debug)]
struct QueuedNotification {
    notification: Notification,
    /// When it was queued; of a merged one, when the oldest was.
    queued: Instant,
    /// It comes from a walk over the store.
    walked: bool,
}

/// One handler's queue. It holds what the handler has to be told, and knows nothing of who tells.
#[derive(Debug)]
pub(super) struct NotificationQueue {
    mark: HighWaterMark,
    /// In order of arrival; a hole where one was merged away.
    waiting: VecDeque<Option<QueuedNotification>>,
    /// Number of the first entry of `waiting`: entries keep their number while others leave.
    first: u64,
    /// Where an object's last entry stands. Only looked up, never walked: its order does not show.
    last: HashMap<ObjectKey, u64>,
    /// Entries that are not holes.
    depth: usize,
    /// The objects' bytes over `waiting`, old states included.
    bytes: usize,
    /// Those of `waiting` whose reason is `Resync`.
    resyncs: usize,
    /// Those that come from a walk over the store.
    walked: usize,
    coalesced: u64,
}

impl NotificationQueue {
    pub(super) fn new(mark: HighWaterMark) -> Self {
        Self {
            mark,
            waiting: VecDeque::new(),
            first: 0,
            last: HashMap::new(),
            depth: 0,
            bytes: 0,
            resyncs: 0,
            walked: 0,
            coalesced: 0,
        }
    }

    /// Notifications of walks that still wait.
    pub(super) fn walked(&self) -> usize {
        self.walked
    }

    /// Notifications of a resync that still wait.
    pub(super) fn resyncs(&self) -> usize {
        self.resyncs
    }

    pub(super) fn stats(&self, now: Instant) -> QueueStats {
        let oldest = self.waiting.iter().flatten().next();
        QueueStats {
            depth: self.depth,
            bytes: self.bytes,
            coalesced: self.coalesced,
            oldest_age: oldest.map(|entry| now.saturating_duration_since(entry.queued)),
        }
    }

    /// Appends, or merges into the object's last waiting one above the mark. A resync of an object that has anything
    /// waiting says nothing new and is left out.
    pub(super) fn push(&mut self, notification: Notification, now: Instant, walked: bool) {
        let entry = QueuedNotification { notification, queued: now, walked };
        let last = entry.notification.object().and_then(|object| self.last.get(object.key()));
        match last.copied() {
            Some(_) if is_resync(&entry.notification) => self.coalesced += 1,
            // Invariant 12.
            Some(number) if self.is_over_mark() => self.merge_at(number, entry),
            _ => self.append(entry),
        }
        self.compact();
    }

    /// The next one to tell.
    pub(super) fn pop(&mut self) -> Option<Notification> {
        while let Some(entry) = self.waiting.pop_front() {
            let number = self.first;
            self.first += 1;
            let Some(entry) = entry else { continue };
            self.forget(&entry);
            let QueuedNotification { notification, .. } = entry;
            if let Some(object) = notification.object()
                && self.last.get(object.key()) == Some(&number)
            {
                self.last.remove(object.key());
            }
            self.compact();
            self.give_back();
            return Some(notification);
        }
        self.give_back();
        None
    }

    /// Drops everything that waits.
    pub(super) fn clear(&mut self) {
        *self = Self { coalesced: self.coalesced, ..Self::new(self.mark) };
    }

    fn is_over_mark(&self) -> bool {
        self.depth >= self.mark.notifications || self.bytes >= self.mark.bytes
    }

    fn append(&mut self, entry: QueuedNotification) {
        if let Some(object) = entry.notification.object() {
            let number = self.first + self.waiting.len() as u64;
            self.last.insert(object.key().clone(), number);
        }
        self.count(&entry);
        self.waiting.push_back(Some(entry));
    }

    fn merge_at(&mut self, number: u64, newer: QueuedNotification) {
        let index = (number - self.first) as usize;
        let waiting = self.waiting[index].take().expect("`last` points at an entry");
        self.forget(&waiting);
        let (queued, walked) = (waiting.queued, waiting.walked);
        match merge_notifications(waiting.notification, newer.notification) {
            Merged::One(notification) => {
                self.coalesced += 1;
                let entry = QueuedNotification { notification, queued, walked };
                self.count(&entry);
                self.waiting[index] = Some(entry);
            }
            Merged::Nothing(key) => {
                self.coalesced += 2;
                self.last.remove(&key);
            }
            Merged::Both(waiting, notification) => {
                let entry = QueuedNotification { notification: waiting, queued, walked };
                self.count(&entry);
                self.waiting[index] = Some(entry);
                self.append(QueuedNotification {
                    notification,
                    queued: newer.queued,
                    walked: newer.walked,
                });
            }
        }
    }

    fn count(&mut self, entry: &QueuedNotification) {
        self.depth += 1;
        self.bytes += size(&entry.notification);
        self.resyncs += usize::from(is_resync(&entry.notification));
        self.walked += usize::from(entry.walked);
    }

    fn forget(&mut self, entry: &QueuedNotification) {
        self.depth -= 1;
        self.bytes -= size(&entry.notification);
        self.resyncs -= usize::from(is_resync(&entry.notification));
        self.walked -= usize::from(entry.walked);
    }

    /// Closes the holes that merging left, once they are most of the queue: objects that come and go above
    /// the mark must not make it grow.
    fn compact(&mut self) {
        if self.waiting.len() < HOLES_MIN || self.waiting.len() < 2 * self.depth {
            return;
        }
        self.waiting.retain(Option::is_some);
        for (index, entry) in self.waiting.iter().enumerate() {
            let object = entry.as_ref().and_then(|entry| entry.notification.object());
            // Later entries overwrite earlier ones: an object's last one stands in the end.
            if let Some(number) = object.and_then(|object| self.last.get_mut(object.key())) {
                *number = self.first + index as u64;
            }
        }
    }

    /// A queue that was long and is empty gives its memory back.
    fn give_back(&mut self) {
        if self.waiting.is_empty() && self.waiting.capacity() > 4 * HOLES_MIN {
            self.waiting = VecDeque::new();
            self.last = HashMap::new();
        }
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let entries = || self.waiting.iter().flatten().map(|entry| &entry.notification);
        assert_eq!(self.depth, entries().count(), "depth counts what waits");
        assert_eq!(self.bytes, entries().map(size).sum::<usize>(), "bytes are those that wait");
        assert_eq!(self.resyncs, entries().filter(|n| is_resync(n)).count());
        assert!(
            self.waiting.len() <= HOLES_MIN.max(2 * self.depth),
            "holes never are most of a long queue"
        );
        for (key, number) in &self.last {
            let of_key = |entry: &Option<QueuedNotification>| {
                entry.as_ref().and_then(|e| e.notification.object()).is_some_and(|o| o.key() == key)
            };
            let last = self.waiting.iter().rposition(of_key).map(|i| self.first + i as u64);
            assert_eq!(last, Some(*number), "`last` is true");
        }
    }
}

/// What is left of two notifications of one key.
enum Merged {
    One(Notification),
    Nothing(ObjectKey),
    Both(Notification, Notification),
}

/// Who is told never knew of an object whose addition waits, so no end of it has to be told.
fn merge_notifications(waiting: Notification, newer: Notification) -> Merged {
    use Notification::{Added, Deleted, Updated};
    let (Some(before), Some(after)) = (waiting.object(), newer.object()) else {
        return Merged::Both(waiting, newer);
    };
    let same_object = before.uid() == after.uid();
    let coalesced = waiting.coalesced() + newer.coalesced() + 1;
    let (Some(kinds_before), Some(kinds_after)) = (kind(&waiting), kind(&newer)) else {
        return Merged::Both(waiting, newer);
    };
    match (merge(kinds_before, kinds_after, same_object, false), waiting, newer) {
        (Merge::Nothing, waiting, _) => {
            let key = waiting.object().map(|object| object.key().clone());
            Merged::Nothing(key.expect("only an object's notifications cancel out"))
        }
        (
            Merge::One(_),
            Added { cause: first, .. },
            Added { object, cause, .. } | Updated { new: object, cause, .. },
        ) => {
            Merged::One(Added { object, cause: Cause { reason: first.reason, ..cause }, coalesced })
        }
        (Merge::One(_), Updated { old, cause: first, .. }, Updated { new, cause: second, .. }) => {
            // There and back again: who is told knows it just so.
            if old.resource_version() == new.resource_version() && old.json() == new.json() {
                return Merged::Nothing(new.key().clone());
            }
            Merged::One(Updated { old, new, cause: newer_cause(first, second), coalesced })
        }
        (
            Merge::One(_),
            Updated { old: known_as, .. } | Added { object: known_as, .. },
            Deleted { last, final_state, cause, .. },
        ) => {
            let known_as = Some(known_as);
            Merged::One(Deleted { last, known_as, final_state, cause, coalesced })
        }
        (Merge::Both | Merge::One(_), waiting, newer) => Merged::Both(waiting, newer),
    }
}

/// A merged update is a resync only if nothing changed in either.
fn newer_cause(first: Cause, second: Cause) -> Cause {
    let reason = if second.reason == Reason::Resync { first.reason } else { second.reason };
    Cause { reason, ..second }
}

fn kind(notification: &Notification) -> Option<MergeKind> {
    match notification {
        Notification::Added { .. } => Some(MergeKind::Added),
        Notification::Updated { .. } => Some(MergeKind::Updated),
        Notification::Deleted { .. } => Some(MergeKind::Deleted),
        Notification::Synced => None,
    }
}

fn is_resync(notification: &Notification) -> bool {
    notification.cause().is_some_and(|cause| cause.reason == Reason::Resync)
}

/// The bytes that a notification keeps alive, whether or not the cache holds the same objects.
fn size(notification: &Notification) -> usize {
    match notification {
        Notification::Updated { old, new, .. } => {
            let shared = old.same_handle(new);
            new.size() + if shared { 0 } else { old.size() }
        }
        Notification::Deleted { last, known_as, .. } => {
            last.size() + known_as.as_ref().map_or(0, Object::size)
        }
        other => other.object().map_or(0, Object::size),
    }
}

#[cfg(test)]
mod tests;
