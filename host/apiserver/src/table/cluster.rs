//! The cluster itself: nodes, namespaces, Kubernetes Events, priority and runtime classes.

use jiff::Timestamp;
use serde_json::Value;

use super::column::{AGE, NAME, Printer, boolean, integer, text as column};
use super::format::{NONE, UNKNOWN, condition, entries, int_or, name, or, text, text_or};
use super::human_duration::{age, since};

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        ("", "nodes") => Some(&NODES),
        ("", "namespaces") => Some(&NAMESPACES),
        ("" | "events.k8s.io", "events") => Some(&EVENTS),
        ("", "componentstatuses") => Some(&COMPONENT_STATUSES),
        ("scheduling.k8s.io", "priorityclasses") => Some(&PRIORITY_CLASSES),
        ("node.k8s.io", "runtimeclasses") => Some(&RUNTIME_CLASSES),
        _ => None,
    }
}

static NODES: Printer = Printer::new(
    &[
        NAME,
        column("Status", "whether the node is ready and takes pods"),
        column("Roles", "what the node is for"),
        AGE,
        column("Version", "the version of the node's kubelet"),
        column("Internal-IP", "the node's address inside the cluster").wide(),
        column("External-IP", "the node's address outside the cluster").wide(),
        column("OS-Image", "the node's operating system").wide(),
        column("Kernel-Version", "the node's kernel").wide(),
        column("Container-Runtime", "what runs the node's containers").wide(),
    ],
    |object, now| {
        let info = &object["status"]["nodeInfo"];
        let kernel = text_or(&info["kernelVersion"], UNKNOWN);
        let kernel = match text(&info["architecture"]) {
            "" => kernel.to_owned(),
            architecture => format!("{kernel} ({architecture})"),
        };
        vec![
            name(object),
            node_status(object).into(),
            or(roles(object).join(","), NONE).into(),
            age(object, now),
            text(&info["kubeletVersion"]).into(),
            address(object, "InternalIP").into(),
            address(object, "ExternalIP").into(),
            text_or(&info["osImage"], UNKNOWN).into(),
            kernel.into(),
            text_or(&info["containerRuntimeVersion"], UNKNOWN).into(),
        ]
    },
);

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

static NAMESPACES: Printer =
    Printer::new(&[NAME, column("Status", "the namespace's phase"), AGE], |object, now| {
        vec![name(object), text(&object["status"]["phase"]).into(), age(object, now)]
    });

static EVENTS: Printer = Printer::new(
    &[
        column("Last Seen", "how long ago it last happened"),
        column("Type", "Normal or Warning"),
        column("Reason", "the short reason"),
        column("Object", "what it is about"),
        column("Subobject", "which part of it").wide(),
        column("Source", "who says so").wide(),
        column("Message", "what happened"),
        column("First Seen", "how long ago it first happened").wide(),
        column("Count", "how often it happened").wide(),
        column("Name", "the object's name").wide().named(),
    ],
    event_cells,
);

/// Both APIs of events are shown alike: `events.k8s.io` calls some members otherwise.
fn event_cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let first_of = |members: [&'static str; 2]| {
        members.iter().map(|member| &event[member]).find(|value| !value.is_null())
    };
    let first = first_of(["firstTimestamp", "deprecatedFirstTimestamp"]);
    let first = since(first.unwrap_or(&event["eventTime"]), now);
    let last = first_of(["lastTimestamp", "deprecatedLastTimestamp"]);
    let mut last = last.map_or(first.clone(), |last| since(last, now));
    let mut count = first_of(["count", "deprecatedCount"]).map_or(0, |count| int_or(count, 0));
    let series = &event["series"];
    if series.is_object() {
        last = since(&series["lastObservedTime"], now);
        count = int_or(&series["count"], 0);
    }
    let about = first_of(["involvedObject", "regarding"]).unwrap_or(&Value::Null);
    let message = first_of(["message", "note"]).map_or("", text);
    vec![
        last.into(),
        text(&event["type"]).into(),
        text(&event["reason"]).into(),
        about_text(about).into(),
        text(&about["fieldPath"]).into(),
        source(event).into(),
        message.trim().into(),
        first.into(),
        count.max(1).into(),
        name(event),
    ]
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

static COMPONENT_STATUSES: Printer = Printer::new(
    &[
        NAME,
        column("Status", "whether the component is healthy"),
        column("Message", "what the component says"),
        column("Error", "what is wrong with it"),
    ],
    |object, _| {
        let mut conditions = entries(&object["conditions"]).iter();
        let health = conditions.find(|condition| condition["type"] == "Healthy");
        let health = health.unwrap_or(&Value::Null);
        let status = match text(&health["status"]) {
            "True" => "Healthy",
            "False" => "Unhealthy",
            _ => "Unknown",
        };
        vec![
            name(object),
            status.into(),
            text(&health["message"]).into(),
            text(&health["error"]).into(),
        ]
    },
);

static PRIORITY_CLASSES: Printer = Printer::new(
    &[
        NAME,
        integer("Value", "the priority"),
        boolean("Global-Default", "whether pods get it that name none"),
        AGE,
        column("PreemptionPolicy", "whether it may push others out"),
    ],
    |object, now| {
        vec![
            name(object),
            int_or(&object["value"], 0).into(),
            (object["globalDefault"] == true).into(),
            age(object, now),
            text_or(&object["preemptionPolicy"], "PreemptLowerPriority").into(),
        ]
    },
);

static RUNTIME_CLASSES: Printer =
    Printer::new(&[NAME, column("Handler", "what runs the pods"), AGE], |object, now| {
        vec![name(object), text(&object["handler"]).into(), age(object, now)]
    });
