//! A handler and its connection: it is called, or it pulls at its own pace.

use crate::handler::Told;
use informant_cache::{HighWaterMark, Notifications, Registration};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The largest number of handlers of one tenant, including those that handlers add.
pub(crate) const HANDLERS_MAX: usize = 6;

/// One handler.
pub(crate) struct Slot {
    pub(crate) told: Arc<Told>,
    pub(crate) hold: Hold,
    /// The mark at which its queue begins to merge.
    pub(crate) mark: HighWaterMark,
}

/// A handler's connection.
pub(crate) enum Hold {
    Called(Registration),
    /// A task that pulls at its own pace.
    Pulling(JoinHandle<()>),
}

impl Slot {
    /// Removes the handler.
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

    /// What the handler still waits for: its queue, or its own pace. `None` if nothing.
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

/// How a handler gets its notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In the informer's task.
    Inline,
    /// In a task of the informer, through a queue.
    Queued,
    /// The handler pulls from its queue at its own pace.
    Pulled,
}

impl Kind {
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        [Self::Inline, Self::Queued, Self::Pulled][random.usize(..3)]
    }
}

/// Pulls, with pauses: mostly short ones, and sometimes one that lets its queue fill.
pub(crate) async fn pull(
    mut notifications: Notifications,
    told: Arc<Told>,
    mark: HighWaterMark,
    mut random: fastrand::Rng,
) {
    while let Some(notification) = notifications.next().await {
        if told.is_removed() {
            // The task is being aborted, which takes effect only at an await.
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

/// The number of the next handler or controller.
pub(crate) fn next(made: &Mutex<u64>) -> u64 {
    let mut made = made.lock();
    *made += 1;
    *made
}
