//! The fields that a field selector may name, by resource.
//!
//! They are those of Kubernetes 1.36: the field label conversions of each group in kubernetes
//! `pkg/apis`. What a CustomResourceDefinition declares in `selectableFields` is not among them.

use crate::GroupVersionResource;

/// Of every resource; the latter where the resource has namespaces.
pub const METADATA_FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

const PODS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

const CORE_EVENTS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const EVENTS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

/// The fields of a resource beside [`METADATA_FIELDS`]; the version makes no difference.
pub fn selectable_fields(gvr: &GroupVersionResource) -> &'static [&'static str] {
    match (gvr.group.as_str(), gvr.resource.as_str()) {
        ("", "events") => CORE_EVENTS,
        ("events.k8s.io", "events") => EVENTS,
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "pods") => PODS,
        ("", "replicationcontrollers") => &["status.replicas"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        ("resource.k8s.io", "resourceslices") => &["spec.nodeName", "spec.driver"],
        _ => &[],
    }
}

/// Groups that Kubernetes itself serves, beside the core group; those that end in `.k8s.io` may also have custom resources.
const BUILT_IN_GROUPS: [&str; 20] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Whether Kubernetes itself serves a group, so that [`selectable_fields`] has all fields of its resources. A CustomResourceDefinition may
/// declare others for those of any other group.
pub fn is_built_in_group(group: &str) -> bool {
    group.is_empty() || BUILT_IN_GROUPS.contains(&group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(resource: &str, field: &str, expect: bool) {
        let gvr = resource.parse().expect("a resource");
        assert_eq!(selectable_fields(&gvr).contains(&field), expect, "{field} of {resource}");
    }

    #[test]
    fn fields_belong_to_a_resource_of_a_group() {
        check("v1/pods", "spec.nodeName", true);
        check("v1/pods", "spec.foo", false);
        check("metrics.k8s.io/v1beta1/pods", "spec.nodeName", false);
        check("v1/replicationcontrollers", "status.replicas", true);
        check("apps/v1/replicasets", "status.replicas", false);
    }
}
