//! One change of one object, as a source tells it.

use std::sync::Arc;

use crate::ApiObject;

/// One change of one object.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is new.
    Added(Arc<ApiObject>),
    /// The object changed.
    Modified {
        /// Its state before.
        old: Arc<ApiObject>,
        /// Its state now.
        new: Arc<ApiObject>,
    },
    /// The object is gone.
    Deleted {
        /// Its state before.
        old: Arc<ApiObject>,
        /// The same under the resourceVersion of the deletion: what a watcher is shown.
        last: Arc<ApiObject>,
    },
}

impl Change {
    /// The resourceVersion of the change.
    pub fn resource_version(&self) -> u64 {
        match self {
            Self::Added(object) | Self::Deleted { last: object, .. } => object.resource_version(),
            Self::Modified { new, .. } => new.resource_version(),
        }
    }

    /// The bytes of the state that the change has brought.
    pub fn json_len(&self) -> usize {
        match self {
            Self::Added(object) | Self::Deleted { last: object, .. } => object.json_len(),
            Self::Modified { new, .. } => new.json_len(),
        }
    }
}
