//! The scheduler: binds pods to nodes that are ready, have the requested labels, and have no taint that the pod does
//! not tolerate. Resources are not counted.

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::{self, Condition, Probed};
use super::edit::{self, entries, fnv1a};
use super::events;
use super::managed_fields;
use super::operation::{Operation, Outcome};
use super::time;
use super::world::{Key, Kind, World, uid};

/// How long until a pod that fits on no node is tried again.
const RETRY_MS: i64 = 3_000;

/// Chooses a node for a pod without one.
pub(crate) fn reconcile(world: &World, key: &Key, pod: &Value, now: Timestamp) -> Outcome {
    if !entries(&pod["spec"]["schedulingGates"]).is_empty() {
        return Outcome::done();
    }
    let nodes: Vec<&Value> = world.of_kind(Kind::Node).map(|(_, node)| node).collect();
    let fitting: Vec<&Value> = nodes.iter().filter(|node| fits(pod, node)).copied().collect();
    if fitting.is_empty() {
        return unschedulable(key, pod, nodes.len(), now);
    }
    // Pods that are bound in one step do not see each other, so a hash distributes them better than counting.
    let choice = fnv1a(uid(pod).as_bytes()) % fitting.len() as u64;
    let name = fitting[choice as usize]["metadata"]["name"].as_str().unwrap_or_default();
    let mut object = pod.clone();
    edit::put(&mut object, &["spec", "nodeName"], name);
    if pod["metadata"]["managedFields"].is_array() {
        // The kubelet will own the status. This entry saves a separate write later.
        let will_be = super::kubelet::started(&object, now);
        let entry = managed_fields::entry("kubelet", &will_be, Some("status"), now);
        edit::push(&mut object, &["metadata", "managedFields"], entry);
    }
    let message = format!("Successfully assigned {}/{} to {name}", key.namespace, key.name);
    Outcome::act(vec![
        Operation::Update { key: key.clone(), object },
        events::about(key, pod, "default-scheduler", "Scheduled", &message, now),
    ])
}

fn fits(pod: &Value, node: &Value) -> bool {
    node["spec"]["unschedulable"] != true && conditions::holds(node, "Ready") && takes(pod, node)
}

/// Whether the node has the labels that the pod or template requests, and no taint that it does not tolerate.
pub(crate) fn takes(pod: &Value, node: &Value) -> bool {
    let selector = pod["spec"]["nodeSelector"].as_object().into_iter().flatten();
    let mut labels =
        selector.map(|(key, value)| node["metadata"]["labels"].get(key) == Some(value));
    let tolerations = entries(&pod["spec"]["tolerations"]);
    let mut taints = entries(&node["spec"]["taints"])
        .iter()
        .filter(|taint| taint["effect"] != "PreferNoSchedule")
        .map(|taint| tolerations.iter().any(|toleration| tolerates(toleration, taint)));
    labels.all(|has| has) && taints.all(|tolerated| tolerated)
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let any = |member: &str| toleration[member].as_str().is_none_or(str::is_empty);
    let exists = toleration["operator"] == "Exists";
    let key = (any("key") && exists) || toleration["key"] == taint["key"];
    let effect = any("effect") || toleration["effect"] == taint["effect"];
    key && effect && (exists || toleration["value"] == taint["value"])
}

fn unschedulable(key: &Key, pod: &Value, nodes: usize, now: Timestamp) -> Outcome {
    let message = format!("0/{nodes} nodes are available: none is ready and takes this pod.");
    let mut object = pod.clone();
    let condition = Condition {
        kind: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message: &message,
        probed: Probed::Null,
    };
    let again = Some(time::later(now, RETRY_MS));
    if !conditions::set(&mut object, condition, now) {
        return Outcome { operations: Vec::new(), again };
    }
    let event = events::about(key, pod, "default-scheduler", "FailedScheduling", &message, now);
    let status = Operation::UpdateStatus { key: key.clone(), object };
    Outcome { operations: vec![status, event], again }
}
