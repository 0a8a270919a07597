//! The ReplicaSet controller: as many pods as asked for, and what it says of them.
//!
//! Answers to `k8s.io/kubernetes/pkg/controller/replicaset`. Not done: adoption of pods that nobody owns.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions;
use super::edit;
use super::events;
use super::managed_fields;
use super::operation::{Operation, Outcome};
use super::owner;
use super::world::{Key, Kind, World, uid};

/// Pods made or deleted in one go; the rest follows as these are observed (`burstReplicas` upstream).
const BURST_MAX: usize = 500;

/// Brings the ReplicaSet's pods and status up to its spec.
pub(crate) fn reconcile(world: &World, key: &Key, set: &Value, now: Timestamp) -> Outcome {
    let owned = world.dependents(uid(set)).filter(|(key, _)| key.kind == Kind::Pod);
    let active: Vec<(&Key, &Value)> = owned.filter(|(_, pod)| is_active(pod)).collect();
    let wanted = set["spec"]["replicas"].as_u64().unwrap_or(1);
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let mut operations = Vec::new();
    if active.len() < wanted {
        let missing = (wanted - active.len()).min(BURST_MAX);
        operations.extend((0..missing).map(|_| Operation::Create {
            kind: Kind::Pod,
            namespace: key.namespace.clone(),
            object: new_pod(key, set, now),
        }));
        let message = match missing {
            1 => "Created 1 pod".to_owned(),
            many => format!("Created {many} pods"),
        };
        let (component, reason) = ("replicaset-controller", "SuccessfulCreate");
        operations.push(events::about(key, set, component, reason, &message, now));
    } else {
        let excess = (active.len() - wanted).min(BURST_MAX);
        let mut candidates = active.clone();
        candidates.sort_by_key(|(_, pod)| deletion_rank(pod));
        operations.extend(
            candidates[..excess].iter().map(|(key, pod)| Operation::Delete {
                key: (*key).clone(),
                uid: uid(pod).to_owned(),
            }),
        );
    }
    operations.extend(status(key, set, &active));
    Outcome::act(operations)
}

/// Whether the pod counts: it has not ended and is not going.
fn is_active(pod: &Value) -> bool {
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    !ended && pod["metadata"]["deletionTimestamp"].is_null()
}

/// Unbound pods go first, then those that are not ready, then the youngest
/// (`controller.ActivePodsWithRanks`, without the ranks).
fn deletion_rank(pod: &Value) -> (bool, bool, std::cmp::Reverse<&str>) {
    let created = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    let bound = pod["spec"]["nodeName"].is_string();
    (bound, conditions::holds(pod, "Ready"), std::cmp::Reverse(created))
}

/// A pod of the template, with what admission adds to every pod: a service account's token and the
/// tolerations that keep it for five minutes on a node that has failed.
fn new_pod(key: &Key, set: &Value, now: Timestamp) -> Value {
    let template = &set["spec"]["template"];
    let mut metadata = template["metadata"].clone();
    edit::put(&mut metadata, &["generateName"], format!("{}-", key.name));
    let owner = owner::reference("apps/v1", "ReplicaSet", set);
    edit::put(&mut metadata, &["ownerReferences"], vec![owner]);
    let mut pod = json!({"apiVersion": "v1", "metadata": metadata, "spec": template["spec"]});
    let entry = managed_fields::entry("kube-controller-manager", &pod, None, now);
    edit::put(&mut pod, &["metadata", "managedFields"], vec![entry]);
    admit(&mut pod["spec"], &key.name);
    pod
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

fn status(key: &Key, set: &Value, active: &[(&Key, &Value)]) -> Option<Operation> {
    let ready = active.iter().filter(|(_, pod)| conditions::holds(pod, "Ready")).count();
    let mut object = set.clone();
    edit::put(&mut object, &["status", "replicas"], active.len());
    let generation = set["metadata"]["generation"].clone();
    edit::put(&mut object, &["status", "observedGeneration"], generation);
    let numbers = [
        ("fullyLabeledReplicas", active.len()),
        ("readyReplicas", ready),
        ("availableReplicas", ready),
    ];
    for (member, number) in numbers {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        edit::count(&mut object["status"], member, number);
    }
    (object["status"] != set["status"])
        .then(|| Operation::UpdateStatus { key: key.clone(), object })
}
