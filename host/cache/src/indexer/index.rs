//! One secondary index: values to keys. Answers to client-go's `IndexFunc` and `Index` (`tools/cache/index.go`).

use super::after_bound;
use super::json_pointer::JsonPointer;
use crate::object::{Object, ObjectKey};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Function = dyn Fn(&Object) -> Vec<String> + Send + Sync;

/// Says under which values an object is filed: none, one or many.
///
/// It must depend on nothing but the object. If it panics, the object is filed nowhere (client-go's ends the process).
#[derive(Clone)]
pub struct IndexFunc {
    function: Arc<Function>,
}

impl IndexFunc {
    /// Any function of the object.
    pub fn new(function: impl Fn(&Object) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { function: Arc::new(function) }
    }

    /// The strings, numbers and booleans at a JSON pointer; `*` steps into every member.
    pub fn json_pointer(pointer: JsonPointer) -> Self {
        Self::new(move |object| pointer.values(&object.json()))
    }

    pub(super) fn values(&self, object: &Object) -> Vec<String> {
        catch_unwind(AssertUnwindSafe(|| (self.function)(object))).unwrap_or_default()
    }
}

impl fmt::Debug for IndexFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexFunc")
    }
}

#[derive(Debug)]
pub(super) struct Index {
    /// Tells it from an earlier one of the same name.
    pub(super) id: u64,
    pub(super) function: IndexFunc,
    /// Whether the objects that were there when it was added are all filed.
    pub(super) ready: bool,
    /// No set is empty: a value goes with its last key.
    filed: BTreeMap<Box<str>, BTreeSet<ObjectKey>>,
}

impl Index {
    pub(super) fn new(id: u64, function: IndexFunc) -> Self {
        Self { id, function, ready: false, filed: BTreeMap::new() }
    }

    pub(super) fn file(&mut self, key: &ObjectKey, values: Vec<String>) {
        for value in values {
            self.filed.entry(value.into()).or_default().insert(key.clone());
        }
    }

    pub(super) fn unfile(&mut self, key: &ObjectKey, values: &[String]) {
        for value in values {
            if let Some(keys) = self.filed.get_mut(value.as_str()) {
                keys.remove(key);
                if keys.is_empty() {
                    self.filed.remove(value.as_str());
                }
            }
        }
    }

    pub(super) fn keys(
        &self,
        value: &str,
        after: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &ObjectKey> {
        let keys = self.filed.get(value);
        let bounds = (after_bound(after).cloned(), Bound::Unbounded);
        keys.into_iter().flat_map(move |keys| keys.range(bounds.clone()))
    }

    pub(super) fn values(&self, after: Option<&str>) -> impl Iterator<Item = &str> {
        let bounds = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        self.filed.range::<str, _>(bounds).map(|(value, _)| &**value)
    }
}
