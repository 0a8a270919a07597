//! Connections and their bounds. It knows nothing of what is served.
//!
//! HTTP/1.1 only: every probe, scraper and browser speaks it on a plain port, and it leaves one place in
//! which a request names its host.

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

/// Connections at once; more wait to be accepted. Some dozen scrapers and people, each with a browser's six.
const CONNECTIONS_MAX: usize = 256;
/// A request's head must be there by then; a connection without requests is closed after it, too.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// How long requests under way may take once the server stops, whose grace is five times as long.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(5);
/// The pause after a failed accept, which mostly means that there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown`, then lets requests under way end, for as long as `grace`.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
    grace: Duration,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(ended) = connections.join_next() => report(ended),
            (stream, slot) = accept(&listener, &slots) => {
                connections.spawn(connection(stream, slot, router.clone(), shutdown.clone()));
            }
        }
    }
    drop(listener);
    let ended = tokio::time::timeout(grace, async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    });
    if ended.await.is_err() {
        let count = connections.len();
        warn!("{count} HTTP connections were cut off: their requests took too long to end");
        connections.shutdown().await;
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        error!("an HTTP connection's task failed: {error}");
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // It is never closed.
    let slot = slots.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            Err(error) => {
                warn!("an HTTP connection could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    _slot: Option<OwnedSemaphorePermit>,
    router: Router,
    shutdown: CancellationToken,
) {
    // Only answers in small pieces would be faster for it; a closed socket shows up below.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(
        tower::ServiceBuilder::new()
            .map_request(|request: http::Request<hyper::body::Incoming>| request.map(Body::new))
            .service(router),
    );
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // Clients come and go as they like; an error here is theirs.
    if let Err(error) = ended {
        debug!(%error, "an HTTP connection broke");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// What a client reads until the server hangs up, having sent `request`; the server is stopped meanwhile.
    async fn stopped_meanwhile(request: &str, grace: Duration) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let shutdown = CancellationToken::new();
        let (asked, mut is_asked) = tokio::sync::mpsc::channel(1);
        let stop = shutdown.clone();
        let slow = async move || {
            asked.send(()).await.expect("the test waits for it");
            stop.cancelled().await;
            "answered"
        };
        let router = Router::new().route("/slow", get(slow));
        let server = tokio::spawn(serve(listener, router, shutdown.clone(), grace));
        let mut client = TcpStream::connect(address).await.expect("it listens");
        client.write_all(request.as_bytes()).await.expect("it reads");
        if request.ends_with("\r\n\r\n") {
            is_asked.recv().await.expect("the request arrives");
        }
        shutdown.cancel();
        let mut answer = String::new();
        // A reset is as good an end as a closed stream.
        let _ = client.read_to_string(&mut answer).await;
        server.await.expect("the server ends");
        answer
    }

    #[tokio::test]
    async fn request_under_way_is_answered_when_the_server_stops() {
        let answer =
            stopped_meanwhile("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n", STOP_GRACE).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("answered"), "{answer}");
    }

    #[tokio::test]
    async fn half_sent_request_does_not_hold_up_the_stop_for_long() {
        // Without a limit to it this would not end before the head's own deadline.
        let stopped = stopped_meanwhile("GET /slow HTT", Duration::from_millis(10));
        let answer = tokio::time::timeout(HEAD_DEADLINE / 2, stopped).await;
        assert_eq!(answer.as_deref(), Ok(""));
    }
}
