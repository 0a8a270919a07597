//! What a plugin asks for: the descriptor that `lifecycle.describe` answers with, as a builder. Each
//! method is one key of the contract's JSON; what is not set is left out, and the host's default holds.

use crate::http::Method;
use crate::subscription::duration;
use crate::{Index, Subscription};
use serde::Serialize;
use std::collections::HashSet;
use std::time::Duration;

/// The plugin's version and everything that it wants.
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
    /// A descriptor that asks for nothing. `version` is the plugin's own, usually
    /// `env!("CARGO_PKG_VERSION")`.
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

    /// Asks for the events of one more resource. [`Event::subscription`](crate::Event::subscription) counts
    /// them in the order of these calls.
    #[must_use]
    pub fn subscribe(mut self, subscription: Subscription) -> Self {
        self.subscriptions.push(subscription);
        self
    }

    /// Asks for an index that [`indexer::by_index`](crate::indexer::by_index) can be asked by.
    #[must_use]
    pub fn index(mut self, index: Index) -> Self {
        self.indexes.push(index);
        self
    }

    /// Asks to read a resource through [`indexer`](crate::indexer) without being told of its changes.
    #[must_use]
    pub fn read(mut self, read: Read) -> Self {
        self.reads.push(read);
        self
    }

    /// Says what the plugin means to change through [`kube`](crate::kube): it does not run before that is granted.
    #[must_use]
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Says whom the plugin means to ask through [`http`](crate::http): it does not run before that is granted.
    #[must_use]
    pub fn http(mut self, http: Http) -> Self {
        self.http.push(http);
        self
    }

    /// Asks to be called on a schedule; the plugin must be a [`Timer`](crate::Timer).
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Asks to run in this many instances, 1 to 64, whose calls overlap. Each is told of the objects whose names hash to its
    /// [number](crate::host_info::shard) and knows nothing of the others. Whoever runs the host may say another number, and grants up to 8
    /// where nothing is said. Not together with [`Stateful`](crate::Stateful).
    #[must_use]
    pub fn shards(mut self, shards: u32) -> Self {
        self.shards = Some(shards);
        self
    }

    /// The JSON that the contract asks for.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a descriptor is strings, lists and numbers")
    }

    /// Finds what the host would refuse too, but says it in the builder's words.
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

/// A resource that is read but not listened to.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
}

impl Read {
    /// All objects of a resource.
    pub fn of(resource: impl Into<String>) -> Self {
        Self { resource: resource.into(), namespaces: Vec::new() }
    }

    /// Only those of this namespace; call it again for more.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }
}

/// What the plugin means to do to one resource, or to a subresource such as `v1/pods/status`.
#[derive(Clone, Debug, Serialize)]
pub struct Write {
    resource: String,
    verbs: Vec<Verb>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
}

/// What is done to objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Server-side apply needs it, too.
    Create,
    /// The whole object.
    Update,
    /// A part of it.
    Patch,
    /// One object, never all of them.
    Delete,
}

impl Write {
    /// These verbs on all objects of a resource.
    pub fn of(resource: impl Into<String>, verbs: impl IntoIterator<Item = Verb>) -> Self {
        let verbs = verbs.into_iter().collect();
        Self { resource: resource.into(), verbs, namespaces: Vec::new() }
    }

    /// Only those of this namespace; call it again for more.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces.push(namespace.into());
        self
    }
}

/// Whom the plugin means to ask over HTTP.
#[derive(Clone, Debug, Serialize)]
pub struct Http {
    origins: Vec<String>,
    methods: Vec<Method>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<Addresses>,
}

/// Where the addresses of whom the plugin asks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Addresses {
    /// In the internet, as is meant where nothing is said.
    Public,
    /// In a network of one's own: a cluster's services and pods are.
    Private,
    /// On the host's own machine, or in its pod.
    Loopback,
}

impl Http {
    /// These methods at an origin: `https://api.example.com`, `http://alerts.shop.svc:9093`, or `https://*.example.com` for all names below that.
    pub fn to(origin: impl Into<String>, methods: impl IntoIterator<Item = Method>) -> Self {
        Self {
            origins: vec![origin.into()],
            methods: methods.into_iter().collect(),
            paths: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// The same at another origin, too.
    #[must_use]
    pub fn and_to(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Only this path and what is below it; call it again for more.
    #[must_use]
    pub fn below(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// The origins have such addresses; call it again for more.
    #[must_use]
    pub fn at(mut self, addresses: Addresses) -> Self {
        self.addresses.push(addresses);
        self
    }
}

/// A time at which the plugin wants to be called.
#[derive(Clone, Debug, Serialize)]
pub struct Schedule {
    pub(crate) name: String,
    #[serde(flatten)]
    every: Every,
}

/// When a [`Schedule`] fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Every {
    /// By a cron line of five fields: minute, hour, day of month, month, day of week. It is in UTC, which has no summer time: `0 3 * * *`
    /// is the same moment of every day, and another hour on a clock that is moved.
    Cron(String),
    /// After each such period, from 100 ms to a year, for the first time after one.
    #[serde(rename = "every", serialize_with = "duration")]
    Period(Duration),
}

impl Schedule {
    /// A schedule; `name` says on each call which one it is.
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

    /// Everything that can be asked for.
    fn everything() -> Descriptor {
        let subscription = Subscription::to("apps/v1/deployments")
            .named("web")
            .in_namespace("default")
            .in_namespace("prod")
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
            .read(Read::of("v1/configmaps").in_namespace("kube-system"))
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
                    {"resource": "v1/configmaps", "namespaces": ["kube-system"]},
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

    /// The keys that the published schema knows for one kind of object, and those that the builder can
    /// write: the same, or one of them was forgotten.
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
