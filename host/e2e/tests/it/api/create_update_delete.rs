//! Creation, update and deletion of objects.

use serde_json::json;

use crate::bench::{config_map, deployment, fact, labelled_pod, names, pod};
use informant_e2e::api::resource_version;

#[test]
fn created_object_has_what_the_server_fills_in() {
    fact(async |bench| {
        let created = bench.create(&bench.core("pods"), &pod("web-1")).await;
        let metadata = &created["metadata"];
        assert_eq!(metadata["name"], "web-1");
        assert_eq!(metadata["namespace"], bench.namespace);
        assert_eq!(metadata["uid"].as_str().map(str::len), Some(36), "{metadata}");
        assert!(resource_version(&created) > 0);
        let created_at = metadata["creationTimestamp"].as_str().expect("a creationTimestamp");
        assert!(created_at.len() == 20 && created_at.ends_with('Z'), "whole seconds: {created_at}");
        assert_eq!((&created["kind"], &created["apiVersion"]), (&json!("Pod"), &json!("v1")));
        assert_eq!(created["status"]["phase"], "Pending");

        let read = bench.api.get(&bench.core("pods/web-1")).await.expect(200);
        assert_eq!(read, created, "what was answered is what is stored");
    });
}

#[test]
fn generate_name_is_completed() {
    fact(async |bench| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "settings-"},
        });
        let first = bench.create(&bench.core("configmaps"), &object).await;
        let second = bench.create(&bench.core("configmaps"), &object).await;
        let name = first["metadata"]["name"].as_str().expect("a name");
        assert!(name.starts_with("settings-") && name.len() == "settings-".len() + 5, "{name}");
        assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
        assert_eq!(first["metadata"]["generateName"], "settings-");
    });
}

#[test]
fn second_create_of_a_name_already_exists() {
    fact(async |bench| {
        let pods = bench.core("pods");
        bench.create(&pods, &pod("web-1")).await;
        let status =
            bench.api.create(&pods, &pod("web-1")).await.expect_status(409, "AlreadyExists");
        assert_eq!(status["message"], "pods \"web-1\" already exists");
        assert_eq!(status["details"], json!({"name": "web-1", "kind": "pods"}));
    });
}

#[test]
fn dry_run_answers_and_changes_nothing() {
    fact(async |bench| {
        let pods = bench.core("pods");
        bench.create(&format!("{pods}?dryRun=All"), &pod("web-1")).await;
        bench.api.get(&format!("{pods}/web-1")).await.expect_status(404, "NotFound");
    });
}

#[test]
fn update_replaces_the_object_and_moves_its_resource_version() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let mut changed = created.clone();
        changed["data"] = json!({"colour": "blue"});
        let updated = bench.api.update(&path, &changed).await.expect(200);
        assert_eq!(updated["data"]["colour"], "blue");
        assert!(resource_version(&updated) > resource_version(&created));
        for same in ["uid", "creationTimestamp"] {
            assert_eq!(updated["metadata"][same], created["metadata"][same], "{same}");
        }
    });
}

#[test]
fn update_with_an_old_resource_version_conflicts() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let mut changed = created.clone();
        changed["data"] = json!({"colour": "blue"});
        bench.api.update(&path, &changed).await.expect(200);
        changed["data"] = json!({"colour": "red"});
        let status = bench.api.update(&path, &changed).await.expect_status(409, "Conflict");
        let message = status["message"].as_str().expect("a message");
        assert!(message.contains("the object has been modified"), "{message}");
        assert_eq!(status["details"], json!({"name": "settings", "kind": "configmaps"}));
    });
}

#[test]
fn update_without_a_resource_version_is_unconditional() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let blue = config_map("settings", &[("colour", "blue")]);
        assert_eq!(bench.api.update(&path, &blue).await.expect(200)["data"]["colour"], "blue");
    });
}

#[test]
fn update_that_changes_nothing_keeps_the_resource_version() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let updated = bench.api.update(&path, &created).await.expect(200);
        assert_eq!(resource_version(&updated), resource_version(&created));
    });
}

#[test]
fn generation_counts_changes_of_the_spec_only() {
    fact(async |bench| {
        let path = bench.apps("deployments/web");
        let mut object = bench.create(&bench.apps("deployments"), &deployment("web", 1)).await;
        assert_eq!(object["metadata"]["generation"], 1);
        object["metadata"]["labels"] = json!({"tier": "front"});
        let mut object = bench.api.update(&path, &object).await.expect(200);
        assert_eq!(object["metadata"]["generation"], 1, "a label is not the spec");
        object["spec"]["replicas"] = json!(2);
        let object = bench.api.update(&path, &object).await.expect(200);
        assert_eq!(object["metadata"]["generation"], 2);
    });
}

#[test]
fn deleted_pod_is_answered_and_gone() {
    fact(async |bench| {
        let path = bench.core("pods/web-1");
        let created = bench.create(&bench.core("pods"), &pod("web-1")).await;
        let deleted = bench.api.delete(&path).await.expect(200);
        assert_eq!(deleted["kind"], "Pod", "pods are answered with their last state");
        assert_eq!(deleted["metadata"]["uid"], created["metadata"]["uid"]);
        bench.api.get(&path).await.expect_status(404, "NotFound");
        bench.api.delete(&path).await.expect_status(404, "NotFound");
    });
}

#[test]
fn deleted_config_map_is_answered_with_a_success() {
    fact(async |bench| {
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let status = bench.api.delete(&bench.core("configmaps/settings")).await.expect(200);
        assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Success")));
        assert_eq!(status["details"]["name"], "settings");
        assert_eq!(status["details"]["kind"], "configmaps");
        assert_eq!(status["details"]["uid"], created["metadata"]["uid"]);
    });
}

#[test]
fn delete_checks_its_preconditions() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let other = json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}});
        bench.api.delete_with(&path, &other).await.expect_status(409, "Conflict");
        let right = json!({"preconditions": {"uid": created["metadata"]["uid"]}});
        bench.api.delete_with(&path, &right).await.expect(200);
    });
}

#[test]
fn finalizer_keeps_the_object_until_it_is_taken_off() {
    fact(async |bench| {
        let path = bench.core("configmaps/settings");
        let mut object = config_map("settings", &[]);
        object["metadata"]["finalizers"] = json!(["example.com/wait"]);
        bench.create(&bench.core("configmaps"), &object).await;
        bench.api.delete(&path).await.expect(200);

        let mut waiting = bench.api.get(&path).await.expect(200);
        assert!(waiting["metadata"]["deletionTimestamp"].is_string(), "{waiting}");
        waiting["metadata"]["finalizers"] = json!([]);
        bench.api.update(&path, &waiting).await.expect(200);
        bench.api.get(&path).await.expect_status(404, "NotFound");
    });
}

#[test]
fn collection_is_deleted_by_selector() {
    fact(async |bench| {
        let pods = bench.core("pods");
        for (name, app) in [("web-1", "web"), ("web-2", "web"), ("db-1", "db")] {
            bench.create(&pods, &labelled_pod(name, &[("app", app)])).await;
        }
        let deleted =
            bench.api.delete(&format!("{pods}?labelSelector=app%3Dweb")).await.expect(200);
        assert_eq!(names(&deleted), ["web-1", "web-2"]);
        assert_eq!(names(&bench.api.get(&pods).await.expect(200)), ["db-1"]);
    });
}

#[test]
fn recreated_object_has_another_uid() {
    fact(async |bench| {
        let pods = bench.core("pods");
        let first = bench.create(&pods, &pod("web-1")).await;
        bench.api.delete(&format!("{pods}/web-1")).await.expect(200);
        let second = bench.create(&pods, &pod("web-1")).await;
        assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
        assert!(resource_version(&second) > resource_version(&first));
    });
}
