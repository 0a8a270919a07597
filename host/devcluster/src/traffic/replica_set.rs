//! The ReplicaSet controller: keeps the desired number of pods, and reports it in the status.
//!
//! As `k8s.io/kubernetes/pkg/controller/replicaset`. Not implemented: adoption of pods without an owner.

use jiff::Timestamp;
use serde_json::Value;

use super::conditions;
use super::edit;
use super::events;
use super::operation::{Operation, Outcome};
use super::owner;
use super::pods::{self, Name, is_active};
use super::world::{Key, Kind, World, uid};

/// The number of pods that are created or deleted at once. The other pods follow when these changes are observed
/// (`burstReplicas` upstream).
const BURST_MAX: usize = 500;

/// Adapts the ReplicaSet's pods and status to its spec.
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
            object: pods::from_template(
                &set["spec"]["template"],
                &Name::Generate(&key.name),
                owner::reference("apps/v1", "ReplicaSet", set),
                now,
            ),
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

/// Unbound pods are deleted first, then pods that are not ready, then the youngest pods
/// (`controller.ActivePodsWithRanks`, without the ranks).
fn deletion_rank(pod: &Value) -> (bool, bool, std::cmp::Reverse<&str>) {
    let created = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    let bound = pod["spec"]["nodeName"].is_string();
    (bound, conditions::holds(pod, "Ready"), std::cmp::Reverse(created))
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
