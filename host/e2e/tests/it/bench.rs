//! One shared cluster for all facts, and a separate namespace for each of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use informant_e2e::api::Api;
use informant_e2e::cluster::{ClusterKind, TestCluster, User};
use informant_e2e::permissions::Permissions;
use informant_e2e::skip;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The resources of a fact.
pub struct Bench {
    /// A client of the administrator.
    pub api: Api,
    /// A client of the user `reader`, who has only the rights that the fact grants.
    pub reader: Api,
    /// An existing namespace that only this fact uses.
    pub namespace: String,
    /// The kind of the cluster.
    pub kind: ClusterKind,
    /// The reader's permissions.
    pub permissions: Permissions,
    /// The administrator's and the reader's.
    pub kubeconfigs: [PathBuf; 2],
}

/// Runs a fact against the shared cluster.
///
/// The cluster is never dropped (statics are not): its processes end with this one, see
/// `informant_e2e::child`.
pub fn fact(run: impl AsyncFnOnce(&Bench)) {
    runtime().block_on(async {
        let Shared { kubeconfigs, kind, permissions } = shared_cluster().clone();
        let [admin, reader] = &kubeconfigs;
        let bench = Bench {
            api: Api::from_kubeconfig(admin).await.expect("a client for the administrator"),
            reader: Api::from_kubeconfig(reader).await.expect("a client for the reader"),
            namespace: new_namespace_name(),
            kind,
            permissions,
            kubeconfigs,
        };
        create_namespace(&bench.api, &bench.namespace).await;
        run(&bench).await;
    });
}

/// Runs a fact that breaks its cluster (restarts it, drops its history) in a separate cluster.
pub fn fact_with_own_cluster(run: impl AsyncFnOnce(&mut TestCluster, &str)) {
    runtime().block_on(async {
        let mut cluster = TestCluster::start().await.expect("a cluster of its own");
        let api = cluster.api(User::Admin).await.expect("a client for the administrator");
        let namespace = new_namespace_name();
        create_namespace(&api, &namespace).await;
        run(&mut cluster, &namespace).await;
    });
}

/// The async runtime of a fact.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime for the test")
}

#[derive(Clone)]
struct Shared {
    kubeconfigs: [PathBuf; 2],
    kind: ClusterKind,
    permissions: Permissions,
}

fn shared_cluster() -> &'static Shared {
    static SHARED: OnceLock<Result<Shared, String>> = OnceLock::new();
    static CLUSTER: Mutex<Option<TestCluster>> = Mutex::new(None);
    let shared = SHARED.get_or_init(|| {
        // A separate thread: a test's async runtime calls this, and cannot wait for another one.
        let start = || runtime().block_on(TestCluster::start());
        let cluster = std::thread::spawn(start).join().expect("the start does not panic");
        let cluster = cluster.map_err(|error| format!("{error:#}"))?;
        let kubeconfigs = User::ALL.map(|user| cluster.kubeconfig(user));
        let (kind, permissions) = (cluster.kind(), cluster.permissions());
        let shared = Shared { kubeconfigs, kind, permissions };
        *CLUSTER.lock().expect("nobody panics while holding it") = Some(cluster);
        Ok(shared)
    });
    match shared {
        Ok(shared) => shared,
        Err(error) => panic!("the shared cluster did not start: {error}"),
    }
}

fn new_namespace_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    format!("fact-{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

async fn create_namespace(api: &Api, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    api.create("/api/v1/namespaces", &namespace).await.expect(201);
}

impl Bench {
    /// The collection of a core resource in this fact's namespace: `/api/v1/namespaces/fact-1/pods`.
    pub fn core(&self, resource: &str) -> String {
        format!("/api/v1/namespaces/{}/{resource}", self.namespace)
    }

    /// The same for `apps/v1`.
    pub fn apps(&self, resource: &str) -> String {
        format!("/apis/apps/v1/namespaces/{}/{resource}", self.namespace)
    }

    /// Creates an object that must be accepted.
    pub async fn create(&self, collection: &str, object: &Value) -> Value {
        self.api.create(collection, object).await.expect(201)
    }

    /// True, after logging the reason, if a fact needs a feature that only a real server has.
    pub fn skips_embedded(&self, what: &str) -> bool {
        let skips = self.kind == ClusterKind::Embedded;
        if skips {
            let why = format!("the embedded cluster has no {what}; `make e2e` tests it");
            skip::say(&why);
        }
        skips
    }
}

/// A small pod.
pub fn pod(name: &str) -> Value {
    labelled_pod(name, &[])
}

/// A small pod with labels.
pub fn labelled_pod(name: &str, labels: &[(&str, &str)]) -> Value {
    let labels: serde_json::Map<String, Value> =
        labels.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
    })
}

/// An Event of `events.k8s.io/v1` about an object.
pub fn event(name: &str, namespace: &str, regarding: &Value) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "type": "Warning",
        "reason": "LatestTag",
        "action": "Look",
        "note": "name a version",
        "reportingController": "informant.dev/latest",
        "reportingInstance": "informant",
        "regarding": regarding,
    })
}

/// A small ConfigMap: cheap and without defaults.
pub fn config_map(name: &str, data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        data.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A Deployment of one container.
pub fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
            },
        },
    })
}

/// The names of a list's items, in the order they came.
pub fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap_or_else(|| panic!("no items in {list}"));
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    items.iter().map(name).collect()
}
