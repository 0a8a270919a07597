//! Refusals for lack of permission: an informer must survive them, and start when they end.

use serde_json::json;

use crate::bench::{Bench, config_map, fact};
use informant_e2e::api::DEADLINE;
use informant_e2e::poll;

/// Grants the user `reader` these verbs on ConfigMaps in the fact's namespace.
async fn grant(bench: &Bench, verbs: &[&str]) {
    let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{}", bench.namespace);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    });
    bench.create(&format!("{rbac}/roles"), &role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    });
    bench.create(&format!("{rbac}/rolebindings"), &binding).await;
}

#[test]
fn user_without_a_grant_is_forbidden_to_list_and_to_watch() {
    fact(async |bench| {
        if bench.skips_embedded("users") {
            return;
        }
        let path = bench.core("configmaps");
        let status = bench.reader.get(&path).await.expect_status(403, "Forbidden");
        let message = status["message"].as_str().expect("a message");
        assert!(
            message.contains("User \"reader\" cannot list resource \"configmaps\""),
            "{message}"
        );
        let watch = bench.reader.watch(&format!("{path}?watch=true")).await;
        watch.err().expect("refused").expect_status(403, "Forbidden");
    });
}

#[test]
fn granted_permission_takes_effect() {
    fact(async |bench| {
        if bench.skips_embedded("users") {
            return;
        }
        bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        grant(bench, &["get", "list", "watch"]).await;
        let path = bench.core("configmaps");
        let list = async || (bench.reader.get(&path).await.status == 200).then_some(());
        poll::until("the grant to take effect", DEADLINE, list).await.unwrap();
        let mut events = bench.reader.watch(&format!("{path}?watch=true")).await.expect("a watch");
        assert_eq!(events.event().await.name(), "settings");
        let reply = bench.reader.create(&path, &config_map("others", &[])).await;
        reply.expect_status(403, "Forbidden");
    });
}
