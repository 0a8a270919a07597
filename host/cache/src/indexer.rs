//! The store with its indexes, for readers. Answers to client-go's `Indexer`
//! (`tools/cache/index.go`, `thread_safe_store.go`).
//!
//! Published state never changes: a read takes the newest published state, and neither readers nor
//! the writer, the informer's task, wait. One call sees one state, and so do all calls of one
//! [`Snapshot`]. Pages go by key, so an object that exists during all pages comes exactly once.

#[cfg(test)]
mod fuzz;
mod index;
mod judge;
mod marks;
mod packer;
mod reached;
mod snapshot;
mod state;
mod tree;
mod writer;

pub use index::IndexFunc;
use index::{Filing, Index};
pub(crate) use judge::Write;
pub(crate) use marks::ListMark;
pub use snapshot::Snapshot;
pub(crate) use writer::{IndexerWrite, Put, Removed, Tidying};

use crate::object::{Object, ObjectKey};
use crate::sync::{Mutex, Published};
use informant_apimachinery::LabelSelector;
use state::IndexerState;
use std::collections::VecDeque;
use std::sync::Arc;
use writer::Writer;

/// The objects that are read at once when an index is filled.
const INDEX_CHUNK_OBJECTS: usize = 512;
/// The values that are filed in one turn of the writer when an index is filled, and those of one object more: a
/// millisecond or two, in which the informer's task waits.
const INDEX_CHUNK_VALUES: usize = 4 << 10;

/// The index of namespaces (client-go's `NamespaceIndex`). It always exists, and is a range of the store itself.
pub const NAMESPACE_INDEX: &str = "namespace";

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The found items.
    pub items: Vec<T>,
    /// Pass this to the next call; `None` on the last page.
    pub next: Option<String>,
}

/// The entries of an index that was removed.
#[derive(Debug)]
pub struct DetachedIndex {
    _index: Index,
    _filing: Filing,
    _states: VecDeque<Arc<IndexerState>>,
}

/// An invalid read or index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexerError {
    /// No index has this name.
    #[error("index {0:?} does not exist; add it first")]
    UnknownIndex(String),
    /// An index of this name exists.
    #[error("index {0:?} exists already; choose another name or remove it first")]
    IndexExists(String),
    /// Not a cursor of this indexer.
    #[error("cursor {0:?} is not one that a page gave; start again without a cursor")]
    InvalidCursor(String),
}

/// Reads one resource's cache. Cheap to clone; clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Indexer {
    shared: Arc<IndexerShared>,
}

#[derive(Debug, Default)]
struct IndexerShared {
    published: Published<IndexerState>,
    /// No reader takes this lock. Invariant 3.
    writer: Mutex<Writer>,
}

impl Indexer {
    /// The present state, for several reads that must agree. Its objects stay in memory until it is dropped.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.published.snapshot())
    }

    /// The object, if it exists.
    pub fn get(&self, key: &ObjectKey) -> Option<Object> {
        self.shared.published.read().get(key).cloned()
    }

    /// Objects that match the selector, by key, of one namespace or of all. A `limit` of 0 means no limit. `Some("")`
    /// selects the objects without a namespace.
    pub fn list(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        self.shared.published.read().list(namespace, selector, limit, cursor)
    }

    /// The cursor after an object of this key, for a caller that ends a page early.
    pub fn cursor_after(key: &ObjectKey) -> String {
        write_cursor(key)
    }

    /// The number of objects, in one namespace or in all.
    pub fn count(&self, namespace: Option<&str>) -> usize {
        self.shared.published.read().count(namespace)
    }

    /// The number of objects of which only the metadata are known ([`Object::is_metadata_only`]). If all requests want no
    /// more, these are all objects. Otherwise they are those that a request for whole objects still waits for.
    pub fn count_of_metadata_only(&self) -> usize {
        self.shared.published.read().metadata_only
    }

    /// The bytes of all objects at rest. An estimate.
    pub fn bytes(&self) -> usize {
        self.shared.published.read().bytes
    }

    /// The number of the store's present content. In this process no other content of any store has it, and it changes
    /// when an object is written or removed. A read that begins later may see later content.
    pub fn edition(&self) -> u64 {
        self.shared.published.read().edition
    }

    /// The resourceVersion up to which the store is complete; `None` before the end of the first list.
    pub fn resource_version(&self) -> Option<Box<str>> {
        self.shared.published.read().resource_version.as_deref().map(Into::into)
    }

    /// Objects that the index files under `value`, by key.
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        self.shared.published.read().by_index(index, value, limit, cursor)
    }

    /// As [`Indexer::by_index`], keys only.
    pub fn index_keys(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ObjectKey>, IndexerError> {
        self.shared.published.read().index_keys(index, value, limit, cursor)
    }

    /// The values in the index, in order. client-go's `ListIndexFuncValues`, which returns no values for an unknown
    /// index.
    pub fn index_values(
        &self,
        index: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<String>, IndexerError> {
        self.shared.published.read().index_values(index, limit, cursor)
    }

    /// Memory of an index in bytes, estimated from its entries and their texts; 0 for an unknown name.
    pub fn index_bytes(&self, name: &str) -> usize {
        self.shared.published.read().index_bytes(name)
    }

    /// Adds an index; existing objects are filed before this returns. Readers go on meanwhile, and so does the writer
    /// between two short turns. [`NAMESPACE_INDEX`] exists already.
    pub fn add_index(&self, name: &str, function: IndexFunc) -> Result<(), IndexerError> {
        self.declare_index(name, function)?;
        self.fill_index(name, || true);
        Ok(())
    }

    /// Adds an index that no reader sees before a call of [`Self::fill_index`] has ended. It returns at once.
    pub fn declare_index(&self, name: &str, function: IndexFunc) -> Result<(), IndexerError> {
        self.write().add_index(name, function)
    }

    /// Files existing objects in a declared index, and makes the index visible. For a thread that may be busy: it
    /// takes as long as the index function takes for all objects. Does nothing if the index is visible or unknown.
    /// Asks `goes_on` after each turn of the writer; without it, the index stays as it is, and another call continues
    /// there. Returns whether the index is visible, or unknown.
    pub fn fill_index(&self, name: &str, mut goes_on: impl FnMut() -> bool) -> bool {
        let Some((id, function, mut after)) = self.write().index_to_fill(name) else { return true };
        loop {
            let chunk = self.chunk(after.as_ref(), INDEX_CHUNK_OBJECTS);
            let Some(last) = chunk.last() else { break };
            after = Some(last.key().clone());
            if !self.file_chunk(id, &function, chunk, &mut goes_on) {
                return false;
            }
        }
        self.write().index_is_ready(id);
        true
    }

    /// Returns whether the index still exists, and the caller goes on.
    fn file_chunk(
        &self,
        id: u64,
        function: &IndexFunc,
        chunk: Vec<Object>,
        goes_on: &mut impl FnMut() -> bool,
    ) -> bool {
        let (mut filed, mut count) = (Vec::new(), 0);
        for object in chunk {
            let values = function.values(&object);
            count += values.as_ref().map_or(0, Vec::len);
            filed.push((object, values));
            if count >= INDEX_CHUNK_VALUES {
                count = 0;
                if !(self.write().file(id, std::mem::take(&mut filed)) && goes_on()) {
                    return false;
                }
            }
        }
        self.write().file(id, filed) && goes_on()
    }

    /// Removes an index; returns whether it existed. It takes as long as the entries are many.
    pub fn remove_index(&self, name: &str) -> bool {
        self.detach_index(name).is_some()
    }

    /// Removes an index, and returns its entries. This returns at once; the drop of the entries takes as long as they are
    /// many, and is for a thread that may be busy.
    pub fn detach_index(&self, name: &str) -> Option<DetachedIndex> {
        let (_index, _filing) = self.write().remove_index(name)?;
        // Earlier states have the index too. The writer would free them, in the informer's task.
        let _states = self.write().take_retired();
        Some(DetachedIndex { _index, _filing, _states })
    }

    /// The number of panics of index functions. Each leaves one version of an object out of its index.
    pub fn index_panics(&self) -> u64 {
        self.shared.published.read().index_panics
    }

    /// Up to `limit` objects after a key, by key, for a walk over the store in short steps.
    pub(crate) fn chunk(&self, after: Option<&ObjectKey>, limit: usize) -> Vec<Object> {
        self.shared.published.read().range(None, after).take(limit).cloned().collect()
    }

    /// Does a step of deferrable work.
    pub(crate) fn tidy(&self) -> Tidying {
        self.write().tidy()
    }

    /// Trains the dictionary that a step of deferrable work asked for. Takes a tenth of a second.
    pub(crate) fn train(&self) {
        self.write().train();
    }

    /// Begins a batch of writes; waits for the one in progress, if any.
    pub(crate) fn write(&self) -> IndexerWrite<'_> {
        IndexerWrite::new(&self.shared)
    }
}

/// The last key of a page. No part of a key has a slash, so parsing is exact.
fn write_cursor(key: &ObjectKey) -> String {
    format!("{}/{}", key.namespace(), key.name())
}

fn read_cursor(cursor: &str) -> Result<ObjectKey, IndexerError> {
    match cursor.split_once('/') {
        Some((namespace, name)) if !name.is_empty() => Ok(ObjectKey::new(namespace, name)),
        _ => Err(IndexerError::InvalidCursor(cursor.to_owned())),
    }
}

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod packer_tests;
#[cfg(test)]
mod shuttle_tests;
#[cfg(test)]
mod tests;
