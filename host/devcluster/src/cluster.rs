//! The shared store: in-process access for the same program, and the store as a [`Source`] for the API server.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use informant_apimachinery::{GroupVersionResource, Status};
use informant_apiserver::{
    ApiObject, Catalogue, Change, ChangeFeed, InitialState, ListAt, ListPage, ListQuery,
    ResourceInfo, Source, Watch, WatchQuery, WatchStart,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::patch::Patch;
use crate::store::{Changes, DeleteOptions, Deleted, GroupResource, Store, Target, WriteOptions};

/// The number of changes that a watcher takes at once. It is large enough to make the lock cheap. It is small enough
/// that a slow watcher holds only this number beyond the log.
const CHANGES_TAKEN_MAX: usize = 256;

/// The cluster's state, shared by the API server and in-process clients such as the traffic. Cheap to clone. Every
/// write wakes the watchers of its resource.
#[derive(Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
}

struct Shared {
    store: Mutex<Store>,
    /// One sender for each resource that was ever watched. The value only wakes the watchers.
    wakers: Mutex<HashMap<GroupResource, watch::Sender<u64>>>,
}

impl Cluster {
    /// Shares a store.
    pub fn new(store: Store) -> Self {
        let shared = Shared { store: Mutex::new(store), wakers: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The resources that are served now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(self.shared.store.lock().catalogue())
    }

    /// The resource with this name, or a 404.
    pub fn resource(&self, gvr: &GroupVersionResource) -> Result<Arc<ResourceInfo>, Status> {
        self.catalogue().find(gvr).cloned().ok_or_else(Status::no_such_resource)
    }

    /// The resourceVersion of the newest change.
    pub fn resource_version(&self) -> u64 {
        self.shared.store.lock().resource_version()
    }

    /// Returns one object.
    pub fn get(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Arc<ApiObject>, Status> {
        let resource = self.resource(gvr)?;
        self.shared.store.lock().get(&resource, namespace, name, ListAt::MostRecent)
    }

    /// Returns all objects of a resource, in one namespace or in all.
    pub fn list(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
    ) -> Result<Vec<Arc<ApiObject>>, Status> {
        let query = ListQuery {
            resource: self.resource(gvr)?,
            selection: informant_apiserver::Selection {
                namespace: namespace.map(str::to_owned),
                ..Default::default()
            },
            limit: 0,
            at: ListAt::MostRecent,
            start_after: None,
        };
        Ok(self.shared.store.lock().list(&query)?.items)
    }

    /// Creates an object.
    pub fn create(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        object: Value,
    ) -> Result<Arc<ApiObject>, Status> {
        let resource = self.resource(gvr)?;
        let options = WriteOptions::at(Timestamp::now());
        self.write(|store| store.create(&resource, namespace, object, options))
    }

    /// Replaces an object, or its status with `subresource`.
    pub fn update(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        object: Value,
    ) -> Result<Arc<ApiObject>, Status> {
        let resource = &self.resource(gvr)?;
        let target = Target { resource, namespace, name, subresource };
        let options = WriteOptions::at(Timestamp::now());
        self.write(|store| store.update(&target, object, options))
    }

    /// Changes part of an object, or of its status with `subresource`.
    pub fn patch(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: &Patch,
    ) -> Result<Arc<ApiObject>, Status> {
        let resource = &self.resource(gvr)?;
        let target = Target { resource, namespace, name, subresource };
        let options = WriteOptions::at(Timestamp::now());
        self.write(|store| store.patch(&target, patch, options)).map(|(object, _)| object)
    }

    /// Deletes an object.
    pub fn delete(
        &self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Deleted, Status> {
        let resource = &self.resource(gvr)?;
        let target = Target { resource, namespace, name, subresource: None };
        let options = WriteOptions::at(Timestamp::now());
        self.write(|store| store.delete(&target, &DeleteOptions::default(), options))
    }

    /// Reads the store.
    pub fn read<T>(&self, read: impl FnOnce(&Store) -> T) -> T {
        read(&self.shared.store.lock())
    }

    /// Changes the store and wakes the watchers of the changed resources.
    pub fn write<T>(&self, write: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.shared.store.lock();
        let outcome = write(&mut store);
        let (touched, version) = (store.take_touched(), store.resource_version());
        drop(store);
        if !touched.is_empty() {
            let wakers = self.shared.wakers.lock();
            for waker in touched.iter().filter_map(|resource| wakers.get(resource)) {
                waker.send_replace(version);
            }
        }
        outcome
    }

    /// Follows a resource after a resourceVersion: every later change, in order. If the version is too old, the first
    /// call of [`ChangeFeed::next`] returns the error.
    pub fn follow(&self, resource: &ResourceInfo, after: u64) -> Box<dyn ChangeFeed> {
        let key = GroupResource::of(&resource.gvr);
        let epoch = self.shared.store.lock().epoch(&key);
        self.feed(key, epoch, after)
    }

    fn feed(&self, resource: GroupResource, epoch: u64, after: u64) -> Box<dyn ChangeFeed> {
        let mut wakers = self.shared.wakers.lock();
        let waker = wakers.entry(resource.clone()).or_insert_with(|| watch::Sender::new(0));
        let woken = waker.subscribe();
        drop(wakers);
        Box::new(StoreFeed { cluster: self.clone(), resource, epoch, seen: after, woken })
    }

    fn start_watch(&self, query: &WatchQuery) -> Result<Watch, Status> {
        let key = GroupResource::of(&query.resource.gvr);
        let store = self.shared.store.lock();
        let (epoch, now) = (store.epoch(&key), store.resource_version());
        let (initial, after) = match query.start {
            WatchStart::Now => (None, now),
            WatchStart::After(version) => (None, version),
            WatchStart::InitialState { not_older_than } => {
                store.check_reached(not_older_than)?;
                let objects = store.initial(&query.resource, &query.selection)?;
                let initial =
                    InitialState { objects, resource_version: now, ..InitialState::default() };
                (Some(initial), now)
            }
        };
        drop(store);
        Ok(Watch { initial, feed: self.feed(key, epoch, after) })
    }
}

impl Source for Cluster {
    fn catalogue(&self) -> Arc<Catalogue> {
        Cluster::catalogue(self)
    }

    fn get<'a>(
        &'a self,
        resource: &'a Arc<ResourceInfo>,
        namespace: Option<&'a str>,
        name: &'a str,
        at: ListAt,
    ) -> BoxFuture<'a, Result<Arc<ApiObject>, Status>> {
        let found = self.shared.store.lock().get(resource, namespace, name, at);
        Box::pin(std::future::ready(found))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<ListPage, Status>> {
        let page = self.shared.store.lock().list(&query);
        Box::pin(std::future::ready(page))
    }

    fn watch(&self, query: WatchQuery) -> BoxFuture<'_, Result<Watch, Status>> {
        Box::pin(std::future::ready(self.start_watch(&query)))
    }
}

/// A watcher's place in the log. It has no buffer: a watcher that reads too slowly loses its place and gets a 410.
struct StoreFeed {
    cluster: Cluster,
    resource: GroupResource,
    epoch: u64,
    /// The resourceVersion up to which all changes were given out.
    seen: u64,
    woken: watch::Receiver<u64>,
}

impl StoreFeed {
    fn take(&mut self) -> Changes {
        self.woken.borrow_and_update();
        let store = self.cluster.shared.store.lock();
        let changes = store.changes(&self.resource, self.epoch, self.seen, CHANGES_TAKEN_MAX);
        if let Changes::Some(changes) = &changes {
            let newest = changes.last().map(Change::resource_version);
            // Without a change the place moves on with the cluster. So the watchers of a quiet resource keep their
            // place while other resources fill the log.
            self.seen = newest.unwrap_or_else(|| self.seen.max(store.resource_version()));
        }
        changes
    }
}

impl ChangeFeed for StoreFeed {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
        Box::pin(async move {
            loop {
                match self.take() {
                    Changes::Some(changes) if !changes.is_empty() => return Some(Ok(changes)),
                    Changes::Some(_) => {}
                    Changes::Forgotten(status) => return Some(Err(status)),
                    Changes::ResourceGone => return None,
                }
                if self.woken.changed().await.is_err() {
                    return None;
                }
            }
        })
    }

    fn progress(&self) -> u64 {
        let store = self.cluster.shared.store.lock();
        store.progress(&self.resource, self.seen)
    }
}
