//! An object without everything but its metadata, as Kubernetes' `PartialObjectMetadata`: cut out of the JSON, not written anew.

use super::{MetadataFields, Object, TypeMeta};
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
        self.flags().metadata_only
    }

    /// `apiVersion`, `kind` and `metadata` alone, as in `PartialObjectMetadata`. Computed once for all clones of a
    /// notification's handle.
    pub fn metadata_json(&self) -> Bytes {
        let carried = self.carried_metadata_json().cloned();
        carried.unwrap_or_else(|| match self.is_metadata_only() {
            true => self.unpacked(),
            false => only(&self.unpacked()),
        })
    }

    /// The same without a count of a reader, for a handle that carries its text.
    pub fn carried_metadata_json(&self) -> Option<&Bytes> {
        let json = self.carried_json()?;
        match self.is_metadata_only() {
            true => Some(json),
            false => self.text().map(|text| text.metadata.get_or_init(|| only(json))),
        }
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
    pub(crate) fn metadata_of(&self, of_type: &TypeJson) -> Self {
        self.cut_to(of_type.metadata(&self.json()))
    }

    fn cut_to(&self, metadata: Bytes) -> Self {
        let fields = MetadataFields { metadata_only: true, ..self.fields() };
        Self::new(self.meta().clone(), fields, metadata)
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
fn only(json: &[u8]) -> Bytes {
    with_type(METADATA.values(json))
}

/// `apiVersion` and `kind` as JSON, made once for all objects of a type.
pub(crate) struct TypeJson([String; 2]);

impl From<&TypeMeta> for TypeJson {
    fn from(type_meta: &TypeMeta) -> Self {
        let TypeMeta { api_version, kind } = type_meta;
        Self([api_version, kind].map(|text| serde_json::Value::from(text.as_str()).to_string()))
    }
}

impl TypeJson {
    /// The metadata of an object, with this type.
    fn metadata(&self, json: &[u8]) -> Bytes {
        let mut values = METADATA.values(json);
        for (value, text) in values.iter_mut().zip(&self.0) {
            *value = Some(text.as_bytes());
        }
        with_type(values)
    }
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
