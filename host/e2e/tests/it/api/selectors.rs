//! The objects that a list selects. `watch` tests watches with a selector.

use informant_apimachinery::{GroupVersionResource, selectable_fields};
use serde_json::json;

use crate::bench::{Bench, fact, labelled_pod, names};

async fn create_pods(bench: &Bench) {
    let pods: [(&str, &[(&str, &str)]); 4] = [
        ("db-1", &[("app", "db"), ("tier", "back")]),
        ("plain", &[]),
        ("web-1", &[("app", "web"), ("tier", "front")]),
        ("web-2", &[("app", "web"), ("tier", "front"), ("canary", "")]),
    ];
    for (name, labels) in pods {
        bench.create(&bench.core("pods"), &labelled_pod(name, labels)).await;
    }
}

#[test]
fn label_selectors_select() {
    fact(async |bench| {
        create_pods(bench).await;
        let table: [(&str, &[&str]); 12] = [
            ("app=web", &["web-1", "web-2"]),
            ("app==web", &["web-1", "web-2"]),
            ("app!=web", &["db-1", "plain"]),
            ("app in (db,web)", &["db-1", "web-1", "web-2"]),
            ("app notin (db)", &["plain", "web-1", "web-2"]),
            ("app", &["db-1", "web-1", "web-2"]),
            ("!app", &["plain"]),
            ("app=web,!canary", &["web-1"]),
            ("app=web,tier=back", &[]),
            ("canary=", &["web-2"]),
            (" app = web , canary ", &["web-2"]),
            ("", &["db-1", "plain", "web-1", "web-2"]),
        ];
        for (selector, expect) in table {
            let path = format!("{}?labelSelector={}", bench.core("pods"), encode(selector));
            let list = bench.api.get(&path).await.expect(200);
            assert_eq!(names(&list), expect, "{selector:?}");
        }
    });
}

#[test]
fn bad_label_selectors_are_bad_requests() {
    fact(async |bench| {
        for selector in ["app=web=db", "app in web", "app in (web", "=web", "a b", "app=not/ok"] {
            let path = format!("{}?labelSelector={}", bench.core("pods"), encode(selector));
            let reply = bench.api.get(&path).await;
            assert_eq!(reply.status, 400, "{selector:?}: {reply:?}");
        }
    });
}

#[test]
fn field_selectors_select() {
    fact(async |bench| {
        create_pods(bench).await;
        let mut bound = labelled_pod("bound", &[]);
        bound["spec"]["nodeName"] = json!("node-1");
        bench.create(&bench.core("pods"), &bound).await;
        let table: [(&str, &[&str]); 7] = [
            ("metadata.name=web-1", &["web-1"]),
            ("metadata.name!=web-1", &["bound", "db-1", "plain", "web-2"]),
            ("spec.nodeName=node-1", &["bound"]),
            ("spec.nodeName=", &["db-1", "plain", "web-1", "web-2"]),
            ("spec.nodeName=node-1,metadata.name=web-1", &[]),
            ("status.phase=Running", &[]),
            ("status.phase!=Running,spec.restartPolicy=Always,metadata.name=plain", &["plain"]),
        ];
        for (selector, expect) in table {
            let path = format!("{}?fieldSelector={}", bench.core("pods"), encode(selector));
            let list = bench.api.get(&path).await.expect(200);
            assert_eq!(names(&list), expect, "{selector:?}");
        }
    });
}

#[test]
fn namespace_is_a_field_to_select_by() {
    fact(async |bench| {
        create_pods(bench).await;
        let selector =
            encode(&format!("metadata.namespace={},metadata.name=plain", bench.namespace));
        let list = bench.api.get(&format!("/api/v1/pods?fieldSelector={selector}")).await;
        assert_eq!(names(&list.expect(200)), ["plain"]);
    });
}

#[test]
fn field_that_cannot_be_selected_by_is_a_bad_request() {
    fact(async |bench| {
        for selector in ["spec.containers=x", "spec.nodeName", "spec.nodeName in (a)"] {
            let path = format!("{}?fieldSelector={}", bench.core("pods"), encode(selector));
            bench.api.get(&path).await.expect_status(400, "BadRequest");
        }
        let path = format!("{}?fieldSelector=spec.nodeName%3Dx", bench.core("configmaps"));
        bench.api.get(&path).await.expect_status(400, "BadRequest");
    });
}

#[test]
fn every_field_of_the_table_is_one_to_select_by() {
    fact(async |bench| {
        let resources = [
            "v1/events",
            "v1/namespaces",
            "v1/nodes",
            "v1/pods",
            "v1/replicationcontrollers",
            "v1/secrets",
            "v1/services",
            "apps/v1/deployments",
            "apps/v1/replicasets",
            "batch/v1/jobs",
            "certificates.k8s.io/v1/certificatesigningrequests",
            "events.k8s.io/v1/events",
        ];
        for resource in resources {
            let gvr: GroupVersionResource = resource.parse().expect("a resource");
            for field in ["metadata.name"].iter().chain(selectable_fields(&gvr)) {
                let path = format!("{}?fieldSelector={field}%3Dx", gvr.path(None));
                let status = bench.api.get(&path).await.status;
                assert_eq!(status, 200, "{field} of {resource}");
            }
            let path = format!("{}?fieldSelector=spec.foo%3Dx", gvr.path(None));
            bench.api.get(&path).await.expect_status(400, "BadRequest");
        }
    });
}

#[test]
fn label_and_field_selectors_both_hold() {
    fact(async |bench| {
        create_pods(bench).await;
        let query = "labelSelector=app%3Dweb&fieldSelector=metadata.name%21%3Dweb-1";
        let list = bench.api.get(&format!("{}?{query}", bench.core("pods"))).await.expect(200);
        assert_eq!(names(&list), ["web-2"]);
    });
}

/// Percent-encodes all characters that are not certainly safe in a query.
fn encode(text: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if safe(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
