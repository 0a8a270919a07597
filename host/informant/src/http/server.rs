//! Routes and what is common to all of them.

use super::connections::{self, Bounds};
use super::exposure::Exposure;
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
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What the server shows.
pub(crate) struct ServerOptions {
    /// Where it listens, which decides what it may show.
    pub(crate) address: SocketAddr,
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

    /// Serves until `shutdown`, then lets the requests under way end.
    pub(crate) async fn run(self, listener: TcpListener, shutdown: CancellationToken) {
        let shared = Arc::new(Shared {
            exposure: Exposure::of(self.options.address),
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
        let router = router(shared.clone());
        tokio::select! {
            () = connections::serve(listener, router, shutdown, Bounds::default()) => {}
            () = expire => {}
        }
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let routes = Router::new()
        .route("/", get(index))
        .route("/healthz", get(async || "ok\n"))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/plugins", get(plugins))
        .route("/problems", get(problems))
        .route("/deploy", get(resources::deployments))
        .route("/{group}/{version}/{resource}", get(resources::any))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed);
    routes.layer(middleware::from_fn_with_state(shared.clone(), guard)).with_state(shared)
}

/// Refuses what this address may not serve before anything else is looked at.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.exposure.check(request.uri(), request.headers()) {
        Ok(()) => {
            let mut response = next.run(request).await;
            let nosniff = HeaderValue::from_static("nosniff");
            response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
            response
        }
        Err(reason) => message(StatusCode::FORBIDDEN, reason),
    }
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
