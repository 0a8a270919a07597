//! Turns of informers' tasks for training a dictionary, which takes a tenth of a second of a processor.
//!
//! A runtime with several threads trains beside its tasks, for one informer at a time: other informers and their
//! handlers wait for none of it. The informer itself waits, so that objects are packed in the same order on each runtime.

use crate::indexer::Indexer;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};

static TURN: Semaphore = Semaphore::const_new(1);

/// The permission to train now.
pub(super) enum TrainingTurn {
    /// On a runtime of one thread, on that thread.
    Here,
    /// On a thread for long work. No other informer trains meanwhile.
    Aside(SemaphorePermit<'static>),
}

impl TrainingTurn {
    /// A turn, if no other informer trains.
    pub(super) fn now() -> Option<Self> {
        if has_one_thread() {
            return Some(Self::Here);
        }
        TURN.try_acquire().ok().map(Self::Aside)
    }

    /// A turn, after those of others.
    pub(super) async fn wait() -> Self {
        if has_one_thread() {
            return Self::Here;
        }
        match TURN.acquire().await {
            Ok(permit) => Self::Aside(permit),
            // It is never closed.
            Err(_) => Self::Here,
        }
    }

    /// Trains the dictionary of this store.
    pub(super) async fn train(self, indexer: &Indexer) {
        match self {
            Self::Here => indexer.train(),
            Self::Aside(_permit) => {
                let indexer = indexer.clone();
                let trained = tokio::task::spawn_blocking(move || indexer.train()).await;
                if let Err(panicked) = trained.map_err(tokio::task::JoinError::try_into_panic)
                    && let Ok(reason) = panicked
                {
                    std::panic::resume_unwind(reason);
                }
            }
        }
    }
}

fn has_one_thread() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_informer_trains_at_a_time_beside_the_threads_of_a_runtime() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        runtime.expect("it starts").block_on(async {
            let turn = TrainingTurn::wait().await;
            assert!(matches!(turn, TrainingTurn::Aside(_)));
            assert!(TrainingTurn::now().is_none());
            turn.train(&Indexer::default()).await;
            assert!(TrainingTurn::now().is_some());
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("it starts").block_on(async {
            let turns = [TrainingTurn::now(), TrainingTurn::now()];
            assert!(turns.iter().all(|turn| matches!(turn, Some(TrainingTurn::Here))));
        });
    }
}
