//! Pause and resume of a plugin, in all of its shards.

use super::{Actor, Done, Running};
use crate::plugin::lifecycle::Input;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::time::Instant;

/// A pause or resume for all shards.
pub(crate) struct Hold {
    is_pause: bool,
    /// The number of shards that have not handled the command.
    left: AtomicUsize,
    done: Mutex<Option<Done>>,
}

impl Hold {
    /// For so many shards, at least one.
    pub(crate) fn new(is_pause: bool, shards: usize, done: Done) -> Arc<Self> {
        let (left, done) = (AtomicUsize::new(shards), Mutex::new(Some(done)));
        Arc::new(Self { is_pause, left, done })
    }

    /// Counts one more shard. Returns whether it was the last one.
    fn count_shard(&self) -> bool {
        self.left.fetch_sub(1, AcqRel) == 1
    }
}

impl Actor {
    /// Each shard pauses or resumes at its command. The plugin's state changes with its last shard. States are shown
    /// in the order of the requests, because each shard gets the commands in that order.
    pub(super) fn hold(&mut self, hold: &Hold) {
        self.paused = hold.is_pause;
        if !hold.is_pause
            && let Running::Lost { at, failed_starts, .. } = &mut self.running
        {
            (*at, *failed_starts) = (Instant::now(), 0);
        }
        if !hold.count_shard() {
            return;
        }
        let now = Timestamp::now();
        match hold.is_pause {
            true => self.core.apply([Input::Paused], now),
            false => {
                self.core.queue.change(|it| it.forget_failures(Instant::now()));
                self.core.resumed(now);
            }
        }
        if let Some(done) = hold.done.lock().take() {
            done(Ok(()));
        }
    }
}
