//! The network between a client and the replicas: it chooses the replica, refuses requests, and adds faults to the
//! answer's bytes (`bodies.rs`).

use super::bodies::{self, Way, WireBody};
use super::replica::Replica;
use super::{REPLICAS, Server};
use crate::faults::Fault;
use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use http_body_util::Empty;
use informant_apimachinery::{GroupVersionResource, Status, StatusCause, reason};
use informant_apiserver::{QueryParameters, Route, ServeOptions, Source, serve, status_response};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// The connection to a [`Server`], for kube's client. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Wire {
    server: Server,
}

impl Wire {
    pub(crate) fn new(server: Server) -> Self {
        Self { server }
    }
}

impl tower::Service<Request<kube::client::Body>> for Wire {
    type Response = Response<WireBody>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let server = self.server.clone();
        Box::pin(async move { server.answer(request.uri(), request.headers()).await })
    }
}

/// The faults of a request.
struct Fate {
    refusal: Option<Refusal>,
    /// The time before the answer.
    delay: Option<Duration>,
    replica: usize,
    /// Whether the answer has a head and no body.
    is_empty: bool,
    /// The source of the answer's faults.
    random: fastrand::Rng,
}

enum Refusal {
    Connection,
    Status(Status),
}

/// The properties of a request on which faults depend.
struct Asked {
    watch: bool,
    initial: bool,
    continued: bool,
    versioned: bool,
}

impl Asked {
    fn new(uri: &Uri) -> Self {
        let query = QueryParameters::parse(uri.query());
        Self {
            watch: query.flag("watch").unwrap_or(false),
            initial: query.flag("sendInitialEvents").unwrap_or(false),
            continued: !query.text("continue").is_empty(),
            versioned: !matches!(query.text("resourceVersion"), "" | "0"),
        }
    }
}

impl Server {
    async fn answer(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Response<WireBody>, io::Error> {
        let shown = percent_free(uri.query().unwrap_or_default());
        self.shared.journal.note(format_args!("request {}?{shown}", uri.path()));
        let asked = Asked::new(uri);
        let route = Route::parse(uri.path());
        // Further pages follow at once.
        if !asked.continued && self.storms(uri.path()) {
            self.shared.journal.broken("clients wait between their requests", uri.path());
            // Ends the storm, which would otherwise keep the time from passing.
            std::future::pending::<()>().await;
        }
        let lists = matches!(&route, Route::Resource(path) if path.name.is_none() && !asked.watch);
        let list = lists.then(|| self.open_list());
        let fate = self.fate(&route, &asked);
        if let Some(delay) = fate.delay {
            self.shared.faults.meet(Fault::Slow);
            let mut cut = self.shared.cut.listen();
            tokio::select! {
                biased;
                () = cut.sent() => return Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                () = tokio::time::sleep(delay) => {}
            }
        }
        let response = match fate.refusal {
            Some(Refusal::Connection) => {
                self.shared.faults.meet(Fault::ConnectionRefused);
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
            }
            Some(Refusal::Status(status)) => status_response(&status),
            None => {
                let replica: Arc<dyn Source> = Arc::new(Replica::new(self.clone(), fate.replica));
                let bookmark_interval = self.state().temper.bookmarks;
                let options = ServeOptions { bookmark_interval, ..Default::default() };
                serve(&replica, &route, uri.query(), headers, &options).await
            }
        };
        self.note_answer(response.status(), &asked);
        let (parts, body) = response.into_parts();
        let way = Way { server: self.clone(), random: fate.random, list };
        let body = match (parts.status.is_success(), asked.watch) {
            (true, true) if fate.is_empty => bodies::whole(Empty::new()),
            (false, _) => bodies::whole(body),
            (true, true) => bodies::watch(body, way, asked.initial),
            (true, false) => bodies::list(body, way).await,
        };
        Ok(Response::from_parts(parts, body))
    }

    fn storms(&self, path: &str) -> bool {
        self.state().storms(path)
    }

    fn note_answer(&self, code: StatusCode, asked: &Asked) {
        let fault = match code.as_u16() {
            404 if !asked.watch => Fault::Absent,
            410 if asked.continued => Fault::ExpiredToken,
            410 => Fault::ExpiredAtStart,
            429 => Fault::TooManyRequests,
            500 | 503 if asked.continued => Fault::PageError,
            500 => Fault::InternalError,
            503 => Fault::Unavailable,
            504 => Fault::TooLargeVersion,
            _ => {
                self.shared.journal.note(format_args!("answer {}", code.as_u16()));
                return;
            }
        };
        self.shared.faults.meet(fault);
    }

    fn fate(&self, route: &Route, asked: &Asked) -> Fate {
        let mut state = self.state();
        let replica = state.random.usize(..REPLICAS);
        let mut random = state.random.fork();
        let now = Instant::now();
        let (mut refusal, mut is_empty) = (None, false);
        if let Route::Resource(path) = route
            && let Some((fault, until)) = state.closed.get(&path.gvr)
            && now < *until
            && (*fault != Fault::ForbiddenWhole || path.namespace.is_none())
        {
            self.shared.faults.meet(*fault);
            refusal = Some(Refusal::Status(match *fault {
                Fault::Unauthorized => Status::failure(401, reason::UNAUTHORIZED, "Unauthorized"),
                _ => Status::forbidden(&path.gvr, "", "the role was taken away"),
            }));
        } else if let Route::Resource(path) = route
            && asked.watch
            && let Some(fault) = state.withholds(&path.gvr)
        {
            self.shared.faults.meet(fault);
            is_empty = fault == Fault::WatchEndsAtOnce;
            refusal = without_watches(&path.gvr, fault).map(Refusal::Status);
        } else if asked.initial && now < state.no_watch_lists_until {
            self.shared.faults.meet(Fault::NoWatchLists);
            refusal = Some(Refusal::Status(watch_lists_are_off()));
        }
        if now < state.down_until {
            refusal = Some(Refusal::Connection);
        }
        let mut delay = None;
        if refusal.is_none() && random.f64() < state.temper.request_fault {
            if random.f64() < 0.25 {
                delay = Some(Duration::from_millis(random.u64(100..90_000)));
            } else {
                refusal = Some(random_refusal(&mut random, asked));
            }
        }
        Fate { refusal, delay, replica, is_empty, random }
    }
}

/// The refusal of a watch. `None` if the watch ends at once instead.
fn without_watches(gvr: &GroupVersionResource, fault: Fault) -> Option<Status> {
    match fault {
        Fault::WatchEndsAtOnce => None,
        Fault::WatchNotAllowed => Some(Status::failure(405, "MethodNotAllowed", "no watch here")),
        Fault::WatchAbsent => Some(Status::failure(404, "", "404 page not found")),
        Fault::WatchBadGateway => Some(Status::failure(502, "", "bad gateway")),
        _ => Some(Status::forbidden(gvr, "", "the role has no verb watch")),
    }
}

fn random_refusal(random: &mut fastrand::Rng, asked: &Asked) -> Refusal {
    let expired = || Status::expired("The provided continue parameter is too old.");
    Refusal::Status(match random.u32(..7) {
        0 => Status::too_many_requests("slow down", random.u32(1..10)),
        1 => Status::internal_error("etcdserver: leader changed"),
        2 => Status::service_unavailable("the server is starting"),
        3 if asked.continued => expired(),
        3 | 4 if asked.versioned && asked.watch => Status::too_old_resource_version(1, 2),
        4 | 5 if asked.versioned => Status::too_large_resource_version(2, 1),
        5 if asked.continued => expired(),
        _ => return Refusal::Connection,
    })
}

/// The answer of a server without the feature gate WatchList (apimachinery's `ValidateListOptions`).
fn watch_lists_are_off() -> Status {
    let why =
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    let cause = StatusCause::forbidden("sendInitialEvents", why);
    Status::invalid("meta.k8s.io", "ListOptions", "", vec![cause])
}

/// A readable query. Continue tokens are cut, because they are long and say little.
fn percent_free(query: &str) -> String {
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some(("continue", _)) => "continue=..".to_owned(),
        _ => pair.replace("%3D", "=").replace("%2C", ","),
    });
    shown.collect::<Vec<_>>().join("&")
}
