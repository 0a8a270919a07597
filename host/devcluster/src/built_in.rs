//! The built-in resources, each declared once. Names, scopes and selectable fields are those of Kubernetes 1.36.
//! `informant-apimachinery` has the selectable fields.

use std::sync::Arc;

use informant_apimachinery::{GroupVersionResource, selectable_fields};
use informant_apiserver::{ResourceInfo, SubresourceInfo};
use serde_json::Value;

/// The verbs of all stored resources.
pub const STORED_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// One line of the table.
#[derive(Clone, Copy)]
struct BuiltIn {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    kind: &'static str,
    namespaced: bool,
    short_names: &'static [&'static str],
    in_all: bool,
    status: bool,
    scale: bool,
    extra: &'static [Extra],
}

/// A subresource that can only be written: name, group, version and kind.
type Extra = (&'static str, &'static str, &'static str, &'static str);

const fn cluster(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    kind: &'static str,
) -> BuiltIn {
    BuiltIn {
        group,
        version,
        resource,
        kind,
        namespaced: false,
        short_names: &[],
        in_all: false,
        status: false,
        scale: false,
        extra: &[],
    }
}

const fn namespaced(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    kind: &'static str,
) -> BuiltIn {
    BuiltIn { namespaced: true, ..cluster(group, version, resource, kind) }
}

impl BuiltIn {
    const fn short(self, short_names: &'static [&'static str]) -> Self {
        Self { short_names, ..self }
    }

    const fn all(self) -> Self {
        Self { in_all: true, ..self }
    }

    const fn status(self) -> Self {
        Self { status: true, ..self }
    }

    const fn scale(self) -> Self {
        Self { scale: true, ..self }
    }

    const fn extra(self, extra: &'static [Extra]) -> Self {
        Self { extra, ..self }
    }
}

const POD_EXTRA: &[Extra] =
    &[("binding", "", "v1", "Binding"), ("eviction", "policy", "v1", "Eviction")];

#[rustfmt::skip]
const CORE: &[BuiltIn] = &[
    namespaced("", "v1", "configmaps", "ConfigMap").short(&["cm"]),
    namespaced("", "v1", "endpoints", "Endpoints").short(&["ep"]),
    namespaced("", "v1", "events", "Event").short(&["ev"]),
    namespaced("", "v1", "limitranges", "LimitRange").short(&["limits"]),
    cluster("", "v1", "namespaces", "Namespace").short(&["ns"]).status()
        .extra(&[("finalize", "", "v1", "Namespace")]),
    cluster("", "v1", "nodes", "Node").short(&["no"]).status(),
    namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim").short(&["pvc"]).status(),
    cluster("", "v1", "persistentvolumes", "PersistentVolume").short(&["pv"]).status(),
    namespaced("", "v1", "pods", "Pod").short(&["po"]).all().status().extra(POD_EXTRA),
    namespaced("", "v1", "podtemplates", "PodTemplate"),
    namespaced("", "v1", "replicationcontrollers", "ReplicationController").short(&["rc"]).all().status()
        .scale(),
    namespaced("", "v1", "resourcequotas", "ResourceQuota").short(&["quota"]).status(),
    namespaced("", "v1", "secrets", "Secret"),
    namespaced("", "v1", "serviceaccounts", "ServiceAccount").short(&["sa"]),
    namespaced("", "v1", "services", "Service").short(&["svc"]).all().status(),
];

#[rustfmt::skip]
const WORKLOADS: &[BuiltIn] = &[
    namespaced("apps", "v1", "controllerrevisions", "ControllerRevision"),
    namespaced("apps", "v1", "daemonsets", "DaemonSet").short(&["ds"]).all().status(),
    namespaced("apps", "v1", "deployments", "Deployment").short(&["deploy"]).all().status().scale(),
    namespaced("apps", "v1", "replicasets", "ReplicaSet").short(&["rs"]).all().status().scale(),
    namespaced("apps", "v1", "statefulsets", "StatefulSet").short(&["sts"]).all().status().scale(),
    namespaced("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler").short(&["hpa"])
        .all().status(),
    namespaced("batch", "v1", "cronjobs", "CronJob").short(&["cj"]).all().status(),
    namespaced("batch", "v1", "jobs", "Job").all().status(),
    namespaced("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget").short(&["pdb"]).status(),
    cluster("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass").short(&["pc"]),
    cluster("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"),
];

#[rustfmt::skip]
const OTHERS: &[BuiltIn] = &[
    cluster("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    cluster("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy").status(),
    cluster("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    cluster("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    cluster("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")
        .short(&["crd", "crds"]).status(),
    cluster("apiregistration.k8s.io", "v1", "apiservices", "APIService").status(),
    cluster("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest")
        .short(&["csr"]).status(),
    namespaced("coordination.k8s.io", "v1", "leases", "Lease"),
    namespaced("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    namespaced("events.k8s.io", "v1", "events", "Event").short(&["ev"]),
    cluster("networking.k8s.io", "v1", "ingressclasses", "IngressClass"),
    namespaced("networking.k8s.io", "v1", "ingresses", "Ingress").short(&["ing"]).status(),
    namespaced("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy").short(&["netpol"]),
    cluster("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding"),
    cluster("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole"),
    namespaced("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
    namespaced("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    cluster("storage.k8s.io", "v1", "csidrivers", "CSIDriver"),
    cluster("storage.k8s.io", "v1", "csinodes", "CSINode"),
    namespaced("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity"),
    cluster("storage.k8s.io", "v1", "storageclasses", "StorageClass").short(&["sc"]),
    cluster("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment").status(),
];

/// Resources that answer a create and store nothing: reviews of the caller's identity and rights.
const REVIEWS: &[BuiltIn] = &[
    cluster("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
    cluster("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
    namespaced(
        "authorization.k8s.io",
        "v1",
        "localsubjectaccessreviews",
        "LocalSubjectAccessReview",
    ),
    cluster("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    cluster("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    cluster("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
];

/// The stored built-in resources, the core group first.
pub fn stored() -> Vec<Arc<ResourceInfo>> {
    let rows = CORE.iter().chain(WORKLOADS).chain(OTHERS);
    rows.map(|row| Arc::new(info(row, &STORED_VERBS))).collect()
}

/// The resources that only answer a create.
pub fn reviews() -> Vec<Arc<ResourceInfo>> {
    REVIEWS.iter().map(|row| Arc::new(info(row, &["create"]))).collect()
}

/// Whether the server counts changes of the specification in `metadata.generation`.
pub fn has_generation(resource: &ResourceInfo) -> bool {
    const PLAIN: [&str; 6] =
        ["serviceaccounts", "secrets", "configmaps", "events", "endpoints", "podtemplates"];
    let gvr = &resource.gvr;
    resource.custom
        || match gvr.group.as_str() {
            "" => matches!(gvr.resource.as_str(), "pods" | "replicationcontrollers"),
            "apps"
            | "batch"
            | "policy"
            | "networking.k8s.io"
            | "scheduling.k8s.io"
            | "apiextensions.k8s.io"
            | "admissionregistration.k8s.io"
            | "discovery.k8s.io" => {
                !PLAIN.contains(&gvr.resource.as_str()) && gvr.resource != "controllerrevisions"
            }
            _ => false,
        }
}

fn info(row: &BuiltIn, verbs: &[&str]) -> ResourceInfo {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let gvr = GroupVersionResource::new(row.group, row.version, row.resource);
    ResourceInfo {
        selectable_fields: words(selectable_fields(&gvr)),
        gvr,
        kind: row.kind.to_owned(),
        singular: row.kind.to_lowercase(),
        list_kind: format!("{}List", row.kind),
        short_names: words(row.short_names),
        categories: if row.in_all { words(&["all"]) } else { Vec::new() },
        namespaced: row.namespaced,
        custom: false,
        verbs: words(verbs),
        subresources: subresources(row),
        printer_columns: Value::Null,
    }
}

fn subresources(row: &BuiltIn) -> Vec<SubresourceInfo> {
    let mut subresources = Vec::new();
    let mut add = |name: &str, (group, version, kind): (&str, &str, &str), verbs: &[&str]| {
        subresources.push(SubresourceInfo {
            name: name.to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        });
    };
    for (name, group, version, kind) in row.extra {
        let verb = if *name == "finalize" { "update" } else { "create" };
        add(name, (group, version, kind), &[verb]);
    }
    if row.scale {
        add("scale", ("autoscaling", "v1", "Scale"), &["get", "patch", "update"]);
    }
    if row.status {
        add("status", (row.group, row.version, row.kind), &["get", "patch", "update"]);
    }
    subresources
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_apimachinery::is_cluster_scoped;

    #[test]
    fn resources_without_namespaces_are_those_that_selectors_of_namespaces_refuse() {
        for info in stored() {
            assert_eq!(is_cluster_scoped(&info.gvr), !info.namespaced, "{}", info.gvr);
        }
    }
}
