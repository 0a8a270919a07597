//! Routes and their common parts: those of the HTTP API, and those of the listener for probes
//! and metrics.

use super::answers::message;
use super::callers::{self, Access, Caller, Callers};
use super::connections::{self, Bounds};
use super::dashboard;
use super::exposure::{Exposure, is_probe};
use super::gzip::{self, Compressor};
use super::heartbeat::{Heartbeat, pulses};
use super::kubernetes_api::{self, KubernetesApi, WATCHES_MAX};
use super::listeners::{Bound, Listeners, SecureBound};
use super::on_demand::{IDLE_CHECK, OnDemand};
use super::open::{self, method_not_allowed};
use super::own_thread;
use super::resources;
use super::scrapes::Scrapes;
use super::tls::{ServerTls, Transport};
use super::why::SecretAccess;
use crate::metrics::{MetricSources, RefusedCounts};
use anyhow::{Context, Result};
use axum::extract::{Extension, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use informant_runtime::WhyQuestion;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::error;

/// How long the last probes and scrapes may take: each is answered at once.
const PROBES_GRACE: Duration = Duration::from_secs(1);

/// What every request can reach.
pub(crate) struct ServerState {
    pub(super) sources: MetricSources,
    pub(super) on_demand: OnDemand,
    pub(super) kubernetes: KubernetesApi,
    pub(super) callers: Callers,
    pub(super) heartbeat: Heartbeat,
    /// The address of the HTTP API, which decides on the content that it may show.
    address: SocketAddr,
    exposure: Exposure,
    pub(super) ready: AtomicBool,
    pub(super) stopping: CancellationToken,
}

/// The server before it runs.
pub(crate) struct Server {
    listeners: Listeners,
    sources: MetricSources,
    client: kube::Client,
}

/// A listener with all that it serves.
struct Door {
    listener: std::net::TcpListener,
    transport: Transport,
    router: Router,
    bounds: Bounds,
    refused: Arc<RefusedCounts>,
    shutdown: CancellationToken,
    /// It has ended.
    _ends: DropGuard,
}

impl Server {
    /// Serves the state of the host, and the objects that this client may read, on these listeners.
    pub(crate) fn new(listeners: Listeners, sources: MetricSources, client: kube::Client) -> Self {
        Self { listeners, sources, client }
    }

    /// Serves the API until `shutdown`. Probes and metrics on their own listener go on until
    /// `probes_end`, and until the API's requests under way have ended. Addresses that other machines
    /// reach are served on threads of their own.
    pub(crate) async fn run(self, shutdown: CancellationToken, probes_end: CancellationToken) {
        let Self { listeners: Listeners { api, metrics, secure }, sources, client } = self;
        let exposure = Exposure::of(api.address);
        let is_open = exposure == Exposure::HealthOnly;
        let bounds = if is_open { Bounds::open() } else { Bounds::api().with_watches(WATCHES_MAX) };
        let on_demand = OnDemand::new(client.clone(), sources.informers.clone());
        let shared = Arc::new(ServerState {
            address: api.address,
            exposure,
            on_demand,
            callers: Callers::new(client.clone(), sources.refused.callers.clone()),
            // No listener with shorter lives serves it.
            kubernetes: KubernetesApi::new(client, Bounds::api().life_max, shutdown.clone()),
            heartbeat: Heartbeat::default(),
            sources,
            ready: AtomicBool::new(false),
            stopping: shutdown.clone(),
        });
        let (api_ended, rest_ended) = (CancellationToken::new(), CancellationToken::new());
        let scrapes = Scrapes::default();
        let metrics = metrics.map(|bound| {
            Door::of_metrics(bound, &shared, scrapes.of_another(), rest_ended.clone())
        });
        let certificate = secure.as_ref().map(|secure| secure.tls.clone());
        let secured = secure.map(|secure| {
            let scrapes = scrapes.of_another();
            Door::secure(secure, &shared, scrapes, shutdown.clone(), &api_ended)
        });
        let api = Door::of_api(api, &shared, scrapes, bounds, shutdown, &api_ended);
        let (here, apart) = if is_open { (None, Some(api)) } else { (Some(api), None) };
        // Without a thread for probes the runtime looks at itself.
        let is_alone = apart.is_none() && metrics.is_none();
        let rest = async {
            tokio::join!(api_ended.cancelled(), probes_end.cancelled());
            rest_ended.cancel();
            Ok(())
        };
        let served = async {
            let apart = serve_apart(apart.into_iter().chain(metrics).collect(), shared.clone());
            tokio::try_join!(serve_here(here), apart, serve_secure(secured), rest)
        };
        tokio::select! {
            served = served => if let Err(error) = served {
                error!("the addresses cannot be served: {error:#}");
            },
            () = shared.expire() => {}
            () = follow(certificate) => {}
            () = shared.heartbeat.beat() => {}
            () = shared.heartbeat.look(|| pulses(&shared.sources.informers, &shared.sources.plugins)), if is_alone => {}
        }
    }
}

impl ServerState {
    /// Gives back the leftovers of requests, for ever.
    async fn expire(&self) {
        loop {
            tokio::time::sleep(IDLE_CHECK).await;
            self.on_demand.expire();
            self.kubernetes.expire();
        }
    }
}

impl Door {
    /// Everything, for processes of this machine.
    fn of_api(
        bound: Bound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        bounds: Bounds,
        shutdown: CancellationToken,
        ended: &CancellationToken,
    ) -> Self {
        let refused = shared.sources.refused.api.clone();
        let router = api_routes(shared.clone(), scrapes);
        let (listener, transport) = (bound.listener, Transport::Plain);
        let _ends = ended.clone().drop_guard();
        Self { listener, transport, router, bounds, refused, shutdown, _ends }
    }

    /// Probes and metrics, for everybody.
    fn of_metrics(
        bound: Bound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        shutdown: CancellationToken,
    ) -> Self {
        let refused = shared.sources.refused.metrics.clone();
        let router = open_routes(shared.clone(), scrapes);
        let bounds = Bounds { stop_grace: PROBES_GRACE, ..Bounds::open() };
        let (listener, transport) = (bound.listener, Transport::Plain);
        let _ends = CancellationToken::new().drop_guard();
        Self { listener, transport, router, bounds, refused, shutdown, _ends }
    }

    /// Everything, for callers with the rights to it. Its requests are answered on this async runtime.
    fn secure(
        secure: SecureBound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        shutdown: CancellationToken,
        ended: &CancellationToken,
    ) -> Self {
        let refused = shared.sources.refused.secure.clone();
        let router = secure_routes(shared.clone(), scrapes, Handle::current());
        let (listener, transport) = (secure.bound.listener, Transport::Tls(secure.tls));
        let _ends = ended.clone().drop_guard();
        let bounds = Bounds::secure(WATCHES_MAX);
        Self { listener, transport, router, bounds, refused, shutdown, _ends }
    }

    /// Serves on the async runtime that this is called on.
    async fn serve(self) -> Result<()> {
        let Self { listener, transport, router, bounds, refused, shutdown, _ends } = self;
        let listener = TcpListener::from_std(listener).context("a listener is not taken over")?;
        connections::serve(listener, transport, router, is_probe, shutdown, bounds, refused).await;
        Ok(())
    }
}

async fn serve_here(door: Option<Door>) -> Result<()> {
    match door {
        Some(door) => door.serve().await,
        None => Ok(()),
    }
}

/// Handshakes and encryption have a thread of their own: each connection costs them, that of a stranger too.
async fn serve_secure(door: Option<Door>) -> Result<()> {
    match door {
        Some(door) => own_thread::run("secure-api", || door.serve()).await.flatten(),
        None => Ok(()),
    }
}

async fn follow(certificate: Option<Arc<ServerTls>>) {
    match certificate {
        Some(certificate) => certificate.follow().await,
        None => std::future::pending().await,
    }
}

/// Serves these on a thread of their own, which also looks whether the host's async runtime is stuck.
async fn serve_apart(doors: Vec<Door>, shared: Arc<ServerState>) -> Result<()> {
    if doors.is_empty() {
        return Ok(());
    }
    let serve = move || async move {
        let served = futures::future::try_join_all(doors.into_iter().map(Door::serve));
        tokio::select! {
            served = served => served.map(drop),
            () = shared.heartbeat.look(|| pulses(&shared.sources.informers, &shared.sources.plugins)) => Ok(()),
        }
    };
    own_thread::run("probes", serve).await.flatten()
}

/// Everything, each request with its caller: the process of this machine.
fn api_routes(shared: Arc<ServerState>, scrapes: Scrapes) -> Router {
    let guarded = middleware::from_fn_with_state(shared.clone(), guard);
    compressed(pages(scrapes).merge(objects()).layer(guarded)).with_state(shared)
}

/// Everything, for the rights of each caller. A layer asks for the right to a page; the handler asks for the right to objects.
fn secure_routes(shared: Arc<ServerState>, scrapes: Scrapes, runtime: Handle) -> Router {
    let right = middleware::from_fn_with_state(shared.clone(), callers::with_right_to_path);
    let routes = pages(scrapes).layer(right).merge(objects());
    let known = middleware::from_fn_with_state(shared.clone(), callers::authenticated);
    let on_runtime = middleware::from_fn_with_state(runtime, own_thread::on_runtime);
    let nosniff = middleware::map_response(nosniff);
    compressed(routes.layer(known).layer(on_runtime).layer(nosniff)).with_state(shared)
}

/// Pages about the host, and the answer to all other paths.
fn pages(scrapes: Scrapes) -> Router<Arc<ServerState>> {
    open::routes(scrapes)
        .route("/", get(index))
        .route("/plugins", get(plugins))
        .route("/informers", get(informers))
        .route("/why", get(why))
        .route("/problems", get(problems))
        .merge(dashboard::routes())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
}

/// Objects of the cache. Each handler asks for its caller's right to them.
fn objects() -> Router<Arc<ServerState>> {
    kubernetes_api::routes()
        .route("/deploy", get(resources::deployments))
        .route("/{group}/{version}/{resource}", get(resources::any))
        .route("/{group}/{version}/namespaces/{namespace}/{resource}", get(resources::of_namespace))
        .route("/{group}/{version}/namespaces/{namespace}/{resource}/{name}", get(resources::one))
        .method_not_allowed_fallback(method_not_allowed)
}

fn open_routes(shared: Arc<ServerState>, scrapes: Scrapes) -> Router {
    let routes = open::routes(scrapes).fallback(not_a_probe);
    compressed(routes.layer(middleware::map_response(nosniff))).with_state(shared)
}

/// The same, with answers in gzip for callers that accept it.
fn compressed(routes: Router<Arc<ServerState>>) -> Router<Arc<ServerState>> {
    routes.layer(middleware::from_fn_with_state(Compressor::default(), gzip::compress))
}

/// Refuses a request that this address may not serve, before all other checks.
async fn guard(
    State(shared): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(Caller::Local);
    match shared.exposure.check(request.uri(), request.headers()) {
        Ok(()) => nosniff(next.run(request).await).await,
        Err(reason) => message(StatusCode::FORBIDDEN, reason),
    }
}

async fn nosniff(mut response: Response) -> Response {
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

async fn not_found() -> Response {
    message(
        StatusCode::NOT_FOUND,
        "nothing is here; try /ui/, /plugins, /informers, /why, /problems, /metrics, /readyz, /deploy or /core/v1/pods",
    )
}

async fn not_a_probe(State(shared): State<Arc<ServerState>>) -> Response {
    let text = format!(
        "only /healthz, /livez, /readyz and /metrics are served on this address; the HTTP API is \
         served on {} (--listen)",
        shared.address
    );
    message(StatusCode::NOT_FOUND, text)
}

async fn index() -> Json<Value> {
    let paths = [
        "/healthz",
        "/livez",
        "/readyz",
        "/metrics",
        "/ui/",
        "/plugins",
        "/informers",
        "/why?kind=pods&namespace=default&name=NAME",
        "/problems",
        "/deploy?labels[k8s-app]=kube-dns",
        "/core/v1/pods",
        "/core/v1/pods?namespace=default&labelSelector=app in (web)&fieldSelector=status.phase=Running",
        "/core/v1/pods?limit=100&fields=metadata.name,status.phase",
        "/core/v1/pods?watch=true",
        "/core/v1/namespaces/default/pods",
        "/core/v1/namespaces/default/pods/NAME",
        "/apps/v1/deployments",
        "/api",
        "/apis",
        "/api/v1/namespaces/default/pods?watch=true",
    ];
    Json(json!({ "informant": env!("CARGO_PKG_VERSION"), "paths": paths }))
}

async fn plugins(State(shared): State<Arc<ServerState>>) -> Response {
    let MetricSources { plugins, informers, .. } = &shared.sources;
    super::plugins::respond(plugins, informers).await
}

async fn informers(State(shared): State<Arc<ServerState>>) -> Response {
    super::informers::respond(&shared.sources.informers).await
}

/// Why plugins were called for an object, or were not. Objects are those that this address serves: no Secrets.
async fn why(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Response {
    let MetricSources { plugins, informers, .. } = &shared.sources;
    let may_read = async |question: &WhyQuestion| {
        let WhyQuestion { resource, key, .. } = question;
        let namespace = Some(key.namespace());
        let name = Some(key.name());
        let access = Access::Objects { verb: "get", resource, subresource: None, namespace, name };
        shared.callers.authorize(&caller, access).await
    };
    super::why::respond(plugins, informers, query, SecretAccess::Refused, may_read).await
}

async fn problems(State(shared): State<Arc<ServerState>>) -> Json<Value> {
    Json(super::problems::list(&shared.sources.plugins, &shared.sources.configuration))
}
