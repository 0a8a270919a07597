//! Any resource as JSON from the cache, whose informer is started by the first who asks.
//!
//! The shapes are those of the two small programs this host grew out of: `GET /deploy` answers
//! `{"data": [...]}`, `GET /{group}/{version}/{resource}` answers `{"msg": [...]}`.

use super::pages::Pages;
use super::query;
use super::server::{Shared, message};
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use informant_apimachinery::GroupVersionResource;
use std::sync::Arc;

/// `GET /deploy?labels[k8s-app]=kube-dns`
pub(crate) async fn deployments(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Response {
    let gvr = GroupVersionResource::new("apps", "v1", "deployments");
    answer(&shared, &gvr, query.as_deref(), "data").await
}

/// `GET /{group}/{version}/{resource}`, `core` for the empty group.
pub(crate) async fn any(
    State(shared): State<Arc<Shared>>,
    Path((group, version, resource)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let text = match group.as_str() {
        "core" => format!("{version}/{resource}"),
        _ => format!("{group}/{version}/{resource}"),
    };
    match text.parse() {
        Ok(gvr) => answer(&shared, &gvr, query.as_deref(), "msg").await,
        Err(error) => message(StatusCode::BAD_REQUEST, format!("{error}")),
    }
}

async fn answer(
    shared: &Shared,
    gvr: &GroupVersionResource,
    query: Option<&str>,
    member: &'static str,
) -> Response {
    let selector = match query::selector(query) {
        Ok(selector) => selector,
        Err(problem) => return message(StatusCode::BAD_REQUEST, problem),
    };
    match shared.on_demand.informer(gvr).await {
        Ok(lease) => {
            let pages = Pages::of(lease, selector, member);
            let body = Body::from_stream(futures::stream::unfold(pages, Pages::next));
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err((code, text)) => message(code, text),
    }
}
