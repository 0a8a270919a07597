//! Writes of other programs to the server's objects.

use crate::server::{ModelServerState, Server};
use informant_apimachinery::GroupVersionResource;
use serde_json::{Value, json};

const NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The resources that are written and cached.
pub(crate) fn resources() -> Vec<GroupVersionResource> {
    let names = ["v1/configmaps", "v1/pods", "example.dev/v1/widgets"];
    names.iter().map(|name| name.parse().expect("a resource's name")).collect()
}

fn definitions() -> GroupVersionResource {
    "apiextensions.k8s.io/v1/customresourcedefinitions".parse().expect("a resource's name")
}

/// Creates the definition of widgets, or deletes it with all widgets.
pub(crate) fn define_widgets(server: &Server, defined: bool) {
    let name = "widgets.example.dev";
    server.write(|state| {
        let _ = if defined {
            let definition = json!({
                "metadata": {"name": name},
                "spec": {
                    "group": "example.dev",
                    "scope": "Namespaced",
                    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                    "versions": [{
                        "name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    }],
                },
            });
            state.create(&definitions(), None, definition)
        } else {
            state.delete(&definitions(), (None, name))
        };
    });
    server.catch_up();
}

/// Removes `managedFields` and the last-applied annotation, which these caches do not keep.
pub(crate) fn cut(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    metadata.shift_remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.shift_remove(LAST_APPLIED);
    }
}

/// Makes one random write. Returns its description for the trace.
pub(crate) fn random(
    state: &mut ModelServerState,
    random: &mut fastrand::Rng,
    gvr: &GroupVersionResource,
    names: usize,
) -> String {
    let namespace = NAMESPACES[random.usize(..NAMESPACES.len())];
    let name = format!("o{}", random.usize(..names));
    let at = (Some(namespace), name.as_str());
    let (what, outcome) = match random.u32(..20) {
        0..=6 => ("create", state.create(gvr, Some(namespace), object(gvr, &name, random))),
        7..=10 => ("change", state.update(gvr, at, |object| change(object, random))),
        11..=12 => ("relabel", state.update(gvr, at, |object| relabel(object, random))),
        13 => ("manage", state.update(gvr, at, |object| manage(object, random))),
        14..=16 => ("delete", state.delete(gvr, at)),
        17..=18 => {
            let deleted = state.delete(gvr, at);
            let made = object(gvr, &name, random);
            let again = deleted.and_then(|()| state.create(gvr, Some(namespace), made));
            ("delete and create", again)
        }
        _ => ("apply", state.update(gvr, at, |object| apply(object, random))),
    };
    let outcome = outcome.map_or_else(|error| format!(": {error}"), |()| String::new());
    format!("{what} {gvr} {namespace}/{name}{outcome}")
}

/// Fills a resource with objects.
pub(crate) fn fill(
    state: &mut ModelServerState,
    random: &mut fastrand::Rng,
    gvr: &GroupVersionResource,
    count: usize,
) {
    for number in 0..count {
        let namespace = NAMESPACES[number % NAMESPACES.len()];
        let made = object(gvr, &format!("o{}", number / NAMESPACES.len()), random);
        let _ = state.create(gvr, Some(namespace), made);
    }
}

fn word(random: &mut fastrand::Rng) -> &'static str {
    const WORDS: [&str; 4] = ["red", "green", "blue", "white"];
    WORDS[random.usize(..WORDS.len())]
}

fn object(gvr: &GroupVersionResource, name: &str, random: &mut fastrand::Rng) -> Value {
    let mut object = json!({
        "metadata": {
            "name": name,
            "labels": {"app": word(random)},
            "managedFields": [{"manager": "sim", "operation": "Update"}],
        },
    });
    if gvr.resource == "pods" {
        object["spec"] = json!({"containers": [{"name": "c", "image": "nginx"}]});
    } else {
        object["data"] = json!({"colour": word(random), "text": "a \"quoted\" \u{e9}\n"});
    }
    object
}

fn change(object: &mut Value, random: &mut fastrand::Rng) {
    if object["spec"]["containers"].is_array() {
        object["spec"]["containers"][0]["image"] = format!("nginx:{}", random.u16(..)).into();
    } else {
        object["data"]["colour"] = word(random).into();
        object["data"]["n"] = random.u32(..).to_string().into();
    }
}

fn relabel(object: &mut Value, random: &mut fastrand::Rng) {
    object["metadata"]["labels"]["app"] = word(random).into();
}

/// Changes only fields that no cache keeps.
fn manage(object: &mut Value, random: &mut fastrand::Rng) {
    let manager = format!("m{}", random.u16(..));
    object["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update"}]);
}

fn apply(object: &mut Value, random: &mut fastrand::Rng) {
    object["metadata"]["annotations"][LAST_APPLIED] =
        format!("{{\"n\":{}}}", random.u16(..)).into();
    if random.bool() {
        object["metadata"]["annotations"]["note"] = word(random).into();
    }
}
