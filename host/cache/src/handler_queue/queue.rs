//! The waiting notifications of one handler, between the informer and the handler's task. Synchronous.
//!
//! Notifications come out in order of arrival. Up to the mark all are kept. Above it a newer one is merged into the
//! last waiting one of the same object. So the objects that exist, or that the handler knows, bound the memory. As
//! client-go's `processorListener.pendingNotifications`, which has no bound.

use super::{HighWaterMark, QueueStats};
use crate::merge_rule::{Merge, MergeKind, merge};
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::{Cause, Notification, Reason};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// With fewer entries than this, holes are not closed.
const HOLES_MIN: usize = 64;

#[derive(Debug)]
struct QueuedNotification {
    notification: Notification,
    /// When it was queued; for a merged one, when the oldest was.
    queued: Instant,
    /// Whether it comes from a walk over the store.
    walked: bool,
}

/// The queue of one handler. It has the notifications, and knows neither side.
#[derive(Debug)]
pub(super) struct NotificationQueue {
    mark: HighWaterMark,
    /// In order of arrival, with a hole for each entry that was merged away.
    waiting: VecDeque<Option<QueuedNotification>>,
    /// The number of the first entry of `waiting`: entries keep their numbers while others leave.
    first: u64,
    /// The number of each object's last entry. Only for look-ups: its order has no effect.
    last: HashMap<ObjectKey, u64>,
    /// The number of entries that are not holes.
    depth: usize,
    /// The bytes of the objects in `waiting`, with old states.
    bytes: usize,
    /// The number of entries with the reason `Resync`.
    resyncs: usize,
    /// The number of entries from a walk over the store.
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

    /// The number of waiting notifications from walks.
    pub(super) fn walked(&self) -> usize {
        self.walked
    }

    /// The number of waiting notifications from a resync.
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

    /// Appends a notification. Above the mark, merges it into the object's last waiting one. A resync of an object
    /// with a waiting notification has no new content and is left out.
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

    /// Takes the next notification.
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

    /// Drops all waiting notifications.
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

    /// Closes the holes from merges, once they are most of the queue: objects that come and go above the mark must not
    /// make it grow.
    fn compact(&mut self) {
        if self.waiting.len() < HOLES_MIN || self.waiting.len() < 2 * self.depth {
            return;
        }
        self.waiting.retain(Option::is_some);
        for (index, entry) in self.waiting.iter().enumerate() {
            let object = entry.as_ref().and_then(|entry| entry.notification.object());
            // Later entries overwrite earlier ones, so an object's last one remains.
            if let Some(number) = object.and_then(|object| self.last.get_mut(object.key())) {
                *number = self.first + index as u64;
            }
        }
    }

    /// Frees the memory of a queue that was long and is empty.
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

/// The result of two notifications for one key.
enum Merged {
    One(Notification),
    Nothing(ObjectKey),
    Both(Notification, Notification),
}

/// The handler does not know an object whose addition waits, so its deletion need not be delivered.
fn merge_notifications(waiting: Notification, newer: Notification) -> Merged {
    use Notification::{Added, Deleted, Updated};
    let (Some(before), Some(after)) = (waiting.object(), newer.object()) else {
        return Merged::Both(waiting, newer);
    };
    let same_object = before.has_uid_of(after);
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
            // There and back again: the handler knows exactly this state.
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

/// A merged update is a resync only if neither has a change.
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

/// The bytes that a notification keeps alive, also if the cache holds the same objects.
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
