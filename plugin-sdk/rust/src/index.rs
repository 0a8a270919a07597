//! An index over the cache.

use serde::Serialize;

/// An index over a resource: objects by the value at a JSON pointer.
#[derive(Clone, Debug, Serialize)]
pub struct Index {
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) pointer: String,
}

impl Index {
    /// An index with this name. In `pointer`, `*` steps into every member of a list or object.
    pub fn new(
        resource: impl Into<String>,
        name: impl Into<String>,
        pointer: impl Into<String>,
    ) -> Self {
        Self { resource: resource.into(), name: name.into(), pointer: pointer.into() }
    }
}
