//! The DaemonSet controller: one pod on every node that accepts it.
//!
//! As `k8s.io/kubernetes/pkg/controller/daemon`. The controller itself binds pods, not the scheduler. A new template
//! replaces one pod after the other, whatever `maxUnavailable` is.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::edit;
use super::operation::{Operation, Outcome};
use super::owner;
use super::pods::{self, Name, is_active, is_ready};
use super::scheduler;
use super::template_hash::template_hash;
use super::world::{Key, Kind, World, uid};

/// The label with the hash of a pod's template.
const REVISION: &str = "controller-revision-hash";

/// Adapts the DaemonSet's pods and status to its spec and the nodes.
pub(crate) fn reconcile(world: &World, key: &Key, set: &Value, now: Timestamp) -> Outcome {
    let revision = template_hash(&set["spec"]["template"]);
    let template = template_of(set, &revision);
    let present = pods::owned(world, uid(set));
    let owned: Vec<_> = present.iter().copied().filter(|(_, pod)| is_active(pod)).collect();
    let nodes = world.of_kind(Kind::Node).filter(|(_, node)| scheduler::takes(&template, node));
    let nodes: Vec<&str> = nodes.map(|(key, _)| key.name.as_str()).collect();
    let node_of = |pod: &Value| pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
    let mut operations = Vec::new();
    for node in &nodes {
        // A pod that is being deleted still holds the node's ports and volumes.
        if present.iter().any(|(_, pod)| node_of(pod) == *node) {
            continue;
        }
        let owner = owner::reference("apps/v1", "DaemonSet", set);
        let mut object = pods::from_template(&template, &Name::Generate(&key.name), owner, now);
        edit::put(&mut object, &["spec", "nodeName"], *node);
        let namespace = key.namespace.clone();
        operations.push(Operation::Create { kind: Kind::Pod, namespace, object });
    }
    let misplaced = owned.iter().filter(|(_, pod)| !nodes.contains(&node_of(pod).as_str()));
    operations.extend(misplaced.map(|(key, pod)| pods::delete(key, pod)));
    let current = |pod: &Value| pod["metadata"]["labels"][REVISION] == revision.as_str();
    let at_work = |pod: &Value| is_active(pod) && is_ready(pod);
    let settled = operations.is_empty() && present.iter().all(|(_, pod)| at_work(pod));
    let on_delete = set["spec"]["updateStrategy"]["type"] == "OnDelete";
    if settled
        && !on_delete
        && let Some((key, pod)) = owned.iter().find(|(_, pod)| !current(pod))
    {
        operations.push(pods::delete(key, pod));
    }
    let ready = owned.iter().filter(|(_, pod)| is_ready(pod)).count();
    let updated = owned.iter().filter(|(_, pod)| current(pod)).count();
    let numbers = [
        ("currentNumberScheduled", owned.len()),
        ("desiredNumberScheduled", nodes.len()),
        ("numberMisscheduled", 0),
        ("numberReady", ready),
    ];
    let mut object = set.clone();
    for (member, number) in numbers {
        edit::put(&mut object, &["status", member], number);
    }
    for (member, number) in [("updatedNumberScheduled", updated), ("numberAvailable", ready)] {
        edit::count(&mut object["status"], member, i64::try_from(number).unwrap_or(i64::MAX));
    }
    let generation = set["metadata"]["generation"].clone();
    edit::put(&mut object, &["status", "observedGeneration"], generation);
    if object["status"] != set["status"] {
        operations.push(Operation::UpdateStatus { key: key.clone(), object });
    }
    Outcome::act(operations)
}

/// The template with the label of its revision, and the tolerations of daemons.
fn template_of(set: &Value, revision: &str) -> Value {
    let mut template = set["spec"]["template"].clone();
    edit::put(&mut template, &["metadata", "labels", REVISION], revision);
    for key in ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "unschedulable"] {
        let key = format!("node.kubernetes.io/{key}");
        let toleration = json!({"key": key, "operator": "Exists"});
        edit::push(&mut template, &["spec", "tolerations"], toleration);
    }
    template
}
