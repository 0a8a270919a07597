//! The least OpenAPI that kubectl needs: for every kind, that its PATCH takes `fieldValidation`,
//! `fieldManager` and `dryRun`. kubectl looks these up before create and apply
//! (cli-runtime's `QueryParamVerifierV3`) and otherwise downloads whole schemas to validate by.

use serde_json::{Map, Value, json};

use crate::{Catalogue, ResourceInfo};

/// The Kubernetes version whose behaviour is followed, as `/version` tells it.
pub(crate) const GIT_VERSION: &str = "v1.36.0+informant";

/// `/openapi/v3`: where the documents are.
pub fn index(catalogue: &Catalogue) -> Value {
    let mut paths = Map::new();
    for group in catalogue.groups() {
        for version in catalogue.versions(group) {
            let name = match group {
                "" => format!("api/{version}"),
                group => format!("apis/{group}/{version}"),
            };
            let address = format!("/openapi/v3/{name}");
            paths.insert(name, json!({"serverRelativeURL": address}));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v3/...`: the document of one group and version; `None` if nothing is served there.
pub fn document(catalogue: &Catalogue, group: &str, version: &str) -> Option<Value> {
    let mut paths = Map::new();
    for resource in catalogue.in_version(group, version) {
        paths.insert(object_path(resource), json!({"patch": patch_operation(resource)}));
    }
    if paths.is_empty() {
        return None;
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": paths,
        "components": {"schemas": {}},
    }))
}

/// `/openapi/v2`: a document without definitions, for clients that insist on having one.
pub fn version_2() -> Value {
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": {},
        "definitions": {},
    })
}

fn object_path(resource: &ResourceInfo) -> String {
    let namespace = resource.namespaced.then_some("{namespace}");
    format!("{}/{{name}}", resource.gvr.path(namespace))
}

fn patch_operation(resource: &ResourceInfo) -> Value {
    let gvr = &resource.gvr;
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    json!({
        "operationId": format!("patch{}", resource.kind),
        "parameters": [
            parameter("dryRun"),
            parameter("fieldManager"),
            parameter("fieldValidation"),
            parameter("force"),
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": gvr.group,
            "version": gvr.version,
            "kind": resource.kind,
        },
    })
}
