//! Routes and what is common to all of them: those of the HTTP API, and those of the listener for probes
//! and metrics.

use super::answers::message;
use super::connections::{self, Bounds};
use super::exposure::{Exposure, is_probe};
use super::heartbeat::{Heartbeat, pulses};
use super::kubernetes_api::{self, KubernetesApi, WATCHES_MAX};
use super::listeners::{Bound, Listeners};
use super::on_demand::{IDLE_CHECK, OnDemand};
use super::open::{self, method_not_allowed};
use super::own_thread;
use super::resources;
use super::scrapes::Scrapes;
use super::why::SecretAccess;
use crate::metrics::{MetricSources, RefusedCounts};
use anyhow::{Context, Result};
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::error;

/// How long the last probes and scrapes may take: each is answered at once.
const PROBES_GRACE: Duration = Duration::from_secs(1);

/// What every request can reach.
pub(crate) struct ServerState {
    pub(super) sources: MetricSources,
    pub(super) on_demand: OnDemand,
    pub(super) kubernetes: KubernetesApi,
    pub(super) heartbeat: Heartbeat,
    /// Where the HTTP API is, which decides what it may show.
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
    router: Router,
    bounds: Bounds,
    refused: Arc<RefusedCounts>,
    shutdown: CancellationToken,
    /// It has ended.
    _ends: DropGuard,
}

impl Server {
    /// Serves on these what is shown of the host, and what this client may read.
    pub(crate) fn new(listeners: Listeners, sources: MetricSources, client: kube::Client) -> Self {
        Self { listeners, sources, client }
    }

    /// Serves the API until `shutdown`. Probes and metrics on their own listener go on until
    /// `probes_end`, and until the API's requests under way have ended. What others than this machine
    /// reach is served on a thread of its own.
    pub(crate) async fn run(self, shutdown: CancellationToken, probes_end: CancellationToken) {
        let Self { listeners: Listeners { api, metrics }, sources, client } = self;
        let exposure = Exposure::of(api.address);
        let is_open = exposure == Exposure::HealthOnly;
        let bounds = if is_open { Bounds::open() } else { Bounds::api().with_watches(WATCHES_MAX) };
        let on_demand = OnDemand::new(client.clone(), sources.informers.clone());
        let shared = Arc::new(ServerState {
            address: api.address,
            exposure,
            on_demand,
            kubernetes: KubernetesApi::new(client, bounds.life_max, shutdown.clone()),
            heartbeat: Heartbeat::default(),
            sources,
            ready: AtomicBool::new(false),
            stopping: shutdown.clone(),
        });
        let (api_ended, rest_ended) = (CancellationToken::new(), CancellationToken::new());
        let (scrapes, counts) = (Scrapes::default(), shared.sources.refused.clone());
        let routes = api_routes(shared.clone(), scrapes.clone());
        let api = Door::new(api, routes, bounds, shutdown, &api_ended, counts.api.clone());
        let metrics = metrics.map(|bound| {
            let bounds = Bounds { stop_grace: PROBES_GRACE, ..Bounds::open() };
            let ended = CancellationToken::new();
            let routes = open_routes(shared.clone(), scrapes.of_another());
            let refused = counts.metrics.clone();
            Door::new(bound, routes, bounds, rest_ended.clone(), &ended, refused)
        });
        let (here, apart) = if is_open { (None, Some(api)) } else { (Some(api), None) };
        let here = async {
            match here {
                Some(door) => door.serve().await,
                None => Ok(()),
            }
        };
        // Requests on this listener are answered by the same runtime that is looked at.
        let is_alone = apart.is_none() && metrics.is_none();
        let apart = serve_apart(apart.into_iter().chain(metrics).collect(), shared.clone());
        let rest = async {
            tokio::join!(api_ended.cancelled(), probes_end.cancelled());
            rest_ended.cancel();
            Ok(())
        };
        let expire = async {
            loop {
                tokio::time::sleep(IDLE_CHECK).await;
                shared.on_demand.expire();
                shared.kubernetes.expire();
            }
        };
        tokio::select! {
            served = async { tokio::try_join!(here, apart, rest) } => if let Err(error) = served {
                error!("the addresses cannot be served: {error:#}");
            },
            () = expire => {}
            () = shared.heartbeat.beat() => {}
            () = shared.heartbeat.look(|| pulses(&shared.sources.informers, &shared.sources.plugins)), if is_alone => {}
        }
    }
}

impl Door {
    fn new(
        bound: Bound,
        router: Router,
        bounds: Bounds,
        shutdown: CancellationToken,
        ended: &CancellationToken,
        refused: Arc<RefusedCounts>,
    ) -> Self {
        let _ends = ended.clone().drop_guard();
        Self { listener: bound.listener, router, bounds, refused, shutdown, _ends }
    }

    /// Serves on the async runtime that this is called on.
    async fn serve(self) -> Result<()> {
        let Self { listener, router, bounds, refused, shutdown, _ends } = self;
        let listener = TcpListener::from_std(listener).context("a listener is not taken over")?;
        connections::serve(listener, router, is_probe, shutdown, bounds, refused).await;
        Ok(())
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

fn api_routes(shared: Arc<ServerState>, scrapes: Scrapes) -> Router {
    let routes = open::routes(scrapes)
        .merge(kubernetes_api::routes())
        .route("/", get(index))
        .route("/plugins", get(plugins))
        .route("/why", get(why))
        .route("/problems", get(problems))
        .route("/deploy", get(resources::deployments))
        .route("/{group}/{version}/{resource}", get(resources::any))
        .route("/{group}/{version}/namespaces/{namespace}/{resource}", get(resources::of_namespace))
        .route("/{group}/{version}/namespaces/{namespace}/{resource}/{name}", get(resources::one))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    routes.layer(middleware::from_fn_with_state(shared.clone(), guard)).with_state(shared)
}

fn open_routes(shared: Arc<ServerState>, scrapes: Scrapes) -> Router {
    let routes = open::routes(scrapes).fallback(not_a_probe);
    routes.layer(middleware::map_response(nosniff)).with_state(shared)
}

/// Refuses what this address may not serve before anything else is looked at.
async fn guard(State(shared): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
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
        "nothing is here; try /plugins, /why, /problems, /metrics, /readyz, /deploy or /core/v1/pods",
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
        "/plugins",
        "/why?kind=pods&namespace=default&name=NAME",
        "/problems",
        "/deploy?labels[k8s-app]=kube-dns",
        "/core/v1/pods",
        "/core/v1/pods?namespace=default&labelSelector=app in (web)&fieldSelector=status.phase=Running",
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

/// Why plugins were called for an object, or were not. Objects are those that this address serves: no Secrets.
async fn why(State(shared): State<Arc<ServerState>>, RawQuery(query): RawQuery) -> Response {
    let MetricSources { plugins, informers, .. } = &shared.sources;
    super::why::respond(plugins, informers, query, SecretAccess::Refused).await
}

async fn problems(State(shared): State<Arc<ServerState>>) -> Json<Value> {
    Json(super::problems::list(&shared.sources.plugins, &shared.sources.configuration))
}
