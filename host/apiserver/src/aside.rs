//! Work for long answers: beside the threads of an async runtime, which have other work than answers.

use std::sync::{Arc, LazyLock};
use tokio::sync::Semaphore;

/// The one place for the long answers of all requests: together they take one core.
static ONE: LazyLock<WorkPlace> = LazyLock::new(WorkPlace::default);

/// Does the work on a thread aside, after the work of earlier requests. None: the host ends, or the work panicked.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    ONE.work(work).await
}

/// A place for one piece of work at a time, on a thread aside.
#[derive(Clone)]
pub struct WorkPlace(Arc<Semaphore>);

impl Default for WorkPlace {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl WorkPlace {
    /// Does the work after the earlier work of this place. None: the host ends, or the work panicked.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = self.0.clone().acquire_owned().await.ok()?;
        let working = tokio::task::spawn_blocking(move || {
            // The place is that of the work, also after the end of its request.
            let _place = place;
            work()
        });
        working.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn one_piece_of_work_is_done_at_a_time_and_not_on_the_threads_of_requests() {
        let here = std::thread::current().id();
        let (begun, began) = oneshot::channel();
        let (end, may_end) = std::sync::mpsc::channel::<()>();
        let first = tokio::spawn(aside(move || {
            let _ = begun.send(());
            let _ = may_end.recv();
            std::thread::current().id() == here
        }));
        began.await.expect("the first is worked on");
        let mut second = pin!(aside(|| "second"));
        assert!(poll!(&mut second).is_pending(), "it waits for the first");
        drop(end);
        assert_eq!(first.await.expect("it ends"), Some(false));
        assert_eq!(second.await, Some("second"));
    }
}
