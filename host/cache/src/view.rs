//! A view: the part of an informer's scope that one caller requested. Reads, handlers and
//! `has_synced` see exactly its scope.
//!
//! client-go has one informer for each resource, namespace and selector, or one for everything,
//! which all callers filter by hand. Here one store serves all callers of a resource. It covers the
//! union of their scopes, and each caller sees its own.

use crate::handler_queue::HandlerOptions;
use crate::indexer::{Indexer, IndexerError, Page, Snapshot};
use crate::informer_factory::{InformerLease, SharedInformerFactory};
use crate::informer_state::InformerState;
use crate::notifications::Notifications;
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::ResourceEventHandler;
use crate::scope::{Namespaces, Scope, ScopeError};
use crate::shared_processor::Registration;
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Objects in one step of a filtering read.
const READ_STEP: usize = 256;

/// One resource in one scope. Cheap to clone; its informer covers the scope as long as a clone is kept, and lingers
/// after.
#[derive(Clone)]
pub struct View {
    inner: Arc<ViewState>,
}

struct ViewState {
    lease: InformerLease,
    scope: Arc<Scope>,
    /// Whether its scope was listed completely once.
    synced: AtomicBool,
}

impl SharedInformerFactory {
    /// A view of the resource, until it is dropped: the informer covers the scope beside the scopes of other requests,
    /// and the view shows just its own. A new namespace is listed while the others go on. A scope without requests is
    /// given up after the linger. The requirements of selectors that all requests for a namespace have reach the API
    /// server; the host evaluates the others for each view. If the API server refuses a request for all namespaces,
    /// requests for some of them are still served. For more than 256 namespaces of one resource, all are listed at
    /// once.
    pub fn view(&self, resource: &GroupVersionResource, scope: Scope) -> Result<View, ScopeError> {
        self.check_scope(&scope)?;
        let scope = Arc::new(scope);
        Ok(View::new(self.lease_scoped(resource, scope.clone()), scope))
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "View({}, {})", self.resource(), self.scope())
    }
}

impl View {
    /// A view over `lease`, which requests `scope`.
    pub(crate) fn new(lease: InformerLease, scope: Arc<Scope>) -> Self {
        Self { inner: Arc::new(ViewState { lease, scope, synced: AtomicBool::new(false) }) }
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        self.inner.lease.informer().resource()
    }

    /// The scope of the view.
    pub fn scope(&self) -> &Scope {
        &self.inner.scope
    }

    /// The state of the resource's informer, for all its requests.
    pub fn state(&self) -> InformerState {
        self.inner.lease.informer().state()
    }

    /// Whether the first list of its scope is in the cache. Stays `true`.
    pub fn has_synced(&self) -> bool {
        let inner = &self.inner;
        let synced =
            inner.synced.load(Ordering::Acquire) || inner.lease.informer().covers(&inner.scope);
        if synced {
            inner.synced.store(true, Ordering::Release);
        }
        synced
    }

    /// Waits until the view has synced. `false` if its informer stopped before.
    pub async fn synced(&self) -> bool {
        self.inner.lease.informer().wait(|| self.has_synced()).await
    }

    /// As [`SharedIndexInformer::add_event_handler`](crate::SharedIndexInformer::add_event_handler), within the scope.
    /// An update that moves an object in is an addition. One that moves it out is a deletion with the state before and
    /// [`FinalState::LeftScope`](crate::FinalState::LeftScope). If the API server evaluates the selectors, it reports
    /// an object that leaves as deleted, and the final state is `Unknown`.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler(&self, handler: Arc<dyn ResourceEventHandler>) -> Registration {
        let options = self.inner.lease.informer().default_handler_options();
        self.add_event_handler_with_options(handler, options)
    }

    /// As [`View::add_event_handler`], with a choice of replay, resync and queue.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler_with_options(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        let scope = Some(self.inner.scope.clone());
        self.inner.lease.informer().add_handler_in(scope, handler, options)
    }

    /// As [`SharedIndexInformer::add_inline_handler`](crate::SharedIndexInformer::add_inline_handler), within the
    /// scope.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_inline_handler(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        let scope = Some(self.inner.scope.clone());
        self.inner.lease.informer().add_inline_handler_in(scope, handler, options, None)
    }

    /// As [`SharedIndexInformer::notifications`](crate::SharedIndexInformer::notifications), within the scope.
    pub fn notifications(&self, options: HandlerOptions) -> Notifications {
        let scope = Some(self.inner.scope.clone());
        self.inner.lease.informer().notifications_in(scope, options)
    }

    /// The object, if it exists in the scope.
    pub fn get(&self, key: &ObjectKey) -> Option<Object> {
        self.indexer().get(key).filter(|object| self.scope().contains(object))
    }

    /// As [`Indexer::list`], within the scope. A namespace outside of it is empty.
    pub fn list(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let snapshot = self.indexer().snapshot();
        let mut found = FoundObjects::new(limit);
        for namespace in self.namespaces(namespace) {
            self.read(cursor, &mut found, |cursor| {
                snapshot.list(namespace, selector, READ_STEP, cursor)
            })?;
        }
        Ok(found.page())
    }

    /// The number of objects in the scope, in one namespace or in all.
    pub fn count(&self, namespace: Option<&str>) -> usize {
        let snapshot = self.indexer().snapshot();
        let scope = self.scope();
        let all = |namespace: Option<&str>| {
            let may_lack = snapshot.count_of_metadata_only() > 0 && !scope.is_metadata_only();
            if scope.selects_everything() && !may_lack {
                return snapshot.count(namespace);
            }
            snapshot.objects(namespace).filter(|object| scope.contains(object)).count()
        };
        self.namespaces(namespace).into_iter().map(all).sum()
    }

    /// As [`Indexer::by_index`], within the scope.
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let snapshot = self.indexer().snapshot();
        let mut found = FoundObjects::new(limit);
        self.read(cursor, &mut found, |cursor| snapshot.by_index(index, value, READ_STEP, cursor))?;
        Ok(found.page())
    }

    /// As [`View::by_index`], keys only.
    pub fn index_keys(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ObjectKey>, IndexerError> {
        let Page { items, next } = self.by_index(index, value, limit, cursor)?;
        let items = items.iter().map(|object| object.key().clone()).collect();
        Ok(Page { items, next })
    }

    /// As [`Indexer::index_values`], within the scope. Each value costs a read of its objects up to the first in the
    /// scope.
    pub fn index_values(
        &self,
        index: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<String>, IndexerError> {
        let snapshot = self.indexer().snapshot();
        let enough = if limit == 0 { usize::MAX } else { limit };
        let (mut items, mut cursor) = (Vec::new(), cursor.map(str::to_owned));
        loop {
            let page = snapshot.index_values(index, READ_STEP, cursor.as_deref())?;
            for value in page.items {
                if !self.files_any(&snapshot, index, &value)? {
                    continue;
                }
                if items.len() == enough {
                    let next = items.last().cloned();
                    return Ok(Page { items, next });
                }
                items.push(value);
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(Page { items, next: None });
            }
        }
    }

    fn files_any(
        &self,
        snapshot: &Snapshot,
        index: &str,
        value: &str,
    ) -> Result<bool, IndexerError> {
        let mut found = FoundObjects::new(1);
        self.read(None, &mut found, |cursor| snapshot.by_index(index, value, READ_STEP, cursor))?;
        Ok(!found.items.is_empty())
    }

    fn indexer(&self) -> Indexer {
        self.inner.lease.informer().indexer()
    }

    /// The ranges of the store that can have objects of the scope, in the order of keys.
    fn namespaces<'a>(&'a self, namespace: Option<&'a str>) -> Vec<Option<&'a str>> {
        match (namespace, self.scope().covered_namespaces()) {
            (Some(namespace), _) if !self.scope().covers_namespace(namespace) => Vec::new(),
            (Some(_), _) | (None, Namespaces::All) => vec![namespace],
            (None, Namespaces::Set(set)) => set.iter().map(|name| Some(&**name)).collect(),
        }
    }

    /// Reads pages until there are enough objects, or no more pages.
    fn read(
        &self,
        cursor: Option<&str>,
        found: &mut FoundObjects,
        page: impl Fn(Option<&str>) -> Result<Page<Object>, IndexerError>,
    ) -> Result<(), IndexerError> {
        let mut cursor = cursor.map(str::to_owned);
        while !found.is_enough() {
            let Page { items, next } = page(cursor.as_deref())?;
            // Invariant 9.
            found.items.extend(items.into_iter().filter(|object| self.scope().contains(object)));
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The objects found so far.
struct FoundObjects {
    items: Vec<Object>,
    limit: usize,
}

impl FoundObjects {
    /// A `limit` of 0 means no limit.
    fn new(limit: usize) -> Self {
        Self { items: Vec::new(), limit: if limit == 0 { usize::MAX } else { limit } }
    }

    /// One more than the limit is enough: then there is a next page.
    fn is_enough(&self) -> bool {
        self.items.len() > self.limit
    }

    fn page(mut self) -> Page<Object> {
        let more = self.is_enough();
        self.items.truncate(self.limit);
        let last = self.items.last().filter(|_| more);
        let next = last.map(|object| Indexer::cursor_after(object.key()));
        Page { items: self.items, next }
    }
}

#[cfg(test)]
mod tests;
