//! The tasks of actions that are under way. An action goes on when its caller leaves.

use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

/// Actions under way at once. The host carries out one after the other, but the loads of several plugins go on together.
pub(super) const UNDER_WAY_MAX: usize = 64;

/// The tasks. Dropping the last clone aborts them.
#[derive(Clone)]
pub(super) struct UnderWay {
    places: Arc<Semaphore>,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

/// The place of one task.
pub(super) struct ActionPlace(OwnedSemaphorePermit);

impl UnderWay {
    pub(super) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(UNDER_WAY_MAX)), tasks: Arc::default() }
    }

    /// None: there are too many.
    pub(super) fn place(&self) -> Option<ActionPlace> {
        self.places.clone().try_acquire_owned().ok().map(ActionPlace)
    }

    pub(super) fn begin(
        &self,
        ActionPlace(place): ActionPlace,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            task.await;
            drop(place);
        });
    }

    /// Waits for the end of those that began.
    pub(super) async fn ended(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        while tasks.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_util::sync::CancellationToken;

    #[tokio::test]
    async fn tasks_have_a_bound_and_are_waited_for() {
        let (under_way, end) = (UnderWay::new(), CancellationToken::new());
        for _ in 0..UNDER_WAY_MAX {
            let place = under_way.place().expect("there is room");
            under_way.begin(place, end.clone().cancelled_owned());
        }
        assert!(under_way.place().is_none());
        end.cancel();
        under_way.ended().await;
        assert!(under_way.place().is_some(), "there is room again");
    }
}
