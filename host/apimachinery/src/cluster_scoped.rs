//! The built-in resources whose objects are in no namespace, as Kubernetes 1.36 serves them.

use crate::GroupVersionResource;

const CLUSTER_SCOPED: [(&str, &[&str]); 12] = [
    ("", &["componentstatuses", "namespaces", "nodes", "persistentvolumes"]),
    (
        "admissionregistration.k8s.io",
        &[
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
    ),
    ("apiextensions.k8s.io", &["customresourcedefinitions"]),
    ("apiregistration.k8s.io", &["apiservices"]),
    ("certificates.k8s.io", &["certificatesigningrequests", "clustertrustbundles"]),
    ("flowcontrol.apiserver.k8s.io", &["flowschemas", "prioritylevelconfigurations"]),
    ("networking.k8s.io", &["ingressclasses", "ipaddresses", "servicecidrs"]),
    ("node.k8s.io", &["runtimeclasses"]),
    ("rbac.authorization.k8s.io", &["clusterrolebindings", "clusterroles"]),
    ("resource.k8s.io", &["deviceclasses", "devicetaintrules", "resourceslices"]),
    ("scheduling.k8s.io", &["priorityclasses"]),
    (
        "storage.k8s.io",
        &[
            "csidrivers",
            "csinodes",
            "storageclasses",
            "volumeattachments",
            "volumeattributesclasses",
        ],
    ),
];

/// Whether objects of this resource are in no namespace, as far as Kubernetes itself serves it. A custom resource may be
/// cluster-scoped, too: only the API server knows.
pub fn is_cluster_scoped(gvr: &GroupVersionResource) -> bool {
    let of_group = CLUSTER_SCOPED.iter().find(|(group, _)| *group == gvr.group);
    of_group.is_some_and(|(_, resources)| resources.contains(&gvr.resource.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_resources_without_namespaces_are_known() {
        let check = |resource: &str, expect: bool| {
            let resource = resource.parse().expect("a resource");
            assert_eq!(is_cluster_scoped(&resource), expect, "{resource}");
        };
        check("v1/nodes", true);
        check("v1/namespaces", true);
        check("v1/pods", false);
        check("rbac.authorization.k8s.io/v1/clusterroles", true);
        check("rbac.authorization.k8s.io/v1/roles", false);
        check("example.com/v1/nodes", false);
    }
}
