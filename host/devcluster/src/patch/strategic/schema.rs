//! The lists of the built-in types that merge, and their keys: the `patchStrategy` and `patchMergeKey` tags of
//! `k8s.io/api` and `k8s.io/apimachinery/pkg/apis/meta/v1` (1.36), as one table.

/// A type of the Kubernetes API, as patches see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// An object with the template of pods in `spec.template`: Deployment, ReplicaSet, Job, ...
    Workload,
    WorkloadSpec,
    CronJob,
    CronJobSpec,
    /// `metadata` and a pod's `spec`, as in `spec.template`.
    PodTemplate,
    Pod,
    PodSpec,
    Container,
    Volume,
    PodStatus,
    ContainerStatus,
    Service,
    ServiceSpec,
    ServiceAccount,
    Node,
    NodeSpec,
    NodeStatus,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    CsiNode,
    CsiNodeSpec,
    WebhookConfiguration,
    Webhook,
    AdmissionPolicy,
    AdmissionPolicySpec,
    /// Any other kind: only the members that all objects have merge.
    Object,
    ObjectMeta,
    /// A status of which only the conditions merge.
    Status,
    /// No list below merges by key. Maps still merge member by member.
    Plain,
}

/// How a member is patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// A list is replaced as a whole, and a map is merged: the default without a tag.
    Atomic,
    /// A map, too, is replaced as a whole.
    Replace,
    /// A list of plain values without duplicates.
    Set,
    /// A list of maps, identified by this member.
    Key(&'static str),
}

impl Strategy {
    pub(super) fn key(self) -> Option<&'static str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Atomic | Self::Replace | Self::Set => None,
        }
    }
}

/// The schema of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberSchema {
    /// The type of the map, or of the list's entries.
    pub(super) holds: Type,
    pub(super) strategy: Strategy,
}

/// The type of a whole object.
pub(super) fn root(kind: &str) -> Type {
    match kind {
        "Pod" => Type::Pod,
        "PodTemplate" => Type::Workload,
        "Deployment"
        | "ReplicaSet"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "ReplicationController" => Type::Workload,
        "CronJob" => Type::CronJob,
        "Service" => Type::Service,
        "ServiceAccount" => Type::ServiceAccount,
        "Node" => Type::Node,
        "PodDisruptionBudget" => Type::PodDisruptionBudget,
        "CSINode" => Type::CsiNode,
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            Type::WebhookConfiguration
        }
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => Type::AdmissionPolicy,
        _ => Type::Object,
    }
}

/// The schema of the member `name` of a map of type `of`.
pub(super) fn field(of: Type, name: &str) -> MemberSchema {
    let known = FIELDS.iter().find(|(known_of, known, ..)| *known_of == of && *known == name);
    if let Some(&(_, _, holds, strategy)) = known {
        return MemberSchema { holds, strategy };
    }
    let shared = is_object(of).then(|| OBJECT.iter().find(|(known, _)| *known == name)).flatten();
    let holds = shared.map_or(Type::Plain, |(_, holds)| *holds);
    MemberSchema { holds, strategy: Strategy::Atomic }
}

/// Whether this is the type of a whole object, with metadata and status.
fn is_object(of: Type) -> bool {
    use Type::{
        AdmissionPolicy, CronJob, CsiNode, Node, Object, Pod, PodDisruptionBudget, PodTemplate,
        Service, ServiceAccount, WebhookConfiguration, Workload,
    };
    matches!(
        of,
        AdmissionPolicy
            | CronJob
            | CsiNode
            | Node
            | Object
            | Pod
            | PodDisruptionBudget
            | PodTemplate
            | Service
            | ServiceAccount
            | WebhookConfiguration
            | Workload
    )
}

/// Members that every object has, unless `FIELDS` has an entry for them.
const OBJECT: &[(&str, Type)] = &[("metadata", Type::ObjectMeta), ("status", Type::Status)];

/// Rows of type, member, the type of the member's content, and its strategy.
const FIELDS: &[(Type, &str, Type, Strategy)] = {
    use Strategy::{Atomic, Key, Replace, Set};
    use Type::{
        AdmissionPolicy, AdmissionPolicySpec, Container, ContainerStatus, CronJob, CronJobSpec,
        CsiNode, CsiNodeSpec, Node, NodeSpec, NodeStatus, ObjectMeta, Plain, Pod,
        PodDisruptionBudget, PodDisruptionBudgetSpec, PodSpec, PodStatus, PodTemplate, Service,
        ServiceAccount, ServiceSpec, Status, Volume, Webhook, WebhookConfiguration, Workload,
        WorkloadSpec,
    };
    &[
        (ObjectMeta, "ownerReferences", Plain, Key("uid")),
        (ObjectMeta, "finalizers", Plain, Set),
        (Status, "conditions", Plain, Key("type")),
        (Workload, "spec", WorkloadSpec, Atomic),
        (Workload, "template", PodTemplate, Atomic),
        (WorkloadSpec, "template", PodTemplate, Atomic),
        (CronJob, "spec", CronJobSpec, Atomic),
        (CronJobSpec, "jobTemplate", Workload, Atomic),
        (PodTemplate, "spec", PodSpec, Atomic),
        (Pod, "spec", PodSpec, Atomic),
        (Pod, "status", PodStatus, Atomic),
        (PodSpec, "containers", Container, Key("name")),
        (PodSpec, "initContainers", Container, Key("name")),
        (PodSpec, "ephemeralContainers", Container, Key("name")),
        (PodSpec, "volumes", Volume, Key("name")),
        (PodSpec, "imagePullSecrets", Plain, Key("name")),
        (PodSpec, "hostAliases", Plain, Key("ip")),
        (PodSpec, "topologySpreadConstraints", Plain, Key("topologyKey")),
        (PodSpec, "schedulingGates", Plain, Key("name")),
        (PodSpec, "resourceClaims", Plain, Key("name")),
        (Container, "env", Plain, Key("name")),
        (Container, "ports", Plain, Key("containerPort")),
        (Container, "volumeMounts", Plain, Key("mountPath")),
        (Container, "volumeDevices", Plain, Key("devicePath")),
        (PodStatus, "conditions", Plain, Key("type")),
        (PodStatus, "hostIPs", Plain, Key("ip")),
        (PodStatus, "podIPs", Plain, Key("ip")),
        (PodStatus, "resourceClaimStatuses", Plain, Key("name")),
        (PodStatus, "containerStatuses", ContainerStatus, Atomic),
        (ContainerStatus, "volumeMounts", Plain, Key("mountPath")),
        (Service, "spec", ServiceSpec, Atomic),
        (ServiceSpec, "ports", Plain, Key("port")),
        (ServiceAccount, "secrets", Plain, Key("name")),
        (Node, "spec", NodeSpec, Atomic),
        (Node, "status", NodeStatus, Atomic),
        (NodeSpec, "podCIDRs", Plain, Set),
        (NodeStatus, "conditions", Plain, Key("type")),
        (NodeStatus, "addresses", Plain, Key("type")),
        (PodDisruptionBudget, "spec", PodDisruptionBudgetSpec, Atomic),
        (PodDisruptionBudgetSpec, "selector", Plain, Replace),
        (CsiNode, "spec", CsiNodeSpec, Atomic),
        (CsiNodeSpec, "drivers", Plain, Key("name")),
        (WebhookConfiguration, "webhooks", Webhook, Key("name")),
        (Webhook, "matchConditions", Plain, Key("name")),
        (AdmissionPolicy, "spec", AdmissionPolicySpec, Atomic),
        (AdmissionPolicySpec, "matchConditions", Plain, Key("name")),
        (AdmissionPolicySpec, "variables", Plain, Key("name")),
    ]
};
