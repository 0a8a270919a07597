//! One state of the store with its indexes, which never changes, for readers.
//!
//! It corresponds to the content of client-go's `threadSafeMap` behind its lock. Cloning counts a few references; the
//! writer changes its own clone and publishes it.

use super::index::Index;
use super::reached::Reached;
use super::tree::{Keyed, Tree};
use super::{IndexerError, NAMESPACE_INDEX, Page, read_cursor, write_cursor};
use crate::object::{Object, ObjectKey};
use informant_apimachinery::LabelSelector;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The editions of all stores so far.
static EDITIONS: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Debug, Default)]
pub(super) struct IndexerState {
    /// By namespace, then name: a namespace is a range.
    pub(super) objects: Tree<Stored>,
    /// The number of this content in the process; 0 before the first object.
    pub(super) edition: u64,
    /// The number of objects in each namespace; no entry for zero.
    pub(super) namespaces: Tree<Namespace>,
    /// By name.
    pub(super) indexes: Vec<Index>,
    pub(super) resource_version: Option<Arc<str>>,
    /// The parts of the informer's scope if there are several; else `resource_version` is that of the only part.
    pub(super) reached: Tree<Reached>,
    /// The sum over `objects`.
    pub(super) bytes: usize,
    /// The number of objects of which only the metadata are known.
    pub(super) metadata_only: usize,
    pub(super) index_panics: u64,
}

/// An object with its number, which stays as long as its key exists.
#[derive(Clone, Debug)]
pub(super) struct Stored(Object);

impl Stored {
    /// Of a packed object.
    pub(super) fn new(object: &Object, slot: u32) -> Self {
        Self(object.stored_as(slot))
    }

    pub(super) fn object(&self) -> &Object {
        &self.0
    }

    pub(super) fn slot(&self) -> u32 {
        self.0.slot()
    }
}

impl Keyed for Stored {
    type Key = ObjectKey;
    fn key(&self) -> &ObjectKey {
        self.0.key()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Namespace {
    pub(super) name: Arc<str>,
    pub(super) count: usize,
}

impl Keyed for Namespace {
    type Key = Arc<str>;
    fn key(&self) -> &Arc<str> {
        &self.name
    }
}

/// The entries of a value of an index.
enum FiledUnder<'a> {
    Namespace(&'a str),
    Index(&'a Index),
}

impl IndexerState {
    /// Notes that the content is another one from here on. An object that is packed anew is the same content.
    pub(super) fn edit(&mut self) {
        self.edition = EDITIONS.fetch_add(1, Relaxed) + 1;
    }

    pub(super) fn insert(&mut self, stored: Stored) {
        self.edit();
        self.objects.insert(stored);
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Stored> {
        let removed = self.objects.remove(key)?;
        self.edit();
        Some(removed)
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(key).map(Stored::object)
    }

    pub(super) fn list(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let after = cursor.map(read_cursor).transpose()?;
        let everything = selector.is_everything();
        let found = self
            .range(namespace, after.as_ref())
            .filter(|object| everything || selector.matches(|key| object.label(key)));
        Ok(page(found.cloned(), limit, |object| write_cursor(object.key())))
    }

    /// Objects by key, of one namespace or of all, after a key.
    pub(super) fn range<'a>(
        &'a self,
        namespace: Option<&'a str>,
        after: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &'a Object> {
        // No name is empty: the bound is in front of every object of the namespace.
        let first = namespace.map(|namespace| ObjectKey::new(namespace, ""));
        let from = match (after, &first) {
            (Some(after), Some(first)) if after < first => Bound::Excluded(first),
            (Some(after), _) => Bound::Excluded(after),
            (None, Some(first)) => Bound::Excluded(first),
            (None, None) => Bound::Unbounded,
        };
        self.objects
            .from(from)
            .map(Stored::object)
            .take_while(move |object| namespace.is_none_or(|n| n == object.key().namespace()))
    }

    pub(super) fn count(&self, namespace: Option<&str>) -> usize {
        match namespace {
            None => self.objects.len(),
            Some(name) => self.namespaces.get(&name.into()).map_or(0, |namespace| namespace.count),
        }
    }

    pub(super) fn by_index(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let after = cursor.map(read_cursor).transpose()?;
        let cursor = |object: &Object| write_cursor(object.key());
        Ok(match self.filed(index, value)? {
            FiledUnder::Namespace(name) => {
                page(self.range(Some(name), after.as_ref()).cloned(), limit, cursor)
            }
            FiledUnder::Index(index) => {
                let found = index.keys(value, after.as_ref()).filter_map(|key| self.get(key));
                page(found.cloned(), limit, cursor)
            }
        })
    }

    pub(super) fn index_keys(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ObjectKey>, IndexerError> {
        let after = cursor.map(read_cursor).transpose()?;
        Ok(match self.filed(index, value)? {
            FiledUnder::Namespace(name) => {
                let keys = self.range(Some(name), after.as_ref()).map(|object| object.key());
                page(keys.cloned(), limit, write_cursor)
            }
            FiledUnder::Index(index) => {
                page(index.keys(value, after.as_ref()).cloned(), limit, write_cursor)
            }
        })
    }

    pub(super) fn index_values(
        &self,
        index: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<String>, IndexerError> {
        Ok(match self.filed(index, "")? {
            FiledUnder::Namespace(_) => {
                let after = cursor.map(Arc::from);
                let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let names = self.namespaces.from(from).map(|namespace| namespace.name.to_string());
                page(names, limit, String::clone)
            }
            FiledUnder::Index(index) => {
                page(index.values(cursor).map(|value| value.to_string()), limit, String::clone)
            }
        })
    }

    /// Whether the index would file an object under `value`. The object need not be in the store.
    pub(super) fn is_filed_under(&self, index: &str, value: &str, object: &Object) -> bool {
        match self.filed(index, value) {
            Ok(FiledUnder::Namespace(name)) => object.key().namespace() == name,
            Ok(FiledUnder::Index(index)) => {
                let values = index.function.values(object).unwrap_or_default();
                values.iter().any(|one| one == value)
            }
            Err(_) => false,
        }
    }

    pub(super) fn index_bytes(&self, name: &str) -> usize {
        self.index(name).map_or(0, |at| self.indexes[at].bytes())
    }

    pub(super) fn index(&self, name: &str) -> Result<usize, usize> {
        self.indexes.binary_search_by(|index| (*index.name).cmp(name))
    }

    fn filed<'a>(&'a self, index: &str, value: &'a str) -> Result<FiledUnder<'a>, IndexerError> {
        if index == NAMESPACE_INDEX {
            return Ok(FiledUnder::Namespace(value));
        }
        let found = self.index(index).ok().map(|at| &self.indexes[at]).filter(|index| index.ready);
        let unknown = || IndexerError::UnknownIndex(index.to_owned());
        found.map(FiledUnder::Index).ok_or_else(unknown)
    }
}

fn page<T>(found: impl Iterator<Item = T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut found = found.peekable();
    let items: Vec<T> = found.by_ref().take(limit).collect();
    let next = items.last().filter(|_| found.peek().is_some()).map(cursor);
    Page { items, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_object_takes_two_words() {
        assert_eq!(size_of::<Stored>(), 2 * size_of::<usize>());
    }
}
