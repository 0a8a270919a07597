//! Work queues: client-go's `util/workqueue` for Rust.
//!
//! A [`WorkQueue`] takes keys and passes them to workers in order. Each key comes as often as it changed, but not more
//! often than a worker has time for (client-go says *fair* and *stingy*). No key is with two workers at once. One type
//! replaces `Interface`, `DelayingInterface` and `RateLimitingInterface`. The differences:
//!
//! * keys wait in two lanes, so that a resync of everything does not delay new changes ([`LaneRule`]);
//! * delayed keys need no goroutine: a worker that waits for a key waits for the earliest of them;
//! * a queue that is shut down keeps the keys that it did not hand out: [`WorkQueue::take_leftovers`];
//! * draining waits for queued keys and for keys in work;
//! * metrics are computed on request.
//!
//! [`Controller`] is the usual loop of workers around a queue. [`PolledWorkQueue`] is the queue without waiting, for
//! callers with their own clock.
//!
//! ```
//! use informant_cache::workqueue::{WorkQueue, WorkQueueOptions};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let queue = WorkQueue::<String>::new("pods", WorkQueueOptions::default());
//! queue.add("default/web".to_owned());
//! queue.add("default/web".to_owned()); // is there already
//!
//! let item = queue.get().await.expect("it is not shut down");
//! assert_eq!(*item, "default/web");
//! queue.add_rate_limited(item.to_string()); // it failed: again in 5 ms, then 10 ms, ...
//! drop(item); // done: from now on it may be handed out again
//! assert_eq!(queue.len(), 0);
//! # }
//! ```

mod controller;
mod delays;
mod item;
mod lanes;
mod metrics;
mod polled;
mod queue;
mod rate_limiters;
mod state;

pub use controller::{Action, Controller, ControllerOptions, Stopped};
pub use item::Item;
pub use lanes::{Lane, LaneRule};
pub use metrics::{Histogram, MetricsSink, WorkQueueMetrics};
pub use polled::PolledWorkQueue;
pub use rate_limiters::{
    BucketRateLimiter, ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter,
    MaxOfRateLimiter, RateLimiter, WithMaxWaitRateLimiter, default_controller_rate_limiter,
    default_item_based_rate_limiter, exponential,
};
pub use state::Leftover;

use parking_lot::Mutex;
use state::{Look, QueuePhase, WorkQueueState};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The options of a queue.
pub struct WorkQueueOptions<K> {
    /// The waits of failed keys.
    pub rate_limiter: Box<dyn RateLimiter<K>>,
    /// The rule between the lanes.
    pub lanes: LaneRule,
}

impl<K: Hash + Eq + Clone + Send + 'static> Default for WorkQueueOptions<K> {
    fn default() -> Self {
        let rate_limiter = Box::new(default_controller_rate_limiter());
        Self { rate_limiter, lanes: LaneRule::default() }
    }
}

/// The options of [`WorkQueue::add_with`]. The default is that of [`WorkQueue::add`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddOptions {
    /// The urgency. For a waiting key it can only rise.
    pub lane: Lane,
    /// The least wait.
    pub after: Duration,
    /// Whether the key failed: then it also waits for the rate limiter.
    pub rate_limited: bool,
}

/// Keys for workers. Cheap to clone; clones share the queue.
///
/// It holds at most one waiting, one delayed and one late entry for each different key. It also holds one failure
/// count for each key that failed and was not [forgotten](WorkQueue::forget). So the number of keys bounds it. It has
/// no task.
pub struct WorkQueue<K> {
    shared: Arc<WorkQueueShared<K>>,
}

struct WorkQueueShared<K> {
    name: Box<str>,
    state: Mutex<WorkQueueState<K>>,
    /// Notified when a key can be handed out, the earliest delay has become earlier, or the queue was shut down.
    changed: Notify,
    /// Notified when no key is queued or in work, or when no caller should wait for that any more.
    quiet: Notify,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K> std::fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkQueue({})", self.shared.name)
    }
}

impl<K: Hash + Eq + Clone> WorkQueue<K> {
    /// An empty queue. The name appears in metrics and logs.
    pub fn new(name: impl Into<Box<str>>, options: WorkQueueOptions<K>) -> Self {
        let state = Mutex::new(WorkQueueState::new(options.rate_limiter, options.lanes));
        let shared = WorkQueueShared {
            name: name.into(),
            state,
            changed: Notify::new(),
            quiet: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds a key to the live lane. A key that waits there already keeps its place. A key in the background lane is
    /// lifted, and a key in work waits until it is done. After a shutdown it is kept as a leftover.
    pub fn add(&self, key: K) {
        self.add_with(key, AddOptions::default());
    }

    /// As [`WorkQueue::add`], but not before `after` has passed. Of several times for a key the earliest counts; an
    /// `add` meanwhile does not cancel it.
    pub fn add_after(&self, key: K, after: Duration) {
        self.add_with(key, AddOptions { after, ..AddOptions::default() });
    }

    /// As [`WorkQueue::add_after`], after the wait that the rate limiter gives to one more failure of the key.
    pub fn add_rate_limited(&self, key: K) {
        self.add_with(key, AddOptions { rate_limited: true, ..AddOptions::default() });
    }

    /// Adds a key with options.
    pub fn add_with(&self, key: K, options: AddOptions) {
        let now = now();
        let mut state = self.shared.state.lock();
        let due = state.due();
        let waits = state.add(key, options, now);
        let earlier = state.due() != due;
        drop(state);
        if earlier {
            // All of them: a single woken worker could be dropped before the time comes.
            self.shared.changed.notify_waiters();
        }
        if waits {
            self.shared.changed.notify_one();
        }
    }

    /// Forgets the key's failures. This is not [`WorkQueue::done`].
    pub fn forget(&self, key: &K) {
        self.shared.state.lock().limiter.forget(key);
    }

    /// How often the key was added rate-limited since it was last forgotten.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.state.lock().limiter.num_requeues(key)
    }

    /// Waits for a key. `None` once the queue is shut down and no key is queued; the worker then ends.
    ///
    /// It may be dropped at any await: no key is lost.
    pub async fn get(&self) -> Option<Item<K>> {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            let due = match self.look() {
                Look::Taken(key, lane) => return Some(Item::new(key, lane, self.clone())),
                Look::ShutDown => return None,
                Look::Nothing { due } => due,
            };
            match due {
                None => changed.await,
                Some(due) => {
                    // Any order works: both lead to the same check.
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(due.into()) => {}
                    }
                }
            }
        }
    }

    /// A key that can be handed out now, if there is one.
    pub fn try_get(&self) -> Option<Item<K>> {
        match self.look() {
            Look::Taken(key, lane) => Some(Item::new(key, lane, self.clone())),
            Look::ShutDown | Look::Nothing { .. } => None,
        }
    }

    fn look(&self) -> Look<K> {
        let mut state = self.shared.state.lock();
        let look = state.look(now());
        let more = state.queue.waiting() > 0;
        drop(state);
        if more && matches!(look, Look::Taken(..)) {
            // This call may have used a permit, and several keys may have become due at once.
            self.shared.changed.notify_one();
        }
        look
    }

    /// Ends the work on the key; an add meanwhile then takes effect. Without effect on a key that is not in work.
    /// Dropping an [`Item`] calls this.
    pub fn done(&self, key: &K) {
        let mut state = self.shared.state.lock();
        let Some(ended) = state.done(key, now()) else { return };
        let quiet = state.queue.is_idle();
        drop(state);
        if ended.again {
            self.shared.changed.notify_one();
        }
        if quiet {
            self.shared.quiet.notify_waiters();
        }
    }

    /// The number of keys that could be handed out now. Delayed keys and those in work do not count.
    pub fn len(&self) -> usize {
        let mut state = self.shared.state.lock();
        state.ripen(now());
        state.queue.waiting()
    }

    /// Whether no key could be handed out now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counts of the queue, and its present state.
    pub fn metrics(&self) -> WorkQueueMetrics {
        let mut state = self.shared.state.lock();
        let now = now();
        state.ripen(now);
        state.metrics(&self.shared.name, now)
    }

    /// Ends the queue: queued keys are still handed out, then [`WorkQueue::get`] returns `None`. Delayed keys, and
    /// those added from now on, are leftovers. A call after [`WorkQueue::shut_down_with_drain`] ends that one's wait.
    pub fn shut_down(&self) {
        self.close(QueuePhase::ShutDown);
    }

    /// As [`WorkQueue::shut_down`], and waits until no key is queued or in work; then returns the leftovers. Without
    /// workers, or with one that never is done, this never ends: give it a deadline, or end it by `shut_down`.
    ///
    /// client-go waits only for keys in work, and loses delayed ones.
    pub async fn shut_down_with_drain(&self) -> Vec<Leftover<K>> {
        self.close(QueuePhase::Draining);
        loop {
            let quiet = self.shared.quiet.notified();
            tokio::pin!(quiet);
            quiet.as_mut().enable();
            if self.shared.state.lock().is_drained() {
                return self.take_leftovers();
            }
            quiet.await;
        }
    }

    /// Whether it was shut down.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.state.lock().phase != QueuePhase::Open
    }

    /// After a shutdown: takes the queued keys, which are no longer handed out, the delayed ones, and those added
    /// since. They keep the order in which they would have been handed out. Empty while the queue is open.
    ///
    /// A key in work is not among them; if it was added meanwhile, it is once it is done.
    pub fn take_leftovers(&self) -> Vec<Leftover<K>> {
        let mut state = self.shared.state.lock();
        let leftovers = state.take_leftovers(now());
        let quiet = state.queue.is_idle();
        drop(state);
        if quiet {
            self.shared.quiet.notify_waiters();
        }
        leftovers
    }

    /// Adds another queue's leftovers, with their times and lanes.
    pub fn restore(&self, leftovers: impl IntoIterator<Item = Leftover<K>>) {
        let now = now();
        for Leftover { key, lane, ready_at } in leftovers {
            let after = ready_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            self.add_with(key, AddOptions { lane, after, rate_limited: false });
        }
    }

    fn close(&self, phase: QueuePhase) {
        let mut state = self.shared.state.lock();
        state.ripen(now());
        state.phase = phase;
        drop(state);
        self.shared.changed.notify_waiters();
        self.shared.quiet.notify_waiters();
    }
}

/// Tokio's clock, so that paused time is the queue's time too.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
