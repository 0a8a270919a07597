//! `plugins/orphan-finder`: logs and counts objects without references, and no longer counts an object that is used
//! again.

use informant_e2e::poll;
use serde_json::{Value, json};

use super::{Shipped, measured, shipped_fact, with_config};
use crate::bench::{config_map, pod};
use crate::host::bench::LINES_DEADLINE;

const NAME: &str = "orphan-finder";

fn pod_with(name: &str, config_map: &str) -> Value {
    let mut web = pod(name);
    web["spec"]["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": config_map}}]);
    web
}

async fn create(shipped: &Shipped<'_>, group: &str, resource: &str, object: &Value) {
    let path = format!("/{group}/namespaces/{}/{resource}", shipped.bench.namespace);
    shipped.bench.api.create(&path, object).await.expect(201);
}

/// Creates one unused and one used object of each kind.
async fn create_all(shipped: &Shipped<'_>) {
    for name in ["kept", "lost"] {
        create(shipped, "api/v1", "configmaps", &config_map(name, &[("a", "1")])).await;
    }
    create(shipped, "api/v1", "pods", &pod_with("web", "kept")).await;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "old-disk"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    create(shipped, "api/v1", "persistentvolumeclaims", &claim).await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "nobody"},
        "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 80}]},
    });
    create(shipped, "api/v1", "services", &service).await;
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "gone", "controller": true,
        "uid": "00000000-0000-0000-0000-000000000001",
    });
    let labels = json!({"app": "gone"});
    let replica_set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "gone-1", "ownerReferences": [owner]},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod("x")["spec"]},
        },
    });
    create(shipped, "apis/apps/v1", "replicasets", &replica_set).await;
}

#[test]
fn what_nothing_refers_to_is_told_until_something_does() {
    let edit = |text: String| with_config(&text, &["every: 1s", "minimumAge: 0s"]);
    shipped_fact(NAME, "python", edit, async |shipped| {
        shipped.configure("");
        create_all(&shipped).await;
        let host = shipped.start(&[]).await;
        let namespace = shipped.bench.namespace.clone();
        for (kind, name, why) in [
            ("ConfigMap", "lost", "nothing refers to it"),
            ("PersistentVolumeClaim", "old-disk", "nothing refers to it"),
            ("Service", "nobody", "no pod has its labels app=nobody"),
            ("ReplicaSet", "gone-1", "its Deployment gone is gone"),
        ] {
            let words = format!("{kind} {namespace}/{name} is an orphan: {why}");
            shipped.says(&host, &[&words]).await;
        }
        let words = ["kind=\"ConfigMap\"", &format!("namespace=\"{namespace}\"")];
        let becomes = async |expect: u64| {
            let what = format!("{words:?} to be {expect}");
            let is = async || {
                (measured(&host, "orphan_finder_orphans", &words)? == expect).then_some(())
            };
            poll::until(&what, LINES_DEADLINE, is).await.unwrap();
        };
        becomes(1).await;
        create(&shipped, "api/v1", "pods", &pod_with("user", "lost")).await;
        becomes(0).await;
        let lines = host.lines_of(NAME);
        assert!(lines.iter().all(|line| !line.text.contains("/kept")), "{lines:?}");
        let lost = lines.iter().filter(|line| line.text.contains("/lost is an orphan")).count();
        assert_eq!(lost, 1, "it is told once: {lines:?}");
    });
}
