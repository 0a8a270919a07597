//! What the traffic does to the cluster: the requests that controllers, kubelets and people would make.

use jiff::Timestamp;
use serde_json::Value;

use super::world::{Key, Kind};

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// Makes an object; a name is made for it where it has `generateName` only.
    Create {
        kind: Kind,
        /// Empty for the cluster's own objects.
        namespace: String,
        object: Value,
    },
    /// Replaces an object, in the state it was read in.
    Update { key: Key, object: Value },
    /// Replaces an object's status, in the state the object was read in.
    UpdateStatus { key: Key, object: Value },
    /// Deletes this very object, not one of the same name; a bound pod gets its grace period.
    Delete { key: Key, uid: String },
    /// Removes this very object without further grace: a kubelet's last word on a pod.
    Remove { key: Key, uid: String },
}

/// What came of looking at one object.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) operations: Vec<Operation>,
    /// When to look again even if nothing changes.
    pub(crate) again: Option<Timestamp>,
}

impl Outcome {
    /// Nothing to do until something changes.
    pub(crate) fn done() -> Self {
        Self::default()
    }

    /// These requests; what they change brings the object back.
    pub(crate) fn act(operations: Vec<Operation>) -> Self {
        Self { operations, again: None }
    }

    /// Nothing yet: look again then.
    pub(crate) fn at(again: Timestamp) -> Self {
        Self { operations: Vec::new(), again: Some(again) }
    }
}
