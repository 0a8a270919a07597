//! Turns of informers' tasks for training a dictionary, which takes a tenth of a second of a processor.
//!
//! A runtime with several threads trains beside its tasks, for one informer at a time: other informers and their
//! handlers wait for none of it. The informer itself waits, so that objects are packed in the same order on each runtime.

use crate::indexer::Indexer;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinError;

/// The turns of all informers of the process.
pub(super) static TURNS: TrainingTurns = TrainingTurns::new();

/// Gives one turn at a time.
pub(super) struct TrainingTurns(Semaphore);

/// The permission to train now.
pub(super) enum TrainingTurn {
    /// On a runtime of one thread, on that thread.
    Here,
    /// On a thread for long work. No other informer trains meanwhile.
    Aside(SemaphorePermit<'static>),
}

impl TrainingTurns {
    const fn new() -> Self {
        Self(Semaphore::const_new(1))
    }

    /// A turn, if no other informer trains.
    pub(super) fn now(&'static self) -> Option<TrainingTurn> {
        if has_one_thread() {
            return Some(TrainingTurn::Here);
        }
        self.0.try_acquire().ok().map(TrainingTurn::Aside)
    }

    /// A turn, after those of others.
    pub(super) async fn wait(&'static self) -> TrainingTurn {
        if has_one_thread() {
            return TrainingTurn::Here;
        }
        // It is never closed.
        self.0.acquire().await.map_or(TrainingTurn::Here, TrainingTurn::Aside)
    }
}

impl TrainingTurn {
    /// Trains the dictionary of this store. The turn lasts as long, also if the informer ends before.
    pub(super) async fn train(self, indexer: &Indexer) {
        let Self::Aside(permit) = self else { return indexer.train() };
        let indexer = indexer.clone();
        let training = move || {
            indexer.train();
            drop(permit);
        };
        let ended = tokio::task::spawn_blocking(training).await;
        if let Err(Ok(panic)) = ended.map_err(JoinError::try_into_panic) {
            std::panic::resume_unwind(panic);
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
        static TURNS: TrainingTurns = TrainingTurns::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        runtime.expect("it starts").block_on(async {
            let turn = TURNS.wait().await;
            assert!(matches!(turn, TrainingTurn::Aside(_)));
            assert!(TURNS.now().is_none());
            turn.train(&Indexer::default()).await;
            assert!(TURNS.now().is_some());
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("it starts").block_on(async {
            let turns = [TURNS.now(), TURNS.now()];
            assert!(turns.iter().all(|turn| matches!(turn, Some(TrainingTurn::Here))));
        });
    }
}
