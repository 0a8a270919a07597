//! The cached object: JSON bytes as the API server sent them, and the parsed part of their metadata.

use bytes::Bytes;
use std::sync::Arc;

/// Names an object within its resource. `namespace` is empty for cluster-scoped objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Empty for cluster-scoped objects.
    pub namespace: Box<str>,
    /// `metadata.name`.
    pub name: Box<str>,
}

/// A cheap handle to one version of one object: cloning counts a reference.
///
/// The bytes are handed out as an owned [`Bytes`], never as a borrowed tree, so that a store is free to
/// keep them compressed.
#[derive(Clone, Debug)]
pub struct Object {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    key: ObjectKey,
    uid: Box<str>,
    resource_version: Box<str>,
    labels: Box<[(Box<str>, Box<str>)]>,
    json: Bytes,
}

impl Object {
    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.inner.key
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        &self.inner.uid
    }

    /// `metadata.resourceVersion`.
    pub fn resource_version(&self) -> &str {
        &self.inner.resource_version
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let labels = &self.inner.labels;
        labels.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
    }

    /// The object's JSON without `managedFields` and the last-applied annotation, always with
    /// `apiVersion` and `kind`.
    pub fn json(&self) -> Bytes {
        self.inner.json.clone()
    }
}
