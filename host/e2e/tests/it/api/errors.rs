//! Refused requests, and their errors.

use http::{Method, header};
use serde_json::{Value, json};

use crate::bench::{Bench, config_map, deployment, fact, pod};
use informant_e2e::api::Reply;

const JSON: (header::HeaderName, &str) = (header::CONTENT_TYPE, "application/json");

async fn post(bench: &Bench, path: &str, content_type: &str, body: &str) -> Reply {
    let headers = [(header::CONTENT_TYPE, content_type)];
    bench.api.call(Method::POST, path, &headers, body.as_bytes().to_vec()).await
}

#[test]
fn missing_object_is_not_found() {
    fact(async |bench| {
        let status = bench.api.get(&bench.core("pods/nobody")).await.expect_status(404, "NotFound");
        assert_eq!(status["message"], "pods \"nobody\" not found");
        assert_eq!(status["details"], json!({"name": "nobody", "kind": "pods"}));
        assert_eq!(status["metadata"], json!({}));
    });
}

#[test]
fn details_name_the_group() {
    fact(async |bench| {
        let status = bench.api.get(&bench.apps("deployments/nobody")).await;
        let status = status.expect_status(404, "NotFound");
        assert_eq!(status["message"], "deployments.apps \"nobody\" not found");
        let details = json!({"name": "nobody", "group": "apps", "kind": "deployments"});
        assert_eq!(status["details"], details);
    });
}

#[test]
fn missing_resource_and_missing_group_are_not_found() {
    fact(async |bench| {
        for path in ["/api/v1/flowers", "/apis/apps/v1/flowers", "/apis/apps/v7/deployments"] {
            assert_eq!(bench.api.get(path).await.status, 404, "{path}");
        }
        assert_eq!(bench.api.get("/apis/flowers.example/v1/roses").await.status, 404);
    });
}

#[test]
fn collection_cannot_be_put_nor_an_object_posted() {
    fact(async |bench| {
        let put = bench.api.update(&bench.core("pods"), &pod("web-1")).await;
        put.expect_status(405, "MethodNotAllowed");
        let post = bench.api.create(&bench.core("pods/web-1"), &pod("web-1")).await;
        post.expect_status(405, "MethodNotAllowed");
    });
}

#[test]
fn body_that_is_not_json_is_a_bad_request() {
    fact(async |bench| {
        let reply = post(bench, &bench.core("pods"), "application/json", "{\"kind\":").await;
        reply.expect_status(400, "BadRequest");
    });
}

#[test]
fn body_of_another_kind_is_a_bad_request() {
    fact(async |bench| {
        let reply = bench.api.create(&bench.core("pods"), &config_map("settings", &[])).await;
        reply.expect_status(400, "BadRequest");
    });
}

#[test]
fn body_of_an_unknown_media_type_is_unsupported() {
    fact(async |bench| {
        let body = pod("web-1").to_string();
        let reply = post(bench, &bench.core("pods"), "text/plain", &body).await;
        reply.expect_status(415, "UnsupportedMediaType");
    });
}

#[test]
fn yaml_body_is_accepted() {
    fact(async |bench| {
        let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata: {a: b}\n";
        let reply = post(bench, &bench.core("configmaps"), "application/yaml", yaml).await;
        assert_eq!(reply.expect(201)["data"]["a"], "b");
    });
}

#[test]
fn answer_in_an_unknown_media_type_is_not_acceptable() {
    fact(async |bench| {
        let reply = bench.api.get_as(&bench.core("pods"), "image/png").await;
        assert_eq!(reply.status, 406);
    });
}

#[test]
fn bad_name_is_invalid_and_the_field_is_named() {
    fact(async |bench| {
        let reply = bench.api.create(&bench.core("configmaps"), &config_map("Bad_Name", &[])).await;
        let status = reply.expect_status(422, "Invalid");
        assert_eq!(status["details"]["name"], "Bad_Name");
        assert_eq!(status["details"]["kind"], "ConfigMap");
        let cause = &status["details"]["causes"][0];
        assert_eq!(cause["field"], "metadata.name", "{status}");
        assert_eq!(cause["reason"], "FieldValueInvalid", "{status}");
    });
}

#[test]
fn bad_label_is_invalid() {
    fact(async |bench| {
        let mut object = config_map("settings", &[]);
        object["metadata"]["labels"] = json!({"app": "not a label"});
        let reply = bench.api.create(&bench.core("configmaps"), &object).await;
        let status = reply.expect_status(422, "Invalid");
        assert_eq!(status["details"]["causes"][0]["field"], "metadata.labels", "{status}");
    });
}

#[test]
fn object_without_a_name_is_invalid() {
    fact(async |bench| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
        let status = bench.api.create(&bench.core("configmaps"), &object).await;
        let status = status.expect_status(422, "Invalid");
        let causes = status["details"]["causes"].as_array().expect("causes");
        let required = |cause: &&Value| cause["reason"] == "FieldValueRequired";
        assert_eq!(causes.iter().find(required).expect("a cause")["field"], "metadata.name");
    });
}

#[test]
fn deployment_whose_selector_misses_its_template_is_invalid() {
    fact(async |bench| {
        let mut object = deployment("web", 1);
        object["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
        let reply = bench.api.create(&bench.apps("deployments"), &object).await;
        reply.expect_status(422, "Invalid");
    });
}

#[test]
fn name_and_namespace_of_the_body_must_be_those_of_the_path() {
    fact(async |bench| {
        bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let other_name = config_map("others", &[]);
        let reply = bench.api.update(&bench.core("configmaps/settings"), &other_name).await;
        reply.expect_status(400, "BadRequest");
        let mut other_namespace = config_map("others", &[]);
        other_namespace["metadata"]["namespace"] = json!("default");
        let reply = bench.api.create(&bench.core("configmaps"), &other_namespace).await;
        reply.expect_status(400, "BadRequest");
    });
}

#[test]
fn create_with_a_resource_version_is_refused() {
    fact(async |bench| {
        let mut object = config_map("settings", &[]);
        object["metadata"]["resourceVersion"] = json!("1");
        let reply = bench.api.create(&bench.core("configmaps"), &object).await;
        assert!(reply.status.is_client_error() || reply.status == 500, "{reply:?}");
    });
}

#[test]
fn update_of_a_missing_object_is_not_found() {
    fact(async |bench| {
        let reply = bench.api.update(&bench.core("pods/nobody"), &pod("nobody")).await;
        reply.expect_status(404, "NotFound");
    });
}

#[test]
fn body_above_three_mebibytes_is_too_large() {
    fact(async |bench| {
        let text = "x".repeat(4 << 20);
        let object = config_map("settings", &[("text", &text)]).to_string();
        let headers = [JSON];
        let path = bench.core("configmaps");
        // The server may close the connection while the client still writes. So a missing answer is accepted.
        let reply = bench.api.send(Method::POST, &path, &headers, object.into_bytes()).await;
        if let Ok(reply) = reply {
            reply.expect_status(413, "RequestEntityTooLarge");
        }
    });
}
