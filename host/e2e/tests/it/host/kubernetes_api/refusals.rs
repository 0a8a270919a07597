//! Refused requests, with the errors of an API server.

use super::api;
use crate::bench::{config_map, labelled_pod};
use crate::host::bench::{SECRET, SECRET_TEXT, host_fact};
use http::{Method, header};
use informant_e2e::api::Reply;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

#[test]
fn secrets_are_not_served() {
    host_fact(async |bench| {
        let collection = bench.create_secret().await;
        let host = bench.start(&[]).await;
        let cached = api(&host);
        for path in [
            "/api/v1/secrets",
            "/api/v1/secrets/",
            "/api/v1/%73ecrets",
            "/api/v1/secrets?watch=true",
            "/api/v1/secrets?watch",
            "/api/v2/secrets",
            &collection,
            &format!("{collection}?watch"),
            &format!("{collection}/password"),
            &format!("{collection}/password/status"),
        ] {
            for accept in ["application/json", TABLE] {
                let status = cached.get_as(path, accept).await.expect_status(403, "Forbidden");
                let message = status["message"].as_str().unwrap_or_default();
                assert!(message.contains("never served"), "{path}: {status}");
                let text = status.to_string();
                assert!(!text.contains(SECRET_TEXT) && !text.contains(SECRET), "{path}: {status}");
            }
        }
        let listed = cached.get("/api/v1").await.expect(200);
        assert!(!listed.to_string().contains("secrets"), "{listed}");
        // No informer was started for these requests.
        let metrics = host.get("/metrics").unwrap().body;
        assert!(!metrics.contains("v1/secrets"), "an informer of Secrets");
    });
}

#[test]
fn writes_are_sent_on_to_the_api_server_by_their_answer() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let cached = api(&host);
        let pods = bench.pods();
        let one = format!("{pods}/web");
        let check = |reply: Reply, method: &str| {
            assert_eq!(reply.headers[header::ALLOW], "GET, HEAD", "{method}");
            let status = reply.expect_status(405, "MethodNotAllowed");
            let message = status["message"].as_str().expect("a message");
            assert!(message.contains("read-only") && message.contains(method), "{message}");
        };
        let pod = labelled_pod("web", &[]);
        check(cached.create(&pods, &pod).await, "POST");
        check(cached.update(&one, &pod).await, "PUT");
        check(cached.delete(&one).await, "DELETE");
        check(cached.call(Method::PATCH, &one, &[], Vec::new()).await, "PATCH");
        check(cached.delete(&pods).await, "DELETE");
        assert_eq!(bench.api.get(&one).await.status, 404);
    });
}

#[test]
fn what_is_not_there_or_makes_no_sense_has_a_status() {
    host_fact(async |bench| {
        let maps = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
        bench.api.create(&maps, &config_map("a", &[])).await.expect(201);
        let host = bench.start(&[]).await;
        let cached = api(&host);
        for (query, code, reason) in [
            ("/api/v1/flowers", 404, "NotFound"),
            ("/apis/example.com/v1/things", 404, "NotFound"),
            ("/apis/apps/v9/deployments", 404, "NotFound"),
            ("/api/v1/namespaces/default/nodes", 404, "NotFound"),
            ("/api/v1/namespaces/default/configmaps/nope", 404, "NotFound"),
            ("/api/v1/namespaces/default/pods/web/log", 404, "NotFound"),
            ("/api/v1/namespaces/default/pods/nope/status", 404, "NotFound"),
            ("/api/v1/configmaps?labelSelector=a+in+b", 400, "BadRequest"),
            ("/api/v1/configmaps?fieldSelector=data.x%3Dy", 400, "BadRequest"),
            ("/api/v1/configmaps?limit=many", 400, "BadRequest"),
            ("/api/v1/configmaps?resourceVersion=new", 400, "BadRequest"),
            ("/api/v1/configmaps?watch=1&resourceVersion=new", 400, "BadRequest"),
            ("/api/v1/configmaps?watch&resourceVersion=1", 410, "Expired"),
            ("/api/v1/configmaps?watch=1&timeoutSeconds=-", 400, "BadRequest"),
            ("/api/v1/configmaps?continue=nonsense", 400, "BadRequest"),
            ("/api/v1/configmaps?sendInitialEvents=true", 422, "Invalid"),
            ("/api/v1/configmaps?resourceVersion=1&resourceVersionMatch=Exact", 410, "Expired"),
            (
                "/api/v1/configmaps?resourceVersion=99999999999&resourceVersionMatch=Exact",
                504,
                "Timeout",
            ),
            ("/api/v1/configmaps?resourceVersion=99999999999", 504, "Timeout"),
            ("/api/v1/configmaps?watch=1&resourceVersion=1", 410, "Expired"),
            ("/api/v1/configmaps?watch=1&resourceVersion=99999999999", 410, "Expired"),
        ] {
            let reply = cached.get(query).await;
            assert_eq!(reply.status, code, "{query}: {:?}", reply.json());
            reply.expect_status(code, reason);
        }
        let table = "application/json;as=Table;v=v9;g=meta.k8s.io";
        cached.get_as("/api/v1/configmaps", table).await.expect_status(406, "NotAcceptable");
    });
}
