//! The event queue as its two sides share it: informers push, the plugin's actor pops.

use crate::counters::{Counters, add_one};
use crate::event::{Event, SubscriptionId};
use crate::queue::{EventQueue, Marks, Queued, Settled};
use crate::sync_calls::SyncCalls;
use hashbrown::HashSet;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::time::Instant;
use tokio::sync::Notify;

/// Of a long batch the actor hears before its end, so that it works beside the informer.
const UNANNOUNCED_MAX: usize = 16;

/// The queue of one plugin's name. It belongs to the name, not to an instance: reloads and crashes leave
/// it alone.
pub(crate) struct PluginQueue {
    queue: Mutex<EventQueue>,
    pushed: Notify,
    /// Events that nobody was woken for.
    unannounced: AtomicUsize,
    counters: Arc<Counters>,
}

/// What the queue holds at one moment.
#[derive(Debug, Clone, Copy)]
pub struct QueueSnapshot {
    /// Events that wait.
    pub depth: usize,
    /// Bytes of their objects.
    pub bytes: usize,
    /// Events merged into others so far.
    pub coalesced: u64,
    /// When the oldest one's bytes were read.
    pub oldest: Option<Instant>,
}

impl PluginQueue {
    pub(crate) fn new(marks: Marks, counters: Arc<Counters>) -> Self {
        Self {
            queue: Mutex::new(EventQueue::new(marks)),
            pushed: Notify::new(),
            unannounced: AtomicUsize::new(0),
            counters,
        }
    }

    /// Never waits.
    pub(crate) fn push(&self, event: Event) {
        self.queue.lock().push(event);
        self.pushed.notify_one();
    }

    /// The same for one of several events, after which there is [`Self::announce`]: waking a thread is a system call.
    pub(crate) fn push_unannounced(&self, event: Event) {
        self.queue.lock().push(event);
        // Whoever sees the count has to see the event: another informer's announcement may count for it.
        if self.unannounced.fetch_add(1, AcqRel) + 1 == UNANNOUNCED_MAX {
            self.announce();
        }
    }

    /// Wakes the actor if events were pushed since the last time.
    pub(crate) fn announce(&self) {
        if self.unannounced.swap(0, AcqRel) > 0 {
            self.pushed.notify_one();
        }
    }

    /// Puts in what a host before this one has attempted.
    pub(crate) fn restore(&self, queued: Queued, due: Instant) {
        self.queue.lock().restore(queued, due);
        self.pushed.notify_one();
    }

    /// A load is about to have a subscription's objects told.
    pub(crate) fn begin_initial(&self, id: SubscriptionId, load: u64) {
        self.queue.lock().initials.begin(id, load);
    }

    /// All objects were queued that were there when the load had the subscription begin.
    pub(crate) fn initial_queued(&self, id: SubscriptionId, load: u64) {
        self.queue.lock().initials.queued(id, load);
        self.pushed.notify_one();
    }

    /// All subscriptions of a load are in place.
    pub(crate) fn put_in_place(&self, load: u64) {
        self.queue.lock().initials.put_in_place(load);
        self.pushed.notify_one();
    }

    /// The subscription of which the guest is to be told now that its initial objects are through.
    pub(crate) fn next_sync(&self, calls: &SyncCalls, now: Instant) -> Option<SubscriptionId> {
        if calls.are_made() {
            return None;
        }
        let (due, id) = calls.next(&self.queue.lock().initials, now)?;
        (due <= now).then_some(id)
    }

    pub(crate) fn count_filtered(&self) {
        add_one(&self.counters.filtered);
    }

    pub(crate) fn pop(&self, now: Instant) -> Option<Queued> {
        self.queue.lock().pop(now)
    }

    pub(crate) fn settle(&self, settled: Settled, now: Instant) {
        self.queue.lock().settle(settled, now);
    }

    /// An actor that ended early may have left an event in flight: the next one gets it again.
    pub(crate) fn recover(&self, now: Instant) {
        self.queue.lock().recover(now);
    }

    /// Waits until something can be popped, or one of these calls is to be made. Cancelling it loses nothing.
    pub(crate) async fn wait(&self, calls: Option<&SyncCalls>) {
        loop {
            let now = Instant::now();
            let due = {
                let queue = self.queue.lock();
                let call = calls.and_then(|calls| calls.next(&queue.initials, now));
                queue.next_due(now).into_iter().chain(call.map(|(due, _)| due)).min()
            };
            match due {
                Some(due) if due <= now => return,
                Some(due) => {
                    let retry = tokio::time::sleep_until(due.into());
                    tokio::select! { () = retry => {}, () = self.pushed.notified() => {} }
                }
                None => self.pushed.notified().await,
            }
        }
    }

    pub(crate) fn retain(&self, keep: &HashSet<SubscriptionId>) {
        let dropped = self.queue.lock().retain(keep);
        self.counters.dropped.fetch_add(dropped as u64, Relaxed);
    }

    pub(crate) fn snapshot(&self) -> QueueSnapshot {
        let queue = self.queue.lock();
        QueueSnapshot {
            depth: queue.depth(),
            bytes: queue.bytes(),
            coalesced: queue.coalesced(),
            oldest: queue.oldest(),
        }
    }
}
