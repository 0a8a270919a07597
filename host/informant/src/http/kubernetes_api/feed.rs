//! A watcher's place among the recent changes. A watcher has no buffer: a slow one falls off the end of the log.

use super::followed::ChangeFollower;
use super::recent_changes::Place;
use futures::future::BoxFuture;
use informant_apimachinery::Status;
use informant_apiserver::{Change, ChangeFeed};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// Changes that a watcher takes at once: so few that a slow watcher holds little beside the log.
const CHANGES_TAKEN_MAX: usize = 64;

pub(super) struct Feed {
    follower: Arc<ChangeFollower>,
    place: Place,
    woken: watch::Receiver<()>,
    /// The place of this watch among all watches.
    _permit: OwnedSemaphorePermit,
}

impl Feed {
    pub(super) fn new(
        follower: Arc<ChangeFollower>,
        place: Place,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let woken = follower.subscribe();
        Self { follower, place, woken, _permit: permit }
    }
}

impl ChangeFeed for Feed {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
        Box::pin(async move {
            loop {
                self.woken.borrow_and_update();
                match self.follower.take(&mut self.place, CHANGES_TAKEN_MAX) {
                    Ok(changes) if !changes.is_empty() => return Some(Ok(changes)),
                    Ok(_) => {}
                    Err(status) => return Some(Err(status)),
                }
                tokio::select! {
                    woken = self.woken.changed() => woken.ok()?,
                    () = self.follower.lease.informer().stopped() => return None,
                }
            }
        })
    }

    fn progress(&self) -> u64 {
        self.follower.progress(&self.place)
    }
}
