//! A plugin waits visibly for a missing resource or permission, and starts by itself when it gets it.

use informant_apimachinery::GroupVersionResource;
use serde_json::json;

use crate::cache::custom_resources::{define, widget, withdraw};
use crate::host::bench::{HostBench, LINES_DEADLINE, await_told, host_fact, pod_names};
use informant_e2e::cluster::{ClusterKind, User};
use informant_e2e::host::{Host, Line};
use informant_e2e::{poll, skip};

#[test]
fn forbidden_resource_starts_when_it_is_granted() {
    host_fact(async |bench| {
        if bench.cluster.kind() == ClusterKind::Embedded {
            return skip::say("the embedded cluster has no users; `make e2e` tests it");
        }
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..2)).await;
        let mut host = bench.start_unready(User::Reader, &[]).await;
        let forbidden =
            |plugin: &serde_json::Value| plugin.to_string().to_lowercase().contains("forbidden");
        host.await_plugin("event-printer", "to be shown as forbidden", forbidden).await.unwrap();
        // It does not block the host.
        host.await_ready().await.unwrap();
        host.check_running().unwrap();

        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "reader"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        });
        bench.api.create(&format!("{rbac}/clusterroles"), &role).await.expect(201);
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "reader"}],
        });
        bench.api.create(&format!("{rbac}/clusterrolebindings"), &binding).await.expect(201);
        await_told(&host, &bench.namespace, "added", 2).await;
    });
}

/// The plugin that waits.
const WAITING: &str = "absent-resource";

/// Creates a widget, and waits until the plugin gets its event.
async fn create_widget(bench: &HostBench<'_>, host: &Host, name: &str) {
    let resource = widgets();
    let path = resource.path(Some(&bench.namespace));
    let object = widget(&resource, name, &json!({}));
    let created = async || (bench.api.create(&path, &object).await.status == 201).then_some(());
    poll::until("the widget to be created", LINES_DEADLINE, created).await.unwrap();
    await_told_of_widget(bench, host, "added", name).await;
}

async fn await_told_of_widget(bench: &HostBench<'_>, host: &Host, change: &str, name: &str) {
    let expect = format!("{change} {}/{name}", bench.namespace);
    let told = |line: &Line| line.field("plugin") == Some(WAITING) && line.message() == expect;
    host.await_line(&expect, LINES_DEADLINE, told).await.unwrap();
}

fn widgets() -> GroupVersionResource {
    GroupVersionResource::new("late.example.com", "v1", "widgets")
}

#[test]
fn resource_that_is_defined_after_the_start_is_told_through_both_its_lives() {
    host_fact(async |bench| {
        bench.drop_plugin(WAITING, WAITING);
        let mut host = bench.start(&[]).await;
        let state = |wanted: &'static str| {
            move |plugin: &serde_json::Value| {
                plugin["subscriptions"][0]["informer"]["state"] == wanted
            }
        };
        host.await_plugin(WAITING, "to wait for its resource", state("waiting")).await.unwrap();
        define(&bench.api, &bench.namespace, &widgets()).await;
        create_widget(&bench, &host, "early").await;
        host.await_plugin(WAITING, "to follow its resource", state("synced")).await.unwrap();

        withdraw(&bench.api, &widgets()).await;
        await_told_of_widget(&bench, &host, "deleted", "early").await;
        host.await_plugin(WAITING, "to wait again", state("waiting")).await.unwrap();
        define(&bench.api, &bench.namespace, &widgets()).await;
        create_widget(&bench, &host, "late").await;
        host.check_running().unwrap();
    });
}
