//! A handler and how it is kept: called, or pulling in its own time.

use crate::handler::Told;
use informant_cache::{HighWaterMark, Notifications, Registration};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Handlers of one tenant; those that are added from inside others count.
pub(crate) const HANDLERS_MAX: usize = 6;

/// One handler.
pub(crate) struct Slot {
    pub(crate) told: Arc<Told>,
    pub(crate) hold: Hold,
    /// Where its queue begins to merge.
    pub(crate) mark: HighWaterMark,
}

/// How a handler is kept.
pub(crate) enum Hold {
    Called(Registration),
    /// A task that pulls, in its own time.
    Pulling(JoinHandle<()>),
}

impl Slot {
    /// The handler goes.
    pub(crate) fn remove(self) {
        match self.hold {
            Hold::Called(registration) => registration.remove(),
            Hold::Pulling(task) => task.abort(),
        }
        self.told.removed();
    }

    pub(crate) fn has_synced(&self) -> bool {
        match &self.hold {
            Hold::Called(registration) => registration.has_synced(),
            Hold::Pulling(_) => self.told.has_synced(),
        }
    }

    /// What its queue, or its own slowness, still keeps from it.
    pub(crate) fn waits_for(&self) -> Option<String> {
        match &self.hold {
            Hold::Called(registration) => match registration.queue_stats().depth {
                0 => None,
                depth => Some(format!("{depth} wait for handler {}", self.told.number)),
            },
            Hold::Pulling(_) => self.told.lacks(),
        }
    }
}

/// How a handler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In the informer's task.
    Inline,
    /// In a task of the informer's, through a queue.
    Queued,
    /// It pulls from its queue when it likes.
    Pulled,
}

impl Kind {
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        [Self::Inline, Self::Queued, Self::Pulled][random.usize(..3)]
    }
}

/// Pulls, with pauses: short ones, and now and then one that lets its queue fill.
pub(crate) async fn pull(
    mut notifications: Notifications,
    told: Arc<Told>,
    mark: HighWaterMark,
    mut random: fastrand::Rng,
) {
    while let Some(notification) = notifications.next().await {
        if told.is_removed() {
            // It is being aborted, which happens only where it waits.
            return;
        }
        told.check_depth(notifications.registration().queue_stats(), mark);
        told.pulled(&notification);
        let millis = if random.u32(..20) == 0 { 20_000 } else { 50 };
        if random.bool() {
            tokio::time::sleep(Duration::from_millis(random.u64(1..millis))).await;
        }
    }
}

/// Handlers and controllers are numbered as they are made.
pub(crate) fn next(made: &Mutex<u64>) -> u64 {
    let mut made = made.lock();
    *made += 1;
    *made
}
