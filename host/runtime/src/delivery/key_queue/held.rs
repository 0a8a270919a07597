//! Holds failed keys of a plugin that only fails, while other keys are worked on.

use super::{HashedKey, KeyQueue};
use informant_cache::workqueue::{AddOptions, Lane};
use std::time::Instant;

impl KeyQueue {
    /// No failed key is worked on before `from`. With `None`, each key comes at its own time, and the held keys are
    /// due now.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>, now: Instant) {
        self.retries_from = from;
        if from.is_none() {
            self.let_go(now);
        }
    }

    /// Takes the next key of a shard's line. Failed keys before it are held while `retries_from` is in the future.
    pub(super) fn take_unheld(&mut self, shard: usize, now: Instant) -> Option<HashedKey> {
        let holds = self.retries_from.is_some_and(|from| from > now);
        if !holds {
            self.let_go(now);
        }
        loop {
            let (key, _) = self.lines[shard].queue.take(now)?;
            if !(holds && self.failed.contains_key(&key)) {
                return Some(key);
            }
            self.lines[shard].queue.done(&key, now);
            self.held.insert(key);
        }
    }

    /// When the held keys may be worked on. `None` if no key is held.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.retries_from.filter(|_| !self.held.is_empty())
    }

    /// From here on the held keys wait behind other keys.
    fn let_go(&mut self, now: Instant) {
        for key in std::mem::take(&mut self.held) {
            let options = AddOptions { lane: Lane::Background, ..AddOptions::default() };
            self.put(key, options, now);
        }
    }
}
