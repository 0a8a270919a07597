//! Routes and what is common to all of them: those of the HTTP API, and those of the listener for probes
//! and metrics.

use super::connections::{self, Bounds};
use super::exposure::Exposure;
use super::listeners::Listeners;
use super::on_demand::{IDLE_CHECK, OnDemand};
use super::readiness::not_ready;
use super::resources;
use crate::election::Candidate;
use crate::host_configuration::ConfigurationStatus;
use crate::metrics;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use informant_cache::SharedInformerFactory;
use informant_runtime::Plugins;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long the last probes and scrapes may take: each is answered at once.
const PROBES_GRACE: Duration = Duration::from_secs(1);

/// What the server shows.
pub(crate) struct ServerOptions {
    pub(crate) listeners: Listeners,
    pub(crate) plugins: Plugins,
    pub(crate) informers: Arc<SharedInformerFactory>,
    /// None: nobody is elected.
    pub(crate) candidate: Option<Candidate>,
    /// How the host's own configuration file is doing.
    pub(crate) configuration: Arc<ConfigurationStatus>,
    pub(crate) client: kube::Client,
}

/// What every request can reach.
pub(crate) struct Shared {
    pub(crate) plugins: Plugins,
    pub(crate) informers: Arc<SharedInformerFactory>,
    pub(crate) on_demand: OnDemand,
    candidate: Option<Candidate>,
    configuration: Arc<ConfigurationStatus>,
    /// Where the HTTP API is, which decides what it may show.
    address: SocketAddr,
    exposure: Exposure,
    ready: AtomicBool,
    stopping: CancellationToken,
}

/// The server before it runs.
pub(crate) struct Server {
    options: ServerOptions,
}

impl Server {
    pub(crate) fn new(options: ServerOptions) -> Self {
        Self { options }
    }

    /// Serves the API until `shutdown`. Probes and metrics on their own listener go on until
    /// `probes_end`, and until the API's requests under way have ended.
    pub(crate) async fn run(self, shutdown: CancellationToken, probes_end: CancellationToken) {
        let listeners = self.options.listeners;
        let address = listeners.address();
        let shared = Arc::new(Shared {
            address,
            exposure: Exposure::of(address),
            plugins: self.options.plugins,
            on_demand: OnDemand::new(self.options.client, self.options.informers.clone()),
            informers: self.options.informers,
            candidate: self.options.candidate,
            configuration: self.options.configuration,
            ready: AtomicBool::new(false),
            stopping: shutdown.clone(),
        });
        let expire = async {
            loop {
                tokio::time::sleep(IDLE_CHECK).await;
                shared.on_demand.expire();
            }
        };
        let api = api(shared.clone());
        let api = connections::serve(listeners.api.listener, api, shutdown, Bounds::default());
        let rest_ended = CancellationToken::new();
        let rest = async {
            tokio::join!(api, probes_end.cancelled());
            rest_ended.cancel();
        };
        let probes = async {
            let Some(bound) = listeners.metrics else { return };
            let bounds = Bounds { stop_grace: PROBES_GRACE, ..Bounds::default() };
            let probes = probes(shared.clone());
            connections::serve(bound.listener, probes, rest_ended.clone(), bounds).await;
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(rest, probes) } => {}
            () = expire => {}
        }
    }
}

/// What every listener serves: it says nothing of the cluster's content.
fn open_routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(method_not_allowed)
}

fn api(shared: Arc<Shared>) -> Router {
    let routes = open_routes()
        .route("/", get(index))
        .route("/plugins", get(plugins))
        .route("/problems", get(problems))
        .route("/deploy", get(resources::deployments))
        .route("/{group}/{version}/{resource}", get(resources::any))
        .route("/{group}/{version}/namespaces/{namespace}/{resource}", get(resources::of_namespace))
        .route("/{group}/{version}/namespaces/{namespace}/{resource}/{name}", get(resources::one))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    routes.layer(middleware::from_fn_with_state(shared.clone(), guard)).with_state(shared)
}

fn probes(shared: Arc<Shared>) -> Router {
    let routes = open_routes().fallback(not_a_probe);
    routes.layer(middleware::map_response(nosniff)).with_state(shared)
}

/// Refuses what this address may not serve before anything else is looked at.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
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

/// An error in the shape of the resource endpoints.
pub(crate) fn message(code: StatusCode, text: impl Into<String>) -> Response {
    (code, Json(json!({ "msg": text.into() }))).into_response()
}

async fn method_not_allowed() -> Response {
    message(StatusCode::METHOD_NOT_ALLOWED, "everything here is read with GET; nothing is written")
}

async fn not_found() -> Response {
    message(
        StatusCode::NOT_FOUND,
        "nothing is here; try /plugins, /problems, /metrics, /readyz, /deploy or /core/v1/pods",
    )
}

async fn not_a_probe(State(shared): State<Arc<Shared>>) -> Response {
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
        "/problems",
        "/deploy?labels[k8s-app]=kube-dns",
        "/core/v1/pods",
        "/core/v1/pods?namespace=default&labelSelector=app in (web)&fieldSelector=status.phase=Running",
        "/core/v1/namespaces/default/pods",
        "/core/v1/namespaces/default/pods/NAME",
        "/apps/v1/deployments",
    ];
    Json(json!({ "informant": env!("CARGO_PKG_VERSION"), "paths": paths }))
}

async fn plugins(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(super::plugins::list(&shared.plugins, &shared.informers))
}

/// What lies in the plugin directories and cannot be a plugin, which `/plugins` therefore does not list; and what is wrong with the host's own file.
async fn problems(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let problems = shared.configuration.problem().into_iter().chain(shared.plugins.problems());
    let problems =
        problems.map(|(path, text)| json!({ "path": path.display().to_string(), "text": text }));
    Json(problems.collect())
}

/// Ready once nothing is missing and, where one is elected, some host leads. It stays so until the process stops: a plugin added later
/// never makes it unready.
async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    if shared.stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    if shared.ready.load(Ordering::Acquire) {
        return "ok\n".into_response();
    }
    let mut missing = not_ready(&shared.plugins, &shared.informers);
    missing.extend(shared.candidate.as_ref().and_then(|it| it.check_elected().err()));
    if missing.is_empty() {
        shared.ready.store(true, Ordering::Release);
        return "ok\n".into_response();
    }
    let text = format!("not ready\n{}\n", missing.join("\n"));
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let configuration = &shared.configuration;
    let (plugins, informers) = (&shared.plugins, &shared.informers);
    match metrics::render(plugins, informers, shared.candidate.as_ref(), configuration) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => message(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
