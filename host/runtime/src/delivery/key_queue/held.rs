//! Keys that have failed, of a plugin that only fails: they are held, while others are worked on.

use super::KeyQueue;
use informant_cache::workqueue::{AddOptions, Lane};
use std::sync::Arc;
use std::time::Instant;

impl KeyQueue {
    /// No key that has failed is worked on before this; none: each comes at its own time, and those that were held are worked on now.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>, now: Instant) {
        self.retries_from = from;
        if from.is_none() {
            self.let_go(now);
        }
    }

    /// The next key of a shard's line. Those before it that have failed are held as long as that is asked for.
    pub(super) fn take_unheld(&mut self, shard: usize, now: Instant) -> Option<Arc<str>> {
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

    /// When those that are held may be worked on; none if none is.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.retries_from.filter(|_| !self.held.is_empty())
    }

    /// Those that were held wait behind others from here on.
    fn let_go(&mut self, now: Instant) {
        for key in std::mem::take(&mut self.held) {
            let options = AddOptions { lane: Lane::Background, ..AddOptions::default() };
            self.put(key, options, now);
        }
    }
}
