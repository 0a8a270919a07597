//! From a GET to its answer.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use informant_apimachinery::Status;
use serde_json::{Value, json};

use crate::negotiation::{self, AGGREGATED_DISCOVERY};
use crate::request::Request;
use crate::response::body_response;
use crate::table::IncludeObject;
use crate::{
    Catalogue, QueryParameters, ResourcePath, Route, ServeOptions, Source, discovery, get,
    json_response, list, openapi, representation, status_response, watch,
};

/// Answers a GET. Errors become a `Status` with its code.
pub async fn serve(
    source: &Arc<dyn Source>,
    route: &Route,
    query: Option<&str>,
    headers: &HeaderMap,
    options: &ServeOptions,
) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let outcome = match route {
        Route::Resource(path) => serve_resource(source, path, query, accept, options).await,
        Route::Health => {
            let body = Body::from("ok");
            Ok(body_response(StatusCode::OK, "text/plain; charset=utf-8", body))
        }
        Route::Version | Route::OpenApiV2 | Route::Unknown => {
            serve_document(&source.catalogue(), route, false)
        }
        route => {
            // With hundreds of custom resources a document has megabytes.
            let (catalogue, route) = (source.catalogue(), route.clone());
            let aggregated = negotiation::wants_aggregated_discovery(accept);
            let make = move || serve_document(&catalogue, &route, aggregated);
            options.pieces.answer(true, make).await.flatten()
        }
    };
    outcome.unwrap_or_else(|status| status_response(&status))
}

async fn serve_resource(
    source: &Arc<dyn Source>,
    path: &ResourcePath,
    query: Option<&str>,
    accept: Option<&str>,
    options: &ServeOptions,
) -> Result<Response, Status> {
    let catalogue = source.catalogue();
    let resource = catalogue.find(&path.gvr).ok_or_else(Status::no_such_resource)?;
    let query = QueryParameters::parse(query);
    let include = match query.text("includeObject") {
        "Object" => IncludeObject::Object,
        "None" => IncludeObject::None,
        _ => IncludeObject::Metadata,
    };
    let representation = negotiation::representation(accept, include).ok_or_else(|| {
        Status::not_acceptable("application/json, application/json;as=Table;v=v1;g=meta.k8s.io")
    })?;
    let resource = Arc::clone(resource);
    let request = Request { resource, path, query, representation, options };
    check_scope(&request)?;
    let watches = is_watch(&request.query);
    match (path.name.as_deref(), path.subresource.as_deref()) {
        (Some(name), None) => get::get(&**source, &request, name).await,
        (Some(name), Some("status")) if request.resource.subresource("status").is_some() => {
            get::get(&**source, &request, name).await
        }
        (Some(_), Some(_)) => Err(Status::no_such_resource()),
        (None, _) if watches => watch::watch(&**source, &request).await,
        (None, _) => list::list(source, &request).await,
    }
}

impl ResourcePath {
    /// The verb of a GET for this path, as [`serve`] answers it: `get`, `list` or `watch`.
    pub fn verb(&self, query: Option<&str>) -> &'static str {
        match (&self.name, is_watch(&QueryParameters::parse(query))) {
            (Some(_), _) => "get",
            (None, true) => "watch",
            (None, false) => "list",
        }
    }
}

fn is_watch(query: &QueryParameters) -> bool {
    query.flag("watch").unwrap_or(false)
}

/// Objects of namespaces are named within one, those of the cluster in none; verbs must be served.
fn check_scope(request: &Request<'_>) -> Result<(), Status> {
    let (resource, path) = (&request.resource, request.path);
    if path.namespace.is_some() && !resource.namespaced {
        return Err(Status::no_such_resource());
    }
    if path.name.is_some() && path.namespace.is_none() && resource.namespaced {
        return Err(Status::no_such_resource());
    }
    let verb = if path.name.is_some() { "get" } else { "list" };
    if path.subresource.is_none() && !resource.has_verb(verb) {
        return Err(Status::method_not_allowed());
    }
    Ok(())
}

fn serve_document(
    catalogue: &Catalogue,
    route: &Route,
    aggregated: bool,
) -> Result<Response, Status> {
    let document = match route {
        Route::CoreVersions | Route::Groups if aggregated => {
            let document = discovery::aggregated(catalogue, *route == Route::CoreVersions);
            let body = Body::from(representation::to_bytes(&document));
            return Ok(body_response(StatusCode::OK, AGGREGATED_DISCOVERY, body));
        }
        Route::CoreVersions => Some(discovery::core_versions(catalogue)),
        Route::Groups => Some(discovery::groups(catalogue)),
        Route::Group(group) => discovery::group(catalogue, group),
        Route::GroupVersion { group, version } => discovery::resources(catalogue, group, version),
        Route::Version => Some(version()),
        Route::OpenApiV2 => Some(openapi::version_2()),
        Route::OpenApiV3Index => Some(openapi::index(catalogue)),
        Route::OpenApiV3 { group, version } => openapi::document(catalogue, group, version),
        Route::Resource(_) | Route::Health | Route::Unknown => None,
    };
    let document = document.ok_or_else(Status::no_such_resource)?;
    Ok(json_response(StatusCode::OK, representation::to_bytes(&document)))
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": openapi::GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}
