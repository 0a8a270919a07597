//! What any address serves: probes and metrics. It says nothing of the cluster's content.
//!
//! A probe is answered from what is there, without waiting for anything.

use super::answers::message;
use super::probe_checks::{Check, page};
use super::readiness::checks;
use super::scrapes::Scrapes;
use super::server::Shared;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages of metrics are those of one listener.
pub(super) fn routes(scrapes: Scrapes) -> Router<Arc<Shared>> {
    let metrics = move |State(shared): State<Arc<Shared>>| async move {
        scrapes.serve(shared.sources.clone())
    };
    Router::new()
        .route("/healthz", get(livez))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(method_not_allowed)
}

pub(super) async fn method_not_allowed() -> Response {
    message(StatusCode::METHOD_NOT_ALLOWED, "everything here is read with GET; nothing is written")
}

/// Alive while the async runtime and the tasks that have work go on. A cluster that is away, or a plugin that fails, says nothing of that.
async fn livez(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let checks = [
        Check::new("runtime", shared.heartbeat.check_runtime()),
        Check::new("tasks", shared.heartbeat.check_tasks()),
    ];
    answer("livez", &checks, query.as_deref())
}

fn answer(probe: &str, checks: &[Check], query: Option<&str>) -> Response {
    match checks.iter().all(Check::passes) {
        true if !is_verbose(query) => "ok\n".into_response(),
        true => page(probe, checks).into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, page(probe, checks)).into_response(),
    }
}

/// Ready once nothing is missing and, where one is elected, some host leads; from then on for as long as something is followed. A plugin added later
/// never makes it unready. A check a line, with `?verbose` or where one fails.
async fn readyz(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    if shared.stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    let sources = &shared.sources;
    let was_ready = shared.ready.load(Ordering::Acquire);
    let mut checks = checks(&sources.plugins, &sources.informers, was_ready);
    if let Some(candidate) = sources.candidate.as_ref().filter(|_| !was_ready) {
        checks.push(Check::new("leader", candidate.check_elected()));
    }
    let is_ready = checks.iter().all(Check::passes);
    shared.ready.fetch_or(is_ready, Ordering::AcqRel);
    answer("readyz", &checks, query.as_deref())
}

/// As a Kubernetes API server takes it: the word, whatever its value.
fn is_verbose(query: Option<&str>) -> bool {
    let mut parts = query.unwrap_or_default().split('&');
    parts.any(|part| part.split('=').next() == Some("verbose"))
}
