//! Informers beside a cluster, and the comparison of their caches and notifications with the server's objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{
    ApiServer, FactoryOptions, HandlerOptions, InformerState, InformerStats, Object, ObjectKey,
    Registration, Scope, SharedIndexInformer, SharedInformerFactory, View,
};
use serde_json::Value;

use crate::bench::{Bench, fact, fact_with_own_cluster};
use crate::cache::replay::{Change, Replay};
use informant_e2e::api::{self, Api};
use informant_e2e::cluster::{TestCluster, User};
use informant_e2e::poll;
use informant_e2e::proxy::Proxy;

/// The time for work that informers do by themselves, including backoff, on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// The number of differences that are shown.
const SHOWN_MAX: usize = 5;

/// A cluster, the connection to it, and factories that use the connection.
pub struct CacheBench {
    /// A client that connects to the cluster directly, as the administrator.
    pub api: Api,
    /// An existing namespace that only this fact uses.
    pub namespace: String,
    /// The proxy through which informers connect.
    pub proxy: Proxy,
    kubeconfigs: [std::path::PathBuf; 2],
}

/// Runs a fact in the shared cluster.
pub fn cache_fact(run: impl AsyncFnOnce(&Bench, &CacheBench)) {
    fact(async |bench| {
        let [admin, reader] = &bench.kubeconfigs;
        let cache = CacheBench::new(bench.api.clone(), &bench.namespace, [admin, reader]).await;
        run(bench, &cache).await;
    });
}

/// Runs a fact that breaks its cluster in a separate cluster.
pub fn cache_fact_with_own_cluster(run: impl AsyncFnOnce(&mut TestCluster, &CacheBench)) {
    fact_with_own_cluster(async |cluster, namespace| {
        let api = cluster.api(User::Admin).await.expect("a client");
        let [admin, reader] = User::ALL.map(|user| cluster.kubeconfig(user));
        let cache = CacheBench::new(api, namespace, [&admin, &reader]).await;
        run(cluster, &cache).await;
    });
}

impl CacheBench {
    async fn new(api: Api, namespace: &str, direct: [&std::path::PathBuf; 2]) -> Self {
        let proxy = Proxy::start(direct[0]).await.expect("a way to the cluster");
        let kubeconfigs = direct.map(|path| proxy.kubeconfig(path).expect("a kubeconfig"));
        Self { api, namespace: namespace.to_owned(), proxy, kubeconfigs }
    }

    /// The server, through the proxy.
    pub async fn api_server(&self, user: User) -> ApiServer {
        let [admin, reader] = &self.kubeconfigs;
        let kubeconfig = if user == User::Admin { admin } else { reader };
        ApiServer::new(api::client(kubeconfig).await.expect("a client"))
    }

    /// A factory whose informers cover the fact's namespace.
    pub async fn factory(&self, user: User, options: FactoryOptions) -> SharedInformerFactory {
        let scope = self.scope();
        self.factory_for(user, FactoryOptions { scope, ..options }).await
    }

    /// A factory whose informers cover the scope in the options.
    pub async fn factory_for(&self, user: User, options: FactoryOptions) -> SharedInformerFactory {
        SharedInformerFactory::new(Arc::new(self.api_server(user).await), options)
    }

    /// The fact's namespace.
    pub fn scope(&self) -> Scope {
        Scope::namespace(self.namespace.as_str())
    }

    /// The collection of a resource in the fact's namespace.
    pub fn collection(&self, resource: &GroupVersionResource) -> String {
        resource.path(Some(&self.namespace))
    }
}

/// The followed source of objects.
enum Subject {
    Informer(SharedIndexInformer),
    View(View),
}

/// An informer, or a view of one, with handlers that record their notifications.
pub struct Followed {
    subject: Subject,
    /// The collection to compare with on the server.
    pub collection: String,
    handlers: Vec<(Replay, Registration)>,
}

impl Followed {
    /// Follows an informer with a handler of each kind.
    pub fn new(informer: SharedIndexInformer, collection: impl Into<String>) -> Self {
        Self::with_handlers(Subject::Informer(informer), collection.into())
    }

    /// Follows a view with a handler of each kind.
    pub fn view(view: View, collection: impl Into<String>) -> Self {
        Self::with_handlers(Subject::View(view), collection.into())
    }

    fn with_handlers(subject: Subject, collection: String) -> Self {
        let mut followed = Self { subject, collection, handlers: Vec::new() };
        followed.add_handler();
        let replay = Replay::default();
        let (handler, options) = (Arc::new(replay.clone()), HandlerOptions::default());
        let inline = match &followed.subject {
            Subject::Informer(informer) => informer.add_inline_handler(handler, options),
            Subject::View(view) => view.add_inline_handler(handler, options),
        };
        followed.handlers.push((replay, inline));
        followed
    }

    /// Adds a handler with its own queue and task.
    pub fn add_handler(&mut self) {
        let replay = Replay::default();
        let handler = Arc::new(replay.clone());
        let registration = match &self.subject {
            Subject::Informer(informer) => informer.add_event_handler(handler),
            Subject::View(view) => view.add_event_handler(handler),
        };
        self.handlers.push((replay, registration));
    }

    /// The informer's state.
    pub fn state(&self) -> InformerState {
        match &self.subject {
            Subject::Informer(informer) => informer.state(),
            Subject::View(view) => view.state(),
        }
    }

    /// The informer's statistics. A view has none.
    #[track_caller]
    pub fn stats(&self) -> InformerStats {
        match &self.subject {
            Subject::Informer(informer) => informer.stats(),
            Subject::View(view) => panic!("{view:?} has no numbers of its own"),
        }
    }

    /// Whether its first list is complete.
    pub fn has_synced(&self) -> bool {
        match &self.subject {
            Subject::Informer(informer) => informer.has_synced(),
            Subject::View(view) => view.has_synced(),
        }
    }

    /// The first handler.
    pub fn replay(&self) -> &Replay {
        &self.handlers[0].0
    }

    /// All handlers.
    pub fn replays(&self) -> impl Iterator<Item = &Replay> {
        self.handlers.iter().map(|(replay, _)| replay)
    }

    /// Waits until the informer is in this state.
    pub async fn await_state(&self, state: &str) {
        let reached = async || (self.state().as_str() == state).then_some(());
        let what = format!("{} to be {state}", self.collection);
        if let Err(error) = poll::until(&what, DEADLINE, reached).await {
            panic!("{error}; it is {:?}", self.state());
        }
    }

    /// All cached objects.
    pub fn cached(&self) -> BTreeMap<ObjectKey, Object> {
        let everything = LabelSelector::default();
        let page = match &self.subject {
            Subject::Informer(informer) => informer.indexer().list(None, &everything, 0, None),
            Subject::View(view) => view.list(None, &everything, 0, None),
        };
        let objects = page.expect("a read without a cursor").items.into_iter();
        objects.map(|object| (object.key().clone(), object)).collect()
    }

    /// Lists the server's objects, which must not change meanwhile. Waits until the cache and all handlers have these
    /// objects, except for the parts that the cache removes. Also waits until every handler has got the end of the
    /// initial list. Returns the objects.
    pub async fn await_truth(&self, api: &Api) -> BTreeMap<String, Value> {
        let truth = list(api, &self.collection).await;
        let versions: BTreeMap<_, _> =
            truth.iter().map(|(key, object)| (key.clone(), version(object))).collect();
        let same = |objects: &BTreeMap<ObjectKey, Object>| {
            versions_of(objects) == versions && contents_of(objects) == truth
        };
        let all_same = async || {
            let synced = self.replays().all(|replay| replay.synced() == 1);
            (synced && self.views().iter().all(&same)).then_some(())
        };
        let what = format!("cache and handlers of {} to have what the server has", self.collection);
        if let Err(error) = poll::until(&what, DEADLINE, all_same).await {
            let views = self.views();
            let differences = views.iter().enumerate().flat_map(|(place, objects)| {
                let place = if place == 0 { "cache" } else { &format!("handler {place}") };
                differ(place, &truth, &contents_of(objects))
            });
            let differences = differences.collect::<Vec<_>>().join("\n");
            panic!("{error}; it is {:?}\n{differences}", self.state());
        }
        self.replays().for_each(Replay::check_consistent);
        truth
    }

    /// The cache's objects, and each handler's objects.
    fn views(&self) -> Vec<BTreeMap<ObjectKey, Object>> {
        let told = self.replays().map(Replay::objects);
        std::iter::once(self.cached()).chain(told).collect()
    }
}

/// UID and resourceVersion.
type Version = (String, String);

fn version(object: &Value) -> Version {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("uid"), text("resourceVersion"))
}

fn versions_of(objects: &BTreeMap<ObjectKey, Object>) -> BTreeMap<String, Version> {
    let version =
        |object: &Object| (object.uid().to_string(), object.resource_version().to_owned());
    objects.iter().map(|(key, object)| (key.to_string(), version(object))).collect()
}

fn contents_of(objects: &BTreeMap<ObjectKey, Object>) -> BTreeMap<String, Value> {
    let content = |object: &Object| serde_json::from_slice(&object.json()).expect("it is JSON");
    objects.iter().map(|(key, object)| (key.to_string(), content(object))).collect()
}

/// The server's objects by key, without the parts that the cache removes, and with the fields that typed lists omit.
pub async fn list(api: &Api, collection: &str) -> BTreeMap<String, Value> {
    let mut list = api.get(collection).await.expect(200);
    let kind = list["kind"].as_str().expect("a list has a kind");
    let kind = kind.strip_suffix("List").expect("a list's kind ends so").to_owned();
    let api_version = list["apiVersion"].clone();
    let items = list["items"].as_array_mut().expect("a list has items");
    let items = items.iter_mut().map(|item| {
        let mut object = item.take();
        object["apiVersion"] = api_version.clone();
        object["kind"] = kind.clone().into();
        let metadata = object["metadata"].as_object_mut().expect("an object has metadata");
        metadata.remove("managedFields");
        let name = metadata["name"].as_str().expect("a name").to_owned();
        let key = match metadata.get("namespace").and_then(Value::as_str) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        };
        (key, object)
    });
    items.collect()
}

fn differ(
    place: &str,
    expect: &BTreeMap<String, Value>,
    found: &BTreeMap<String, Value>,
) -> Vec<String> {
    let keys = expect.keys().chain(found.keys().filter(|key| !expect.contains_key(*key)));
    let different = keys.filter(|key| expect.get(*key) != found.get(*key));
    let line = |key: &String| {
        let [here, there] = [found, expect].map(|objects| objects.get(key).map(version));
        format!("{place}: {key} is {here:?}, on the server {there:?}")
    };
    let lines: Vec<String> = different.map(line).collect();
    let more = lines.len().saturating_sub(SHOWN_MAX);
    let rest = (more > 0).then(|| format!("{place}: and {more} more"));
    lines.into_iter().take(SHOWN_MAX).chain(rest).collect()
}

/// The notifications that lead from one state to another, in the order of the keys. A key that now belongs to another
/// object is a deletion and an addition.
pub fn differences(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> Vec<(String, Change)> {
    let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
    let mut changes = Vec::new();
    for key in keys {
        let said: &[Change] = match (before.get(key), after.get(key)) {
            (None, None) => &[],
            (None, Some(_)) => &[Change::Added],
            (Some(_), None) => &[Change::Deleted],
            (Some(old), Some(new)) if version(old).0 != version(new).0 => {
                &[Change::Added, Change::Deleted]
            }
            (Some(old), Some(new)) if version(old) != version(new) => &[Change::Updated],
            (Some(_), Some(_)) => &[],
        };
        changes.extend(said.iter().map(|change| (key.clone(), *change)));
    }
    changes.sort();
    changes
}
