//! Work for long answers: beside the threads of an async runtime, which have other work than answers.

use tokio::sync::Semaphore;

/// The one place for such work, of all requests: together they take one core.
static ONE: Semaphore = Semaphore::const_new(1);

/// Does the work on a thread aside, after the work of earlier requests. None: the host ends, or the work panicked.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let place = ONE.acquire().await.ok()?;
    let working = tokio::task::spawn_blocking(move || {
        // The place is that of the work, also after the end of its request.
        let _place = place;
        work()
    });
    working.await.ok()
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
