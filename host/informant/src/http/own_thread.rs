//! A thread with an async runtime of its own, for work that goes on whatever other threads do.

use anyhow::{Context, Result};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How long work that began aside may take to end. Pages that are being written end with their connections.
const LEFTOVERS_MAX: Duration = Duration::from_secs(1);

/// Runs a future on the new thread to its end. It ends early if this is dropped. A panic there is a panic here.
pub(crate) async fn run<T: Send + 'static, F: Future<Output = T>>(
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

/// Answers requests on the thread that reads them, within another async runtime. Tasks and connections that an answer begins are
/// that runtime's, and outlive this one. The runtime's own threads do nothing for a request, however many come.
pub(crate) async fn within(
    State(runtime): State<Handle>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = pin!(next.run(request));
    poll_fn(|context| {
        let _entered = runtime.enter();
        answer.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use futures::{StreamExt as _, stream};
    use std::convert::Infallible;
    use tower::ServiceExt as _;

    fn thread_name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

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

    #[tokio::test]
    async fn an_answer_is_made_here_and_what_it_begins_goes_on_there() {
        let there = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("there")
            .build()
            .expect("a runtime");
        let answer = async || {
            let task = tokio::spawn(async { thread_name() }).await.expect("it ends well");
            tokio::task::yield_now().await;
            let head = format!("{}, {task}, ", thread_name());
            let pieces = stream::iter([head]).chain(stream::once(async { thread_name() }));
            Body::from_stream(pieces.map(Ok::<_, Infallible>))
        };
        let layer = from_fn_with_state(there.handle().clone(), within);
        let router = Router::new().route("/", get(answer)).layer(layer);
        let answered = run("here", || async {
            let answer = router.oneshot(Request::new(Body::empty())).await.expect("an answer");
            to_bytes(answer.into_body(), 100).await.expect("a text")
        });
        assert_eq!(answered.await.expect("it ran"), "here, there, here");
        there.shutdown_background();
    }
}
