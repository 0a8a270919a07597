//! Pause and resume of a plugin, in all of its shards.

use super::{Actor, Done, Running};
use crate::plugin::lifecycle::Input;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::time::Instant;

/// What all shards are asked for.
pub(crate) struct Hold {
    is_pause: bool,
    /// Those that have yet to hear of it.
    left: AtomicUsize,
    done: Mutex<Option<Done>>,
}

impl Hold {
    /// For so many shards, of which there is at least one.
    pub(crate) fn new(is_pause: bool, shards: usize, done: Done) -> Arc<Self> {
        let (left, done) = (AtomicUsize::new(shards), Mutex::new(Some(done)));
        Arc::new(Self { is_pause, left, done })
    }

    /// One more has heard of it: whether it is the last.
    fn is_heard_by_all(&self) -> bool {
        self.left.fetch_sub(1, AcqRel) == 1
    }
}

impl Actor {
    /// Each shard stops or goes on when it hears of it. The plugin does once its last shard has: what is shown changes in the order in which it was asked
    /// for, because each hears in that order.
    pub(super) fn hold(&mut self, hold: &Hold) {
        self.paused = hold.is_pause;
        if !hold.is_pause
            && let Running::Lost { at, failed_starts, .. } = &mut self.running
        {
            (*at, *failed_starts) = (Instant::now(), 0);
        }
        if !hold.is_heard_by_all() {
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
