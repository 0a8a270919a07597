//! Workers around a queue: get a key, reconcile it, forget or add it again, done.
//!
//! As the loop that every client-go controller writes by itself (`processNextWorkItem`) and controller-runtime's
//! `Controller`. It is not `tools/cache`'s type of that name, which is the informer's own loop. It knows no informers:
//! event handlers add keys to the queue.

use super::{AddOptions, Item, Leftover, WorkQueue};
use crate::error_causes::with_causes;
use futures::FutureExt;
use std::any::Any;
use std::error::Error;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// The next action for a reconciled key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    requeue_after: Option<Duration>,
}

impl Action {
    /// None, until the key is added again.
    pub fn await_change() -> Self {
        Self { requeue_after: None }
    }

    /// The key comes again after this time, unless it is added before.
    pub fn requeue(after: Duration) -> Self {
        Self { requeue_after: Some(after) }
    }
}

/// The options of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerOptions {
    /// Keys reconciled at once; 0 counts as 1.
    pub workers: usize,
    /// After this many failures in a row a key is given up until it is added again; `None`: never.
    pub retries_max: Option<u32>,
    /// How long a shutdown waits for queued keys and those in work before it breaks off the rest.
    pub drain_timeout: Duration,
}

impl Default for ControllerOptions {
    /// One worker, as in controller-runtime; 20 s, which leaves a pod a third of its usual 30 s of grace.
    fn default() -> Self {
        Self { workers: 1, retries_max: None, drain_timeout: Duration::from_secs(20) }
    }
}

/// The result of a controller's end.
#[derive(Debug, PartialEq, Eq)]
pub struct Stopped<K> {
    /// The keys that were not reconciled: queued, delayed, added since the shutdown, or broken off.
    pub leftovers: Vec<Leftover<K>>,
    /// The number of keys that were broken off in work.
    pub broken_off: usize,
}

/// Workers for one queue.
#[derive(Debug)]
pub struct Controller<K> {
    queue: WorkQueue<K>,
    options: ControllerOptions,
}

impl<K> Controller<K>
where
    K: Hash + Eq + Clone + Debug + Send + Sync + 'static,
{
    /// A controller whose workers take from `queue`, which it shuts down at its end.
    pub fn new(queue: WorkQueue<K>, options: ControllerOptions) -> Self {
        Self { queue, options }
    }

    /// Reconciles keys until `shutdown` is ready, then the queued keys, for `drain_timeout`. All workers have ended
    /// when this returns. Dropping it breaks everything off.
    ///
    /// No key is reconciled twice at once. `Ok` forgets a key's failures. An error is reported, and the key is added
    /// rate-limited, in its former lane. A panic of `reconcile` counts as an error. An error is any type that `?`
    /// converts to a `Box<dyn Error + Send + Sync>`, such as a text; it is logged with its causes.
    ///
    /// It runs once, because its queue ends with it:
    ///
    /// ```compile_fail,E0382
    /// # use informant_cache::workqueue::{Action, Controller};
    /// # async fn example(controller: Controller<String>) {
    /// let reconcile = |_| async { Ok::<_, String>(Action::await_change()) };
    /// controller.run(reconcile, async {}).await;
    /// controller.run(reconcile, async {}).await;
    /// # }
    /// ```
    pub async fn run<F, R, E>(self, reconcile: F, shutdown: impl Future<Output = ()>) -> Stopped<K>
    where
        F: Fn(K) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let worker = Arc::new(Worker {
            queue: self.queue.clone(),
            reconcile,
            retries_max: self.options.retries_max,
            broken_off: AtomicUsize::new(0),
        });
        let mut workers = JoinSet::new();
        for _ in 0..self.options.workers.max(1) {
            let worker = worker.clone();
            workers.spawn(async move { worker.work().await });
        }
        shutdown.await;
        self.queue.shut_down();
        let all = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(self.options.drain_timeout, all).await.is_err() {
            workers.shutdown().await;
        }
        let broken_off = worker.broken_off.load(Ordering::Acquire);
        if broken_off > 0 {
            let queue = self.queue.name();
            tracing::warn!(queue, broken_off, "shutdown broke off keys that took too long");
        }
        Stopped { leftovers: self.queue.take_leftovers(), broken_off }
    }
}

struct Worker<K, F> {
    queue: WorkQueue<K>,
    reconcile: F,
    retries_max: Option<u32>,
    broken_off: AtomicUsize,
}

impl<K, F, R, E> Worker<K, F>
where
    K: Hash + Eq + Clone + Debug + Send + Sync + 'static,
    F: Fn(K) -> R,
    R: Future<Output = Result<Action, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    async fn work(&self) {
        while let Some(item) = self.queue.get().await {
            let in_hand = InHand { item: Some(item), broken_off: &self.broken_off };
            let key = in_hand.key().clone();
            // The call itself may panic before there is a future.
            let call = AssertUnwindSafe(async { (self.reconcile)(key).await });
            let result = call.catch_unwind().await;
            self.settle(in_hand.finished(), result);
        }
    }

    fn settle(&self, item: Item<K>, result: Result<Result<Action, E>, Box<dyn Any + Send>>) {
        let error = match result {
            Ok(Ok(action)) => {
                self.queue.forget(&item);
                if let Some(after) = action.requeue_after {
                    let options = AddOptions { lane: item.lane(), after, rate_limited: false };
                    self.queue.add_with(item.key().clone(), options);
                }
                return;
            }
            Ok(Err(error)) => with_causes(&*error.into()),
            Err(panic) => format!("panicked: {}", panic_message(&*panic)),
        };
        let (queue, failures) = (self.queue.name(), self.queue.num_requeues(&item));
        if self.retries_max.is_some_and(|max| failures >= max) {
            tracing::error!(queue, key = ?item.key(), error, failures, "key failed too often; given up");
            self.queue.forget(&item);
            return;
        }
        tracing::warn!(queue, key = ?item.key(), error, failures, "key failed; it comes again");
        let lane = item.lane();
        let options = AddOptions { lane, after: Duration::ZERO, rate_limited: true };
        self.queue.add_with(item.key().clone(), options);
    }
}

/// A key whose work may be broken off: then it is added again before it is done, so that it is a leftover.
struct InHand<'a, K: Hash + Eq + Clone> {
    item: Option<Item<K>>,
    broken_off: &'a AtomicUsize,
}

impl<K: Hash + Eq + Clone> InHand<'_, K> {
    fn key(&self) -> &K {
        self.item.as_ref().expect("only `finished` takes it, and consumes this").key()
    }

    fn finished(mut self) -> Item<K> {
        self.item.take().expect("only `finished` takes it, and consumes this")
    }
}

impl<K: Hash + Eq + Clone> Drop for InHand<'_, K> {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.broken_off.fetch_add(1, Ordering::AcqRel);
            let options = AddOptions { lane: item.lane(), ..AddOptions::default() };
            item.queue().add_with(item.key().clone(), options);
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests;
