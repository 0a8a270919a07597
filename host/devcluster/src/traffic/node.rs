//! Nodes: each kubelet renews its lease and reports its conditions. The node lifecycle controller marks a node whose
//! lease is not renewed.
//!
//! As `pkg/controller/nodelifecycle` and `pkg/kubelet/nodestatus`. Pods are not evicted from a lost node: they
//! tolerate the loss for five minutes, and outages here are shorter.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition, Probed};
use super::edit;
use super::events;
use super::operation::{Operation, Outcome};
use super::time;
use super::world::{Key, Kind, World, uid};

/// The namespace of the kubelets' leases.
const LEASES: &str = "kube-node-lease";
/// How often a kubelet renews its lease, as a real one does.
const RENEW_MS: i64 = 10_000;
/// A node whose lease is not renewed for this time is lost. A real controller waits 50 s.
const GRACE_MS: i64 = 20_000;
/// How often a lost node is checked.
const LOST_MS: i64 = 1_000;
/// How often a kubelet reports its conditions if they do not change, as a real one does.
const REPORT_MS: i64 = 5 * 60_000;

const TAINT: &str = "node.kubernetes.io/unreachable";

/// The conditions of a healthy node: type, status, reason, message.
const HEALTHY: [(&str, &str, &str, &str); 4] = [
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
];

/// Acts as the node's kubelet, unless the node is out, and as the controller that monitors the node.
pub(crate) fn reconcile(
    world: &World,
    key: &Key,
    node: &Value,
    out: bool,
    now: Timestamp,
) -> Outcome {
    let lease_key = Key::new(Kind::Lease, LEASES, key.name.as_str());
    let lease = world.get(&lease_key);
    let renewed = lease.and_then(|lease| time::parse(&lease["spec"]["renewTime"]));
    if out {
        let lost = time::later(renewed.unwrap_or(now), GRACE_MS);
        if now < lost {
            return Outcome::at(lost);
        }
        // No other change leads to a check of the node after its outage.
        return Outcome { again: Some(time::later(now, LOST_MS)), ..lose(key, node, now) };
    }
    let mut outcome = report(key, node, now);
    let next = time::later(renewed.unwrap_or(Timestamp::MIN), RENEW_MS);
    if now >= next {
        outcome.operations.push(renew(&lease_key, lease, node, now));
    }
    let next = time::later(if now >= next { now } else { renewed.unwrap_or(now) }, RENEW_MS);
    outcome.again = Some(next);
    outcome
}

fn renew(key: &Key, lease: Option<&Value>, node: &Value, now: Timestamp) -> Operation {
    if let Some(lease) = lease {
        let mut object = lease.clone();
        edit::put(&mut object, &["spec", "renewTime"], time::micros(now));
        return Operation::Update { key: key.clone(), object };
    }
    let object = json!({
        "metadata": {
            "name": key.name,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": key.name, "uid": uid(node),
            }],
        },
        "spec": {
            "holderIdentity": key.name,
            "leaseDurationSeconds": 40,
            "renewTime": time::micros(now),
        },
    });
    Operation::Create { kind: Kind::Lease, namespace: key.namespace.clone(), object }
}

/// The kubelet writes its conditions when they differ from the node's, and periodically.
fn report(key: &Key, node: &Value, now: Timestamp) -> Outcome {
    let was_ready = conditions::holds(node, "Ready");
    let heartbeat = conditions::find(node, "Ready")
        .and_then(|condition| time::parse(&condition["lastHeartbeatTime"]));
    let stale = heartbeat.is_none_or(|last| time::later(last, REPORT_MS) <= now);
    let mut object = node.clone();
    let mut changed = false;
    for (kind, status, reason, message) in HEALTHY {
        let probed = Probed::Heartbeat;
        let condition = Condition { kind, status, reason, message, probed };
        changed |= conditions::set(&mut object, condition, now);
    }
    if changed || stale {
        let mut operations = vec![Operation::UpdateStatus { key: key.clone(), object }];
        if !was_ready {
            let message = format!("Node {} status is now: NodeReady", key.name);
            operations.push(events::about(key, node, "kubelet", "NodeReady", &message, now));
        }
        return Outcome::act(operations);
    }
    set_taint(key, node, false, now).map_or_else(Outcome::done, |taint| Outcome::act(vec![taint]))
}

/// The controller sets the node's conditions to unknown.
fn lose(key: &Key, node: &Value, now: Timestamp) -> Outcome {
    let mut object = node.clone();
    let mut changed = false;
    for (kind, ..) in HEALTHY {
        if conditions::find(node, kind).is_some_and(|known| known["status"] == "Unknown") {
            continue;
        }
        let condition = Condition {
            kind,
            status: "Unknown",
            reason: "NodeStatusUnknown",
            message: "Kubelet stopped posting node status.",
            probed: Probed::Heartbeat,
        };
        changed |= conditions::set(&mut object, condition, now);
    }
    if changed {
        let message = format!("Node {} status is now: NodeNotReady", key.name);
        let event = events::about(key, node, "node-controller", "NodeNotReady", &message, now);
        return Outcome::act(vec![Operation::UpdateStatus { key: key.clone(), object }, event]);
    }
    set_taint(key, node, true, now).map_or_else(Outcome::done, |taint| Outcome::act(vec![taint]))
}

/// Adds the taint of a lost node, or removes it.
fn set_taint(key: &Key, node: &Value, lost: bool, now: Timestamp) -> Option<Operation> {
    let taints = edit::entries(&node["spec"]["taints"]);
    let tainted = taints.iter().any(|taint| taint["key"] == TAINT);
    if tainted == lost {
        return None;
    }
    let mut taints: Vec<Value> =
        taints.iter().filter(|taint| taint["key"] != TAINT).cloned().collect();
    if lost {
        let at = time::seconds(now);
        for effect in ["NoSchedule", "NoExecute"] {
            taints.push(json!({"key": TAINT, "effect": effect, "timeAdded": at}));
        }
    }
    let mut object = node.clone();
    if taints.is_empty() {
        edit::remove(&mut object["spec"], "taints");
    } else {
        edit::put(&mut object, &["spec", "taints"], taints);
    }
    Some(Operation::Update { key: key.clone(), object })
}
