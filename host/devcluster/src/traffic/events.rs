//! Kubernetes Events, in which controllers and kubelets report their actions to people.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::operation::{Operation, Outcome};
use super::time;
use super::world::{Key, Kind, uid};

/// How long Kubernetes Events are kept. A real server keeps them for an hour; ten minutes bound their number here.
const KEPT_MS: i64 = 10 * 60 * 1000;

/// A Kubernetes Event about an object. Its type is `Normal`, unless its reason is a problem.
pub(crate) fn about(
    key: &Key,
    object: &Value,
    component: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Operation {
    let warning = matches!(
        reason,
        "BackOff" | "Evicted" | "FailedScheduling" | "OOMKilling" | "NodeNotReady" | "Failed"
    );
    // client-go names Kubernetes Events after their object and the time in nanoseconds
    // (tools/events/event_recorder.go).
    let name = format!("{}.{:x}", key.name, now.as_nanosecond() + place(reason));
    let namespace = if key.namespace.is_empty() { "default" } else { &key.namespace };
    let host = object["spec"]["nodeName"].as_str().filter(|_| component == "kubelet");
    let mut source = json!({"component": component});
    if let Some(host) = host {
        source["host"] = host.into();
    }
    let mut involved = json!({
        "kind": key.kind.name(),
        "namespace": key.namespace,
        "name": key.name,
        "uid": uid(object),
        "apiVersion": key.kind.resource().api_version(),
        "resourceVersion": object["metadata"]["resourceVersion"],
    });
    if component == "kubelet" && key.kind == Kind::Pod {
        let container = object["spec"]["containers"][0]["name"].as_str().unwrap_or_default();
        involved["fieldPath"] = format!("spec.containers{{{container}}}").into();
    }
    let event = json!({
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "source": source,
        "firstTimestamp": time::seconds(now),
        "lastTimestamp": time::seconds(now),
        "count": 1,
        "type": if warning { "Warning" } else { "Normal" },
        "eventTime": null,
        "reportingComponent": component,
        "reportingInstance": host.unwrap_or_default(),
    });
    Operation::Create { kind: Kind::Event, namespace: namespace.to_owned(), object: event }
}

/// Separates Kubernetes Events of the same moment about the same object, in the order of the actions.
fn place(reason: &str) -> i128 {
    const ORDER: [&str; 4] = ["Scheduled", "Pulled", "Created", "Started"];
    let place = ORDER.iter().position(|known| *known == reason);
    place.map_or(0, |place| place as i128)
}

/// Deletes old Kubernetes Events of all sources.
pub(crate) fn reconcile(key: &Key, event: &Value, now: Timestamp) -> Outcome {
    let Some(created) = time::parse(&event["metadata"]["creationTimestamp"]) else {
        return Outcome::done();
    };
    let end = time::later(created, KEPT_MS);
    if now < end {
        return Outcome::at(end);
    }
    Outcome::act(vec![Operation::Delete { key: key.clone(), uid: uid(event).to_owned() }])
}
