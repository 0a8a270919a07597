//! The store with its indexes, for readers. Answers to client-go's `Indexer` and `Lister`.
//!
//! One writer, the informer's task; readers hold a cheap clone. How they are kept apart (now a lock held for
//! one call) does not show. One call sees one state. Pages go by key, so over pages an object that is there
//! throughout comes exactly once.

#[cfg(test)]
mod fuzz;
mod index;
mod json_pointer;
mod store;

pub use index::IndexFunc;
pub use json_pointer::{JsonPointer, ParseJsonPointerError};
pub(crate) use store::{Put, Removed, Write};

use crate::object::{Object, ObjectKey};
use index::Index;
use informant_apimachinery::LabelSelector;
use parking_lot::RwLock;
use std::ops::Bound;
use std::sync::Arc;
use store::Store;

/// Objects indexed between two locks when an index is added.
const INDEX_CHUNK_OBJECTS: usize = 512;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What was found.
    pub items: Vec<T>,
    /// Give it back to go on; none on the last page.
    pub next: Option<String>,
}

/// A read or an index that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexerError {
    /// No index has this name.
    #[error("index {0:?} does not exist; add it first")]
    UnknownIndex(String),
    /// An index of this name is there.
    #[error("index {0:?} exists already; choose another name or remove it first")]
    IndexExists(String),
    /// Not a cursor of this indexer.
    #[error("cursor {0:?} is not one that a page gave; start again without a cursor")]
    InvalidCursor(String),
}

/// Reads one resource's cache. Cheap to clone; a clone sees the same.
#[derive(Clone, Debug, Default)]
pub struct Indexer {
    store: Arc<RwLock<Store>>,
}

impl Indexer {
    /// The object, if it is there.
    pub fn get(&self, key: &ObjectKey) -> Option<Object> {
        self.store.read().get(key).cloned()
    }

    /// Objects by key, of one namespace or of all, that the selector matches. `limit` 0 is all.
    pub fn list(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let after = cursor.map(read_cursor).transpose()?;
        let store = self.store.read();
        let everything = selector.is_everything();
        let found = store
            .range(namespace, after.as_ref())
            .filter(|object| everything || selector.matches(|key| object.label(key)));
        Ok(page(found.cloned(), limit, |object| write_cursor(object.key())))
    }

    /// The cursor that goes on after an object of this key, for who ends a page earlier than it came.
    pub fn cursor_after(key: &ObjectKey) -> String {
        write_cursor(key)
    }

    /// How many objects there are, in one namespace or in all.
    pub fn count(&self, namespace: Option<&str>) -> usize {
        self.store.read().count(namespace)
    }

    /// The bytes of all objects at rest, roughly.
    pub fn bytes(&self) -> usize {
        self.store.read().bytes()
    }

    /// The resourceVersion up to which everything is here; none before the first list is complete.
    pub fn resource_version(&self) -> Option<Box<str>> {
        self.store.read().resource_version.clone()
    }

    /// Objects that the index files under `value`, by key.
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let after = cursor.map(read_cursor).transpose()?;
        let store = self.store.read();
        let keys = ready_index(&store, index)?.keys(value, after.as_ref());
        let found = keys.filter_map(|key| store.get(key));
        Ok(page(found.cloned(), limit, |object| write_cursor(object.key())))
    }

    /// As [`Indexer::by_index`], keys only.
    pub fn index_keys(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ObjectKey>, IndexerError> {
        let after = cursor.map(read_cursor).transpose()?;
        let store = self.store.read();
        let keys = ready_index(&store, index)?.keys(value, after.as_ref());
        Ok(page(keys.cloned(), limit, write_cursor))
    }

    /// The values under which the index files anything, in order.
    pub fn index_values(
        &self,
        index: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<String>, IndexerError> {
        let store = self.store.read();
        let values = ready_index(&store, index)?.values(cursor);
        Ok(page(values.map(str::to_owned), limit, String::clone))
    }

    /// Adds an index; objects that are there are filed before this returns. Other readers and the writer go on
    /// meanwhile.
    pub fn add_index(&self, name: &str, function: IndexFunc) -> Result<(), IndexerError> {
        let id = {
            let mut store = self.store.write();
            if store.indexes.contains_key(name) {
                return Err(IndexerError::IndexExists(name.to_owned()));
            }
            store.insert_index(name, function.clone())
        };
        let mut after = None;
        loop {
            let chunk = self.chunk(after.as_ref(), INDEX_CHUNK_OBJECTS);
            let Some(last) = chunk.last() else { break };
            after = Some(last.key().clone());
            let filed: Vec<_> =
                chunk.into_iter().map(|object| (function.values(&object), object)).collect();
            let mut store = self.store.write();
            for (values, object) in filed {
                store.file_if_current((name, id), &object, values);
            }
        }
        if let Some(index) = self.store.write().indexes.get_mut(name).filter(|i| i.id == id) {
            index.ready = true;
        }
        Ok(())
    }

    /// Removes an index; answers whether it was there.
    pub fn remove_index(&self, name: &str) -> bool {
        self.store.write().remove_index(name)
    }

    /// Up to `limit` objects after a key, by key: a walk over the store in short steps.
    pub(crate) fn chunk(&self, after: Option<&ObjectKey>, limit: usize) -> Vec<Object> {
        self.store.read().range(None, after).take(limit).cloned().collect()
    }
}

fn ready_index<'a>(store: &'a Store, name: &str) -> Result<&'a Index, IndexerError> {
    let index = store.indexes.get(name).filter(|index| index.ready);
    index.ok_or_else(|| IndexerError::UnknownIndex(name.to_owned()))
}

fn page<T>(found: impl Iterator<Item = T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut found = found.peekable();
    let items: Vec<T> = found.by_ref().take(limit).collect();
    let next = items.last().filter(|_| found.peek().is_some()).map(cursor);
    Page { items, next }
}

/// The last key of a page. Neither part of a key has a slash, so what is read is what was written.
fn write_cursor(key: &ObjectKey) -> String {
    format!("{}/{}", key.namespace, key.name)
}

fn read_cursor(cursor: &str) -> Result<ObjectKey, IndexerError> {
    match cursor.split_once('/') {
        Some((namespace, name)) if !name.is_empty() => Ok(ObjectKey::new(namespace, name)),
        _ => Err(IndexerError::InvalidCursor(cursor.to_owned())),
    }
}

fn after_bound(after: Option<&ObjectKey>) -> Bound<&ObjectKey> {
    after.map_or(Bound::Unbounded, Bound::Excluded)
}

#[cfg(test)]
mod tests;
