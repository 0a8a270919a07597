//! The requests of the traffic: those of controllers, kubelets and people.

use jiff::Timestamp;
use serde_json::Value;

use super::world::{Key, Kind};

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// Creates an object. An object with only `generateName` gets a generated name.
    Create {
        kind: Kind,
        /// Empty for the cluster's own objects.
        namespace: String,
        object: Value,
    },
    /// Replaces an object, if it still has the state that was read.
    Update { key: Key, object: Value },
    /// Replaces an object's status, if the object still has the state that was read.
    UpdateStatus { key: Key, object: Value },
    /// Deletes the object with this UID, not another one of the same name. A bound pod gets its grace period.
    Delete { key: Key, uid: String },
    /// Removes the object with this UID without a further grace period: the last request of a kubelet for a pod.
    Remove { key: Key, uid: String },
}

/// The result of a check of one object.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) operations: Vec<Operation>,
    /// The time of the next check if nothing changes.
    pub(crate) again: Option<Timestamp>,
}

impl Outcome {
    /// Nothing to do until something changes.
    pub(crate) fn done() -> Self {
        Self::default()
    }

    /// These requests. Their changes lead to the next check of the object.
    pub(crate) fn act(operations: Vec<Operation>) -> Self {
        Self { operations, again: None }
    }

    /// Nothing to do before the next check at this time.
    pub(crate) fn at(again: Timestamp) -> Self {
        Self { operations: Vec::new(), again: Some(again) }
    }
}
