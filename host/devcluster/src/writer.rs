//! The write verbs over HTTP: create, update, patch, delete, deletecollection, and the subresources that can be
//! written.

use axum::body::{Body, to_bytes};
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, StatusCode};
use informant_apimachinery::{Status, StatusCause, StatusDetails};
use informant_apiserver::{
    ApiObject, ListOptions, QueryParameters, ResourceInfo, ResourcePath, Selection, check_fields,
    json_response, status_response,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::Cluster;
use crate::body;
use crate::conformance;
use crate::faults::Faults;
use crate::patch::Patch;
use crate::reviews;
use crate::store::{DeleteOptions, Deleted, Target, WriteOptions};

/// The largest body that is read: the default of a real server (twice `--max-request-bytes` of etcd).
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// One write, with its resource.
struct Write<'a> {
    cluster: &'a Cluster,
    faults: &'a Faults,
    resource: Arc<ResourceInfo>,
    path: &'a ResourcePath,
    query: QueryParameters,
    content_type: String,
    body: Bytes,
    options: WriteOptions,
}

/// Answers a request with any verb except GET.
pub async fn write(
    (cluster, faults): (&Cluster, &Faults),
    path: &ResourcePath,
    parts: &Parts,
    body: Body,
) -> Response {
    let outcome = respond((cluster, faults), path, parts, body).await;
    outcome.unwrap_or_else(|status| status_response(&status))
}

async fn respond(
    (cluster, faults): (&Cluster, &Faults),
    path: &ResourcePath,
    parts: &Parts,
    body: Body,
) -> Result<Response, Status> {
    let resource = cluster.resource(&path.gvr)?;
    check_scope(&resource, path)?;
    let body = to_bytes(body, BODY_BYTES_MAX)
        .await
        .map_err(|_| Status::request_entity_too_large(BODY_BYTES_MAX))?;
    let query = QueryParameters::parse(parts.uri.query());
    let dry_run = match query.text("dryRun") {
        "" => false,
        "All" => true,
        other => {
            let message =
                format!("dryRun: Unsupported value: {other:?}: supported values: \"All\"");
            return Err(Status::bad_request(message));
        }
    };
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let write = Write {
        cluster,
        faults,
        resource,
        path,
        query,
        content_type: content_type.unwrap_or("application/json").to_owned(),
        body,
        options: WriteOptions { now: Timestamp::now(), dry_run },
    };
    let verb = (&parts.method, path.name.as_deref(), path.subresource.as_deref());
    match verb {
        (&Method::POST, None, None) => write.create(),
        (&Method::POST, Some(name), Some("eviction")) => write.evict(name),
        (&Method::POST, Some(name), Some("binding")) => write.bind(name),
        (&Method::PUT, Some(name), Some("scale")) => write.scale(name),
        (&Method::PATCH, Some(name), Some("scale")) => write.scale(name),
        (&Method::PUT, Some(name), Some("finalize")) => write.update(name, None),
        (&Method::PUT, Some(name), subresource) => write.update(name, subresource),
        (&Method::PATCH, Some(name), subresource) => write.patch(name, subresource),
        (&Method::DELETE, Some(name), None) => write.delete(name),
        (&Method::DELETE, None, None) => write.delete_collection(),
        _ => Err(Status::method_not_allowed()),
    }
}

fn check_scope(resource: &ResourceInfo, path: &ResourcePath) -> Result<(), Status> {
    let named_or_made = path.name.is_some() || path.namespace.is_some();
    if path.namespace.is_some() != resource.namespaced && (named_or_made || resource.namespaced) {
        return Err(if path.name.is_some() || path.namespace.is_some() {
            Status::no_such_resource()
        } else {
            Status::method_not_allowed()
        });
    }
    match path.subresource.as_deref() {
        Some(name) if resource.subresource(name).is_none() => Err(Status::no_such_resource()),
        _ => Ok(()),
    }
}

impl Write<'_> {
    fn json(&self) -> Result<Value, Status> {
        body::object(&self.content_type, &self.body)
    }

    /// An object of the request's resource, with its type.
    fn typed(&self) -> Result<Value, Status> {
        let mut object = self.json()?;
        for (key, value) in
            [("apiVersion", self.resource.gvr.api_version()), ("kind", self.resource.kind.clone())]
        {
            if object[key].as_str().is_none_or(str::is_empty) {
                object[key] = value.into();
            }
        }
        if !self.resource.custom {
            conformance::conform(&mut object, self.query.text("fieldValidation") == "Strict")?;
        }
        Ok(object)
    }

    fn namespace(&self) -> Option<&str> {
        self.path.namespace.as_deref()
    }

    fn target<'t>(&'t self, name: &'t str, subresource: Option<&'t str>) -> Target<'t> {
        Target { resource: &self.resource, namespace: self.namespace(), name, subresource }
    }

    fn create(&self) -> Result<Response, Status> {
        let mut object = self.typed()?;
        if !self.resource.has_verb("list") {
            object["kind"] = self.resource.kind.clone().into();
            object["apiVersion"] = self.resource.gvr.api_version().into();
            let answer = reviews::answer(&self.resource.kind, object, self.faults);
            let answer = answer.ok_or_else(Status::method_not_allowed)?;
            return Ok(json_response(StatusCode::CREATED, answer.to_string()));
        }
        let created = self
            .cluster
            .write(|store| store.create(&self.resource, self.namespace(), object, self.options))?;
        Ok(self.object(StatusCode::CREATED, &created))
    }

    fn update(&self, name: &str, subresource: Option<&str>) -> Result<Response, Status> {
        let object = self.typed()?;
        let target = self.target(name, subresource);
        let updated = self.cluster.write(|store| store.update(&target, object, self.options))?;
        Ok(self.object(StatusCode::OK, &updated))
    }

    fn patch(&self, name: &str, subresource: Option<&str>) -> Result<Response, Status> {
        let target = self.target(name, subresource);
        let patch = match Patch::parse(&self.content_type, &self.body) {
            Ok(patch) => patch,
            // A real server looks for the object before it parses the patch.
            Err(status) if status.code == 400 => {
                self.cluster.get(&self.path.gvr, self.namespace(), name)?;
                return Err(status);
            }
            Err(status) => return Err(status),
        };
        if patch.creates() && self.query.text("fieldManager").is_empty() {
            let cause = StatusCause::required("fieldManager", "is required for apply patch");
            return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        let (object, created) =
            self.cluster.write(|store| store.patch(&target, &patch, self.options))?;
        Ok(self.object(if created { StatusCode::CREATED } else { StatusCode::OK }, &object))
    }

    fn delete(&self, name: &str) -> Result<Response, Status> {
        let delete = self.delete_options()?;
        let target = self.target(name, None);
        let deleted = self.cluster.write(|store| store.delete(&target, &delete, self.options))?;
        let core = self.resource.gvr.group.is_empty();
        let shows_object =
            core && SHOWN_WHEN_DELETED.contains(&self.resource.gvr.resource.as_str());
        Ok(match deleted {
            Deleted::Gone(object) if !shows_object => {
                let value = object.to_value();
                status_response(&Status::success(Some(StatusDetails {
                    name: name.to_owned(),
                    group: self.resource.gvr.group.clone(),
                    kind: self.resource.gvr.resource.clone(),
                    uid: value["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
                    ..StatusDetails::default()
                })))
            }
            Deleted::Gone(object) | Deleted::Waiting(object) => {
                self.object(StatusCode::OK, &object)
            }
        })
    }

    fn delete_collection(&self) -> Result<Response, Status> {
        let options = ListOptions::parse(&self.query)?;
        let selection = Selection {
            namespace: self.path.namespace.clone(),
            labels: options.labels,
            fields: options.fields,
        };
        check_fields(&self.resource, &selection)?;
        let delete = self.delete_options()?;
        let (objects, version) = self.cluster.write(|store| {
            let objects = store.delete_collection(&self.resource, selection, &delete, self.options);
            objects.map(|objects| (objects, store.resource_version()))
        })?;
        let items = objects.iter().map(|object| object.value_as(&self.resource));
        let items: Vec<Value> = items.collect();
        let list = json!({
            "kind": self.resource.list_kind,
            "apiVersion": self.resource.gvr.api_version(),
            "metadata": {"resourceVersion": version.to_string()},
            "items": items,
        });
        Ok(json_response(StatusCode::OK, list.to_string()))
    }

    fn scale(&self, name: &str) -> Result<Response, Status> {
        let target = self.target(name, Some("scale"));
        let scale = match Patch::parse(&self.content_type, &self.body) {
            Ok(patch) => {
                self.cluster.write(|store| store.patch_scale(&target, &patch, self.options))
            }
            Err(_) => {
                let scale = self.json()?;
                self.cluster.write(|store| store.update_scale(&target, &scale, self.options))
            }
        }?;
        Ok(json_response(StatusCode::OK, scale.to_string()))
    }

    fn evict(&self, name: &str) -> Result<Response, Status> {
        let target = self.target(name, None);
        let delete = DeleteOptions::default();
        self.cluster.write(|store| store.delete(&target, &delete, self.options))?;
        Ok(created_status())
    }

    /// Carries out a scheduler's decision.
    fn bind(&self, name: &str) -> Result<Response, Status> {
        let node = self.json()?["target"]["name"].clone();
        let patch = Patch::Merge(json!({"spec": {"nodeName": node}}));
        let target = self.target(name, None);
        self.cluster.write(|store| store.patch(&target, &patch, self.options))?;
        Ok(created_status())
    }

    fn delete_options(&self) -> Result<DeleteOptions, Status> {
        let asked = self.query.text("gracePeriodSeconds").parse().ok();
        let policy = self.query.text("propagationPolicy");
        if self.body.is_empty() {
            return Ok(DeleteOptions {
                grace_period_seconds: asked,
                orphan: policy == "Orphan",
                ..DeleteOptions::default()
            });
        }
        let body = self.json()?;
        let text = |key: &str| body["preconditions"][key].as_str().map(str::to_owned);
        Ok(DeleteOptions {
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            grace_period_seconds: body["gracePeriodSeconds"].as_u64().or(asked),
            orphan: body["propagationPolicy"].as_str().unwrap_or(policy) == "Orphan",
        })
    }

    fn object(&self, code: StatusCode, object: &ApiObject) -> Response {
        json_response(code, object.json_as(&self.resource))
    }
}

/// The core resources whose deletion is answered with their last state instead of a `Status` (`ReturnDeletedObject` in
/// Kubernetes' registries).
const SHOWN_WHEN_DELETED: [&str; 7] = [
    "pods",
    "services",
    "serviceaccounts",
    "persistentvolumes",
    "persistentvolumeclaims",
    "podtemplates",
    "resourcequotas",
];

fn created_status() -> Response {
    let mut status = Status::success(None);
    status.code = 201;
    status_response(&status)
}
