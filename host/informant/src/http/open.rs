//! What any address serves: probes and metrics. It says nothing of the cluster's content.
//!
//! A probe is answered from what is there, without waiting for anything.

use super::answers::message;
use super::readiness::not_ready;
use super::scrapes::Scrapes;
use super::server::Shared;
use axum::Router;
use axum::extract::State;
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

async fn livez(State(shared): State<Arc<Shared>>) -> Response {
    match shared.heartbeat.check() {
        Ok(()) => "ok\n".into_response(),
        Err(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem + "\n").into_response(),
    }
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
    let mut missing = not_ready(&shared.sources.plugins, &shared.sources.informers);
    missing.extend(shared.sources.candidate.as_ref().and_then(|it| it.check_elected().err()));
    if missing.is_empty() {
        shared.ready.store(true, Ordering::Release);
        return "ok\n".into_response();
    }
    let text = format!("not ready\n{}\n", missing.join("\n"));
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}
