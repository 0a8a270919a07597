//! What one plugin may read through `indexer`: the union of its subscriptions and `reads`, whatever
//! others have caused to be cached.

use crate::descriptor::Descriptor;
use crate::json_pointer_index;
use crate::view::View;
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{Indexer, IndexerError, InformerLease, Object, ObjectKey, Page};
use std::collections::HashMap;

/// Why a read has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    NotGranted(String),
    UnknownIndex(String),
    NotSynced(String),
    Invalid(String),
}

/// A page that keeps to the answer's byte limit.
pub(crate) struct Answer<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

/// The readable resources of one plugin version.
pub(crate) struct Reads {
    resources: HashMap<String, Readable>,
}

struct Readable {
    /// The informer runs for at least as long as somebody may read it.
    informer: InformerLease,
    indexer: Indexer,
    views: Vec<View>,
    /// The plugin's name for an index, and its name in the shared indexer.
    indexes: HashMap<String, String>,
}

impl Reads {
    /// Everything that the descriptor names; `lease` gives the shared informer of a resource.
    pub(crate) fn new(
        descriptor: &Descriptor,
        lease: impl Fn(&GroupVersionResource) -> InformerLease,
    ) -> Self {
        let mut resources: HashMap<String, Readable> = HashMap::new();
        let mut readable = |resource: &GroupVersionResource, view: Option<View>| {
            let entry = resources.entry(resource.to_string()).or_insert_with(|| {
                let informer = lease(resource);
                let indexer = informer.informer().indexer();
                Readable { informer, indexer, views: Vec::new(), indexes: HashMap::new() }
            });
            entry.views.extend(view);
        };
        for subscription in &descriptor.subscriptions {
            readable(&subscription.resource, Some(View::from(subscription)));
        }
        for read in &descriptor.reads {
            readable(&read.resource, Some(View::from(read)));
        }
        for index in &descriptor.indexes {
            let Some(readable) = resources.get_mut(&index.resource.to_string()) else { continue };
            let shared = json_pointer_index::declare(&readable.indexer, index);
            readable.indexes.insert(index.name.clone(), shared);
        }
        Self { resources }
    }

    fn readable(&self, resource: &str) -> Result<&Readable, ReadError> {
        self.resources.get(resource).ok_or_else(|| {
            ReadError::NotGranted(format!(
                "{resource} is neither subscribed to nor among the descriptor's reads"
            ))
        })
    }

    pub(crate) fn get(&self, resource: &str, key: &ObjectKey) -> Result<Option<Object>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_namespace(resource, &key.namespace)?;
        match readable.indexer.get(key) {
            Some(object) => Ok(Some(object).filter(|object| readable.sees(object))),
            None => readable.check_synced(resource).map(|()| None),
        }
    }

    pub(crate) fn list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        selector: &LabelSelector,
        bounds: Bounds,
        cursor: Option<&str>,
    ) -> Result<Answer<Object>, ReadError> {
        let readable = self.readable(resource)?;
        if let Some(namespace) = namespace {
            readable.check_namespace(resource, namespace)?;
        }
        readable.check_synced(resource)?;
        readable.page(bounds, cursor, |limit, cursor| {
            readable.indexer.list(namespace, selector, limit, cursor)
        })
    }

    pub(crate) fn by_index(
        &self,
        resource: &str,
        index: &str,
        value: &str,
        bounds: Bounds,
        cursor: Option<&str>,
    ) -> Result<Answer<Object>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_synced(resource)?;
        let shared = readable.index(resource, index)?;
        readable.page(bounds, cursor, |limit, cursor| {
            readable.indexer.by_index(shared, value, limit, cursor)
        })
    }

    /// The values of an index that some visible object has.
    pub(crate) fn index_values(
        &self,
        resource: &str,
        index: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Answer<String>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_synced(resource)?;
        let shared = readable.index(resource, index)?;
        let page = readable.indexer.index_values(shared, limit, cursor)?;
        let seen = |value: &String| readable.sees_all() || readable.sees_any(shared, value);
        Ok(Answer { items: page.items.into_iter().filter(seen).collect(), next: page.next })
    }

    pub(crate) fn count(&self, resource: &str, namespace: Option<&str>) -> Result<u64, ReadError> {
        let readable = self.readable(resource)?;
        if let Some(namespace) = namespace {
            readable.check_namespace(resource, namespace)?;
        }
        readable.check_synced(resource)?;
        if readable.sees_all() {
            return Ok(readable.indexer.count(namespace) as u64);
        }
        let everything = LabelSelector::default();
        let (mut count, mut cursor) = (0, None);
        loop {
            let limit = PAGE_SCANNED;
            let page = readable.indexer.list(namespace, &everything, limit, cursor.as_deref())?;
            count += page.items.iter().filter(|object| readable.sees(object)).count() as u64;
            cursor = page.next;
            if cursor.is_none() {
                return Ok(count);
            }
        }
    }

    pub(crate) fn has_synced(&self, resource: &str) -> Result<bool, ReadError> {
        Ok(self.readable(resource)?.informer.informer().has_synced())
    }
}

/// Objects looked at in one go while counting through a narrow view.
const PAGE_SCANNED: usize = 1_000;

/// How large an answer may be.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

impl Readable {
    fn sees(&self, object: &Object) -> bool {
        self.views.iter().any(|view| view.contains(object))
    }

    fn sees_all(&self) -> bool {
        self.views.iter().any(View::is_everything)
    }

    fn sees_any(&self, index: &str, value: &str) -> bool {
        let mut cursor = None;
        loop {
            let page = self.indexer.by_index(index, value, PAGE_SCANNED, cursor.as_deref());
            let Ok(page) = page else { return false };
            if page.items.iter().any(|object| self.sees(object)) {
                return true;
            }
            cursor = page.next;
            if cursor.is_none() {
                return false;
            }
        }
    }

    fn check_namespace(&self, resource: &str, namespace: &str) -> Result<(), ReadError> {
        if self.views.iter().any(|view| view.covers_namespace(namespace)) {
            return Ok(());
        }
        Err(ReadError::NotGranted(format!(
            "{resource} in namespace {namespace:?} is outside the plugin's subscriptions and reads"
        )))
    }

    fn check_synced(&self, resource: &str) -> Result<(), ReadError> {
        if self.informer.informer().has_synced() {
            return Ok(());
        }
        Err(ReadError::NotSynced(format!("the first list of {resource} is not complete")))
    }

    fn index(&self, resource: &str, name: &str) -> Result<&str, ReadError> {
        self.indexes.get(name).map(String::as_str).ok_or_else(|| {
            ReadError::UnknownIndex(format!(
                "{name:?} is not among the descriptor's indexes of {resource}"
            ))
        })
    }

    /// Fills a page of visible objects within the bounds.
    fn page(
        &self,
        bounds: Bounds,
        cursor: Option<&str>,
        fetch: impl Fn(usize, Option<&str>) -> Result<Page<Object>, IndexerError>,
    ) -> Result<Answer<Object>, ReadError> {
        let mut cursor = cursor.map(str::to_owned);
        let (mut items, mut bytes) = (Vec::new(), 0);
        loop {
            let page = fetch(bounds.items - items.len(), cursor.as_deref())?;
            let taken = self.fitting(&page.items, bounds.bytes, items.is_empty(), bytes);
            let cut = taken < page.items.len();
            // The cursor of a cut page is had by asking for just what fits.
            let page = match taken {
                0 if cut => return Ok(Answer { items, next: cursor }),
                _ if cut => fetch(taken, cursor.as_deref())?,
                _ => page,
            };
            for object in page.items {
                if self.sees(&object) {
                    bytes += object.json_len();
                    items.push(object);
                }
            }
            cursor = page.next;
            if cut || cursor.is_none() || items.len() >= bounds.items {
                return Ok(Answer { items, next: cursor });
            }
        }
    }

    /// How many of the objects can be looked at before an answer is too large. The first visible object
    /// always fits.
    fn fitting(
        &self,
        objects: &[Object],
        bytes_max: usize,
        first: bool,
        mut bytes: usize,
    ) -> usize {
        let mut first = first;
        for (index, object) in objects.iter().enumerate() {
            if !self.sees(object) {
                continue;
            }
            bytes += object.json_len();
            if bytes > bytes_max && !first {
                return index;
            }
            first = false;
        }
        objects.len()
    }
}

impl From<IndexerError> for ReadError {
    fn from(error: IndexerError) -> Self {
        match error {
            IndexerError::UnknownIndex(_) => Self::UnknownIndex(error.to_string()),
            IndexerError::IndexExists(_) | IndexerError::InvalidCursor(_) => {
                Self::Invalid(error.to_string())
            }
        }
    }
}
