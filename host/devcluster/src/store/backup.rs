//! A backup of the state and its restoration, as operators do it with etcd. The resourceVersion goes back, and later
//! changes get versions that other changes had before.
//!
//! So clients know changes between the backup and its restoration that are no longer part of the cluster's history.

use std::collections::BTreeMap;
use std::sync::Arc;

use informant_apiserver::ApiObject;

use super::{GroupResource, ObjectName, Store, Table};

/// The objects of a [`Store`] at one moment, without their history. Cheap: the objects are shared.
#[derive(Clone, Debug)]
pub struct Backup {
    resource_version: u64,
    tables: BTreeMap<GroupResource, BTreeMap<ObjectName, Arc<ApiObject>>>,
}

impl Store {
    /// The present state, for [`Self::restore`].
    pub fn backup(&self) -> Backup {
        let served = self.tables.iter().filter(|(_, table)| !table.gone);
        let objects = served.map(|(key, table)| (key.clone(), table.objects.clone()));
        Backup { resource_version: self.resource_version, tables: objects.collect() }
    }

    /// Goes back to a backup: objects, definitions of resources and the resourceVersion become those of the backup.
    /// The earlier history is forgotten: older watches get a 410, and every open watch ends. Randomness does not go
    /// back: a new object of the same name gets another UID, as on a real cluster.
    pub fn restore(&mut self, backup: &Backup) {
        let before = std::mem::take(&mut self.tables);
        // Watches of resources that are no longer served must also get the error.
        self.touched.extend(before.into_keys());
        self.resource_version = backup.resource_version;
        for (key, objects) in &backup.tables {
            let table = Table::new(self.new_epoch(), backup.resource_version);
            let table = Table { objects: objects.clone(), ..table };
            self.tables.insert(key.clone(), table);
        }
        self.touched.extend(backup.tables.keys().cloned());
        self.touched.sort_unstable();
        self.touched.dedup();
        self.rebuild_catalogue();
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::store::{Changes, DeleteOptions, Target, WriteOptions};

    fn options() -> WriteOptions {
        WriteOptions::at(Timestamp::from_second(1_700_000_000).expect("in range"))
    }

    fn create(store: &mut Store, resource: &str, name: &str) -> Arc<ApiObject> {
        let gvr = resource.parse().expect("a resource's name");
        let resource = store.catalogue().find(&gvr).cloned().expect("it is served");
        let namespace = resource.namespaced.then_some("default");
        let object = json!({"metadata": {"name": name}});
        store.create(&resource, namespace, object, options()).expect("it is new and valid")
    }

    fn config_maps() -> GroupResource {
        GroupResource { group: String::new(), resource: "configmaps".to_owned() }
    }

    fn names(store: &Store) -> Vec<&str> {
        store.tables[&config_maps()].objects.keys().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn restored_store_hands_its_versions_out_again() {
        let mut store = Store::new(7, Timestamp::UNIX_EPOCH);
        create(&mut store, "v1/configmaps", "kept");
        let backup = store.backup();
        let lost = create(&mut store, "v1/configmaps", "lost");
        let kept = store.catalogue().find(&"v1/configmaps".parse().unwrap()).cloned().unwrap();
        let target =
            Target { resource: &kept, namespace: Some("default"), name: "kept", subresource: None };
        store.delete(&target, &DeleteOptions::default(), options()).expect("it is there");
        assert_eq!(names(&store), ["lost"]);

        store.restore(&backup);
        assert_eq!(names(&store), ["kept"]);
        let other = create(&mut store, "v1/configmaps", "other");
        assert_eq!(other.resource_version(), lost.resource_version(), "handed out again");
        let uid = |object: &ApiObject| object.to_value()["metadata"]["uid"].clone();
        assert_ne!(uid(&other), uid(&lost), "but to another object");
        // A backup can be restored again.
        store.restore(&backup);
        assert_eq!(names(&store), ["kept"]);
    }

    #[test]
    fn restoration_ends_watches_and_forgets_history() {
        let mut store = Store::new(7, Timestamp::UNIX_EPOCH);
        let first = create(&mut store, "v1/configmaps", "a").resource_version();
        create(&mut store, "v1/configmaps", "b");
        let backup = store.backup();
        let open = store.epoch(&config_maps());
        store.take_touched();
        store.restore(&backup);
        assert!(store.take_touched().contains(&config_maps()), "its watches are woken");
        let changes = store.changes(&config_maps(), open, first, 10);
        assert!(matches!(changes, Changes::ResourceGone), "an open watch ends: {changes:?}");
        let changes = store.changes(&config_maps(), store.epoch(&config_maps()), first, 10);
        assert!(matches!(changes, Changes::Forgotten(_)), "an older watch is 410: {changes:?}");
    }

    #[test]
    fn definitions_go_back_with_their_resources() {
        let mut store = Store::new(7, Timestamp::UNIX_EPOCH);
        let none = store.backup();
        let definition = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        });
        let gvr = "apiextensions.k8s.io/v1/customresourcedefinitions".parse().unwrap();
        let definitions = store.catalogue().find(&gvr).cloned().unwrap();
        store.create(&definitions, None, definition, options()).expect("it is valid");
        create(&mut store, "example.com/v1/widgets", "a");
        let some = store.backup();
        let widgets = "example.com/v1/widgets".parse().unwrap();

        store.restore(&none);
        assert!(store.catalogue().find(&widgets).is_none(), "it was not defined then");
        store.restore(&some);
        let key = GroupResource::of(&widgets);
        assert!(store.find(&key, "default", "a").is_some(), "it was there then");
    }
}
