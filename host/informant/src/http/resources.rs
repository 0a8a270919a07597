//! Any resource as JSON from the cache, whose informer is started by the first who asks.
//!
//! The shapes are those of the two small programs this host grew out of: `GET /deploy` answers
//! `{"data": [...]}`, `GET /{group}/{version}/{resource}` answers `{"msg": [...]}`. Both take the same
//! query; the latter's path may have a namespace and a name, as Kubernetes' own paths have.

use super::answers::message;
use super::callers::{Access, Caller, refusal};
use super::pages::Pages;
use super::query::{InPath, Query};
use super::server::ServerState;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use informant_apimachinery::GroupVersionResource;
use informant_cache::ObjectKey;
use std::sync::Arc;

/// `GET /deploy?labels[k8s-app]=kube-dns`
pub(crate) async fn deployments(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Response {
    let gvr = GroupVersionResource::new("apps", "v1", "deployments");
    answer(&shared, &caller, &gvr, InPath::default(), query.as_deref(), "data").await
}

/// The variable parts of a path, unless one of them is no text.
type PathParts<T> = Result<Path<T>, PathRejection>;

/// `GET /{group}/{version}/{resource}`, `core` for the empty group.
pub(crate) async fn any(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    parts: PathParts<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Path((group, version, resource)) = match parts {
        Ok(parts) => parts,
        Err(rejection) => return no_text(&rejection),
    };
    answer_any(&shared, &caller, [&group, &version, &resource], InPath::default(), query.as_deref())
        .await
}

/// `GET /{group}/{version}/namespaces/{namespace}/{resource}`
pub(crate) async fn of_namespace(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    parts: PathParts<(String, String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Path((group, version, namespace, resource)) = match parts {
        Ok(parts) => parts,
        Err(rejection) => return no_text(&rejection),
    };
    let path = InPath { namespace: Some(&namespace), name: None };
    answer_any(&shared, &caller, [&group, &version, &resource], path, query.as_deref()).await
}

/// `GET /{group}/{version}/namespaces/{namespace}/{resource}/{name}`: one object, which must be there.
pub(crate) async fn one(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    parts: PathParts<(String, String, String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Path((group, version, namespace, resource, name)) = match parts {
        Ok(parts) => parts,
        Err(rejection) => return no_text(&rejection),
    };
    let path = InPath { namespace: Some(&namespace), name: Some(&name) };
    answer_any(&shared, &caller, [&group, &version, &resource], path, query.as_deref()).await
}

fn no_text(rejection: &PathRejection) -> Response {
    message(StatusCode::BAD_REQUEST, rejection.body_text())
}

async fn answer_any(
    shared: &ServerState,
    caller: &Caller,
    [group, version, resource]: [&str; 3],
    path: InPath<'_>,
    query: Option<&str>,
) -> Response {
    let text = match group {
        "core" => format!("{version}/{resource}"),
        _ => format!("{group}/{version}/{resource}"),
    };
    match text.parse() {
        Ok(gvr) => answer(shared, caller, &gvr, path, query, "msg").await,
        Err(error) => message(StatusCode::BAD_REQUEST, format!("{error}")),
    }
}

async fn answer(
    shared: &ServerState,
    caller: &Caller,
    gvr: &GroupVersionResource,
    path: InPath<'_>,
    query: Option<&str>,
    member: &'static str,
) -> Response {
    let query = match Query::parse(gvr, path, query) {
        Ok(query) => query,
        Err(problem) => return message(StatusCode::BAD_REQUEST, problem),
    };
    let access = Access::Objects {
        verb: if path.name.is_some() { "get" } else { "list" },
        resource: gvr,
        subresource: None,
        namespace: query.namespace.as_deref(),
        name: path.name,
    };
    if let Err(status) = shared.callers.authorize(caller, access).await {
        return refusal(&status);
    }
    let lease = match shared.on_demand.informer(gvr, query.namespace.as_deref()).await {
        Ok(lease) => lease,
        Err((StatusCode::FORBIDDEN, text)) if query.namespace.is_none() && !gvr.is_secrets() => {
            let hint = "where the host may read some namespaces, add ?namespace=NAME";
            return message(StatusCode::FORBIDDEN, format!("{text}; {hint}"));
        }
        Err((code, text)) => return message(code, text),
    };
    if let (Some(namespace), Some(name)) = (path.namespace, path.name)
        && lease.informer().indexer().get(&ObjectKey::new(namespace, name)).is_none()
    {
        let text = format!("{gvr} {name} is not in the namespace {namespace}");
        return message(StatusCode::NOT_FOUND, text);
    }
    match Pages::of(lease, query, member) {
        Ok(pages) => {
            let body = Body::from_stream(futures::stream::try_unfold(pages, Pages::next));
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err(error) => message(StatusCode::BAD_REQUEST, error.to_string()),
    }
}
