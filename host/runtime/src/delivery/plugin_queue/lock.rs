//! The lock of a plugin's queue. Its release shows informers whether the actors would refuse events, so that an informer
//! need not take the locks of hundreds of plugins.

use super::{PluginQueue, Shared};
use parking_lot::MutexGuard;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The locked content of a queue.
pub(super) struct Locked<'a> {
    shared: MutexGuard<'a, Shared>,
    refuses: &'a AtomicBool,
}

impl PluginQueue {
    pub(super) fn lock(&self) -> Locked<'_> {
        Locked { shared: self.shared.lock(), refuses: &self.refuses }
    }

    /// Whether an event that its filter refuses needs no place in the queue now: as [`PluginQueue::refuse`] decides, but
    /// for the handler, which another one may replace. The event is refused as of the last release of the lock.
    pub(crate) fn refuses(&self) -> bool {
        self.refuses.load(Acquire)
    }
}

impl Shared {
    /// Whether each shard's actor waits and would refuse an event that its filter refuses.
    fn refuses(&self) -> bool {
        let hands = |shard: usize| {
            let worker = self.workers.get(shard).filter(|worker| worker.hears_events)?;
            worker.waits_with
        };
        let refuses = |shard: usize| {
            hands(shard).is_some_and(|hands| self.mailboxes.would_refuse(shard, hands))
        };
        (0..self.mailboxes.shards()).all(refuses)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let refuses = self.shared.refuses();
        // Most releases change nothing, and the informers keep the cache line.
        if self.refuses.load(Relaxed) != refuses {
            self.refuses.store(refuses, Release);
        }
    }
}

impl Deref for Locked<'_> {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Shared {
        &mut self.shared
    }
}
