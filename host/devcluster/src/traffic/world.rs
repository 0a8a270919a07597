//! The controllers' knowledge: the last observed objects of the kinds that they need, with indexes. It decides
//! nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use informant_apimachinery::GroupVersionResource;
use jiff::Timestamp;
use serde_json::Value;

/// A kind that the traffic reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Namespace,
    Node,
    Lease,
    ConfigMap,
    Service,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    Pod,
    Event,
}

impl Kind {
    /// All kinds. A kind comes after the kinds that it depends on.
    pub(crate) const ALL: [Self; 12] = [
        Self::Namespace,
        Self::Node,
        Self::Lease,
        Self::ConfigMap,
        Self::Service,
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::Pod,
        Self::Event,
    ];

    /// The `kind` of its objects.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespace => "Namespace",
            Self::Node => "Node",
            Self::Lease => "Lease",
            Self::ConfigMap => "ConfigMap",
            Self::Service => "Service",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::Pod => "Pod",
            Self::Event => "Event",
        }
    }

    /// The resource that serves its objects.
    pub(crate) fn resource(self) -> GroupVersionResource {
        let (group, resource) = match self {
            Self::Namespace => ("", "namespaces"),
            Self::Node => ("", "nodes"),
            Self::Lease => ("coordination.k8s.io", "leases"),
            Self::ConfigMap => ("", "configmaps"),
            Self::Service => ("", "services"),
            Self::Deployment => ("apps", "deployments"),
            Self::ReplicaSet => ("apps", "replicasets"),
            Self::StatefulSet => ("apps", "statefulsets"),
            Self::DaemonSet => ("apps", "daemonsets"),
            Self::Job => ("batch", "jobs"),
            Self::Pod => ("", "pods"),
            Self::Event => ("", "events"),
        };
        GroupVersionResource::new(group, "v1", resource)
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    /// Empty for objects without a namespace.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(kind: Kind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }
}

/// The observed objects.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// The objects, each with the time of its last observed change.
    objects: BTreeMap<Key, (Value, Timestamp)>,
    /// The number of objects of each kind.
    counts: HashMap<Kind, usize>,
    /// The keys by UID, for all of `objects`.
    keys: HashMap<String, Key>,
    /// By the UID of their controller.
    dependents: HashMap<String, BTreeSet<Key>>,
    /// Pods by `spec.nodeName`.
    pods_by_node: HashMap<String, BTreeSet<Key>>,
}

impl World {
    /// Takes the object's new state.
    pub(crate) fn set(&mut self, key: Key, object: Value, now: Timestamp) {
        self.remove(&key);
        self.keys.insert(uid(&object).to_owned(), key.clone());
        if let Some(owner) = controller_uid(&object) {
            self.dependents.entry(owner.to_owned()).or_default().insert(key.clone());
        }
        if let Some(node) = node_of(&key, &object) {
            self.pods_by_node.entry(node.to_owned()).or_default().insert(key.clone());
        }
        *self.counts.entry(key.kind).or_default() += 1;
        self.objects.insert(key, (object, now));
    }

    /// Forgets the object. Returns its last state.
    pub(crate) fn remove(&mut self, key: &Key) -> Option<Value> {
        let (object, _) = self.objects.remove(key)?;
        if let Some(count) = self.counts.get_mut(&key.kind) {
            *count -= 1;
        }
        self.keys.remove(uid(&object));
        unindex(&mut self.dependents, controller_uid(&object), key);
        unindex(&mut self.pods_by_node, node_of(key, &object), key);
        Some(object)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key).map(|(object, _)| object)
    }

    /// The time of the object's last observed change.
    pub(crate) fn since(&self, key: &Key) -> Option<Timestamp> {
        self.objects.get(key).map(|(_, since)| *since)
    }

    /// The number of objects of a kind.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// All objects of a kind, by namespace and name.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Value)> {
        let start = Key::new(kind, "", "");
        let objects = self.objects.range(start..).map(|(key, (object, _))| (key, object));
        objects.take_while(move |(key, _)| key.kind == kind)
    }

    /// The object with this UID.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<(&Key, &Value)> {
        let key = self.keys.get(uid)?;
        Some((key, self.get(key)?))
    }

    /// The objects whose controller has this UID.
    pub(crate) fn dependents(&self, uid: &str) -> impl Iterator<Item = (&Key, &Value)> {
        let keys = self.dependents.get(uid).into_iter().flatten();
        keys.filter_map(|key| Some((key, self.get(key)?)))
    }

    /// The pods bound to a node.
    pub(crate) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Key> {
        self.pods_by_node.get(node).into_iter().flatten()
    }

    #[cfg(test)]
    pub(crate) fn check_invariants(&self) {
        assert_eq!(self.keys.len(), self.objects.len(), "every object has a UID of its own");
        for (key, (object, _)) in &self.objects {
            assert_eq!(self.keys.get(uid(object)), Some(key));
            if let Some(owner) = controller_uid(object) {
                assert!(self.dependents[owner].contains(key), "{key:?} is indexed by its owner");
            }
            if let Some(node) = node_of(key, object) {
                assert!(self.pods_by_node[node].contains(key), "{key:?} is indexed by its node");
            }
        }
        for kind in Kind::ALL {
            assert_eq!(self.count(kind), self.of_kind(kind).count(), "{kind:?} are counted");
        }
        let indexed: usize = self.dependents.values().map(BTreeSet::len).sum();
        let owned =
            self.objects.values().filter(|(object, _)| controller_uid(object).is_some()).count();
        assert_eq!(indexed, owned, "the index holds nothing else");
    }
}

fn unindex(index: &mut HashMap<String, BTreeSet<Key>>, value: Option<&str>, key: &Key) {
    let Some(value) = value else { return };
    if let Some(keys) = index.get_mut(value) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(value);
        }
    }
}

/// The object's UID; empty if it has none.
pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// The object's controller, as an owner reference.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

fn controller_uid(object: &Value) -> Option<&str> {
    controller(object)?["uid"].as_str()
}

fn node_of<'v>(key: &Key, object: &'v Value) -> Option<&'v str> {
    if key.kind != Kind::Pod {
        return None;
    }
    object["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())
}
