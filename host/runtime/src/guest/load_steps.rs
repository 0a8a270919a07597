//! The steps of a load off the async threads, one after the other for all plugins: reading configurations, checking
//! files, taking over code. Compiling is not among them: it takes longer and has its own turns (`guest/compiler.rs`).
//!
//! A directory of many plugins is loaded at once. If all steps began at once, the runtime would start a thread for
//! each. Each thread would allocate long-lived data from its own pages, which no other thread fills. A hundred plugins
//! would then keep twice the memory.

use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::{JoinError, spawn_blocking};

/// The turn of the steps. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LoadSteps(Arc<Mutex<()>>);

impl LoadSteps {
    /// Runs a step at its turn, in the order of the callers. A step whose caller is gone still ends before the next
    /// one begins.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let turn = self.0.clone().lock_owned().await;
        let done = spawn_blocking(move || (step(), turn));
        // The turn ends here and not with the step: then the thread is free for the next step.
        done.await.map(|(done, _turn)| done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn steps_have_few_threads_however_many_loads_there_are() {
        let (steps, under_way) = (LoadSteps::default(), Arc::new(AtomicUsize::new(0)));
        let loads = (0..200).map(|_| {
            let (steps, under_way) = (steps.clone(), under_way.clone());
            tokio::spawn(async move {
                let step = move || {
                    let others = under_way.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    under_way.fetch_sub(1, Ordering::SeqCst);
                    (others, std::thread::current().id())
                };
                steps.run(step).await.expect("it does not panic")
            })
        });
        let done = join_all(loads).await;
        let done: Vec<_> = done.into_iter().map(|done| done.expect("it was done")).collect();
        assert!(done.iter().all(|(others, _)| *others == 0), "one step at a time");
        let threads: HashSet<_> = done.iter().map(|(_, thread)| *thread).collect();
        assert!(threads.len() <= 8, "{} threads for 200 steps", threads.len());
    }

    #[tokio::test]
    async fn a_step_that_panics_holds_nobody_up() {
        let steps = LoadSteps::default();
        let panics = steps.run::<()>(|| panic!("on purpose")).await;
        assert!(panics.is_err_and(|error| error.is_panic()));
        assert_eq!(steps.run(|| 7).await.ok(), Some(7));
    }

    #[tokio::test]
    async fn a_step_that_is_waited_for_no_more_ends_before_the_next_begins() {
        let steps = LoadSteps::default();
        let (go, may_go) = std::sync::mpsc::channel::<()>();
        let (began, has_begun) = tokio::sync::oneshot::channel();
        let first = tokio::spawn({
            let steps = steps.clone();
            async move {
                let step = move || {
                    let _ = began.send(());
                    may_go.recv().is_ok()
                };
                steps.run(step).await
            }
        });
        has_begun.await.expect("it begins");
        first.abort();
        assert!(first.await.is_err_and(|error| error.is_cancelled()));
        let mut second = Box::pin(steps.run(|| ()));
        assert!(futures::poll!(&mut second).is_pending(), "the first one has not ended");
        go.send(()).expect("it waits for that");
        second.await.expect("its turn has come");
    }
}
