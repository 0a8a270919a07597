//! What is not there yet or not allowed yet is waited for, visibly, and starts by itself.

use serde_json::json;

use crate::host::bench::{await_told, host_fact, pod_names};
use informant_e2e::cluster::{Kind, User};
use informant_e2e::skip;

#[test]
fn forbidden_resource_starts_when_it_is_granted() {
    host_fact(async |bench| {
        if bench.cluster.kind() == Kind::Embedded {
            return skip::say("the embedded cluster has no users; `make e2e` tests it");
        }
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..2)).await;
        let mut host = bench.start_unready(User::Reader, &[]).await;
        let forbidden =
            |plugin: &serde_json::Value| plugin.to_string().to_lowercase().contains("forbidden");
        host.await_plugin("event-printer", "to be shown as forbidden", forbidden).await.unwrap();
        // It does not hold up the host.
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
