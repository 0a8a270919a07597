//! The cluster itself: nodes, namespaces, Kubernetes Events, priority and runtime classes.

use jiff::Timestamp;
use serde_json::Value;

use super::column::{AGE, Column, NAME, Printer, boolean, column, integer, timed};
use super::format::{NONE, UNKNOWN, condition, entries, int_or, name, or, text, text_or};
use super::human_duration::since;

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[("", "nodes")], NODES),
    Printer::new(&[("", "namespaces")], &[
        NAME,
        column("Status", "the namespace's phase", |it| text(&it["status"]["phase"]).into()),
        AGE,
    ]),
    Printer::new(&[("", "events"), ("events.k8s.io", "events")], EVENTS),
    Printer::new(&[("", "componentstatuses")], &[
        NAME,
        column("Status", "whether the component is healthy", |it| healthy(it).into()),
        column("Message", "what the component says", |it| text(&health(it)["message"]).into()),
        column("Error", "what is wrong with it", |it| text(&health(it)["error"]).into()),
    ]),
    Printer::new(&[("scheduling.k8s.io", "priorityclasses")], &[
        NAME,
        integer("Value", "the priority", |it| int_or(&it["value"], 0).into()),
        boolean("Global-Default", "whether pods get it that name none", |it| (it["globalDefault"] == true).into()),
        AGE,
        column("PreemptionPolicy", "whether it may push others out",
            |it| text_or(&it["preemptionPolicy"], "PreemptLowerPriority").into()),
    ]),
    Printer::new(&[("node.k8s.io", "runtimeclasses")], &[
        NAME,
        column("Handler", "what runs the pods", |it| text(&it["handler"]).into()),
        AGE,
    ]),
];

#[rustfmt::skip]
const NODES: &[Column] = &[
    NAME,
    column("Status", "whether the node is ready and takes pods", |it| node_status(it).into()),
    column("Roles", "what the node is for", |it| or(roles(it).join(","), NONE).into()),
    AGE,
    column("Version", "the version of the node's kubelet", |it| text(&info(it)["kubeletVersion"]).into()),
    column("Internal-IP", "the node's address inside the cluster", |it| address(it, "InternalIP").into()).wide(),
    column("External-IP", "the node's address outside the cluster", |it| address(it, "ExternalIP").into()).wide(),
    column("OS-Image", "the node's operating system", |it| text_or(&info(it)["osImage"], UNKNOWN).into()).wide(),
    column("Kernel-Version", "the node's kernel", |it| kernel(info(it)).into()).wide(),
    column("Container-Runtime", "what runs the node's containers",
        |it| text_or(&info(it)["containerRuntimeVersion"], UNKNOWN).into()).wide(),
];

/// Both APIs of events are shown alike: `events.k8s.io` calls some members otherwise.
#[rustfmt::skip]
const EVENTS: &[Column] = &[
    timed("Last Seen", "how long ago it last happened", |it, now| last_seen(it, now).into()),
    column("Type", "Normal or Warning", |it| text(&it["type"]).into()),
    column("Reason", "the short reason", |it| text(&it["reason"]).into()),
    column("Object", "what it is about", |it| about_text(about(it)).into()),
    column("Subobject", "which part of it", |it| text(&about(it)["fieldPath"]).into()).wide(),
    column("Source", "who says so", |it| source(it).into()).wide(),
    column("Message", "what happened", |it| first_of(it, ["message", "note"]).map_or("", text).trim().into()),
    timed("First Seen", "how long ago it first happened", |it, now| first_seen(it, now).into()).wide(),
    column("Count", "how often it happened", |it| count(it).into()).wide(),
    column("Name", "the object's name", name).wide().named(),
];

fn info(node: &Value) -> &Value {
    &node["status"]["nodeInfo"]
}

fn kernel(info: &Value) -> String {
    let kernel = text_or(&info["kernelVersion"], UNKNOWN);
    match text(&info["architecture"]) {
        "" => kernel.to_owned(),
        architecture => format!("{kernel} ({architecture})"),
    }
}

fn first_of<'v>(event: &'v Value, members: [&'static str; 2]) -> Option<&'v Value> {
    members.iter().map(|member| &event[member]).find(|value| !value.is_null())
}

fn first_seen(event: &Value, now: Timestamp) -> String {
    let first = first_of(event, ["firstTimestamp", "deprecatedFirstTimestamp"]);
    since(first.unwrap_or(&event["eventTime"]), now)
}

fn last_seen(event: &Value, now: Timestamp) -> String {
    let series = &event["series"];
    match first_of(event, ["lastTimestamp", "deprecatedLastTimestamp"]) {
        _ if series.is_object() => since(&series["lastObservedTime"], now),
        Some(last) => since(last, now),
        None => first_seen(event, now),
    }
}

fn count(event: &Value) -> i64 {
    let series = &event["series"];
    let count = match series.is_object() {
        true => Some(&series["count"]),
        false => first_of(event, ["count", "deprecatedCount"]),
    };
    count.map_or(0, |count| int_or(count, 0)).max(1)
}

fn about(event: &Value) -> &Value {
    first_of(event, ["involvedObject", "regarding"]).unwrap_or(&Value::Null)
}

fn health(status: &Value) -> &Value {
    let mut conditions = entries(&status["conditions"]).iter();
    conditions.find(|condition| condition["type"] == "Healthy").unwrap_or(&Value::Null)
}

fn healthy(status: &Value) -> &'static str {
    match text(&health(status)["status"]) {
        "True" => "Healthy",
        "False" => "Unhealthy",
        _ => "Unknown",
    }
}

fn node_status(node: &Value) -> String {
    let ready = match condition(node, "Ready").map(|condition| text(&condition["status"])) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    };
    let disabled = node["spec"]["unschedulable"] == true;
    format!("{ready}{}", if disabled { ",SchedulingDisabled" } else { "" })
}

/// From labels `node-role.kubernetes.io/<role>` and `kubernetes.io/role=<role>`, sorted.
fn roles(node: &Value) -> Vec<&str> {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles = labels.filter_map(|(key, value)| match key.as_str() {
        "kubernetes.io/role" => value.as_str(),
        key => key.strip_prefix("node-role.kubernetes.io/"),
    });
    let mut roles: Vec<&str> = roles.filter(|role| !role.is_empty()).collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}

fn address<'v>(node: &'v Value, kind: &str) -> &'v str {
    let mut addresses = entries(&node["status"]["addresses"]).iter();
    let address = addresses.find(|address| address["type"] == kind);
    address.map_or(NONE, |address| text_or(&address["address"], NONE))
}

fn about_text(about: &Value) -> String {
    let kind = text(&about["kind"]).to_lowercase();
    match text(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let source = [&event["source"], &event["deprecatedSource"]];
    let source = source.into_iter().find(|source| source.is_object()).unwrap_or(&Value::Null);
    let controller = text_or(&event["reportingComponent"], text(&event["reportingController"]));
    let component = text_or(&source["component"], controller);
    match text_or(&source["host"], text(&event["reportingInstance"])) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
