//! The descriptor, with which a plugin declares its needs: a builder for the answer of `lifecycle.describe`. Each
//! method is one key of the contract's JSON. A key that is not set is omitted, and the host's default applies.

use crate::http::Method;
use crate::subscription::duration;
use crate::{Index, Subscription};
use serde::Serialize;
use std::collections::HashSet;
use std::time::Duration;

/// The plugin's version and all of its needs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subscriptions: Vec<Subscription>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) indexes: Vec<Index>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reads: Vec<Read>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writes: Vec<Write>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    http: Vec<Http>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) schedules: Vec<Schedule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<u32>,
}

impl Descriptor {
    /// A descriptor without needs. `version` is the plugin's own version, usually `env!("CARGO_PKG_VERSION")`.
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            version: version.into(),
            subscriptions: Vec::new(),
            indexes: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            http: Vec::new(),
            schedules: Vec::new(),
            shards: None,
        }
    }

    /// Subscribes to one more resource. [`Event::subscription`](crate::Event::subscription) counts subscriptions in
    /// the order of these calls.
    #[must_use]
    pub fn subscribe(mut self, subscription: Subscription) -> Self {
        self.subscriptions.push(subscription);
        self
    }

    /// Adds an index for [`indexer::by_index`](crate::indexer::by_index).
    #[must_use]
    pub fn index(mut self, index: Index) -> Self {
        self.indexes.push(index);
        self
    }

    /// Reads a resource through [`indexer`](crate::indexer), without events for its changes.
    #[must_use]
    pub fn read(mut self, read: Read) -> Self {
        self.reads.push(read);
        self
    }

    /// Declares writes of the plugin through [`kube`](crate::kube). The plugin does not run before they are granted.
    #[must_use]
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Declares HTTP requests of the plugin through [`http`](crate::http). The plugin does not run before they are
    /// granted.
    #[must_use]
    pub fn http(mut self, http: Http) -> Self {
        self.http.push(http);
        self
    }

    /// Adds a schedule. The plugin must be a [`Timer`](crate::Timer).
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Runs the plugin in this number of instances, 1 to 64, whose calls overlap. Each instance gets only the objects
    /// whose names hash to its [number](crate::host_info::shard). The host's operator may configure another number.
    /// Without a configuration, up to 8 are granted. Not together with [`Stateful`](crate::Stateful).
    #[must_use]
    pub fn shards(mut self, shards: u32) -> Self {
        self.shards = Some(shards);
        self
    }

    /// The descriptor as the contract's JSON.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a descriptor is strings, lists and numbers")
    }

    /// Finds errors that the host would refuse, too, and reports them in the builder's words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        match self.subscriptions.iter().find(|s| !names.insert(&s.name)) {
            None => Ok(()),
            Some(twice) => Err(format!(
                "two subscriptions are named {:?}; give one another name with Subscription::named",
                twice.name
            )),
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn readable(&self) -> impl Iterator<Item = &str> {
        let subscribed = self.subscriptions.iter().map(|s| s.resource.as_str());
        subscribed.chain(self.reads.iter().map(|r| r.resource.as_str()))
    }
}

/// A resource that the plugin reads without a subscription.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace_selector: Option<String>,
}

impl Read {
    /// All objects of a resource.
    pub fn of(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), namespaces: Vec::new(), namespace_selector: None }
    }

    /// Restricts the read to this namespace. Call it again for more namespaces.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }

    /// Restricts the read to namespaces with these labels, in kubectl's notation: `team=shop`.
    #[must_use]
    pub fn in_namespaces_with(self, selector: impl Into<String>) -> Self {
        Self { namespace_selector: Some(selector.into()), ..self }
    }
}

/// The plugin's writes to one resource, or to a subresource such as `v1/pods/status`.
#[derive(Clone, Debug, Serialize)]
pub struct Write {
    resource: String,
    verbs: Vec<Verb>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
}

/// A kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Creates an object. Server-side apply needs this verb, too.
    Create,
    /// Replaces the whole object.
    Update,
    /// Changes a part of the object.
    Patch,
    /// Deletes one object. There is no deletion of all objects.
    Delete,
}

impl Write {
    /// These verbs on all objects of a resource.
    pub fn of(resource: impl Into<String>, verbs: impl IntoIterator<Item = Verb>) -> Self {
        let verbs = verbs.into_iter().collect();
        Self { resource: resource.into(), verbs, namespaces: Vec::new() }
    }

    /// Restricts the writes to this namespace. Call it again for more namespaces.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }
}

/// The HTTP requests of the plugin.
#[derive(Clone, Debug, Serialize)]
pub struct Http {
    origins: Vec<String>,
    methods: Vec<Method>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<Addresses>,
}

/// The network of a server's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Addresses {
    /// On the internet. The default.
    Public,
    /// In a private network, such as the services and pods of a cluster.
    Private,
    /// On the host's own machine, or in its pod.
    Loopback,
}

impl Http {
    /// These methods at an origin: `https://api.example.com`, `http://alerts.shop.svc:9093`, or
    /// `https://*.example.com` for all names below it.
    pub fn to(origin: impl Into<String>, methods: impl IntoIterator<Item = Method>) -> Self {
        Self {
            origins: vec![origin.into()],
            methods: methods.into_iter().collect(),
            paths: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// The same methods at another origin, too.
    #[must_use]
    pub fn and_to(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Restricts the requests to this path and the paths below it. Call it again for more paths.
    #[must_use]
    pub fn below(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Allows addresses of this kind. Call it again for more kinds.
    #[must_use]
    pub fn at(mut self, addresses: Addresses) -> Self {
        self.addresses.push(addresses);
        self
    }
}

/// A schedule on which the host calls the plugin.
#[derive(Clone, Debug, Serialize)]
pub struct Schedule {
    pub(crate) name: String,
    #[serde(flatten)]
    every: Every,
}

/// The times of a [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Every {
    /// A cron line of five fields: minute, hour, day of month, month, day of week. It is in UTC, which has no summer
    /// time. `0 3 * * *` is the same UTC time every day, and so another local hour in summer.
    Cron(String),
    /// After each such period, from 100 ms to a year. The first call comes after one period.
    #[serde(rename = "every", serialize_with = "duration")]
    Period(Duration),
}

impl Schedule {
    /// A schedule. The plugin gets `name` with each call.
    pub fn new(name: impl Into<String>, every: Every) -> Self {
        Self { name: name.into(), every }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Delivery, EnqueueRule, KeyNamespace, Replay};
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[track_caller]
    fn check(descriptor: &Descriptor, expected: serde_json::Value) {
        let json: serde_json::Value = serde_json::from_slice(&descriptor.to_json()).unwrap();
        assert_eq!(json, expected);
    }

    #[test]
    fn what_is_not_set_is_left_out() {
        check(
            &Descriptor::new("1.2.3").subscribe(Subscription::to("v1/pods")),
            serde_json::json!({
                "version": "1.2.3",
                "subscriptions": [{"name": "v1/pods", "resource": "v1/pods"}],
            }),
        );
    }

    /// A descriptor with all keys.
    fn everything() -> Descriptor {
        let subscription = Subscription::to("apps/v1/deployments")
            .named("web")
            .in_namespace("default")
            .in_namespace("prod")
            .in_namespaces_with("team=shop")
            .labels("app=web")
            .fields("metadata.name!=old")
            .only([Change::Added, Change::Deleted])
            .replay(Replay::InitialAndReload)
            .delivery(Delivery::Metadata)
            .with_old()
            .only_if_changed("/spec/replicas")
            .filter("object.spec.replicas > 0")
            .resync_every(Duration::from_secs(600))
            .enqueue(EnqueueRule::itself())
            .enqueue(EnqueueRule::itself().namespace(KeyNamespace::Object))
            .enqueue(EnqueueRule::owner("apps/v1/ReplicaSet").prefix("rs:"))
            .enqueue(EnqueueRule::pointer("/spec/x").namespace(KeyNamespace::None));
        Descriptor::new("1")
            .subscribe(subscription)
            .index(Index::new("v1/pods", "node", "/spec/nodeName"))
            .read(Read::of("v1/nodes"))
            .read(Read::of("v1/configmaps").in_namespace("kube-system").in_namespaces_with("team"))
            .write(Write::of("v1/pods/status", [Verb::Patch, Verb::Create]).in_namespace("shop"))
            .http(
                Http::to("https://a.org", [Method::Get, Method::Post])
                    .and_to("http://b.shop.svc:9093")
                    .below("/v1")
                    .at(Addresses::Public)
                    .at(Addresses::Private),
            )
            .schedule(Schedule::new("tidy", Every::Cron("0 3 * * *".to_owned())))
            .schedule(Schedule::new("beat", Every::Period(Duration::from_millis(1500))))
            .shards(4)
    }

    #[test]
    fn the_builder_writes_what_the_contract_reads() {
        check(
            &everything(),
            serde_json::json!({
                "version": "1",
                "subscriptions": [{
                    "name": "web",
                    "resource": "apps/v1/deployments",
                    "namespaces": ["default", "prod"],
                    "namespaceSelector": "team=shop",
                    "labelSelector": "app=web",
                    "fieldSelector": "metadata.name!=old",
                    "types": ["added", "deleted"],
                    "replay": "initial-and-reload",
                    "delivery": "metadata",
                    "withOld": true,
                    "onlyIfChanged": ["/spec/replicas"],
                    "filter": "object.spec.replicas > 0",
                    "resyncPeriod": "600s",
                    "enqueue": [
                        "self",
                        {"self": true, "namespace": "object"},
                        {"owner": "apps/v1/ReplicaSet", "prefix": "rs:"},
                        {"pointer": "/spec/x", "namespace": "none"},
                    ],
                }],
                "indexes": [{"resource": "v1/pods", "name": "node", "pointer": "/spec/nodeName"}],
                "reads": [
                    {"resource": "v1/nodes"},
                    {
                        "resource": "v1/configmaps",
                        "namespaces": ["kube-system"],
                        "namespaceSelector": "team",
                    },
                ],
                "writes": [
                    {"resource": "v1/pods/status", "verbs": ["patch", "create"], "namespaces": ["shop"]},
                ],
                "http": [{
                    "origins": ["https://a.org", "http://b.shop.svc:9093"],
                    "methods": ["GET", "POST"],
                    "paths": ["/v1"],
                    "addresses": ["public", "private"],
                }],
                "schedules": [
                    {"name": "tidy", "cron": "0 3 * * *"},
                    {"name": "beat", "every": "1500ms"},
                ],
                "shards": 4,
            }),
        );
    }

    /// The keys of one kind of object in the published schema must equal the keys that the builder can write.
    /// Otherwise one of them was forgotten.
    #[track_caller]
    fn check_keys(schema: &Value, pointer: &str, written: &[&Value]) {
        let keys = |object: &Value| -> BTreeSet<String> {
            object.as_object().expect("an object").keys().cloned().collect()
        };
        let known = keys(&schema.pointer(pointer).expect("the schema has it")["properties"]);
        let written: BTreeSet<_> = written.iter().flat_map(|object| keys(object)).collect();
        assert_eq!(written, known, "{pointer}");
    }

    #[test]
    fn the_builder_and_the_schema_know_the_same_keys() {
        let schema = serde_json::from_str(include_str!("../../descriptor.schema.json")).unwrap();
        let all: Value = serde_json::from_slice(&everything().to_json()).unwrap();
        let every = |pointer: &str| all.pointer(pointer).and_then(Value::as_array).unwrap().iter();
        check_keys(&schema, "", &[&all]);
        check_keys(&schema, "/$defs/subscription", &[&all["subscriptions"][0]]);
        check_keys(&schema, "/$defs/index", &[&all["indexes"][0]]);
        check_keys(&schema, "/$defs/read", &every("/reads").collect::<Vec<_>>());
        check_keys(&schema, "/$defs/write", &every("/writes").collect::<Vec<_>>());
        check_keys(&schema, "/$defs/http", &every("/http").collect::<Vec<_>>());
        check_keys(&schema, "/$defs/schedule", &every("/schedules").collect::<Vec<_>>());
        let rules: Vec<_> = every("/subscriptions/0/enqueue").filter(|r| r.is_object()).collect();
        check_keys(&schema, "/$defs/enqueueRule/oneOf/1", &rules);
    }

    #[test]
    fn two_subscriptions_of_one_name_are_refused() {
        let twice = Descriptor::new("1")
            .subscribe(Subscription::to("v1/pods"))
            .subscribe(Subscription::to("v1/pods").labels("app=web"));
        assert!(twice.check().unwrap_err().contains("Subscription::named"));
    }
}
