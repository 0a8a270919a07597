//! Who set which field of a pod, as server-side apply keeps it: the bulk that every cache would rather not hold.

use serde_json::{Map, Value, json};

use crate::load_server::field::{LAST_UPDATE, time};
use crate::load_server::workload::Container;

/// The entries of the two writers of an ordinary pod: the controller manager, and the kubelet with its status.
pub(crate) fn of(
    containers: &[Container],
    labels: &Map<String, Value>,
    annotations: &Map<String, Value>,
) -> Value {
    json!([
        entry("kube-controller-manager", "", 0, created(containers, labels, annotations)),
        entry("kubelet", "status", LAST_UPDATE, reported()),
    ])
}

fn entry(manager: &str, subresource: &str, at: u8, fields: Value) -> Value {
    let mut entry = json!({
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": time(at),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}

/// `{".": {}, "f:a": {}, ...}`
fn fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Map<String, Value> {
    let field = |name: &str| (format!("f:{name}"), json!({}));
    let own = (".".to_owned(), json!({}));
    std::iter::once(own).chain(names.into_iter().map(field)).collect()
}

fn created(
    containers: &[Container],
    labels: &Map<String, Value>,
    annotations: &Map<String, Value>,
) -> Value {
    let of_container = |one: &Container| {
        let key = format!("k:{}", json!({"name": one.name}));
        (key, container(one))
    };
    let containers: Map<_, _> = containers.iter().map(of_container).collect();
    json!({
        "f:metadata": {
            "f:annotations": fields(annotations.keys().map(String::as_str)),
            "f:generateName": {},
            "f:labels": fields(labels.keys().map(String::as_str)),
            "f:ownerReferences": {".": {}},
        },
        "f:spec": {
            "f:containers": containers,
            "f:dnsPolicy": {},
            "f:enableServiceLinks": {},
            "f:restartPolicy": {},
            "f:schedulerName": {},
            "f:securityContext": fields(["runAsNonRoot", "runAsUser"]),
            "f:serviceAccount": {},
            "f:serviceAccountName": {},
            "f:terminationGracePeriodSeconds": {},
        },
    })
}

fn container(container: &Container) -> Value {
    let variable = |name: &String| {
        let key = format!("k:{}", json!({"name": name}));
        (key, json!({".": {}, "f:name": {}, "f:value": {}}))
    };
    let variables: Map<_, _> = container.variables.iter().map(variable).collect();
    let mut own = fields(["image", "imagePullPolicy", "name", "resources"]);
    own.insert("f:env".to_owned(), variables.into());
    if container.has_probe {
        own.extend(fields(["livenessProbe", "readinessProbe"]));
    }
    own.into()
}

fn reported() -> Value {
    let condition = |kind: &str| {
        let key = format!("k:{}", json!({"type": kind}));
        (key, fields(["lastProbeTime", "lastTransitionTime", "status", "type"]).into())
    };
    let conditions: Map<String, Value> =
        ["ContainersReady", "Ready"].map(condition).into_iter().collect();
    json!({
        "f:status": {
            "f:conditions": conditions,
            "f:containerStatuses": {},
            "f:hostIP": {},
            "f:hostIPs": {},
            "f:phase": {},
            "f:podIP": {},
            "f:podIPs": {},
            "f:startTime": {},
        },
    })
}
