//! Namespaces.

use serde_json::json;

use crate::bench::{config_map, fact, names};

#[test]
fn usual_namespaces_are_there() {
    fact(async |bench| {
        let list = bench.api.get("/api/v1/namespaces").await.expect(200);
        let names = names(&list);
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            assert!(names.iter().any(|one| one == name), "{name} is not among {names:?}");
        }
    });
}

#[test]
fn new_namespace_is_active_and_labelled_with_its_name() {
    fact(async |bench| {
        let path = format!("/api/v1/namespaces/{}", bench.namespace);
        let namespace = bench.api.get(&path).await.expect(200);
        assert_eq!(namespace["status"]["phase"], "Active");
        assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], bench.namespace);
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    });
}

#[test]
fn nothing_can_be_made_in_a_missing_namespace() {
    fact(async |bench| {
        let object = config_map("settings", &[]);
        let reply = bench.api.create("/api/v1/namespaces/nowhere/configmaps", &object).await;
        let status = reply.expect_status(404, "NotFound");
        assert_eq!(status["message"], "namespaces \"nowhere\" not found");
    });
}

#[test]
fn list_of_a_missing_namespace_is_empty() {
    fact(async |bench| {
        let list = bench.api.get("/api/v1/namespaces/nowhere/configmaps").await.expect(200);
        assert_eq!(list["items"], json!([]));
    });
}

#[test]
fn nothing_can_be_made_in_a_deleted_namespace() {
    fact(async |bench| {
        let path = format!("/api/v1/namespaces/{}", bench.namespace);
        bench.api.delete(&path).await.expect(200);
        // The real server keeps the namespace as Terminating until a controller has emptied it: 403. After that it is
        // a 404.
        let reply = bench.api.create(&bench.core("configmaps"), &config_map("late", &[])).await;
        assert!(reply.status == 403 || reply.status == 404, "{reply:?}");
    });
}

#[test]
fn namespaced_resource_needs_a_namespace_to_be_made_in() {
    fact(async |bench| {
        let reply = bench.api.create("/api/v1/configmaps", &config_map("settings", &[])).await;
        assert!(reply.status.is_client_error(), "{reply:?}");
    });
}
