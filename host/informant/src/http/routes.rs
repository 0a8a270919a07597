//! Routes and their common parts: those of the HTTP API, and those of the listener for probes
//! and metrics.

use super::actions;
use super::answers::message;
use super::callers::{self, Access, Caller};
use super::dashboard;
use super::dead_letters;
use super::gzip::{self, Compressor};
use super::kubernetes_api;
use super::logs;
use super::open::{self, method_not_allowed};
use super::openapi::{self, CallerSchemes};
use super::operations::{self, ServedOperation};
use super::own_thread;
use super::resources;
use super::scrapes::Scrapes;
use super::secret_access::SecretAccess;
use super::server::ServerState;
use super::why::WhyRights;
use crate::metrics::MetricSources;
use axum::extract::{Extension, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use informant_runtime::{WhyQuestion, namespaces};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Everything, each request with its caller: the process of this machine.
pub(super) fn api_routes(shared: Arc<ServerState>, scrapes: Scrapes, runtime: Handle) -> Router {
    let within = middleware::from_fn_with_state(runtime, own_thread::within);
    let guarded = middleware::from_fn_with_state(shared.clone(), guard);
    // Any user of this machine may be the caller.
    let pages = pages(scrapes, CallerSchemes::Local).layer(Extension(SecretAccess::Refused));
    let routes = pages.merge(objects()).merge(acts());
    compressed(routes.layer(within).layer(guarded)).with_state(shared)
}

/// Everything, for the rights of each caller. A layer asks for the right to a page; the handler asks for the right to objects or to
/// an action.
pub(super) fn secure_routes(
    shared: Arc<ServerState>,
    scrapes: Scrapes,
    schemes: CallerSchemes,
    runtime: Handle,
) -> Router {
    let right = middleware::from_fn_with_state(shared.clone(), callers::with_right_to_path);
    // The right to the path of one plugin's log is the right to all that is in it.
    let pages = pages(scrapes, schemes).layer(Extension(SecretAccess::Served));
    let routes = pages.layer(right).merge(objects()).merge(acts());
    let known = middleware::from_fn_with_state(shared.clone(), callers::authenticated);
    let within = middleware::from_fn_with_state(runtime, own_thread::within);
    let nosniff = middleware::map_response(nosniff);
    compressed(routes.layer(known).layer(within).layer(nosniff)).with_state(shared)
}

/// Pages about the host, and the answer to all other paths.
fn pages(scrapes: Scrapes, schemes: CallerSchemes) -> Router<Arc<ServerState>> {
    let (pages, objects, actions) = (page_table(scrapes), object_table(), actions::table());
    let all = pages.iter().chain(&objects).chain(&actions).map(|served| served.operation);
    let document = Bytes::from(openapi::document(all, schemes).to_string());
    operations::router(pages)
        .layer(Extension(Document(document)))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
}

/// Objects of the cache. Each handler asks for its caller's right to them.
fn objects() -> Router<Arc<ServerState>> {
    operations::router(object_table()).method_not_allowed_fallback(method_not_allowed)
}

/// Actions on plugins. Each handler asks for its caller's right to them.
fn acts() -> Router<Arc<ServerState>> {
    operations::router(actions::table()).method_not_allowed_fallback(method_not_allowed)
}

pub(super) fn page_table(scrapes: Scrapes) -> Vec<ServedOperation> {
    let mut table = open::table(scrapes);
    table.extend([
        operations::INDEX.by(get(index)),
        operations::DOCUMENT.by(get(openapi_document)),
        operations::PLUGINS.by(get(plugins)),
        logs::operation(),
        dead_letters::operation(),
        operations::INFORMERS.by(get(informers)),
        operations::WHY.by(get(why)),
        operations::PROBLEMS.by(get(problems)),
    ]);
    table.extend(dashboard::table());
    table
}

pub(super) fn object_table() -> Vec<ServedOperation> {
    let mut table = kubernetes_api::table();
    table.extend([
        operations::DEPLOY.by(get(resources::deployments)),
        operations::RESOURCE.by(get(resources::any)),
        operations::IN_NAMESPACE.by(get(resources::of_namespace)),
        operations::ONE.by(get(resources::one)),
    ]);
    table
}

/// What the commands of the host's user read over the admin socket, beside the socket's own paths.
pub(super) fn command_routes(shared: Arc<ServerState>) -> Router {
    let mut table = kubernetes_api::table();
    table.extend([operations::INFORMERS.by(get(informers)), logs::operation()]);
    let routes = operations::router(table).layer(Extension(SecretAccess::Served));
    routes.layer(Extension(Caller::Local)).with_state(shared)
}

pub(super) fn open_routes(shared: Arc<ServerState>, scrapes: Scrapes) -> Router {
    let routes = operations::router(open::table(scrapes)).fallback(not_a_probe);
    let routes = routes.method_not_allowed_fallback(method_not_allowed);
    compressed(routes.layer(middleware::map_response(nosniff))).with_state(shared)
}

/// These routes, with answers in gzip for callers that accept it.
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
        "nothing is here; try /ui/, /openapi.json, /plugins, /informers, /why, /problems, /metrics, /readyz, /deploy or /core/v1/pods",
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
        "/plugins/NAME/logs",
        "/plugins/NAME/dead-letters",
        "/plugins/NAME/actions",
        "/informers",
        "/why?kind=pods&namespace=default&name=NAME",
        "/problems",
        "/openapi.json",
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

/// The description of the API, as the address has it.
#[derive(Clone)]
struct Document(Bytes);

async fn openapi_document(Extension(Document(json)): Extension<Document>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], json)
}

async fn plugins(State(shared): State<Arc<ServerState>>) -> Response {
    let MetricSources { plugins, informers, .. } = &shared.sources;
    super::plugins::respond(plugins, informers)
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
    let rights = async |question: &WhyQuestion| {
        let WhyQuestion { resource, key, .. } = question;
        let to = |verb, name| {
            let namespace = Some(key.namespace());
            Access::Objects { verb, resource, subresource: None, namespace, name }
        };
        shared.callers.authorize(&caller, to("get", Some(key.name()))).await?;
        let lists = shared.callers.denied(&caller, to("list", None)).await?;
        let of_plugins = shared.callers.denied(&caller, Access::Path("/plugins")).await?;
        let name = Some(key.namespace()).filter(|name| !name.is_empty());
        let (verb, resource, subresource) = ("get", &namespaces(), None);
        let namespace = Access::Objects { verb, resource, subresource, namespace: None, name };
        let of_namespace = shared.callers.denied(&caller, namespace).await?;
        Ok(WhyRights {
            names_others: lists.is_none(),
            has_writes: of_plugins.is_none(),
            shows_namespace: of_namespace.is_none(),
        })
    };
    let turn = async || shared.on_demand.turn().await;
    super::why::respond(plugins, informers, query, SecretAccess::Refused, rights, turn).await
}

async fn problems(State(shared): State<Arc<ServerState>>) -> Json<Value> {
    Json(super::problems::list(&shared.sources.plugins, &shared.sources.configuration))
}
