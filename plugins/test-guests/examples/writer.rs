//! Writes to the cluster in every way that there is, about each pod whose name begins with its own: what may be written and what may not.
//!
//! The host must let nothing through that is not granted to it, and say to it what became of everything else.

use informant_plugin::kube::{self, Gravity, Patch};
use informant_plugin::prelude::*;
use serde_json::{Value, json};

/// The plugin.
pub struct Writer;

impl Plugin for Writer {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        if event.change() != Change::Added || !test_guests::is_asked_for("writer", &event) {
            test_guests::behave(&event);
            return Ok(());
        }
        let pod = event.key();
        change(pod)?;
        make(pod, event.uid())?;
        let secret = ObjectKey::new(pod.namespace.as_str(), "secret");
        tell("secret", kube::delete("v1/secrets", &secret));
        let elsewhere = ObjectKey::new("kube-system", "web");
        tell("elsewhere", kube::delete("v1/configmaps", &elsewhere));
        let trick = ObjectKey::new("../../nodes", "web");
        tell("trick", kube::delete("v1/configmaps", &trick));
        kube::record_event("v1/pods", pod, Gravity::Normal, "Written", "in every way")?;
        info!("wrote about {pod}");
        Ok(())
    }
}

/// Changes the pod by each kind of patch, each of which sees what the one before it did.
fn change(pod: &ObjectKey) -> Result {
    let label = |name: &str| json!({"metadata": {"labels": {name: "yes"}}});
    let add = json!([{"op": "add", "path": "/metadata/labels/json", "value": "yes"}]);
    let mut applied = label("apply");
    applied["apiVersion"] = "v1".into();
    applied["kind"] = "Pod".into();
    let patches = [
        Patch::merge(label("merge")),
        Patch::json(add),
        Patch::strategic(label("strategic")),
        Patch::apply(applied, false),
    ];
    for patch in patches {
        let written = kube::patch("v1/pods", pod, &patch);
        let object: Value = written.map_err(kube::Error::into_failure)?.object()?;
        let labels = object["metadata"]["labels"].as_object().map_or(0, |labels| labels.len());
        info!("{pod} has {labels} labels");
    }
    Ok(())
}

/// Makes an object that belongs to the pod, changes it and deletes it, and tries what cannot be.
fn make(pod: &ObjectKey, uid: &str) -> Result {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": uid});
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": pod.name, "ownerReferences": [owner]},
    });
    let made = kube::create("v1/configmaps", pod, &object);
    let mut made: Value = made.map_err(kube::Error::into_failure)?.object()?;
    tell("again", kube::create("v1/configmaps", pod, &object));
    let before = made.clone();
    made["data"] = json!({"seen": "yes"});
    kube::update("v1/configmaps", pod, &made).map_err(kube::Error::into_failure)?;
    tell("late", kube::update("v1/configmaps", pod, &before_with(before)));
    tell("other", kube::delete_only("v1/configmaps", pod, "00000000-0000-0000-0000-000000000000"));
    Ok(())
}

/// A change of what is no longer there.
fn before_with(mut object: Value) -> Value {
    object["data"] = json!({"seen": "no"});
    object
}

/// Says how a write ended.
fn tell<T>(what: &str, result: Result<T, kube::Error>) {
    match result {
        Ok(_) => info!("{what}: done"),
        Err(kube::Error::Status(status)) => info!("{what}: {} {}", status.code, status.reason),
        Err(error) => info!("{what}: {error}"),
    }
}

export_plugin!(Writer);
