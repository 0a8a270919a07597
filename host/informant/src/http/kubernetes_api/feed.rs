//! A watcher's place among the recent changes. A watcher has no buffer: a slow one falls off the end of the log.

use super::WatchPlace;
use super::followed::ChangeFollower;
use super::recent_changes::Place;
use crate::metrics::{OpenWatch, WatchEndReason};
use futures::future::BoxFuture;
use informant_apimachinery::Status;
use informant_apiserver::{Change, ChangeFeed, WatchEnd};
use std::sync::Arc;
use tokio::sync::watch;

pub(super) struct Feed {
    follower: Arc<ChangeFollower>,
    place: Place,
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
        Self { follower, place, woken, counted, _among_all: among_all }
    }

    /// None: the informer has ended.
    async fn changes(&mut self) -> Option<Result<Vec<Change>, Status>> {
        loop {
            self.woken.borrow_and_update();
            match self.follower.take(&mut self.place) {
                Ok(changes) if !changes.is_empty() => return Some(Ok(changes)),
                Ok(_) => {}
                Err(missed) => {
                    self.counted.reason = missed.reason;
                    return Some(Err(missed.status));
                }
            }
            tokio::select! {
                woken = self.woken.changed() => woken.ok()?,
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
