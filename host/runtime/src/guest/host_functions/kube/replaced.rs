//! Updates that would remove the annotation in which kubectl keeps the last applied configuration. The cache leaves it
//! out, so an object that was read, changed and written back lacks it.

use crate::guest::guest_state::GuestState;
use crate::outside::write::NamedObject;
use informant_apimachinery::GroupVersionResource;
use informant_cache::ObjectKey;
use serde::Deserialize;
use serde::de::IgnoredAny;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl GuestState {
    /// The reason for which an update with this body is not sent: the object has the annotation, as far as the plugin
    /// can know, and would lose it.
    pub(super) fn loses_last_applied(
        &self,
        named: &NamedObject<'_>,
        body: &[u8],
    ) -> Option<String> {
        let NamedObject { resource, namespace, name, subresource } = *named;
        if !replaces_annotations(resource, subresource) {
            return None;
        }
        let key = ObjectKey::new(namespace, name);
        let loses = self.known_objects(resource, &key).any(|known| known.lacks_last_applied());
        (loses && !has_last_applied(body)).then(|| {
            format!(
                "{resource} {key} has the annotation {LAST_APPLIED}, which the cache leaves out and this update would remove: patch the object instead"
            )
        })
    }
}

/// Whether an update replaces the object's annotations. An update of a custom resource's status keeps them.
fn replaces_annotations(resource: &str, subresource: &str) -> bool {
    match subresource {
        "" => true,
        "status" | "finalize" => {
            let resource = resource.parse::<GroupVersionResource>();
            resource.is_ok_and(|resource| is_built_in(&resource.group))
        }
        _ => false,
    }
}

/// Whether the group is built in, as far as its name shows: `apps`, `networking.k8s.io`.
fn is_built_in(group: &str) -> bool {
    !group.strip_suffix(".k8s.io").unwrap_or(group).contains('.')
}

#[derive(Deserialize)]
struct BodyOfUpdate {
    metadata: Option<MetadataOfUpdate>,
}

#[derive(Deserialize)]
struct MetadataOfUpdate {
    annotations: Option<AnnotationsOfUpdate>,
}

#[derive(Deserialize)]
struct AnnotationsOfUpdate {
    #[serde(rename = "kubectl.kubernetes.io/last-applied-configuration")]
    last_applied: Option<IgnoredAny>,
}

/// Whether the body sets the annotation. The API server refuses a body that is not an object.
fn has_last_applied(body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<BodyOfUpdate>(body) else { return true };
    let annotations = body.metadata.and_then(|metadata| metadata.annotations);
    annotations.is_some_and(|annotations| annotations.last_applied.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_replaces_the_annotations_of_the_object_and_of_a_built_in_status() {
        assert!(replaces_annotations("v1/configmaps", ""));
        assert!(replaces_annotations("example.com/v1/widgets", ""));
        assert!(replaces_annotations("v1/pods", "status"));
        assert!(replaces_annotations("networking.k8s.io/v1/ingresses", "status"));
        assert!(!replaces_annotations("example.com/v1/widgets", "status"));
        assert!(!replaces_annotations("gateway.networking.k8s.io/v1/gateways", "status"));
        assert!(!replaces_annotations("apps/v1/deployments", "scale"));
    }

    #[test]
    fn a_body_that_names_the_annotation_knows_of_it() {
        let with = |annotations: &str| format!(r#"{{"metadata":{{"annotations":{annotations}}}}}"#);
        let named = format!(r#"{{"{LAST_APPLIED}":"{{}}"}}"#);
        let escaped = named.replace("kubectl", "kube\\u0063tl");
        for (body, expect) in [
            (with(&named), true),
            (with(&escaped), true),
            ("no object".to_owned(), true),
            (with(r#"{"a":"b"}"#), false),
            (with("null"), false),
            (r#"{"metadata":{}}"#.to_owned(), false),
            ("{}".to_owned(), false),
        ] {
            assert_eq!(has_last_applied(body.as_bytes()), expect, "{body}");
        }
    }
}
