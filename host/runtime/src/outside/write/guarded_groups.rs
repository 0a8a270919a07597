//! API groups in which a write can give more power than was granted. Only the host's own configuration can grant such
//! writes, under the plugin's name.
//!
//! The rule: a group is here if a component with more rights than the plugin acts on its objects. Such objects decide
//! about permissions or about the requests of others, or hand out credentials. Others put objects of any kind into the
//! cluster, or run programs as root on nodes. A group includes all groups below it: `crossplane.io` includes
//! `pkg.crossplane.io`.
//!
//! The list is a second line of defence below the ceiling, which names its resources individually. A group that is
//! missing here is granted only if the ceiling names it.

/// The guarded groups, by the reason.
pub(crate) const GUARDED_GROUPS: &[(&str, &[&str])] = &[
    (
        "decide about permissions",
        &[
            "rbac.authorization.k8s.io",
            "authorization.openshift.io",
            "security.openshift.io",
            "user.openshift.io",
            "project.openshift.io",
            "management.cattle.io",
            "hnc.x-k8s.io",
            "capsule.clastix.io",
            "rbacmanager.reactiveops.io",
            "rbac.istio.io",
            "security.istio.io",
            "policy.linkerd.io",
        ],
    ),
    (
        "decide about the requests of others, or about the operation of the cluster",
        &[
            "admissionregistration.k8s.io",
            "apiregistration.k8s.io",
            "apiextensions.k8s.io",
            "flowcontrol.apiserver.k8s.io",
            "coordination.k8s.io",
            "config.openshift.io",
            "operator.openshift.io",
            "kyverno.io",
            "gatekeeper.sh",
            "kubewarden.io",
        ],
    ),
    (
        "hand out credentials or identities, or write Secrets",
        &[
            "authentication.k8s.io",
            "certificates.k8s.io",
            "oauth.openshift.io",
            "cloudcredential.openshift.io",
            "cert-manager.io",
            "external-secrets.io",
            "secrets-store.csi.x-k8s.io",
            "secrets.hashicorp.com",
            "bitnami.com",
            "spire.spiffe.io",
            "dex.coreos.com",
        ],
    ),
    (
        "make a controller apply objects of any kind, or make accounts of a cloud",
        &[
            "argoproj.io",
            "toolkit.fluxcd.io",
            "helm.cattle.io",
            "fleet.cattle.io",
            "operators.coreos.com",
            "crossplane.io",
            "upbound.io",
            "open-cluster-management.io",
            "karmada.io",
            "template.openshift.io",
            "services.k8s.aws",
            "cnrm.cloud.google.com",
            "azure.com",
        ],
    ),
    (
        "run programs as root on nodes, or make nodes",
        &[
            "machineconfiguration.openshift.io",
            "machine.openshift.io",
            "build.openshift.io",
            "upgrade.cattle.io",
            "cluster.x-k8s.io",
            "karpenter.sh",
            "karpenter.k8s.aws",
        ],
    ),
];

/// Whether the group is guarded, or below a guarded one.
pub(super) fn is_guarded(group: &str) -> bool {
    let is_within = |guarded: &&&str| {
        let above = group.strip_suffix(**guarded);
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    };
    GUARDED_GROUPS.iter().flat_map(|(_, groups)| *groups).any(|guarded| is_within(&guarded))
}
