//! The cached object: its JSON bytes, and the parsed part of their metadata.
//!
//! Answers to client-go's `runtime.Object` as informers use it. Nothing here builds a tree: what a handler
//! wants from the bytes it reads from the bytes.

mod decode;
#[cfg(test)]
pub(crate) mod fuzz;
mod key;
mod shared;

pub use decode::DecodeError;
pub(crate) use decode::bookmark;
pub use key::{ObjectKey, ParseKeyError};

use bytes::Bytes;
use shared::{Labels, Owners, shared};
use std::cmp::Ordering;
use std::sync::Arc;

/// `apiVersion` and `kind`: what a typed list says once for all its items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeMeta {
    /// For example `apps/v1`.
    pub api_version: String,
    /// For example `Deployment`.
    pub kind: String,
}

/// One of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// For example `apps/v1`.
    #[serde(default)]
    pub api_version: Box<str>,
    /// For example `ReplicaSet`.
    #[serde(default)]
    pub kind: Box<str>,
    /// The owner's name; it lives in the object's namespace or in none.
    #[serde(default)]
    pub name: Box<str>,
    /// The owner's UID.
    #[serde(default)]
    pub uid: Box<str>,
    /// Whether this owner is the managing controller.
    #[serde(default)]
    pub controller: Option<bool>,
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
    version: Version,
    generation: Option<i64>,
    labels: Labels,
    owners: Owners,
    json: Bytes,
}

/// The resourceVersion and the UID, in one allocation.
#[derive(Clone, Debug)]
struct Version {
    text: Box<str>,
    /// Where the UID begins.
    uid: usize,
}

impl Version {
    fn new(resource_version: &str, uid: &str) -> Self {
        Self { text: [resource_version, uid].concat().into(), uid: resource_version.len() }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        shared().dropped();
    }
}

impl Object {
    /// Reads one object from exactly its JSON.
    ///
    /// `managedFields` and the last-applied annotation are cut out; `apiVersion` and `kind` come first, taken
    /// from `type_meta` where the bytes leave them out, so that the result does not depend on the way
    /// (list, watch or GET) that the object came.
    ///
    /// Where a key stands twice the last one counts, as for `serde_json::Value`.
    pub fn decode(json: &[u8], type_meta: Option<&TypeMeta>) -> Result<Self, DecodeError> {
        decode::object(json, type_meta)
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.inner.key
    }

    /// `metadata.uid`; empty where the server gives none.
    pub fn uid(&self) -> &str {
        &self.inner.version.text[self.inner.version.uid..]
    }

    /// `metadata.resourceVersion`; empty where the server gives none.
    pub fn resource_version(&self) -> &str {
        &self.inner.version.text[..self.inner.version.uid]
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> Option<i64> {
        self.inner.generation
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let labels = &self.inner.labels;
        labels.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
    }

    /// All labels, in the order of the bytes.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner.labels.iter().map(|(key, value)| (&**key, &**value))
    }

    /// `metadata.ownerReferences`.
    pub fn owner_references(&self) -> &[OwnerReference] {
        &self.inner.owners
    }

    /// The object's JSON without `managedFields` and the last-applied annotation, always with
    /// `apiVersion` and `kind`.
    pub fn json(&self) -> Bytes {
        self.inner.json.clone()
    }

    /// The same object with other bytes: what was read from the server's stays as it was read.
    pub(crate) fn with_json(&self, json: Bytes) -> Self {
        let Inner { key, version, generation, labels, owners, json: _ } = &*self.inner;
        let inner = Inner {
            key: key.clone(),
            version: version.clone(),
            generation: *generation,
            labels: labels.clone(),
            owners: owners.clone(),
            json,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether both are the same handle, not merely the same version.
    pub fn same_handle(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// How many bytes [`Object::json`] has.
    pub fn json_len(&self) -> usize {
        self.inner.json.len()
    }

    /// What the object costs at rest, roughly: bytes, names and the handle. Labels and owners are not counted: it
    /// shares them with others.
    pub fn size(&self) -> usize {
        let Inner { key, version, json, .. } = &*self.inner;
        json.len() + key.len() + version.text.len() + size_of::<Inner>()
    }
}

/// Compares two resourceVersions; `None` where they cannot be compared.
///
/// Kubernetes promises since 1.35 that they are decimal numbers of one order (KEP-5504); another server's
/// opaque ones are only ever equal or not.
pub fn compare_resource_versions(left: &str, right: &str) -> Option<Ordering> {
    if left == right {
        return Some(Ordering::Equal);
    }
    let number = |text: &str| text.parse::<u128>().ok();
    Some(number(left)?.cmp(&number(right)?))
}
