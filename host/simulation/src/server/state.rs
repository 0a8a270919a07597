//! The server's state: writes, the history of the tracked resources, and the checks of clients.

use super::{ModelServerState, REQUESTS_IN_TEN_SECONDS_MAX};
use crate::faults::Fault;
use informant_apimachinery::GroupVersionResource;
use informant_apiserver::{ApiObject, ListAt, ListQuery, ResourceInfo, Selection};
use informant_devcluster::store::{Changes, DeleteOptions, GroupResource, Target, WriteOptions};
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The time of a moment in a run. Every run starts at the same time.
pub(super) fn timestamp(since: Duration) -> Timestamp {
    let seconds = 1_700_000_000 + i64::try_from(since.as_secs()).unwrap_or(0);
    Timestamp::from_second(seconds).expect("a run ends before time does")
}

impl ModelServerState {
    fn options(&self) -> WriteOptions {
        WriteOptions::at(timestamp(self.began.elapsed()))
    }

    fn resource(&self, gvr: &GroupVersionResource) -> Option<Arc<ResourceInfo>> {
        self.store.catalogue().find(gvr).cloned()
    }

    pub(crate) fn serves(&self, gvr: &GroupVersionResource) -> bool {
        self.resource(gvr).is_some()
    }

    pub(crate) fn create(
        &mut self,
        gvr: &GroupVersionResource,
        namespace: Option<&str>,
        object: Value,
    ) -> Result<(), String> {
        let resource = self.resource(gvr).ok_or("it is not served")?;
        let options = self.options();
        let created = self.store.create(&resource, namespace, object, options);
        created.map(|_| ()).map_err(|status| status.message)
    }

    /// Replaces an object by the result of `change`.
    pub(crate) fn update(
        &mut self,
        gvr: &GroupVersionResource,
        (namespace, name): (Option<&str>, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<(), String> {
        let resource = &self.resource(gvr).ok_or("it is not served")?;
        let key = GroupResource::of(gvr);
        let found = self.store.find(&key, namespace.unwrap_or_default(), name);
        let mut object = found.ok_or("it is not there")?.to_value();
        change(&mut object);
        let target = Target { resource, namespace, name, subresource: None };
        let options = self.options();
        let updated = self.store.update(&target, object, options);
        updated.map(|_| ()).map_err(|status| status.message)
    }

    pub(crate) fn delete(
        &mut self,
        gvr: &GroupVersionResource,
        (namespace, name): (Option<&str>, &str),
    ) -> Result<(), String> {
        let resource = &self.resource(gvr).ok_or("it is not served")?;
        let target = Target { resource, namespace, name, subresource: None };
        let delete = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        let options = self.options();
        let deleted = self.store.delete(&target, &delete, options);
        deleted.map(|_| ()).map_err(|status| status.message)
    }

    /// Records the changes since the last call.
    pub(super) fn track(&mut self) {
        for tracked in &mut self.tracked {
            loop {
                let epoch = self.store.epoch(&tracked.key);
                let changes = self.store.changes(&tracked.key, epoch, tracked.seen, 256);
                let Changes::Some(changes) = changes else { break };
                let Some(last) = changes.last() else { break };
                tracked.seen = last.resource_version();
                for change in &changes {
                    tracked.history.change(change);
                }
            }
            // A quiet resource does not fall behind the forgotten changes.
            tracked.seen = self.store.resource_version();
        }
    }

    pub(super) fn track_restored(&mut self) {
        let seen = self.store.resource_version();
        let mut restored: Vec<Vec<Arc<ApiObject>>> = Vec::new();
        for tracked in &self.tracked {
            let listed = self.resource(&tracked.gvr).map(|resource| ListQuery {
                resource,
                selection: Selection::default(),
                limit: 0,
                at: ListAt::MostRecent,
                start_after: None,
            });
            let page = listed.and_then(|query| self.store.list(&query).ok());
            restored.push(page.map(|page| page.items).unwrap_or_default());
        }
        for (tracked, objects) in self.tracked.iter_mut().zip(restored) {
            tracked.seen = seen;
            tracked.history.restored(objects.iter().map(Arc::as_ref));
        }
    }

    /// The fault that prevents watches of a resource. `None` if there is none.
    pub(crate) fn withholds(&self, gvr: &GroupVersionResource) -> Option<Fault> {
        let (fault, until) = self.withheld.get(gvr)?;
        (Instant::now() < *until).then_some(*fault)
    }

    /// Counts a request. Returns whether there are too many.
    pub(super) fn storms(&mut self, collection: &str) -> bool {
        let now = Instant::now();
        let requests = self.requests.entry(collection.to_owned()).or_default();
        requests.retain(|at| now.duration_since(*at) < Duration::from_secs(10));
        requests.push(now);
        requests.len() > REQUESTS_IN_TEN_SECONDS_MAX
    }
}
