//! A key in a worker's hands. In client-go the worker calls `Done`; here the end of a scope does.

use super::WorkQueue;
use super::lanes::Lane;
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;

/// A key that no other worker works on. Dropping it is [`WorkQueue::done`].
pub struct Item<K: Hash + Eq + Clone> {
    /// `None` once it was given away.
    key: Option<K>,
    lane: Lane,
    queue: WorkQueue<K>,
}

impl<K: Hash + Eq + Clone> Item<K> {
    pub(super) fn new(key: K, lane: Lane, queue: WorkQueue<K>) -> Self {
        Self { key: Some(key), lane, queue }
    }

    /// The key.
    pub fn key(&self) -> &K {
        self.key.as_ref().expect("only `into_key` takes it, and consumes the item")
    }

    /// The lane that it came from; a worker may use it to add the key again.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// The key, on which work goes on: the caller must call [`WorkQueue::done`].
    pub fn into_key(mut self) -> K {
        self.key.take().expect("only `into_key` takes it, and consumes the item")
    }

    pub(super) fn queue(&self) -> &WorkQueue<K> {
        &self.queue
    }

    /// The same as dropping it.
    pub fn done(self) {}
}

impl<K: Hash + Eq + Clone> Deref for Item<K> {
    type Target = K;

    fn deref(&self) -> &K {
        self.key()
    }
}

impl<K: Hash + Eq + Clone + fmt::Debug> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").field("key", &self.key).field("lane", &self.lane).finish()
    }
}

impl<K: Hash + Eq + Clone> Drop for Item<K> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.queue.done(&key);
        }
    }
}
