//! One secondary index: values to keys. As client-go's `IndexFunc` and `Index` (`tools/cache/index.go`).
//!
//! Readers see an ordered set of (value, key). The writer also notes the values of each object. So a function is
//! called once for each version of an object, and a function with varying results leaves no entry behind.

use super::tree::{Keyed, Tree};
use crate::json::JsonPointer;
use crate::object::{Object, ObjectKey};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

type IndexClosure = dyn Fn(&Object) -> Vec<String> + Send + Sync;
type ChargeClosure = dyn Fn(Duration) + Send + Sync;

/// Returns the values under which an object is filed: none, one or many.
///
/// It is called once for each version of an object, while the writer waits. So it must be quick, and must not write to
/// its store or add an index to it; reading is allowed. If it panics, the object has no entry and the panic is counted
/// ([`Indexer::index_panics`](crate::Indexer::index_panics); client-go's ends the process).
#[derive(Clone)]
pub struct IndexFunc {
    function: Arc<IndexClosure>,
    charge: Option<Arc<ChargeClosure>>,
}

impl IndexFunc {
    /// Any function of the object.
    pub fn new(function: impl Fn(&Object) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { function: Arc::new(function), charge: None }
    }

    /// Passes the time of the function, and that of the entries that are written and removed, to `charge`.
    #[must_use]
    pub fn charged_to(self, charge: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self { charge: Some(Arc::new(charge)), ..self }
    }

    /// The strings, numbers and booleans at a JSON pointer; `*` steps into every member.
    pub fn json_pointer(pointer: JsonPointer) -> Self {
        Self::new(move |object| pointer.values(&object.json()))
    }

    /// The values in order, each once; `None` after a panic.
    pub(super) fn values(&self, object: &Object) -> Option<Vec<String>> {
        let began = self.begins();
        let values = catch_unwind(AssertUnwindSafe(|| (self.function)(object))).ok();
        let values = values.map(|mut values| {
            values.sort_unstable();
            values.dedup();
            values
        });
        self.ends(began);
        values
    }

    fn begins(&self) -> Option<Instant> {
        self.charge.as_ref().map(|_| Instant::now())
    }

    fn ends(&self, began: Option<Instant>) {
        if let (Some(charge), Some(began)) = (&self.charge, began) {
            charge(began.elapsed());
        }
    }
}

impl fmt::Debug for IndexFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexFunc")
    }
}

/// The readers' side.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: Arc<str>,
    /// Whether all objects from before the index are filed.
    pub(super) ready: bool,
    pub(super) function: IndexFunc,
    filed: Tree<FiledObject>,
    /// The bytes of all values in entries, with repetitions.
    text_bytes: usize,
}

/// The bytes of an entry beside its text: both sides' references to the text and the key, and a node's share.
const FILED_BYTES: usize = 96;

/// An entry: an object with a value. The objects of one value share its text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FiledObject {
    value: Arc<str>,
    key: ObjectKey,
}

impl Ord for FiledObject {
    fn cmp(&self, other: &Self) -> Ordering {
        let values = if Arc::ptr_eq(&self.value, &other.value) {
            Ordering::Equal
        } else {
            self.value.cmp(&other.value)
        };
        values.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for FiledObject {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Keyed for FiledObject {
    type Key = Self;
    fn key(&self) -> &Self {
        self
    }
}

impl Index {
    pub(super) fn new(name: &str, function: IndexFunc) -> Self {
        Self { name: name.into(), ready: false, function, filed: Tree::default(), text_bytes: 0 }
    }

    /// Memory in bytes, estimated.
    pub(super) fn bytes(&self) -> usize {
        self.text_bytes + self.filed.len() * FILED_BYTES
    }

    fn remove(&mut self, value: Arc<str>, key: &ObjectKey) {
        if let Some(filed) = self.filed.remove(&FiledObject { value, key: key.clone() }) {
            self.text_bytes -= filed.value.len();
        }
    }

    pub(super) fn keys<'a>(
        &'a self,
        value: &'a str,
        after: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &'a ObjectKey> {
        // No name is empty: the bound is in front of every key.
        let key = after.cloned().unwrap_or_else(|| ObjectKey::new("", ""));
        let from = FiledObject { value: value.into(), key };
        let filed = self.filed.from(Bound::Excluded(&from));
        filed.take_while(move |filed| *filed.value == *value).map(|filed| &filed.key)
    }

    /// Each value once, after a value.
    pub(super) fn values(&self, after: Option<&str>) -> impl Iterator<Item = &Arc<str>> {
        let mut next = match after {
            None => self.filed.iter().next(),
            Some(value) => self.beyond(value),
        };
        std::iter::from_fn(move || {
            let value = &next?.value;
            next = self.beyond(value);
            Some(value)
        })
    }

    /// The first entry with a higher value.
    fn beyond(&self, value: &str) -> Option<&FiledObject> {
        // No text is between a text and the same with one more zero byte.
        let from = FiledObject { value: format!("{value}\0").into(), key: ObjectKey::new("", "") };
        self.filed.from(Bound::Included(&from)).next()
    }

    fn file(&mut self, value: &str, key: &ObjectKey) -> Arc<str> {
        let mut filed = FiledObject { value: value.into(), key: ObjectKey::new("", "") };
        if let Some(other) = self.filed.from(Bound::Included(&filed)).next()
            && other.value == filed.value
        {
            filed.value = other.value.clone();
        }
        let value = filed.value.clone();
        if self.filed.insert(FiledObject { key: key.clone(), ..filed }).is_none() {
            self.text_bytes += value.len();
        }
        value
    }
}

/// The writer's side.
#[derive(Debug)]
pub(super) struct Filing {
    /// Distinguishes it from an earlier index of the same name.
    pub(super) id: u64,
    /// By slot: the values of the slot's object, in order. `None`: not computed yet.
    values: Vec<Option<Box<[Arc<str>]>>>,
    /// All objects up to this key are filed, while the index is being filled.
    pub(super) filled_to: Option<ObjectKey>,
}

impl Filing {
    pub(super) fn new(id: u64) -> Self {
        Self { id, values: Vec::new(), filled_to: None }
    }

    /// Whether an object's values are known.
    pub(super) fn has(&self, slot: u32) -> bool {
        self.values.get(slot as usize).is_some_and(Option::is_some)
    }

    /// Files a slot's object under other values. Unchanged entries are not written.
    pub(super) fn set(
        &mut self,
        index: &mut Index,
        slot: u32,
        key: &ObjectKey,
        values: Vec<String>,
    ) {
        let slot = slot as usize;
        if self.values.len() <= slot {
            self.values.resize_with(slot + 1, || None);
        }
        let before = self.values[slot].take().unwrap_or_default();
        if before.iter().map(|value| &**value).eq(values.iter().map(String::as_str)) {
            self.values[slot] = Some(before);
            return;
        }
        let began = index.function.begins();
        let stays = |value: &Arc<str>| values.binary_search_by(|v| v.as_str().cmp(value)).is_ok();
        for value in before.iter().filter(|value| !stays(value)) {
            index.remove(value.clone(), key);
        }
        let file = |value: String| match before.binary_search_by(|v| (**v).cmp(value.as_str())) {
            Ok(at) => before[at].clone(),
            Err(_) => index.file(&value, key),
        };
        self.values[slot] = Some(values.into_iter().map(file).collect());
        index.function.ends(began);
    }

    /// Removes the entries of a slot's object.
    pub(super) fn clear(&mut self, index: &mut Index, slot: u32, key: &ObjectKey) {
        let began = index.function.begins();
        let values = self.values.get_mut(slot as usize).and_then(Option::take);
        for value in values.into_iter().flatten() {
            index.remove(value, key);
        }
        index.function.ends(began);
    }
}
