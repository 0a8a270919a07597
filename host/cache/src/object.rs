//! The cached object: its JSON, and the part of its metadata that is read often.
//!
//! Answers to client-go's `runtime.Object` as informers use it. Nothing here builds a tree: a
//! handler reads values from the bytes.

mod alphabet;
mod base;
mod decode;
mod edits;
mod flags;
#[cfg(test)]
pub(crate) mod fuzz;
mod head;
mod kept;
mod key;
mod metadata;
mod names;
mod packing;
mod pattern;
mod read_shared;
mod shared;
mod siblings;
mod uid;
mod words;

pub use decode::DecodeError;
pub(crate) use decode::{LastApplied, TOKEN_BYTES_MAX, bookmark};
pub use key::{ObjectKey, ParseKeyError};
pub(crate) use metadata::TypeJson;
pub use names::ObjectNames;
pub(crate) use packing::{Dictionary, Packing};
pub(crate) use siblings::Siblings;
pub use uid::Uid;
pub use words::OwnerReference;

use crate::json::PassValues;
use bytes::Bytes;
use head::{Head, Meta, MetadataFields};
use kept::Kept;
use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroI64;
use std::sync::{Arc, OnceLock};
use triomphe::ThinArc;
use words::Words;

/// `apiVersion` and `kind`: a typed list has them once for all its items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeMeta {
    /// For example `apps/v1`.
    pub api_version: String,
    /// For example `Deployment`.
    pub kind: String,
}

/// A cheap handle to one version of one object: cloning counts a reference.
///
/// A stored object is one allocation: the metadata for selectors, indexes and comparisons, and the JSON, packed. A
/// handle that will be read soon carries the JSON's text beside it. All its clones share the text, which is freed with
/// the last of them ([`Object::at_rest`]). Only [`Object::json`] ever unpacks.
#[derive(Clone)]
pub struct Object(Handle);

/// A clone counts one reference: hundreds of handlers make clones of one handle, on several processors.
#[derive(Clone)]
enum Handle {
    AtRest {
        /// The object's number in its store, for the handle that a store keeps. It takes no memory of its own: the
        /// handle has these bytes in any case.
        slot: u32,
        kept: ThinArc<Head, u8>,
    },
    /// The only form of an object that is [`Kept::Carried`].
    Carrying(Arc<CarriedObject>),
}

/// An object with its JSON as text.
struct CarriedObject {
    kept: ThinArc<Head, u8>,
    text: ObjectText,
}

/// An object's JSON as text, since its first read.
#[derive(Default)]
struct ObjectText {
    json: OnceLock<Bytes>,
    /// The result of [`Object::metadata_json`]: of a hundred handlers that ask, the first one causes the work.
    metadata: OnceLock<Bytes>,
    /// The result of [`Object::names`].
    names: OnceLock<ObjectNames>,
    /// The values that the readers of a shared projection asked for.
    found: OnceLock<Box<PassValues>>,
}

impl Object {
    /// Reads one object from exactly its JSON.
    ///
    /// `managedFields` is cut out. `apiVersion` and `kind` come first, from `type_meta` if the bytes lack them. So the
    /// result does not depend on the object's path (list, watch or GET).
    ///
    /// Of a duplicate key the last one counts, as for `serde_json::Value`.
    pub fn decode(json: &[u8], type_meta: Option<&TypeMeta>) -> Result<Self, DecodeError> {
        Self::read(json, type_meta, LastApplied::Kept)
    }

    /// As [`Object::decode`], without the annotation `kubectl.kubernetes.io/last-applied-configuration`. This saves
    /// memory for callers that never replace the object in the cluster by the read one.
    pub fn decode_without_last_applied(
        json: &[u8],
        type_meta: Option<&TypeMeta>,
    ) -> Result<Self, DecodeError> {
        Self::read(json, type_meta, LastApplied::Cut)
    }

    pub(crate) fn read(
        json: &[u8],
        type_meta: Option<&TypeMeta>,
        last_applied: LastApplied,
    ) -> Result<Self, DecodeError> {
        decode::object(json, type_meta, last_applied)
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.meta().key
    }

    /// `metadata.uid`; empty if the server gives none.
    pub fn uid(&self) -> Uid<'_> {
        self.kept_uid().uid()
    }

    /// Whether both have the same UID. If not, one is another object than the other, whatever their names are.
    pub fn has_uid_of(&self, other: &Self) -> bool {
        self.kept_uid() == other.kept_uid()
    }

    /// `metadata.resourceVersion`; empty if the server gives none.
    pub fn resource_version(&self) -> &str {
        self.kept_resource_version()
    }

    /// `metadata.generation`; none where the server gives none, or 0, which is the same in Kubernetes.
    pub fn generation(&self) -> Option<i64> {
        self.kept_generation().map(NonZeroI64::get)
    }

    /// Whether the annotation `kubectl.kubernetes.io/last-applied-configuration` was left out. An object in the
    /// cluster that is replaced by these bytes loses it. Then `kubectl apply` no longer removes fields that its
    /// manifest no longer has.
    pub fn lacks_last_applied(&self) -> bool {
        self.flags().lacks_last_applied
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.meta().labels.value(key)
    }

    /// All labels, in the order of the bytes.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.meta().labels.pairs()
    }

    /// `metadata.ownerReferences`.
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        self.owners().owners()
    }

    /// The object's JSON without `managedFields`, always with `apiVersion` and `kind`.
    ///
    /// An object at rest is unpacked each time, which takes some microseconds. The object of a
    /// notification is unpacked once.
    pub fn json(&self) -> Bytes {
        self.carried_json().cloned().unwrap_or_else(|| self.unpacked())
    }

    /// The same without a count of a reader, for a handle that carries its text.
    pub fn carried_json(&self) -> Option<&Bytes> {
        self.text().map(|text| text.json.get_or_init(|| self.unpacked()))
    }

    /// The same object without the text that this handle may carry, for callers that keep many
    /// objects for long.
    pub fn at_rest(&self) -> Self {
        match &self.0 {
            Handle::Carrying(carried) if self.flags().kept != Kept::Carried => {
                Self::resting(carried.kept.clone(), 0)
            }
            Handle::Carrying(_) | Handle::AtRest { .. } => self.clone(),
        }
    }

    /// A handle of a packed object without text, for a store in which the object has this number.
    pub(crate) fn stored_as(&self, slot: u32) -> Self {
        assert!(self.flags().kept != Kept::Carried, "a store keeps packed objects");
        Self::resting(self.kept_form().clone(), slot)
    }

    /// The number of [`Object::stored_as`], which returned this handle.
    pub(crate) fn slot(&self) -> u32 {
        match &self.0 {
            Handle::AtRest { slot, .. } => *slot,
            Handle::Carrying(_) => unreachable!("a store keeps no handle that carries text"),
        }
    }

    /// Whether this handle carries no text, so that each read unpacks the object.
    pub fn is_at_rest(&self) -> bool {
        self.text().is_none()
    }

    /// Whether both are the same handle, and not only the same version. Carried text does not matter.
    pub fn same_handle(&self, other: &Self) -> bool {
        std::ptr::eq(self.kept_form().ptr(), other.kept_form().ptr())
    }

    /// The number of bytes of [`Object::json`].
    pub fn json_len(&self) -> usize {
        self.head().json_len as usize
    }

    /// The cost of the object in bytes: names, kept JSON, and the text that this handle carries. An estimate. Shared
    /// parts do not count: labels, owners, a base that was made of another object.
    pub fn size(&self) -> usize {
        let text = self.text().map_or(0, |_| self.json_len() + size_of::<CarriedObject>());
        let front = self.front().len();
        text + self.meta().key.len() + size_of::<Head>() + front + self.kept_len()
    }

    /// The same object with other bytes; the metadata stays as it was read from the server's bytes.
    pub(crate) fn with_json(&self, json: Bytes) -> Self {
        Self::new(self.meta().clone(), self.fields(), json)
    }

    /// The owners, as one handle for all objects with the same ones.
    fn owners(&self) -> &Words {
        self.meta().labels.front()
    }

    /// Whether both have the same JSON. If the lengths differ, nothing is unpacked.
    pub(crate) fn same_json(&self, other: &Self) -> bool {
        self.json_len() == other.json_len() && self.json() == other.json()
    }

    /// A handle for a notification: after a read of one of its clones, none is unpacked again.
    pub(crate) fn to_be_read(&self) -> Self {
        match &self.0 {
            Handle::Carrying(_) => self.clone(),
            Handle::AtRest { kept, .. } => Self::carrying(kept.clone(), ObjectText::default()),
        }
    }

    fn resting(kept: ThinArc<Head, u8>, slot: u32) -> Self {
        Self(Handle::AtRest { slot, kept })
    }

    fn carrying(kept: ThinArc<Head, u8>, text: ObjectText) -> Self {
        Self(Handle::Carrying(Arc::new(CarriedObject { kept, text })))
    }

    fn kept_form(&self) -> &ThinArc<Head, u8> {
        match &self.0 {
            Handle::AtRest { kept, .. } => kept,
            Handle::Carrying(carried) => &carried.kept,
        }
    }

    fn text(&self) -> Option<&ObjectText> {
        match &self.0 {
            Handle::AtRest { .. } => None,
            Handle::Carrying(carried) => Some(&carried.text),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({}@{} {:?})", self.key(), self.resource_version(), self.json())
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

#[cfg(test)]
mod tests;
