//! Owner references, and the deletion of objects whose owner is gone.

use serde_json::{Value, json};

use super::operation::Operation;
use super::world::{Key, Kind, World, controller, uid};

/// A reference to the object's controller.
pub(crate) fn reference(api_version: &str, kind: &str, owner: &Value) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Deletes an object whose controller is gone, as the garbage collector does. An owner of a kind that is not watched
/// here counts as existing.
pub(crate) fn collect(world: &World, key: &Key, object: &Value) -> Option<Operation> {
    let owner = controller(object)?;
    let watched = [
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Job,
        Kind::Node,
    ];
    watched.iter().find(|kind| owner["kind"] == kind.name())?;
    let gone = world.by_uid(owner["uid"].as_str()?).is_none();
    gone.then(|| Operation::Delete { key: key.clone(), uid: uid(object).to_owned() })
}
