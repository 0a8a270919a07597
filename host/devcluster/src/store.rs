//! The cluster's state: objects by resource, one resourceVersion for all of them, and the recent past.
//!
//! Everything here is synchronous and deterministic: the time is a parameter, and randomness comes from a seed. So the
//! store is also the model server of simulations. It runs no controllers, with three exceptions without which the API
//! cannot be used. A deleted namespace deletes its objects. A CustomResourceDefinition is established. A deleted
//! CustomResourceDefinition deletes its objects.

mod backup;
mod custom_resources;
mod custom_schema;
mod defaults;
mod delete;
mod list;
mod metadata;
mod scale;
mod validation;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use informant_apimachinery::{GroupVersionResource, Status};
use informant_apiserver::{
    ApiObject, Catalogue, Change, ChangeLog, LogBounds, ResourceInfo, stored_in,
};
use jiff::Timestamp;
use serde_json::{Value, json};

pub use backup::Backup;
pub use delete::{DeleteOptions, Deleted};
pub use write::{Target, WriteOptions};

use crate::built_in;

/// 50,000 changes of usual pods with 5 KB each would be 250 MB.
const LOG_BOUNDS: LogBounds = LogBounds { changes_max: 50_000, bytes_max: 64 * 1024 * 1024 };

/// A resource without its version: all versions of a resource show the same objects, and so do both resources of Events.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: String,
    /// The plural.
    pub resource: String,
}

/// Namespace (empty for the cluster's own) and name.
pub type ObjectName = (String, String);

/// The cluster's state.
pub struct Store {
    random: fastrand::Rng,
    /// The resourceVersion of the newest change. Every change takes the next one.
    resource_version: u64,
    catalogue: Arc<Catalogue>,
    tables: HashMap<GroupResource, Table>,
    /// The number of epochs so far. It never decreases.
    epochs: u64,
    /// The resources that changed since [`Self::take_touched`].
    touched: Vec<GroupResource>,
}

/// The objects of one resource.
#[derive(Debug)]
struct Table {
    /// Distinguishes this resource from one of the same name that was defined again or restored from a backup.
    epoch: u64,
    /// Whether the definition was deleted. Then the resource is no longer served, only its watchers read its last
    /// changes, and `objects` is empty.
    gone: bool,
    objects: BTreeMap<ObjectName, Arc<ApiObject>>,
    log: ChangeLog,
}

/// The result of a watch's request for changes.
#[derive(Debug)]
pub enum Changes {
    /// The changes, oldest first. Empty if there are none.
    Some(Vec<Change>),
    /// The watch is too far behind the log.
    Forgotten(Status),
    /// The resource is no longer served.
    ResourceGone,
}

impl Table {
    /// An empty table without history up to this resourceVersion.
    fn new(epoch: u64, resource_version: u64) -> Self {
        let log = ChangeLog::starting_at(resource_version, LOG_BOUNDS);
        Self { epoch, gone: false, objects: BTreeMap::new(), log }
    }
}

impl GroupResource {
    /// The stored resource, without the version.
    pub fn of(gvr: &GroupVersionResource) -> Self {
        let GroupVersionResource { group, resource, .. } = stored_in(gvr);
        Self { group, resource }
    }
}

/// The resource on which all namespaced objects depend.
fn namespaces() -> GroupResource {
    GroupResource { group: String::new(), resource: "namespaces".to_owned() }
}

impl Store {
    /// A cluster with the namespaces of every cluster. Equal seeds and equal calls give equal states.
    pub fn new(seed: u64, now: Timestamp) -> Self {
        let mut store = Self {
            random: fastrand::Rng::with_seed(seed),
            resource_version: 0,
            catalogue: Arc::default(),
            tables: HashMap::new(),
            epochs: 0,
            touched: Vec::new(),
        };
        for resource in built_in::stored() {
            store.tables.insert(GroupResource::of(&resource.gvr), Table::new(0, 0));
        }
        store.rebuild_catalogue();
        store.create_first_objects(now);
        store
    }

    /// The resources that are served.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The resourceVersion of the newest change.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// Forgets all past changes: lists and watches from before now get a 410.
    pub fn compact(&mut self) {
        for table in self.tables.values_mut() {
            table.log.forget(self.resource_version);
        }
    }

    /// The resources that changed since the last call. The caller wakes their watchers.
    pub fn take_touched(&mut self) -> Vec<GroupResource> {
        std::mem::take(&mut self.touched)
    }

    /// The present state of an object.
    pub fn find(
        &self,
        resource: &GroupResource,
        namespace: &str,
        name: &str,
    ) -> Option<&Arc<ApiObject>> {
        let key = (namespace.to_owned(), name.to_owned());
        self.tables.get(resource)?.objects.get(&key)
    }

    /// Up to `limit` changes after a resourceVersion, for a watch that began at `epoch`.
    pub fn changes(
        &self,
        resource: &GroupResource,
        epoch: u64,
        after: u64,
        limit: usize,
    ) -> Changes {
        let Some(table) = self.tables.get(resource).filter(|table| table.epoch == epoch) else {
            return Changes::ResourceGone;
        };
        match table.log.after(after) {
            Ok(changes) => {
                let changes: Vec<Change> = changes.take(limit).cloned().collect();
                if changes.is_empty() && table.gone {
                    return Changes::ResourceGone;
                }
                Changes::Some(changes)
            }
            Err(forgotten) => {
                Changes::Forgotten(Status::too_old_resource_version(after, forgotten.oldest))
            }
        }
    }

    /// The newest resourceVersion that a bookmark may give to a watch that has received everything up to `seen`.
    pub fn progress(&self, resource: &GroupResource, seen: u64) -> u64 {
        let newest = self.tables.get(resource).and_then(|table| table.log.last());
        if newest.is_some_and(|newest| newest > seen) { seen } else { self.resource_version }
    }

    /// Distinguishes a resource from one of the same name that was defined again.
    pub fn epoch(&self, resource: &GroupResource) -> u64 {
        self.tables.get(resource).map_or(0, |table| table.epoch)
    }

    fn new_epoch(&mut self) -> u64 {
        self.epochs += 1;
        self.epochs
    }

    /// Creates the objects that every cluster has from the start.
    fn create_first_objects(&mut self, now: Timestamp) {
        let options = WriteOptions::at(now);
        let mut make = |group: &str, resource: &str, namespace: Option<&str>, object: Value| {
            let gvr = GroupVersionResource::new(group, "v1", resource);
            let resource = self.catalogue.find(&gvr).cloned().expect("it is built in");
            self.create(&resource, namespace, object, options).expect("it is valid and new");
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            make("", "namespaces", None, json!({"metadata": {"name": name}}));
        }
        let service = json!({
            "metadata": {
                "name": "kubernetes",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "type": "ClusterIP",
                "clusterIP": "10.96.0.1",
                "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
            },
        });
        make("", "services", Some("default"), service);
    }

    fn table(&self, resource: &ResourceInfo) -> Result<&Table, Status> {
        self.tables.get(&GroupResource::of(&resource.gvr)).ok_or_else(Status::no_such_resource)
    }

    /// Puts a change into the table and the log. The change must carry the next resourceVersion.
    fn commit(&mut self, resource: &GroupResource, change: Change) {
        assert_eq!(
            change.resource_version(),
            self.resource_version + 1,
            "every change takes the next resourceVersion"
        );
        self.resource_version += 1;
        let table = self.tables.get_mut(resource).expect("only served resources are written");
        let key = |object: &ApiObject| (object.namespace().to_owned(), object.name().to_owned());
        match &change {
            Change::Added(new) | Change::Modified { new, .. } => {
                table.objects.insert(key(new), Arc::clone(new));
            }
            Change::Deleted { last, .. } => {
                table.objects.remove(&key(last));
            }
        }
        table.log.push(change);
        if !self.touched.contains(resource) {
            self.touched.push(resource.clone());
        }
    }
}

#[cfg(test)]
mod tests;
