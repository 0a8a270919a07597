//! Connections and their bounds, whatever the router serves.
//!
//! HTTP/1.1 only: every probe, scraper and browser speaks it on a plain port, and it leaves one place in
//! which a request names its host.

use super::accept::{ByteStream, Listener, Peered, accept};
use super::answers::busy;
use super::client_certificate::ClientCertificate;
use super::places::{ConnectionPlace, Places, Room, Served};
use super::scrapes::PAGES_MAX;
use super::tls::{Opened, Transport};
use super::unread::{ConnectionPiece, Unread};
use super::write_deadline::WriteDeadline;
use crate::metrics::RefusedCounts;
use axum::Router;
use axum::body::{Body, Bytes};
use futures::TryFutureExt as _;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::{debug, error, warn};

/// Connections that have lost their place, and whose tasks have yet to end: no more are accepted before they have.
const LEAVING_MAX: usize = 64;

/// What a server's connections may take up.
#[derive(Clone)]
pub(crate) struct Bounds {
    /// Connections at once that wait for a request or whose probe is answered; one more takes the place of another.
    pub(crate) waiting_max: usize,
    /// Requests at once that are no probes; one more is answered by 503.
    pub(crate) served_max: usize,
    /// The same of one peer.
    pub(crate) served_of_peer_max: usize,
    /// The last so many are for peers that have none.
    pub(crate) served_of_others: usize,
    /// A request's head must be there by then; a connection without requests is closed after it, too.
    pub(crate) head_deadline: Duration,
    /// Bytes of a request's head, and of the piece of an answer that is put together before it is sent.
    pub(crate) buffer_bytes: usize,
    /// Whether a connection is for more than one request.
    pub(crate) keep_alive: bool,
    /// How long a peer may take no bytes of its answer.
    pub(crate) stall_max: Duration,
    /// After so long a connection takes no more requests, and after as much again it is cut off.
    pub(crate) life_max: Duration,
    /// How long requests under way may take once the server stops; the host has five times as long.
    pub(crate) stop_grace: Duration,
}

impl Bounds {
    /// Of an address that only this machine reaches, where all peers look the same: some dozen people, each with a browser's six connections.
    pub(crate) fn api() -> Self {
        Self {
            waiting_max: 128,
            served_max: 128,
            served_of_peer_max: 128,
            served_of_others: 0,
            head_deadline: Duration::from_secs(10),
            // The longest query with its headers.
            buffer_bytes: 64 * 1024,
            keep_alive: true,
            stall_max: Duration::from_secs(10),
            // The time of a page of a large resource over a slow line.
            life_max: Duration::from_secs(600),
            stop_grace: Duration::from_secs(5),
        }
    }

    /// The same with so many requests more, for those that last: they take no place of others.
    pub(crate) fn with_watches(self, watches_max: usize) -> Self {
        let served_max = self.served_max + watches_max;
        Self { served_max, served_of_peer_max: served_max, ..self }
    }

    /// For an address that everybody reaches, with probes and metrics. A caller that sends its request at once loses its
    /// place only if 128 others come before that request is read.
    pub(crate) fn open() -> Self {
        Self {
            waiting_max: 128,
            // Each takes some 500 KiB, with the system's buffers, and 350 KiB more in gzip.
            served_max: PAGES_MAX,
            // Two Prometheus servers behind one proxy, and one person.
            served_of_peer_max: 4,
            served_of_others: 2,
            head_deadline: Duration::from_secs(2),
            buffer_bytes: 8 * 1024,
            keep_alive: false,
            stall_max: Duration::from_secs(10),
            // Prometheus gives up after 10 s by default.
            life_max: Duration::from_secs(30),
            stop_grace: Duration::from_secs(5),
        }
    }

    /// Of the secure address, whose callers are known once they are asked. The last places are for peers that have none.
    pub(crate) fn secure(watches_max: usize) -> Self {
        let served_max = 128 + watches_max;
        let served_of_others = served_max / 4;
        let served_of_peer_max = served_max / 2;
        Self { served_max, served_of_peer_max, served_of_others, ..Self::api() }
    }

    /// Of the admin socket, which is for one user: people and scripts, each with a request at once.
    pub(crate) fn admin() -> Self {
        Self {
            waiting_max: 32,
            served_max: 32,
            served_of_peer_max: 32,
            served_of_others: 0,
            head_deadline: Duration::from_secs(10),
            buffer_bytes: 64 * 1024,
            keep_alive: true,
            stall_max: Duration::from_secs(10),
            // The time of a watch of `informant get`.
            life_max: Duration::from_secs(600),
            stop_grace: Duration::from_secs(5),
        }
    }

    fn room(&self) -> Room {
        Room {
            waiting_max: self.waiting_max,
            served_max: self.served_max,
            served_of_peer_max: self.served_of_peer_max,
            served_of_others: self.served_of_others,
        }
    }
}

/// What each connection has of its server.
#[derive(Clone)]
struct Common {
    http: http1::Builder,
    router: Router,
    /// Whether a request for this path is answered at once and with some bytes, so that it needs no place.
    is_probe: fn(&str) -> bool,
    transport: Transport,
    shutdown: CancellationToken,
    bounds: Bounds,
    unread: Arc<Unread>,
}

/// Serves until `shutdown`, then lets requests under way end.
pub(crate) async fn serve<L: Listener>(
    listener: L,
    transport: Transport,
    router: Router,
    is_probe: fn(&str) -> bool,
    shutdown: CancellationToken,
    bounds: Bounds,
    refused: Arc<RefusedCounts>,
) {
    let places = Places::new(bounds.room(), refused);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head_deadline);
    http.max_buf_size(bounds.buffer_bytes).keep_alive(bounds.keep_alive);
    let stop_grace = bounds.stop_grace;
    let tasks_max = bounds.waiting_max + bounds.served_max + LEAVING_MAX;
    let common =
        Common { http, router, is_probe, transport, shutdown, bounds, unread: Arc::default() };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = common.shutdown.cancelled() => break,
            Some(ended) = connections.join_next() => report(ended),
            Peered { stream, peer } = accept(&listener), if connections.len() < tasks_max => {
                let place = places.arrive(peer);
                connections.spawn(connection(stream, place, common.clone()));
                // It has its turn before the next one comes: whoever speaks at once loses no place to a flood.
                tokio::task::yield_now().await;
            }
        }
    }
    drop(listener);
    let ended = tokio::time::timeout(stop_grace, async {
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

async fn connection<S: ByteStream>(stream: S, place: Arc<ConnectionPlace>, common: Common) {
    let Common { http, router, is_probe, transport, shutdown, bounds, unread } = common;
    let asked = place.clone();
    let cut_off = CancellationToken::new();
    let piece = Arc::new(ConnectionPiece::new(unread, cut_off.clone()));
    let stream = WriteDeadline::new(stream, bounds.stall_max, piece.clone());
    let answered = async {
        let opened = tokio::select! {
            opened = tokio::time::timeout(bounds.head_deadline, transport.open(stream)) => opened,
            () = shutdown.cancelled() => return Ok(()),
        };
        let Ok(Ok(Opened { stream, client })) = opened else { return Ok(()) };
        let service = service_fn(|request| {
            let answer = answer(request, &asked, client.as_ref(), &router, is_probe);
            answer.map_ok(|(answer, served)| held(answer, served, &piece))
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(bounds.life_max) => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::time::timeout(bounds.life_max, connection).await.unwrap_or(Ok(()))
    };
    let ended = tokio::select! {
        ended = answered => ended,
        () = place.lost() => Ok(()),
        () = cut_off.cancelled() => Ok(()),
    };
    // Clients come and go as they like; an error here is theirs.
    if let Err(error) = ended {
        debug!(%error, "an HTTP connection broke");
    }
}

/// Answers a request, if there is room for it. Without a place it is a probe, or refused.
fn answer(
    mut request: Request<Incoming>,
    place: &Arc<ConnectionPlace>,
    client: Option<&ClientCertificate>,
    router: &Router,
    is_probe: fn(&str) -> bool,
) -> impl Future<Output = Result<(Response<Body>, Option<Served>), Infallible>> + use<> {
    request.extensions_mut().insert(place.peer());
    if let Some(client) = client {
        request.extensions_mut().insert(client.clone());
    }
    let served = match is_probe(request.uri().path()) {
        true => Some(None),
        false => place.serve().map(Some),
    };
    let answer = served.map(|served| (router.clone().oneshot(request.map(Body::new)), served));
    async move {
        Ok(match answer {
            Some((answer, served)) => (answer.await?, served),
            None => (busy("too many requests are being answered; ask again in a second"), None),
        })
    }
}

/// The place is kept until the whole answer is on its way, and each piece counts until the caller has taken it.
fn held(
    answer: Response<Body>,
    served: Option<Served>,
    piece: &Arc<ConnectionPiece>,
) -> Response<Body> {
    let Some(served) = served else { return answer };
    let piece = piece.clone();
    answer.map(|body| Body::new(HeldConnection { body, piece, _served: served }))
}

struct HeldConnection {
    body: Body,
    piece: Arc<ConnectionPiece>,
    _served: Served,
}

impl Drop for HeldConnection {
    fn drop(&mut self) {
        self.piece.is_taken();
    }
}

impl http_body::Body for HeldConnection {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The connection wants more: it has room again.
        self.piece.is_taken();
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.piece.waits(data.len());
        }
        polled
    }

    /// Not while the last piece counts: hyper drops an ended body before it has written that piece.
    fn is_end_stream(&self) -> bool {
        !self.piece.has_piece() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::unread::UNREAD_BYTES_MAX;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    const REQUEST: &str = "GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const PROBE: &str = "GET /probe HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const ENDLESS: &str = "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const LARGE: &str = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const LARGE_ONE: &str = "GET /large-one HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const HALF_A_REQUEST: &str = "GET /answer HTT";
    const SOON: Duration = Duration::from_millis(50);

    /// A server whose answers wait for nothing, wait for its stop, or never end.
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
            let endless = async || {
                let piece = Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 64 * 1024]));
                Body::from_stream(futures::stream::repeat(piece))
            };
            let large = async || {
                let piece = Bytes::from(vec![b'x'; UNREAD_BYTES_MAX / 2]);
                Body::from_stream(futures::stream::repeat(Ok::<_, Infallible>(piece)))
            };
            let large_one = async || Body::from(vec![b'x'; UNREAD_BYTES_MAX / 2]);
            let router = Router::new()
                .route("/answer", get(async || "answered"))
                .route("/large", get(large))
                .route("/large-one", get(large_one))
                .route("/probe", get(async || "answered"))
                .route("/endless", get(endless))
                .route("/answer-at-the-stop", get(at_the_stop));
            let is_probe = |path: &str| path == "/probe";
            let refused = Arc::default();
            let plain = Transport::Plain;
            let serve = serve(listener, plain, router, is_probe, shutdown.clone(), bounds, refused);
            let server = tokio::spawn(serve);
            Self { address, shutdown, asked, server }
        }

        async fn send(&self, request: &str) -> TcpStream {
            let mut client = TcpStream::connect(self.address).await.expect("it listens");
            client.write_all(request.as_bytes()).await.expect("it reads");
            client
        }

        /// Sends the request and waits for the begin of its answer.
        async fn begin(&self, request: &str) -> (TcpStream, String) {
            let mut client = self.send(request).await;
            let mut answer = [0; 512];
            let length = client.read(&mut answer).await.expect("an answer");
            (client, String::from_utf8_lossy(&answer[..length]).into_owned())
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

    #[track_caller]
    fn check_refused(answer: &str) {
        let refused = answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1");
        assert!(refused, "{answer}");
    }

    #[tokio::test]
    async fn request_under_way_is_answered_when_the_server_stops() {
        let bench = Bench::start(Bounds::api()).await;
        let slow = bench.send(&REQUEST.replace("/answer", "/answer-at-the-stop")).await;
        bench.asked.notified().await;
        bench.shutdown.cancel();
        check_answered(&read_to_end(slow).await);
        bench.stop().await;
    }

    #[tokio::test]
    async fn half_sent_request_is_cut_off_at_the_stop() {
        let bench = Bench::start(Bounds { stop_grace: SOON, ..Bounds::api() }).await;
        let client = bench.send(HALF_A_REQUEST).await;
        check_answered(&bench.begin(REQUEST).await.1);
        bench.stop().await;
        assert_eq!(read_to_end(client).await, "");
    }

    #[tokio::test]
    async fn half_sent_request_is_cut_off_at_the_deadline() {
        let bench = Bench::start(Bounds { head_deadline: SOON, ..Bounds::api() }).await;
        let client = bench.send(HALF_A_REQUEST).await;
        assert!(!read_to_end(client).await.contains("answered"));
        bench.stop().await;
    }

    #[tokio::test]
    async fn one_connection_too_many_takes_the_place_of_the_oldest_that_says_nothing() {
        let bench = Bench::start(Bounds { waiting_max: 2, ..Bounds::api() }).await;
        let oldest = bench.send(HALF_A_REQUEST).await;
        let (mut second, answer) = bench.begin(REQUEST).await;
        check_answered(&answer);
        let (_third, answer) = bench.begin(REQUEST).await;
        check_answered(&answer);
        assert_eq!(read_to_end(oldest).await, "");
        second.write_all(REQUEST.as_bytes()).await.expect("it is open");
        assert!(second.read(&mut [0; 512]).await.expect("an answer") > 0);
        drop(second);
        bench.stop().await;
    }

    /// All of them have connected and spoken before the server looks at the first.
    #[tokio::test]
    async fn each_of_a_crowd_that_speaks_at_once_is_heard() {
        let bench = Bench::start(Bounds { waiting_max: 1, ..Bounds::open() }).await;
        let client = || {
            let mut client = std::net::TcpStream::connect(bench.address).expect("it listens");
            std::io::Write::write_all(&mut client, PROBE.as_bytes()).expect("it is open");
            client.set_nonblocking(true).expect("it is open");
            TcpStream::from_std(client).expect("it is open")
        };
        let crowd: Vec<TcpStream> = (0..50).map(|_| client()).collect();
        for client in crowd {
            check_answered(&read_to_end(client).await);
        }
        bench.stop().await;
    }

    #[tokio::test]
    async fn requests_of_one_peer_are_bounded_and_probes_are_none() {
        let bounds = Bounds { served_of_peer_max: 2, stop_grace: SOON, ..Bounds::open() };
        let bench = Bench::start(bounds).await;
        let (first, _) = bench.begin(ENDLESS).await;
        let (_second, _) = bench.begin(ENDLESS).await;
        check_refused(&bench.begin(ENDLESS).await.1);
        check_refused(&bench.begin(REQUEST).await.1);
        check_answered(&bench.begin(PROBE).await.1);
        drop(first);
        // The server hears of it with the next piece that it writes.
        while !bench.begin(REQUEST).await.1.ends_with("answered") {}
        bench.stop().await;
    }

    /// However many take nothing of their answers, others are answered, and then those are gone.
    #[tokio::test]
    async fn whoever_takes_nothing_is_cut_off() {
        let bounds = Bounds { stall_max: SOON, served_of_peer_max: 1, ..Bounds::open() };
        let bench = Bench::start(bounds).await;
        let mut stalled = bench.send(&ENDLESS.repeat(100)).await;
        check_answered(&bench.begin(PROBE).await.1);
        while !bench.begin(REQUEST).await.1.ends_with("answered") {}
        let mut taken = vec![0; 1 << 20];
        while stalled.read(&mut taken).await.is_ok_and(|length| length > 0) {}
        bench.stop().await;
    }

    /// The deadline for callers that take nothing is far away.
    #[tokio::test]
    async fn large_pieces_that_nobody_takes_are_bounded() {
        for request in [LARGE, LARGE_ONE] {
            let bench = Bench::start(Bounds { stop_grace: SOON, ..Bounds::api() }).await;
            let (mut stalled, _) = bench.begin(request).await;
            let (_second, _) = bench.begin(request).await;
            let (_third, answer) = bench.begin(request).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let (mut taken, mut count) = (vec![0; 1 << 20], 0);
            while let Ok(length @ 1..) = stalled.read(&mut taken).await {
                count += length;
            }
            assert!(count < UNREAD_BYTES_MAX / 2, "{request}: {count} bytes came");
            bench.stop().await;
        }
    }

    #[tokio::test]
    async fn what_comes_behind_a_refused_request_is_not_looked_at() {
        let bench = Bench::start(Bounds { served_max: 0, ..Bounds::api() }).await;
        let answers = read_to_end(bench.send(&REQUEST.repeat(3)).await).await;
        assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{answers}");
        check_refused(&answers);
        bench.stop().await;
    }

    #[tokio::test]
    async fn an_answer_that_never_ends_is_cut_off_at_its_time() {
        let bench = Bench::start(Bounds { life_max: SOON, ..Bounds::open() }).await;
        let mut client = bench.send(ENDLESS).await;
        let mut taken = vec![0; 1 << 20];
        while client.read(&mut taken).await.is_ok_and(|length| length > 0) {}
        bench.stop().await;
    }

    #[tokio::test]
    async fn an_open_address_answers_one_request_of_a_connection() {
        let bench = Bench::start(Bounds::open()).await;
        let answers = read_to_end(bench.send(&REQUEST.repeat(3)).await).await;
        assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{answers}");
        check_answered(&answers);
        bench.stop().await;
    }

    #[tokio::test]
    async fn a_request_head_is_bounded() {
        let bench = Bench::start(Bounds::open()).await;
        let with =
            |bytes: usize| format!("GET /answer HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(bytes));
        check_answered(&bench.begin(&with(7 * 1024)).await.1);
        let refused = read_to_end(bench.send(&with(9 * 1024)).await).await;
        assert!(!refused.contains("answered"), "{refused}");
        bench.stop().await;
    }
}
