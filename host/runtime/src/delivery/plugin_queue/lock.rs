//! The lock of a plugin's queue. Its release shows informers whether the actors would refuse events, so that an informer
//! need not take the locks of hundreds of plugins.

use super::{PluginQueue, Shared};
use crate::delivery::mailboxes::{Hands, Refusing};
use crate::delivery::sieve::RefusingBit;
use parking_lot::MutexGuard;
use std::ops::{Deref, DerefMut};

/// The locked content of a queue.
pub(super) struct Locked<'a>(MutexGuard<'a, Shared>);

impl PluginQueue {
    pub(super) fn lock(&self) -> Locked<'_> {
        Locked(self.shared.lock())
    }

    /// This bit shows from here on which events need no place in the queue if their filter refuses them: as
    /// [`PluginQueue::refuse`] decides, but for the handler, which another one may replace. The bit is as of the last
    /// release of the lock.
    pub(crate) fn show_in(&self, bit: RefusingBit) {
        let mut shared = self.lock();
        bit.set(shared.refusing);
        shared.bits.push(bit);
    }

    /// The bit shows from here on that the handler decides.
    pub(crate) fn hide_from(&self, bit: &RefusingBit) {
        let mut shared = self.lock();
        shared.bits.retain(|one| one != bit);
        bit.set(Refusing::Nothing);
    }
}

impl Shared {
    /// The abilities of a shard's actor that waits for events.
    pub(super) fn waiting(&self, shard: usize) -> Option<Hands> {
        let worker = self.workers.get(shard).filter(|worker| worker.hears_events)?;
        worker.waits_with
    }

    /// The events that each shard's actor would refuse if their filter refuses them.
    fn would_refuse(&self) -> Refusing {
        let of = |shard| self.mailboxes.refusing(shard, self.waiting(shard));
        (0..self.mailboxes.shards()).map(of).min().unwrap_or_default()
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let refusing = self.would_refuse();
        // Most releases change nothing, and the informers keep the cache lines.
        if self.refusing != refusing {
            self.refusing = refusing;
            self.bits.iter().for_each(|bit| bit.set(refusing));
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
