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

/// The pause after a failed accept, which mostly means that there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a server's connections may take up.
pub(crate) struct Bounds {
    /// Connections at once; more wait to be accepted. Some dozen scrapers and people, each with a browser's six.
    pub(crate) connections_max: usize,
    /// A request's head must be there by then; a connection without requests is closed after it, too.
    pub(crate) head_deadline: Duration,
    /// How long requests under way may take once the server stops; the host has five times as long.
    pub(crate) stop_grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections_max: 256,
            head_deadline: Duration::from_secs(10),
            stop_grace: Duration::from_secs(5),
        }
    }
}

/// Serves until `shutdown`, then lets requests under way end.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
    bounds: Bounds,
) {
    let slots = Arc::new(Semaphore::new(bounds.connections_max));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head_deadline);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(ended) = connections.join_next() => report(ended),
            (stream, slot) = accept(&listener, &slots) => {
                let (http, router, shutdown) = (http.clone(), router.clone(), shutdown.clone());
                connections.spawn(async move {
                    connection(stream, &http, router, shutdown).await;
                    drop(slot);
                });
            }
        }
    }
    drop(listener);
    let ended = tokio::time::timeout(bounds.stop_grace, async {
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
    http: &http1::Builder,
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
    let connection = http.serve_connection(TokioIo::new(stream), service);
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
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    const REQUEST: &str = "GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const HALF_A_REQUEST: &str = "GET /answer HTT";
    const SOON: Duration = Duration::from_millis(50);

    /// A server whose answers wait for nothing, or for its stop.
    struct Bench {
        address: SocketAddr,
        shutdown: CancellationToken,
        /// A request waits for the stop.
        asked: Arc<Notify>,
        server: JoinHandle<()>,
    }

    impl Bench {
        async fn start(bounds: Bounds) -> Self {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
            let address = listener.local_addr().expect("its address");
            let shutdown = CancellationToken::new();
            let asked = Arc::new(Notify::new());
            let (stop, notify) = (shutdown.clone(), asked.clone());
            let at_the_stop = async move || {
                notify.notify_one();
                stop.cancelled().await;
                "answered"
            };
            let router = Router::new()
                .route("/answer", get(async || "answered"))
                .route("/answer-at-the-stop", get(at_the_stop));
            let server = tokio::spawn(serve(listener, router, shutdown.clone(), bounds));
            Self { address, shutdown, asked, server }
        }

        async fn send(&self, request: &str) -> TcpStream {
            let mut client = TcpStream::connect(self.address).await.expect("it listens");
            client.write_all(request.as_bytes()).await.expect("it reads");
            client
        }

        async fn stop(self) {
            self.shutdown.cancel();
            self.server.await.expect("the server ends");
        }
    }

    /// All that comes until the server hangs up; a reset is as good an end as a closed stream.
    async fn read_to_end(mut client: TcpStream) -> String {
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer).await;
        answer
    }

    #[track_caller]
    fn check_answered(answer: &str) {
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("answered"), "{answer}");
    }

    #[tokio::test]
    async fn request_under_way_is_answered_when_the_server_stops() {
        let bench = Bench::start(Bounds::default()).await;
        let slow = bench.send(&REQUEST.replace("/answer", "/answer-at-the-stop")).await;
        bench.asked.notified().await;
        bench.shutdown.cancel();
        check_answered(&read_to_end(slow).await);
        bench.stop().await;
    }

    #[tokio::test]
    async fn half_sent_request_is_cut_off_at_the_stop() {
        let bench = Bench::start(Bounds { stop_grace: SOON, ..Bounds::default() }).await;
        let client = bench.send(HALF_A_REQUEST).await;
        check_answered(&first_answer(&bench).await);
        bench.stop().await;
        assert_eq!(read_to_end(client).await, "");
    }

    #[tokio::test]
    async fn half_sent_request_is_cut_off_at_the_deadline() {
        let bench = Bench::start(Bounds { head_deadline: SOON, ..Bounds::default() }).await;
        let client = bench.send(HALF_A_REQUEST).await;
        assert!(!read_to_end(client).await.contains("answered"));
        bench.stop().await;
    }

    #[tokio::test]
    async fn one_connection_too_many_waits_for_a_place() {
        let bench = Bench::start(Bounds { connections_max: 1, ..Bounds::default() }).await;
        let first = bench.send(HALF_A_REQUEST).await;
        let mut second = bench.send(REQUEST).await;
        let mut byte = [0];
        let early = tokio::time::timeout(SOON, second.read(&mut byte)).await;
        assert!(early.is_err(), "it was answered");
        drop(first);
        assert_eq!(second.read(&mut byte).await.expect("an answer"), 1);
        drop(second);
        bench.stop().await;
    }

    async fn first_answer(bench: &Bench) -> String {
        let mut client = bench.send(REQUEST).await;
        let mut answer = [0; 512];
        let length = client.read(&mut answer).await.expect("an answer");
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }
}
