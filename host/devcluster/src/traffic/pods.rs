//! Pods that the controllers of workloads create from a template, and the pods that count for them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions;
use super::edit;
use super::managed_fields;
use super::operation::Operation;
use super::world::{Key, Kind, World, uid};

/// The name of a new pod.
pub(crate) enum Name<'a> {
    /// This prefix and random characters.
    Generate(&'a str),
    /// Exactly this name.
    Exact(&'a str),
}

/// A pod from the template, with the additions of admission: a service account's token, and the tolerations that keep
/// the pod for five minutes on a failed node.
pub(crate) fn from_template(
    template: &Value,
    name: &Name<'_>,
    owner: Value,
    now: Timestamp,
) -> Value {
    let mut metadata = template["metadata"].clone();
    let suffix = match name {
        Name::Generate(prefix) => {
            edit::put(&mut metadata, &["generateName"], format!("{prefix}-"));
            prefix
        }
        Name::Exact(name) => {
            edit::put(&mut metadata, &["name"], *name);
            name
        }
    };
    edit::put(&mut metadata, &["ownerReferences"], vec![owner]);
    let mut pod = json!({"apiVersion": "v1", "metadata": metadata, "spec": template["spec"]});
    let entry = managed_fields::entry("kube-controller-manager", &pod, None, now);
    edit::put(&mut pod, &["metadata", "managedFields"], vec![entry]);
    admit(&mut pod["spec"], suffix);
    pod
}

/// Whether the pod counts: it has not ended and is not being deleted.
pub(crate) fn is_active(pod: &Value) -> bool {
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    !ended && pod["metadata"]["deletionTimestamp"].is_null()
}

/// Whether the pod counts as ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    conditions::holds(pod, "Ready")
}

/// The pods whose controller has this UID.
pub(crate) fn owned<'w>(world: &'w World, owner: &str) -> Vec<(&'w Key, &'w Value)> {
    world.dependents(owner).filter(|(key, _)| key.kind == Kind::Pod).collect()
}

/// Deletes the pod with this UID.
pub(crate) fn delete(key: &Key, pod: &Value) -> Operation {
    Operation::Delete { key: key.clone(), uid: uid(pod).to_owned() }
}

fn admit(spec: &mut Value, suffix: &str) {
    if spec["serviceAccountName"].is_null() {
        edit::put(spec, &["serviceAccountName"], "default");
        edit::put(spec, &["serviceAccount"], "default");
    }
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let toleration = json!({
            "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
        });
        edit::push(spec, &["tolerations"], toleration);
    }
    if spec["automountServiceAccountToken"] == false {
        return;
    }
    let suffix: Vec<char> = suffix.chars().rev().take(5).collect();
    let suffix: String = suffix.into_iter().rev().collect();
    let volume = format!("kube-api-access-{suffix}");
    edit::push(spec, &["volumes"], token_volume(&volume));
    for container in edit::entries_mut(spec, "/containers") {
        let mount = json!({
            "name": volume,
            "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        });
        edit::push(container, &["volumeMounts"], mount);
    }
}

fn token_volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
            "defaultMode": 420,
        },
    })
}
