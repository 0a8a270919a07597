//! The StatefulSet controller: pods with numbers. They are created from the lowest number up, and removed from the
//! highest down. Each waits for its predecessor.
//!
//! As `k8s.io/kubernetes/pkg/controller/statefulset`. Not implemented: volume claims, partitions, ControllerRevisions.

use jiff::Timestamp;
use serde_json::Value;

use super::edit;
use super::operation::{Operation, Outcome};
use super::owner;
use super::pods::{self, Name, is_active, is_ready};
use super::template_hash::template_hash;
use super::world::{Key, Kind, World, uid};

/// The label with the hash of a pod's template.
const REVISION: &str = "controller-revision-hash";
/// The label with a pod's number.
const INDEX: &str = "apps.kubernetes.io/pod-index";

/// Adapts the StatefulSet's pods and status to its spec.
pub(crate) fn reconcile(world: &World, key: &Key, set: &Value, now: Timestamp) -> Outcome {
    let revision = format!("{}-{}", key.name, template_hash(&set["spec"]["template"]));
    let wanted = set["spec"]["replicas"].as_u64().unwrap_or(1);
    let mut owned: Vec<(u64, &Key, &Value)> = pods::owned(world, uid(set))
        .into_iter()
        .filter_map(|(pod_key, pod)| Some((number(&key.name, &pod_key.name)?, pod_key, pod)))
        .collect();
    owned.sort_by_key(|(number, ..)| *number);
    let mut operations: Vec<Operation> = next_step(key, set, &owned, wanted, &revision, now);
    let count = |which: &dyn Fn(&Value) -> bool| {
        let counted = owned.iter().filter(|(_, _, pod)| is_active(pod) && which(pod)).count();
        i64::try_from(counted).unwrap_or(i64::MAX)
    };
    let ready = count(&is_ready);
    let updated = count(&|pod| pod["metadata"]["labels"][REVISION] == revision.as_str());
    let mut object = set.clone();
    edit::put(&mut object, &["status", "replicas"], count(&|_| true));
    let numbers = [
        ("readyReplicas", ready),
        ("availableReplicas", ready),
        ("currentReplicas", updated),
        ("updatedReplicas", updated),
    ];
    for (member, number) in numbers {
        edit::count(&mut object["status"], member, number);
    }
    edit::put(&mut object, &["status", "updateRevision"], revision.as_str());
    if u64::try_from(updated).is_ok_and(|updated| updated == wanted) {
        edit::put(&mut object, &["status", "currentRevision"], revision.as_str());
    }
    let generation = set["metadata"]["generation"].clone();
    edit::put(&mut object, &["status", "observedGeneration"], generation);
    if object["status"] != set["status"] {
        operations.push(Operation::UpdateStatus { key: key.clone(), object });
    }
    Outcome::act(operations)
}

/// At most one pod is created or removed at a time, unless the set is `Parallel`.
fn next_step(
    key: &Key,
    set: &Value,
    owned: &[(u64, &Key, &Value)],
    wanted: u64,
    revision: &str,
    now: Timestamp,
) -> Vec<Operation> {
    let parallel = set["spec"]["podManagementPolicy"] == "Parallel";
    // A pod that has ended or is being deleted must first make room for a new pod of its name.
    if let Some((_, key, pod)) = owned.iter().find(|(_, _, pod)| !is_active(pod)) {
        let going = pod["metadata"]["deletionTimestamp"].is_string();
        return if going { Vec::new() } else { vec![pods::delete(key, pod)] };
    }
    let mut operations = Vec::new();
    for number in 0..wanted {
        match owned.iter().find(|(known, ..)| *known == number) {
            None => operations.push(new_pod(key, set, number, revision, now)),
            Some((_, _, pod)) if is_ready(pod) || parallel => continue,
            Some(_) => {}
        }
        if !parallel || operations.len() >= BURST_MAX {
            return operations;
        }
    }
    if let Some((_, key, pod)) = owned.iter().rev().find(|(number, ..)| *number >= wanted) {
        operations.push(pods::delete(key, pod));
        return operations;
    }
    let outdated = |pod: &Value| pod["metadata"]["labels"][REVISION] != revision;
    let on_delete = set["spec"]["updateStrategy"]["type"] == "OnDelete";
    let settled = operations.is_empty() && owned.iter().all(|(_, _, pod)| is_ready(pod));
    if settled && !on_delete {
        let old = owned.iter().rev().find(|(_, _, pod)| outdated(pod));
        operations.extend(old.map(|(_, key, pod)| pods::delete(key, pod)));
    }
    operations
}

/// The number of pods that are created at once.
const BURST_MAX: usize = 100;

fn new_pod(key: &Key, set: &Value, number: u64, revision: &str, now: Timestamp) -> Operation {
    let name = format!("{}-{number}", key.name);
    let mut template = set["spec"]["template"].clone();
    let labels = edit::at(&mut template, &["metadata", "labels"]);
    edit::put(labels, &["statefulset.kubernetes.io/pod-name"], name.as_str());
    edit::put(labels, &[INDEX], number.to_string());
    edit::put(labels, &[REVISION], revision);
    edit::put(&mut template, &["spec", "hostname"], name.as_str());
    let owner = owner::reference("apps/v1", "StatefulSet", set);
    let object = pods::from_template(&template, &Name::Exact(&name), owner, now);
    Operation::Create { kind: Kind::Pod, namespace: key.namespace.clone(), object }
}

/// The number in a pod's name. `None` if the pod does not belong to this set.
fn number(set: &str, pod: &str) -> Option<u64> {
    pod.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}
