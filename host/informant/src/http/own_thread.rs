//! A thread with an async runtime of its own, for work that goes on whatever other threads do.

use super::exposure::is_probe;
use anyhow::{Context, Result};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// How long work that began aside may take to end. Pages that are being written end with their connections.
const LEFTOVERS_MAX: Duration = Duration::from_secs(1);

/// Runs a future on the new thread to its end. It ends early if this is dropped. A panic there is a panic here.
pub(super) async fn run<T: Send + 'static, F: Future<Output = T>>(
    name: &str,
    make: impl FnOnce() -> F + Send + 'static,
) -> Result<T> {
    let stop = CancellationToken::new();
    let _stops = stop.clone().drop_guard();
    let (ended, end) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("an async runtime cannot start")?;
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = async { make().await } => Some(outcome),
                () = stop.cancelled() => None,
            }
        });
        runtime.shutdown_timeout(LEFTOVERS_MAX);
        // Whoever waited may be gone.
        outcome.map(|outcome| ended.send(outcome))
    });
    let thread = thread.context("a thread cannot start")?;
    let outcome = end.await;
    match thread.join() {
        Ok(_) => outcome.context("a thread ended without an outcome"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Answers requests on another async runtime. The thread that speaks TLS only sends the streams of the answers.
pub(super) async fn on_runtime(
    State(runtime): State<Handle>,
    request: Request,
    next: Next,
) -> Response {
    // Probes say whether that runtime goes on.
    if is_probe(request.uri().path()) {
        return next.run(request).await;
    }
    let answer = AbortOnDropHandle::new(runtime.spawn(next.run(request)));
    answer.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_runs_while_the_thread_that_asked_does_something_else() {
        let (tell, told) = std::sync::mpsc::channel();
        let (answer, answered) = oneshot::channel();
        let running = tokio::spawn(async {
            run("test", || async move {
                answered.await.expect("an answer");
                tell.send(std::thread::current().name().map(str::to_owned)).expect("it listens");
            })
            .await
        });
        tokio::task::yield_now().await;
        answer.send(()).expect("it waits");
        // The only thread of this runtime waits here.
        assert_eq!(told.recv().expect("it runs").as_deref(), Some("test"));
        running.await.expect("no panic").expect("it ran");
    }

    #[tokio::test]
    async fn a_panic_there_is_one_here() {
        let running = tokio::spawn(run("test", || async { panic!("no more seeds") }));
        let error = running.await.expect_err("it panics").to_string();
        assert!(error.contains("no more seeds"), "{error}");
    }

    #[tokio::test]
    async fn it_ends_when_nobody_waits_for_it() {
        let (begun, begins) = oneshot::channel();
        let (held, ends) = oneshot::channel::<()>();
        let running = tokio::spawn(run("test", || async move {
            let _held = held;
            begun.send(()).expect("it waits");
            std::future::pending::<()>().await
        }));
        begins.await.expect("it begins");
        running.abort();
        assert!(ends.await.is_err(), "it was dropped");
    }
}
