//! One state of the store, for several reads that must agree.

use super::state::IndexerState;
use super::{IndexerError, Page};
use crate::object::{Object, ObjectKey};
use informant_apimachinery::LabelSelector;
use std::sync::Arc;

/// One state of an [`Indexer`](crate::Indexer): all reads of it agree, whatever is written meanwhile.
///
/// Cheap to make and to clone. It keeps its objects in memory, so do not keep it for long. The methods are those of
/// the indexer, which documents them.
#[derive(Clone, Debug)]
pub struct Snapshot {
    state: Arc<IndexerState>,
}

impl Snapshot {
    pub(super) fn new(state: Arc<IndexerState>) -> Self {
        Self { state }
    }

    /// Whether both are the same state: nothing was written between them.
    #[cfg(test)]
    pub(crate) fn same_state(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// As [`Indexer::get`](crate::Indexer::get).
    pub fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.state.get(key)
    }

    /// All objects of one namespace or of all, by key, without pages.
    pub fn objects<'a>(
        &'a self,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Object> + use<'a> {
        self.state.range(namespace, None)
    }

    /// As [`Indexer::list`](crate::Indexer::list).
    pub fn list(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        self.state.list(namespace, selector, limit, cursor)
    }

    /// As [`Indexer::count`](crate::Indexer::count).
    pub fn count(&self, namespace: Option<&str>) -> usize {
        self.state.count(namespace)
    }

    /// As [`Indexer::count_of_metadata_only`](crate::Indexer::count_of_metadata_only).
    pub fn count_of_metadata_only(&self) -> usize {
        self.state.metadata_only
    }

    /// As [`Indexer::bytes`](crate::Indexer::bytes).
    pub fn bytes(&self) -> usize {
        self.state.bytes
    }

    /// As [`Indexer::resource_version`](crate::Indexer::resource_version).
    pub fn resource_version(&self) -> Option<&str> {
        self.state.resource_version.as_deref()
    }

    /// The resourceVersion up to which everything that concerns this object is written, whether or not the object is
    /// in the store. In an informer of several namespaces, that of the object's own.
    pub(crate) fn resource_version_for(&self, object: &Object) -> Option<&str> {
        self.state.resource_version_for(object)
    }

    /// As [`Indexer::by_index`](crate::Indexer::by_index).
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        self.state.by_index(index, value, limit, cursor)
    }

    /// Whether the index would file an object under `value`. The object need not be in the store.
    pub(crate) fn is_filed_under(&self, index: &str, value: &str, object: &Object) -> bool {
        self.state.is_filed_under(index, value, object)
    }

    /// As [`Indexer::index_keys`](crate::Indexer::index_keys).
    pub fn index_keys(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ObjectKey>, IndexerError> {
        self.state.index_keys(index, value, limit, cursor)
    }

    /// As [`Indexer::index_values`](crate::Indexer::index_values).
    pub fn index_values(
        &self,
        index: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<String>, IndexerError> {
        self.state.index_values(index, limit, cursor)
    }
}
