//! Any resource as JSON from the cache, whose informer starts with the first request.
//!
//! The shapes are those of the two small programs this host grew out of: `GET /deploy` answers
//! `{"data": [...]}`, `GET /{group}/{version}/{resource}` answers `{"msg": [...]}`. Both take the same
//! query; the latter's path may have a namespace and a name, as Kubernetes' own paths have.

use super::answers::message;
use super::callers::{Access, Caller, refusal};
use super::entity_tag;
use super::event_stream::{self, watch_start};
use super::kubernetes_api::start_watch;
use super::pages::Pages;
use super::query::{InPath, Query};
use super::server::ServerState;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use informant_apimachinery::GroupVersionResource;
use informant_apiserver::{Selection, WatchStart};
use informant_cache::ObjectKey;
use std::sync::Arc;

/// `GET /deploy?labels[k8s-app]=kube-dns`
pub(crate) async fn deployments(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    request: Parts,
) -> Response {
    let gvr = GroupVersionResource::new("apps", "v1", "deployments");
    answer(&shared, &caller, &gvr, InPath::default(), &request, "data").await
}

/// The variable parts of a path, unless one of them is no text.
type PathParts<T> = Result<Path<T>, PathRejection>;

/// `GET /{group}/{version}/{resource}`, `core` for the empty group.
pub(crate) async fn any(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    parts: PathParts<(String, String, String)>,
    request: Parts,
) -> Response {
    let Path((group, version, resource)) = match parts {
        Ok(parts) => parts,
        Err(rejection) => return no_text(&rejection),
    };
    answer_any(&shared, &caller, [&group, &version, &resource], InPath::default(), &request).await
}

/// `GET /{group}/{version}/namespaces/{namespace}/{resource}`
pub(crate) async fn of_namespace(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    parts: PathParts<(String, String, String, String)>,
    request: Parts,
) -> Response {
    let Path((group, version, namespace, resource)) = match parts {
        Ok(parts) => parts,
        Err(rejection) => return no_text(&rejection),
    };
    let path = InPath { namespace: Some(&namespace), name: None };
    answer_any(&shared, &caller, [&group, &version, &resource], path, &request).await
}

/// `GET /{group}/{version}/namespaces/{namespace}/{resource}/{name}`: one object, which must be there.
pub(crate) async fn one(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    parts: PathParts<(String, String, String, String, String)>,
    request: Parts,
) -> Response {
    let Path((group, version, namespace, resource, name)) = match parts {
        Ok(parts) => parts,
        Err(rejection) => return no_text(&rejection),
    };
    let path = InPath { namespace: Some(&namespace), name: Some(&name) };
    answer_any(&shared, &caller, [&group, &version, &resource], path, &request).await
}

fn no_text(rejection: &PathRejection) -> Response {
    message(StatusCode::BAD_REQUEST, rejection.body_text())
}

async fn answer_any(
    shared: &Arc<ServerState>,
    caller: &Caller,
    [group, version, resource]: [&str; 3],
    path: InPath<'_>,
    request: &Parts,
) -> Response {
    let text = match group {
        "core" => format!("{version}/{resource}"),
        _ => format!("{group}/{version}/{resource}"),
    };
    match text.parse() {
        Ok(gvr) => answer(shared, caller, &gvr, path, request, "msg").await,
        Err(error) => message(StatusCode::BAD_REQUEST, format!("{error}")),
    }
}

async fn answer(
    shared: &Arc<ServerState>,
    caller: &Caller,
    gvr: &GroupVersionResource,
    path: InPath<'_>,
    request: &Parts,
    member: &'static str,
) -> Response {
    let asked = Query::parse(gvr, path, request.uri.query())
        .and_then(|query| Ok((watch_start(&query, &request.headers)?, query)));
    let (watch, query) = match asked {
        Ok(asked) => asked,
        Err(problem) => return message(StatusCode::BAD_REQUEST, problem),
    };
    let verb = match (watch, path.name) {
        (Some(_), _) => "watch",
        (None, Some(_)) => "get",
        (None, None) => "list",
    };
    let access = Access::Objects {
        verb,
        resource: gvr,
        subresource: None,
        namespace: query.namespace.as_deref(),
        name: path.name,
    };
    if let Err(status) = shared.callers.authorize(caller, access).await {
        return refusal(&status);
    }
    match watch {
        Some(start) => watched(shared, caller, gvr, (query, start)).await,
        None => listed(shared, caller, (gvr, path), (query, request), member).await,
    }
}

async fn watched(
    shared: &Arc<ServerState>,
    caller: &Caller,
    gvr: &GroupVersionResource,
    (query, start): (Query, WatchStart),
) -> Response {
    let Query { namespace, labels, fields, projection, .. } = query;
    let selection = Selection { namespace, labels, fields };
    let watch = start_watch(shared, caller, gvr, (selection.clone(), start)).await;
    event_stream::respond(watch, selection, projection, shared.kubernetes.watch_life())
}

async fn listed(
    shared: &ServerState,
    caller: &Caller,
    (gvr, path): (&GroupVersionResource, InPath<'_>),
    (query, request): (Query, &Parts),
    member: &'static str,
) -> Response {
    let lease = match shared.on_demand.informer(gvr, query.namespace.as_deref(), caller).await {
        Ok(lease) => lease,
        Err((StatusCode::FORBIDDEN, text)) if query.namespace.is_none() && !gvr.is_secrets() => {
            let hint = "where the host may read some namespaces, add ?namespace=NAME";
            return message(StatusCode::FORBIDDEN, format!("{text}; {hint}"));
        }
        Err((code, text)) => return message(code, text),
    };
    let asked = request.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let indexer = lease.informer().indexer();
    let (tag, object) = match (path.namespace, path.name) {
        (Some(namespace), Some(name)) => match indexer.get(&ObjectKey::new(namespace, name)) {
            Some(object) => (entity_tag::of_object(&asked, &object), Some(object)),
            None => {
                let text = format!("{gvr} {name} is not in the namespace {namespace}");
                return message(StatusCode::NOT_FOUND, text);
            }
        },
        _ => (entity_tag::of_list(&asked, indexer.edition()), None),
    };
    if entity_tag::is_known(&request.headers, &tag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    let pages = match object {
        Some(object) => Pages::of_one(object, query, member),
        None => Pages::of(lease, query, member),
    };
    match pages {
        Ok(pages) => {
            let json = HeaderValue::from_static("application/json");
            let body = Body::from_stream(futures::stream::try_unfold(pages, Pages::next));
            ([(header::CONTENT_TYPE, json), (header::ETAG, tag)], body).into_response()
        }
        Err(error) => message(StatusCode::BAD_REQUEST, error.to_string()),
    }
}
