//! The four kinds of patch.

use serde_json::json;

use crate::bench::{Bench, config_map, deployment, fact, labelled_pod, pod};
use informant_e2e::api::{Patch, resource_version};

#[test]
fn merge_patch_sets_and_null_removes() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let object = config_map("settings", &[("colour", "blue"), ("size", "big")]);
        bench.create(&bench.core("configmaps"), &object).await;
        let patch = json!({"data": {"colour": null, "shape": "round"}});
        let patched = bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
        assert_eq!(patched["data"], json!({"size": "big", "shape": "round"}));
    });
}

#[test]
fn patch_that_changes_nothing_keeps_the_resource_version() {
    fact(async |bench| {
        let object = config_map("settings", &[("colour", "blue")]);
        let created = bench.create(&bench.core("configmaps"), &object).await;
        let patch = json!({"data": {"colour": "blue"}});
        let path = bench.core("configmaps/settings");
        let patched = bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
        assert_eq!(resource_version(&patched), resource_version(&created));
    });
}

#[test]
fn patch_with_an_old_resource_version_conflicts() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let patch = json!({"data": {"colour": "blue"}});
        bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
        let version = &created["metadata"]["resourceVersion"];
        let stale = json!({"metadata": {"resourceVersion": version}, "data": {"colour": "red"}});
        bench.api.patch(&path, Patch::Merge, &stale).await.expect_status(409, "Conflict");
    });
}

#[test]
fn patch_of_a_missing_object_is_not_found() {
    fact(async |bench| {
        let path = bench.core("configmaps/nobody");
        for kind in [Patch::Merge, Patch::Strategic] {
            let reply = bench.api.patch(&path, kind, &json!({"data": {}})).await;
            reply.expect_status(404, "NotFound");
        }
        let reply = bench.api.patch(&path, Patch::Json, &json!([])).await;
        reply.expect_status(404, "NotFound");
    });
}

#[test]
fn json_patch_edits_by_pointer() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let mut object = config_map("settings", &[("colour", "blue")]);
        object["metadata"]["annotations"] = json!({"example.com/a": "1", "example.com/b": "2"});
        bench.create(&bench.core("configmaps"), &object).await;
        let patch = json!([
            {"op": "test", "path": "/data/colour", "value": "blue"},
            {"op": "replace", "path": "/data/colour", "value": "red"},
            {"op": "remove", "path": "/metadata/annotations/example.com~1a"},
            {"op": "add", "path": "/metadata/labels", "value": {"tier": "front"}},
        ]);
        let patched = bench.api.patch(&path, Patch::Json, &patch).await.expect(200);
        assert_eq!(patched["data"], json!({"colour": "red"}));
        assert_eq!(patched["metadata"]["annotations"], json!({"example.com/b": "2"}));
        assert_eq!(patched["metadata"]["labels"], json!({"tier": "front"}));
    });
}

#[test]
fn json_patch_whose_test_fails_changes_nothing() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let object = config_map("settings", &[("colour", "blue")]);
        let created = bench.create(&bench.core("configmaps"), &object).await;
        let patch = json!([
            {"op": "replace", "path": "/data/colour", "value": "red"},
            {"op": "test", "path": "/data/colour", "value": "green"},
        ]);
        bench.api.patch(&path, Patch::Json, &patch).await.expect_status(422, "Invalid");
        assert_eq!(bench.api.get(&path).await.expect(200), created);
    });
}

#[test]
fn malformed_patches_are_bad_requests() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let not_a_list = bench.api.patch(&path, Patch::Json, &json!({"op": "add"})).await;
        not_a_list.expect_status(400, "BadRequest");
        let not_an_object = bench.api.patch(&path, Patch::Merge, &json!(["a"])).await;
        not_an_object.expect_status(400, "BadRequest");
    });
}

#[test]
fn patch_cannot_rename() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let patch = json!({"metadata": {"name": "others"}});
        let reply = bench.api.patch(&path, Patch::Merge, &patch).await;
        reply.expect_status(400, "BadRequest");
    });
}

async fn patch_deployment(bench: &Bench, patch: serde_json::Value) -> serde_json::Value {
    let path = bench.apps("deployments/web");
    bench.api.patch(&path, Patch::Strategic, &patch).await.expect(200)
}

#[test]
fn strategic_patch_merges_containers_by_name() {
    fact(async |bench| {
        bench.create(&bench.apps("deployments"), &deployment("web", 1)).await;
        let containers = json!([
            {"name": "main", "image": "registry.example/app:2"},
            {"name": "sidecar", "image": "registry.example/sidecar:1"},
        ]);
        let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let patched = patch_deployment(bench, patch).await;
        let of = |name: &str, field: &str| {
            let containers = patched["spec"]["template"]["spec"]["containers"].as_array();
            let mut containers = containers.expect("containers").iter();
            containers.find(|container| container["name"] == name).expect(name)[field].clone()
        };
        assert_eq!(of("main", "image"), "registry.example/app:2");
        assert_eq!(of("main", "imagePullPolicy"), "IfNotPresent", "what was there stays");
        assert_eq!(of("sidecar", "image"), "registry.example/sidecar:1");
    });
}

#[test]
fn strategic_patch_deletes_by_merge_key() {
    fact(async |bench| {
        let mut object = deployment("web", 1);
        object["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
        bench.create(&bench.apps("deployments"), &object).await;
        let env = json!([{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]);
        let containers = json!([{"name": "main", "env": env}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let patched = patch_deployment(bench, patch).await;
        let mut env = patched["spec"]["template"]["spec"]["containers"][0]["env"].clone();
        env.as_array_mut().expect("env").sort_by_key(|one| one["name"].to_string());
        assert_eq!(env, json!([{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]));
    });
}

#[test]
fn strategic_patch_replaces_where_told() {
    fact(async |bench| {
        let labels = [("app", "web"), ("tier", "front")];
        bench.create(&bench.core("pods"), &labelled_pod("web-1", &labels)).await;
        let patch = json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}});
        let path = bench.core("pods/web-1");
        let patched = bench.api.patch(&path, Patch::Strategic, &patch).await.expect(200);
        assert_eq!(patched["metadata"]["labels"], json!({"only": "this"}));
    });
}

#[test]
fn apply_creates_and_then_merges() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let apply = format!("{path}?fieldManager=suite");
        let object = config_map("settings", &[("colour", "blue")]);
        let created = bench.api.patch(&apply, Patch::Apply, &object).await.expect(201);
        assert_eq!(created["data"], json!({"colour": "blue"}));
        let object = config_map("settings", &[("colour", "red"), ("size", "big")]);
        let applied = bench.api.patch(&apply, Patch::Apply, &object).await.expect(200);
        assert_eq!(applied["data"], json!({"colour": "red", "size": "big"}));
        assert_eq!(applied["metadata"]["uid"], created["metadata"]["uid"]);
    });
}

#[test]
fn apply_needs_a_field_manager() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let reply = bench.api.patch(&path, Patch::Apply, &config_map("settings", &[])).await;
        assert!(reply.status.is_client_error(), "{reply:?}");
    });
}

#[test]
fn apply_merges_containers_by_name() {
    fact(async |bench| {
        bench.create(&bench.apps("deployments"), &deployment("web", 1)).await;
        let containers = json!([{"name": "sidecar", "image": "registry.example/sidecar:1"}]);
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"template": {"spec": {"containers": containers}}},
        });
        let apply = format!("{}?fieldManager=suite&force=true", bench.apps("deployments/web"));
        let applied = bench.api.patch(&apply, Patch::Apply, &object).await.expect(200);
        let containers = applied["spec"]["template"]["spec"]["containers"].as_array();
        let names: Vec<_> =
            containers.expect("containers").iter().map(|one| &one["name"]).collect();
        assert!(names.contains(&&json!("main")) && names.contains(&&json!("sidecar")), "{names:?}");
    });
}

#[test]
fn unknown_kind_of_patch_is_unsupported() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let headers = [(http::header::CONTENT_TYPE, "application/json")];
        let path = bench.core("pods/web-1");
        let reply = bench.api.call(http::Method::PATCH, &path, &headers, b"{}".to_vec()).await;
        reply.expect_status(415, "UnsupportedMediaType");
    });
}
