//! The lock of a plugin's queue. Its release shows informers whether the actors would refuse events, so that an informer
//! need not take the locks of hundreds of plugins.

use super::{PluginQueue, Shared};
use crate::delivery::sieve::RefusingBit;
use parking_lot::MutexGuard;
use std::ops::{Deref, DerefMut};

/// The locked content of a queue.
pub(super) struct Locked<'a>(MutexGuard<'a, Shared>);

impl PluginQueue {
    pub(super) fn lock(&self) -> Locked<'_> {
        Locked(self.shared.lock())
    }

    /// This bit shows from here on whether an event that its filter refuses needs no place in the queue: as
    /// [`PluginQueue::refuse`] decides, but for the handler, which another one may replace. The bit is as of the last
    /// release of the lock.
    pub(crate) fn show_in(&self, bit: RefusingBit) {
        let mut shared = self.lock();
        bit.set(shared.refuses);
        shared.bits.push(bit);
    }

    /// The bit shows from here on that the handler decides.
    pub(crate) fn hide_from(&self, bit: &RefusingBit) {
        let mut shared = self.lock();
        shared.bits.retain(|one| one != bit);
        bit.set(false);
    }
}

impl Shared {
    /// Whether each shard's actor waits and would refuse an event that its filter refuses.
    fn would_refuse(&self) -> bool {
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
        let refuses = self.would_refuse();
        // Most releases change nothing, and the informers keep the cache lines.
        if self.refuses != refuses {
            self.refuses = refuses;
            self.bits.iter().for_each(|bit| bit.set(refuses));
        }
    }
}

impl Deref for Locked<'_> {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Shared {
        &mut self.0
    }
}
