//! The reads that one plugin may make through `indexer`: the union of its subscriptions and `reads`, whatever other
//! plugins have caused to be cached.

mod answer;
mod awaited;
mod read_error;
mod visible;

pub(crate) use answer::{AnswerBounds, KeyOf, ReadAnswer};
pub(crate) use read_error::ReadError;

use crate::account::{Ledger, Watches};
use crate::contract::coverage::{subscribed_scope, watched_scope};
use crate::contract::descriptor::{Delivery, Descriptor, IndexSpec};
use crate::delivery::view::View;
use crate::guest::json_pointer_index::{IndexUse, SharedIndexes};
use crate::namespace_labels::{namespaces, namespaces_scope};
use crate::origin::Origin;
use crate::powers::access::{Permissions, ReadRefusal, VersionPermissions};
use answer::{Item, fill};
use awaited::Awaiting;
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{Indexer, IndexerError, Object, ObjectKey, Page, Scope};
use std::collections::HashMap;
use std::sync::Arc;

/// Objects in one step of a search in a narrow view.
const OBJECTS_SCANNED: usize = 1_000;
/// Index values in one step of a search. They are copied, and one may be as long as an object.
const VALUES_SCANNED: usize = 16;

/// The readable resources of one plugin version.
pub(crate) struct Reads {
    resources: HashMap<String, Readable>,
    /// The namespaces, if a view needs their labels.
    namespaces: Option<Arc<Origin>>,
    awaiting: Awaiting,
    _watches: Arc<Watches>,
}

struct Readable {
    /// The indexer, with the objects that all users have caused to be cached.
    indexer: Indexer,
    /// The views of the plugin. The API server may refuse any of them to the plugin's service account.
    views: Vec<ReadableView>,
    /// By the plugin's name for an index.
    indexes: HashMap<String, Arc<IndexUse>>,
}

struct ReadableView {
    view: View,
    /// Whether the plugin sees no more than the objects' metadata in it.
    metadata_only: bool,
    /// Whether the view can judge an object by its metadata alone.
    judges_metadata: bool,
    permissions: Permissions,
    /// Covers at least the view.
    origin: Origin,
    /// The namespaces, if the view needs their labels.
    namespaces: Option<Arc<Origin>>,
}

impl ReadableView {
    fn has_synced(&self) -> bool {
        self.origin.has_synced() && self.namespaces.as_ref().is_none_or(|it| it.has_synced())
    }
}

impl Reads {
    /// The descriptor's reads, as far as they are `granted`. `lease` gives the shared informer of a resource for a
    /// scope, or its substitute. Indexes, lists and watches are charged to the account. The indexes are not filled yet.
    pub(crate) fn new<T: Into<Origin>>(
        descriptor: &Descriptor,
        (shared, ledger): (&SharedIndexes, &Arc<Ledger>),
        granted: &VersionPermissions,
        lease: impl Fn(&GroupVersionResource, Scope) -> T,
    ) -> Self {
        let mut resources: HashMap<String, Readable> = HashMap::new();
        let needs_labels = descriptor.needs_namespaces();
        let namespaces = needs_labels.then(|| lease(&namespaces(), namespaces_scope()).into());
        let namespaces: Option<Arc<Origin>> = namespaces.map(Arc::new);
        let labels = namespaces.as_ref().map_or_else(Indexer::default, |it| it.indexer());
        let mut readable = |(resource, scope): (&GroupVersionResource, Scope),
                            (view, metadata_only): (View, bool),
                            selector: Option<&LabelSelector>,
                            permissions: &Permissions| {
            let view = view.in_labelled(selector, &labels);
            let namespaces = namespaces.clone().filter(|_| selector.is_some());
            let (permissions, judges_metadata) = (permissions.clone(), scope.is_metadata_only());
            let origin = lease(resource, scope).into();
            let entry = resources.entry(resource.to_string()).or_insert_with(|| {
                let indexer = origin.indexer();
                // Most have one view, and a vector that grows has room for four.
                Readable { indexer, views: Vec::with_capacity(1), indexes: HashMap::new() }
            });
            let shown = ReadableView {
                view,
                metadata_only,
                judges_metadata,
                permissions,
                origin,
                namespaces,
            };
            entry.views.push(shown);
        };
        for (spec, permissions) in descriptor.subscriptions.iter().zip(&granted.subscriptions) {
            let scope = subscribed_scope(spec);
            let metadata_only = spec.delivery == Delivery::Metadata;
            let (view, selector) = (View::from(&**spec), spec.namespace_selector.as_ref());
            readable((&spec.resource, scope), (view, metadata_only), selector, permissions);
        }
        for (spec, permissions) in descriptor.reads.iter().zip(&granted.reads) {
            let scope = watched_scope(&spec.namespaces);
            let (view, selector) = (View::from(spec), spec.namespace_selector.as_ref());
            readable((&spec.resource, scope), (view, false), selector, permissions);
        }
        for index in &descriptor.indexes {
            let of_resource = |other: &&IndexSpec| other.resource == index.resource;
            let among = descriptor.indexes.iter().filter(of_resource).count();
            let Some(readable) = resources.get_mut(&index.resource.to_string()) else { continue };
            let used = shared.declare(&readable.indexer, (index, among), ledger);
            readable.indexes.insert(index.name.clone(), used);
        }
        let _watches = Watches::charged(descriptor.watches(), ledger);
        Self { resources, namespaces, awaiting: Awaiting::default(), _watches }
    }

    /// Keeps the namespaces, for grants that depend on their labels.
    pub(crate) fn with_namespaces(self, origin: impl Into<Origin>) -> Self {
        let namespaces = self.namespaces.unwrap_or_else(|| Arc::new(origin.into()));
        Self { namespaces: Some(namespaces), ..self }
    }

    /// The namespaces, if a view or a grant needs their labels.
    pub(crate) fn namespaces(&self) -> Option<Arc<Origin>> {
        self.namespaces.clone()
    }

    pub(crate) fn has_indexes(&self) -> bool {
        self.resources.values().any(|it| !it.indexes.is_empty())
    }

    /// Fills the indexes, before the plugin reads. It takes as long as the objects are many: no work for a thread of
    /// the async runtime. Returns whether all are complete; where `goes_on` said no, another call continues.
    pub(crate) fn fill_indexes(&self, mut goes_on: impl FnMut() -> bool) -> bool {
        let mut indexes = self.resources.values().flat_map(|it| it.indexes.values());
        indexes.all(|index| goes_on() && index.fill(&mut goes_on))
    }

    fn readable(&self, resource: &str) -> Result<&Readable, ReadError> {
        let readable = self.resources.get(resource).ok_or_else(|| {
            ReadError::NotGranted(format!(
                "{resource} is neither subscribed to nor among the descriptor's reads"
            ))
        })?;
        if readable.allowed().next().is_none() {
            readable.check_allowed(|_| true)?;
        }
        Ok(readable)
    }

    /// An object outside the views' selectors is absent, whether or not it exists: it may not be cached.
    pub(crate) fn get(&self, resource: &str, key: &ObjectKey) -> Result<Option<Object>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_namespace(resource, key.namespace())?;
        match readable.indexer.get(key).and_then(|object| readable.shown(object)) {
            Some(object) => Ok(Some(object)),
            None => {
                let is_asked = |view: &View| view.covers_namespace(key.namespace());
                readable.check_allowed(is_asked)?;
                readable.check_synced(resource, is_asked)?;
                Ok(None)
            }
        }
    }

    pub(crate) fn list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        selector: &LabelSelector,
        bounds: AnswerBounds<'_>,
        cursor: Option<&str>,
    ) -> Result<ReadAnswer<Object>, ReadError> {
        let readable = self.readable(resource)?;
        if let Some(namespace) = namespace {
            readable.check_namespace(resource, namespace)?;
        }
        let is_asked = |view: &View| namespace.is_none_or(|it| view.covers_namespace(it));
        readable.check_allowed(is_asked)?;
        readable.check_synced(resource, is_asked)?;
        let everything = LabelSelector::default();
        if selector.is_everything() {
            let show = |object| readable.shown(object);
            return readable.objects(bounds, cursor, show, |limit, cursor| {
                readable.indexer.list(namespace, &everything, limit, cursor)
            });
        }
        // Searches in steps: a selector without matches would visit the whole store in one step.
        let fetch = |_, cursor: Option<&str>| {
            readable.indexer.list(namespace, &everything, OBJECTS_SCANNED, cursor)
        };
        fill(bounds, cursor, fetch, |object: Object| {
            let matches = selector.matches(|key| object.label(key));
            Ok(Some(object).filter(|_| matches).and_then(|object| readable.shown(object)))
        })
    }

    pub(crate) fn by_index(
        &self,
        resource: &str,
        index: &str,
        value: &str,
        bounds: AnswerBounds<'_>,
        cursor: Option<&str>,
    ) -> Result<ReadAnswer<Object>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_allowed(|_| true)?;
        readable.check_synced(resource, |_| true)?;
        let shared = readable.index(resource, index)?;
        let show = |object| readable.shown(object);
        readable.objects(bounds, cursor, show, |limit, cursor| {
            readable.indexer.by_index(shared, value, limit, cursor)
        })
    }

    /// As [`Reads::by_index`], but only the keys count towards the answer's bytes.
    pub(crate) fn index_keys(
        &self,
        resource: &str,
        index: &str,
        value: &str,
        bounds: AnswerBounds<'_>,
        cursor: Option<&str>,
    ) -> Result<ReadAnswer<KeyOf>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_allowed(|_| true)?;
        readable.check_synced(resource, |_| true)?;
        let shared = readable.index(resource, index)?;
        let show = |object| Some(object).filter(|object| readable.sees(object)).map(KeyOf);
        readable.objects(bounds, cursor, show, |limit, cursor| {
            readable.indexer.by_index(shared, value, limit, cursor)
        })
    }

    /// The index values of visible objects.
    pub(crate) fn index_values(
        &self,
        resource: &str,
        index: &str,
        bounds: AnswerBounds<'_>,
        cursor: Option<&str>,
    ) -> Result<ReadAnswer<String>, ReadError> {
        let readable = self.readable(resource)?;
        readable.check_allowed(|_| true)?;
        readable.check_synced(resource, |_| true)?;
        let shared = readable.index(resource, index)?;
        let fetch =
            |_, cursor: Option<&str>| readable.indexer.index_values(shared, VALUES_SCANNED, cursor);
        let all = readable.sees_all();
        fill(bounds, cursor, fetch, |value: String| {
            let is_seen = all || readable.sees_any(shared, &value, bounds)?;
            Ok(is_seen.then_some(value))
        })
    }

    pub(crate) fn count(
        &self,
        resource: &str,
        namespace: Option<&str>,
        bounds: AnswerBounds<'_>,
    ) -> Result<u64, ReadError> {
        let readable = self.readable(resource)?;
        if let Some(namespace) = namespace {
            readable.check_namespace(resource, namespace)?;
        }
        let is_asked = |view: &View| namespace.is_none_or(|it| view.covers_namespace(it));
        readable.check_allowed(is_asked)?;
        readable.check_synced(resource, is_asked)?;
        if readable.sees_all() {
            return Ok(readable.indexer.count(namespace) as u64);
        }
        let everything = LabelSelector::default();
        let (mut count, mut cursor) = (0, None::<String>);
        loop {
            bounds.check_deadline()?;
            let after = cursor.as_deref();
            let page = readable.indexer.list(namespace, &everything, OBJECTS_SCANNED, after)?;
            count += page.items.iter().filter(|object| readable.sees(object)).count() as u64;
            cursor = page.next;
            if cursor.is_none() {
                return Ok(count);
            }
        }
    }

    pub(crate) fn has_synced(&self, resource: &str) -> Result<bool, ReadError> {
        let readable = self.readable(resource)?;
        Ok(readable.views.iter().all(ReadableView::has_synced))
    }
}

impl Readable {
    /// The views that may be read now.
    fn allowed(&self) -> impl Iterator<Item = &View> {
        // Invariant 36.
        self.views.iter().filter(|shown| shown.permissions.allow()).map(|shown| &shown.view)
    }

    /// Refuses the read if one of these views may not be read: an answer without its objects would be wrong.
    fn check_allowed(&self, is_one: impl Fn(&View) -> bool) -> Result<(), ReadError> {
        let views = self.views.iter().filter(|shown| is_one(&shown.view));
        match views.filter_map(|shown| shown.permissions.refusal()).next() {
            None => Ok(()),
            Some(ReadRefusal::Denied(why)) => Err(ReadError::Withdrawn(why)),
            Some(ReadRefusal::Unknown(why)) => Err(ReadError::NotSynced(why)),
        }
    }

    fn check_namespace(&self, resource: &str, namespace: &str) -> Result<(), ReadError> {
        if self.allowed().any(|view| view.covers_namespace(namespace)) {
            return Ok(());
        }
        self.check_allowed(|view| view.covers_namespace(namespace))?;
        Err(ReadError::NotGranted(format!(
            "{resource} in namespace {namespace:?} is outside the plugin's subscriptions and reads"
        )))
    }

    /// Checks that the informers of these views have synced.
    fn check_synced(
        &self,
        resource: &str,
        is_one: impl Fn(&View) -> bool,
    ) -> Result<(), ReadError> {
        let views = || self.views.iter().filter(|shown| is_one(&shown.view));
        let is_lacking = |origin: Option<&Origin>| origin.is_some_and(|it| !it.has_synced());
        let lacking = match () {
            () if views().any(|shown| is_lacking(Some(&shown.origin))) => resource,
            () if views().any(|shown| is_lacking(shown.namespaces.as_deref())) => "v1/namespaces",
            () => return Ok(()),
        };
        Err(ReadError::NotSynced(format!("the first list of {lacking} is not complete")))
    }

    fn index(&self, resource: &str, name: &str) -> Result<&str, ReadError> {
        self.indexes.get(name).map(|index| index.name()).ok_or_else(|| {
            ReadError::UnknownIndex(format!(
                "{name:?} is not among the descriptor's indexes of {resource}"
            ))
        })
    }

    /// An answer of what `show` makes of visible objects.
    fn objects<T: Item>(
        &self,
        bounds: AnswerBounds<'_>,
        cursor: Option<&str>,
        show: impl Fn(Object) -> Option<T>,
        fetch: impl Fn(usize, Option<&str>) -> Result<Page<Object>, IndexerError>,
    ) -> Result<ReadAnswer<T>, ReadError> {
        let all = self.sees_all();
        let fetch =
            |limit, cursor: Option<&str>| fetch(if all { limit } else { OBJECTS_SCANNED }, cursor);
        fill(bounds, cursor, fetch, |object| Ok(show(object)))
    }
}

#[cfg(test)]
mod tests;
