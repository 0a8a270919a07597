//! An object without everything but its metadata, as Kubernetes' `PartialObjectMetadata`: cut out of the JSON, not written anew.

use super::{Object, TypeMeta};
use crate::json::Projection;
use bytes::Bytes;
use std::sync::LazyLock;

/// What is left of an object.
const KEPT: [&str; 3] = ["apiVersion", "kind", "metadata"];

static METADATA: LazyLock<Projection> =
    LazyLock::new(|| Projection::new(KEPT.map(|name| format!("/{name}"))));

impl Object {
    /// Whether only `apiVersion`, `kind` and `metadata` are known of the object.
    pub fn is_metadata_only(&self) -> bool {
        self.meta().metadata_only
    }

    /// The object with no more than `apiVersion`, `kind` and `metadata`.
    #[must_use]
    pub fn metadata_only(&self) -> Self {
        if self.is_metadata_only() {
            return self.clone();
        }
        self.cut_to(self.metadata_json())
    }

    /// The same as an object of this type: `PartialObjectMetadata` does not say of what it is.
    pub(crate) fn metadata_of(&self, type_meta: &TypeMeta) -> Self {
        self.cut_to(of_type(type_meta, &self.json()))
    }

    fn cut_to(&self, metadata: Bytes) -> Self {
        let mut meta = self.meta().clone();
        meta.metadata_only = true;
        Self::new(meta, self.resource_version(), self.uid(), metadata)
    }

    /// Whether both have the same metadata, in any order of its fields: API servers write those of custom resources in
    /// another order in `PartialObjectMetadata`.
    pub(crate) fn same_metadata(&self, other: &Self) -> bool {
        let (one, other) = (self.metadata_json(), other.metadata_json());
        let value = |json: &[u8]| serde_json::from_slice::<serde_json::Value>(json).ok();
        one == other || value(&one).is_some_and(|one| Some(one) == value(&other))
    }
}

/// Every object has all three: decoding sees to it.
pub(super) fn only(json: &[u8]) -> Bytes {
    with_type(METADATA.values(json))
}

/// The same with another `apiVersion` and `kind`.
pub(super) fn of_type(type_meta: &TypeMeta, json: &[u8]) -> Bytes {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let (api_version, kind) = (text(&type_meta.api_version), text(&type_meta.kind));
    let mut values = METADATA.values(json);
    values[0] = Some(api_version.as_bytes());
    values[1] = Some(kind.as_bytes());
    with_type(values)
}

fn with_type(values: Vec<Option<&[u8]>>) -> Bytes {
    let mut kept = Vec::with_capacity(values.iter().flatten().map(|value| value.len() + 16).sum());
    for (name, value) in KEPT.iter().zip(values) {
        let Some(value) = value else { continue };
        kept.push(if kept.is_empty() { b'{' } else { b',' });
        kept.extend_from_slice(format!("\"{name}\":").as_bytes());
        kept.extend_from_slice(value);
    }
    kept.push(b'}');
    Bytes::from(kept)
}
