//! A watcher's place among the recent changes. A watcher has no buffer: a slow one falls off the end of the log.
//!
//! A watcher that has just got the newest change gets the next ones [`GATHER`] later, in one piece. So a change after a
//! pause is not delayed, and a change of many costs each watcher no wake-up and no write of its own.

use super::WatchPlace;
use super::followed::ChangeFollower;
use super::recent_changes::Place;
use crate::metrics::{OpenWatch, WatchEndReason};
use futures::future::BoxFuture;
use informant_apimachinery::Status;
use informant_apiserver::{Change, ChangeFeed, WatchEnd};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The shortest time between two pieces of changes for one watcher.
const GATHER: Duration = Duration::from_millis(10);

pub(super) struct Feed {
    follower: Arc<ChangeFollower>,
    place: Place,
    /// A watcher that has all changes waits for more until then at least.
    next_at: Instant,
    woken: watch::Receiver<()>,
    /// The watch in the metrics.
    counted: OpenWatch,
    _among_all: WatchPlace,
}

impl Feed {
    pub(super) fn new(
        follower: Arc<ChangeFollower>,
        place: Place,
        among_all: WatchPlace,
        counted: OpenWatch,
    ) -> Self {
        let woken = follower.subscribe();
        Self { follower, place, next_at: Instant::now(), woken, counted, _among_all: among_all }
    }

    /// None: the informer has ended.
    async fn changes(&mut self) -> Option<Result<Vec<Change>, Status>> {
        loop {
            self.woken.borrow_and_update();
            match self.follower.take(&mut self.place) {
                Ok(changes) if !changes.is_empty() => {
                    self.next_at = Instant::now() + GATHER;
                    return Some(Ok(changes));
                }
                Ok(_) => {}
                Err(missed) => {
                    self.counted.reason = missed.reason;
                    return Some(Err(missed.status));
                }
            }
            tokio::select! {
                woken = async { sleep_until(self.next_at).await; self.woken.changed().await } => woken.ok()?,
                () = self.follower.lease.informer().stopped() => return None,
            }
        }
    }
}

impl ChangeFeed for Feed {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
        Box::pin(async {
            let changes = self.changes().await;
            if changes.is_none() {
                self.counted.reason = WatchEndReason::InformerEnded;
            }
            changes
        })
    }

    fn progress(&self) -> u64 {
        self.follower.progress(&self.place)
    }

    fn sent(&mut self, changes: usize) {
        self.counted.sent(changes);
    }

    fn end(&mut self, end: WatchEnd) {
        self.counted.reason = match end {
            WatchEnd::TimedOut => WatchEndReason::Timeout,
            WatchEnd::Stopped => WatchEndReason::HostStops,
        };
    }
}
