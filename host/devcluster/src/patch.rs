//! The kinds of patches that change part of an object.

pub mod strategic;

use informant_apimachinery::{GroupVersionResource, Status, StatusCause};
use informant_apiserver::ResourceInfo;
use serde_json::Value;

/// A parsed patch.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// RFC 6902, `application/json-patch+json`.
    Json(json_patch::Patch),
    /// RFC 7386, `application/merge-patch+json`.
    Merge(Value),
    /// Kubernetes' own, `application/strategic-merge-patch+json`: lists merge by key.
    Strategic(Value),
    /// `application/apply-patch+yaml`: creates the object or merges into it. The owners of fields are not stored, so
    /// no conflicts arise, and omitted fields stay.
    Apply(Value),
}

/// The supported media types, for the answer to other types.
pub const MEDIA_TYPES: &str = "application/json-patch+json, application/merge-patch+json, \
     application/apply-patch+yaml, application/strategic-merge-patch+json";

impl Patch {
    /// Parses a body by its media type.
    pub fn parse(media_type: &str, body: &[u8]) -> Result<Self, Status> {
        let unreadable = |error: serde_json::Error| {
            Status::bad_request(format!("error decoding patch: {error}"))
        };
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        match media_type {
            "application/json-patch+json" => {
                serde_json::from_slice(body).map(Self::Json).map_err(unreadable)
            }
            "application/merge-patch+json" => object(body).map(Self::Merge),
            "application/strategic-merge-patch+json" => object(body).map(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => {
                let value = crate::body::yaml(body)?;
                check_object(&value)?;
                Ok(Self::Apply(value))
            }
            _ => Err(Status::unsupported_media_type(MEDIA_TYPES)),
        }
    }

    /// Whether the patch creates an object that does not exist.
    pub fn creates(&self) -> bool {
        matches!(self, Self::Apply(_))
    }

    /// The object that the patch creates if none exists.
    pub fn new_object(&self) -> &Value {
        match self {
            Self::Merge(value) | Self::Strategic(value) | Self::Apply(value) => value,
            Self::Json(_) => &Value::Null,
        }
    }

    /// Changes an object of a resource.
    pub fn apply(
        &self,
        object: &mut Value,
        resource: &ResourceInfo,
        name: &str,
    ) -> Result<(), Status> {
        if resource.custom && matches!(self, Self::Strategic(_)) {
            // Without Go types there are no merge keys. A real server refuses these patches, too.
            return Err(Status::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            ));
        }
        self.apply_to_kind(object, &resource.kind, &resource.gvr, name)
    }

    /// Changes an object of any kind. The resource is for error texts.
    pub fn apply_to_kind(
        &self,
        object: &mut Value,
        kind: &str,
        gvr: &GroupVersionResource,
        name: &str,
    ) -> Result<(), Status> {
        let strategic = |object: &mut Value, patch: &Value| {
            strategic::apply(object, patch, kind)
                .map_err(|error| Status::bad_request(error.to_string()))
        };
        match self {
            Self::Json(patch) => {
                // `json_patch::patch` undoes a patch that failed halfway, and panics if that is not possible.
                let mut patched = object.clone();
                json_patch::patch_unsafe(&mut patched, patch).map_err(|error| {
                    let message = error.to_string();
                    let cause = StatusCause { message, ..StatusCause::default() };
                    Status::invalid(&gvr.group, kind, name, vec![cause])
                })?;
                *object = patched;
                Ok(())
            }
            Self::Merge(patch) => {
                json_patch::merge(object, patch);
                Ok(())
            }
            Self::Strategic(patch) => strategic(object, patch),
            Self::Apply(patch) => {
                let mut patch = patch.clone();
                if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.shift_remove("managedFields");
                }
                strategic(object, &patch)
            }
        }
    }
}

fn object(body: &[u8]) -> Result<Value, Status> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Status::bad_request(format!("error decoding patch as JSON: {error}")))?;
    check_object(&value)?;
    Ok(value)
}

fn check_object(value: &Value) -> Result<(), Status> {
    if value.is_object() {
        return Ok(());
    }
    Err(Status::bad_request("error decoding patch: it is no object"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(media_type: &str, patch: Value, expect: Result<Value, u16>) {
        let mut object = json!({"kind": "ConfigMap", "data": {"a": "1", "b": "2"}});
        let gvr = GroupVersionResource::new("", "v1", "configmaps");
        let body = serde_json::to_vec(&patch).expect("JSON");
        let outcome = Patch::parse(media_type, &body)
            .and_then(|patch| patch.apply_to_kind(&mut object, "ConfigMap", &gvr, "x"))
            .map(|()| object["data"].take())
            .map_err(|status| status.code);
        assert_eq!(outcome, expect);
    }

    #[test]
    fn each_media_type_has_its_rules() {
        let merge = json!({"data": {"a": null, "c": "3"}});
        let merged = Ok(json!({"b": "2", "c": "3"}));
        check("application/merge-patch+json", merge.clone(), merged.clone());
        check("application/strategic-merge-patch+json; charset=utf-8", merge, merged);
        let apply = json!({"data": {"c": "3"}});
        check("application/apply-patch+yaml", apply, Ok(json!({"a": "1", "b": "2", "c": "3"})));
        let json = json!([{"op": "remove", "path": "/data/a"}]);
        check("application/json-patch+json", json, Ok(json!({"b": "2"})));
    }

    #[test]
    fn bad_patches_are_refused() {
        check("application/json", json!({}), Err(415));
        check("application/merge-patch+json", json!([]), Err(400));
        check("application/json-patch+json", json!([{"op": "frob"}]), Err(400));
        let missing = json!([{"op": "remove", "path": "/data/z"}]);
        check("application/json-patch+json", missing, Err(422));
    }

    #[test]
    fn a_json_patch_that_fails_halfway_is_refused_whole() {
        let copied = json!({"op": "copy", "from": "/data", "path": "/x"});
        let moved = json!({"op": "move", "from": "/x", "path": "//"});
        check("application/json-patch+json", json!([copied, moved]), Err(422));
    }
}
