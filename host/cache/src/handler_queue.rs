//! The queue of one handler, between the informer's task and the handler's own task.
//!
//! Answers to client-go's `processorListener` (`tools/cache/shared_informer.go`), with a bound,
//! which that one lacks. The informer's task never waits for a handler: it pushes notifications
//! into a queue, which merges them by object above its mark. Handlers that are called
//! (`shared_processor/listener.rs`) and callers that pull (`notifications.rs`) are built on this.

mod queue;

use crate::resource_event_handler::Notification;
use parking_lot::Mutex;
use queue::NotificationQueue;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A walk over the store (a replay, a resync) pauses while this many of its notifications wait, without live ones. So
/// it takes a cursor and no copy of the store. This is four steps of a walk, so that the handler's task never runs dry
/// between two steps.
const WALK_ROOM: usize = 1024;

/// The mark from which a queue merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighWaterMark {
    /// Waiting notifications, 10,000 by default: at 1,000 changes a second, ten seconds of a handler's absence without
    /// merging.
    pub notifications: usize,
    /// Bytes of the objects that they keep alive, 32 MiB by default: some 5,000 objects that the cache has replaced
    /// since.
    pub bytes: usize,
}

impl Default for HighWaterMark {
    fn default() -> Self {
        Self { notifications: 10_000, bytes: 32 << 20 }
    }
}

/// The options of a handler. Answers to client-go's `HandlerOptions`.
#[derive(Clone, Debug)]
pub struct HandlerOptions {
    /// The period of resyncs, in which the handler gets every object again (`Reason::Resync`); at
    /// least a second. None: never.
    pub resync_period: Option<Duration>,
    /// Whether the handler gets the objects that exist already. If not, an update or a deletion may
    /// concern an object that it never got. Until the informer's first list is complete, every
    /// object is a change.
    pub replay: bool,
    /// The mark from which its queue merges. Without effect on an inline handler, which has no queue.
    pub high_water_mark: HighWaterMark,
    /// For an inline handler: its replay, and the objects of the first list, come by
    /// [`on_replay`](crate::ResourceEventHandler::on_replay) while the handler [has
    /// room](crate::ResourceEventHandler::has_room). Changes of objects that the replay has not
    /// reached come by [`on_ahead`](crate::ResourceEventHandler::on_ahead). Otherwise the replay
    /// comes as fast as the informer's task can walk.
    pub paced: bool,
}

impl Default for HandlerOptions {
    fn default() -> Self {
        Self {
            resync_period: None,
            replay: true,
            high_water_mark: HighWaterMark::default(),
            paced: false,
        }
    }
}

/// How far a handler is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Waiting notifications.
    pub depth: usize,
    /// Bytes of the objects that they keep alive, also if the cache holds the same objects.
    pub bytes: usize,
    /// Notifications that were merged into others or cancelled out, so far.
    pub coalesced: u64,
    /// The wait of the oldest notification.
    pub oldest_age: Option<Duration>,
}

/// Waits for a handler's room.
pub(crate) trait Wake: Send + Sync {
    /// Signals that there is room again. Never waits.
    fn wake(&self);
}

/// The queue of one handler between the informer's task and the handler.
#[derive(Debug)]
pub(crate) struct HandlerQueue {
    queue: Mutex<NotificationQueue>,
    pushed: Notify,
    closed: AtomicBool,
    /// Whether a walk waits for room.
    parked: AtomicBool,
    /// The mark at which a walk pauses.
    walk_room: usize,
    /// Woken when there is room again.
    informer: Weak<dyn Wake>,
}

impl HandlerQueue {
    pub(crate) fn new(mark: HighWaterMark, informer: Weak<dyn Wake>) -> Self {
        Self {
            queue: Mutex::new(NotificationQueue::new(mark)),
            pushed: Notify::new(),
            closed: AtomicBool::new(false),
            parked: AtomicBool::new(false),
            walk_room: WALK_ROOM.min(mark.notifications),
            informer,
        }
    }

    /// Pushes a notification. `walked`: it comes from a walk over the store.
    pub(crate) fn push(&self, notification: Notification, now: Instant, walked: bool) {
        if !self.is_closed() {
            self.queue.lock().push(notification, now, walked);
            self.pushed.notify_one();
        }
    }

    /// Ends the queue: waiting notifications are dropped, and no more come.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.queue.lock().clear();
        self.pushed.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether a walk may go on. If not, the informer is woken once it may.
    pub(crate) fn has_room(&self) -> bool {
        let queue = self.queue.lock();
        let room = queue.walked() < self.walk_room.max(1);
        self.parked.store(!room, Ordering::Release);
        room
    }

    /// Whether a resync still waits in the queue.
    pub(crate) fn is_resyncing(&self) -> bool {
        self.queue.lock().resyncs() > 0
    }

    pub(crate) fn stats(&self, now: Instant) -> QueueStats {
        self.queue.lock().stats(now)
    }

    pub(crate) fn try_next(&self) -> Option<Notification> {
        if self.is_closed() {
            return None;
        }
        let mut queue = self.queue.lock();
        let next = queue.pop();
        let wake =
            queue.walked() <= self.walk_room / 2 && self.parked.swap(false, Ordering::AcqRel);
        drop(queue);
        if wake && let Some(informer) = self.informer.upgrade() {
            informer.wake();
        }
        next
    }

    /// The next notification; `None` once the queue is closed. Dropping the future loses nothing.
    pub(crate) async fn next(&self) -> Option<Notification> {
        loop {
            if let Some(next) = self.try_next() {
                return Some(next);
            }
            if self.is_closed() {
                return None;
            }
            self.pushed.notified().await;
        }
    }
}
