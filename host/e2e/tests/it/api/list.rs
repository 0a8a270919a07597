//! Lists: their format, their pages, and the effect of `resourceVersion`.

use http::Method;
use serde_json::{Value, json};

use crate::bench::{Bench, config_map, fact, names, pod};
use informant_e2e::api::resource_version;

async fn create_config_maps(bench: &Bench, names: &[&str]) -> Vec<Value> {
    let mut created = Vec::new();
    for name in names {
        created.push(bench.create(&bench.core("configmaps"), &config_map(name, &[])).await);
    }
    created
}

#[test]
fn items_of_a_typed_list_have_no_kind() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let list = bench.api.get(&bench.core("pods")).await.expect(200);
        assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PodList"), &json!("v1")));
        assert_eq!(names(&list), ["web-1"]);
        let item = list["items"][0].as_object().expect("an object");
        assert!(!item.contains_key("kind") && !item.contains_key("apiVersion"), "{item:?}");
    });
}

#[test]
fn empty_list_has_items_and_a_resource_version() {
    fact(async |bench| {
        let list = bench.api.get(&bench.core("pods")).await.expect(200);
        assert_eq!(list["items"], json!([]));
        assert!(resource_version(&list) > 0);
        assert!(list["metadata"].get("continue").is_none(), "{list}");
    });
}

#[test]
fn list_is_at_least_as_new_as_what_was_written_before() {
    fact(async |bench| {
        let created = create_config_maps(bench, &["a"]).await;
        let list = bench.api.get(&bench.core("configmaps")).await.expect(200);
        assert!(resource_version(&list) >= resource_version(&created[0]));
    });
}

#[test]
fn list_over_all_namespaces_is_ordered_by_namespace_and_name() {
    fact(async |bench| {
        create_config_maps(bench, &["b", "a", "c"]).await;
        let list = bench.api.get("/api/v1/configmaps").await.expect(200);
        let items = list["items"].as_array().expect("items");
        let key = |item: &Value| {
            let of = |field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
            (of("namespace"), of("name"))
        };
        let keys: Vec<_> = items.iter().map(key).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        let own: Vec<_> = keys.iter().filter(|key| key.0 == bench.namespace).collect();
        assert_eq!(own.iter().map(|key| key.1.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    });
}

#[test]
fn pages_add_up_to_the_list_at_one_resource_version() {
    fact(async |bench| {
        create_config_maps(bench, &["a", "b", "c", "d", "e"]).await;
        let collection = bench.core("configmaps");
        let first = bench.api.get(&format!("{collection}?limit=2")).await.expect(200);
        assert_eq!(names(&first), ["a", "b"]);
        assert_eq!(first["metadata"]["remainingItemCount"], 3);

        // Later pages do not show changes that happen between two pages.
        create_config_maps(bench, &["bb"]).await;
        bench.api.delete(&format!("{collection}/c")).await.expect(200);

        let second = next_page(bench, &collection, &first).await;
        assert_eq!(names(&second), ["c", "d"]);
        assert_eq!(second["metadata"]["remainingItemCount"], 1);
        let third = next_page(bench, &collection, &second).await;
        assert_eq!(names(&third), ["e"]);
        assert!(third["metadata"].get("continue").is_none(), "{third}");
        assert!(third["metadata"].get("remainingItemCount").is_none(), "{third}");
        for page in [&second, &third] {
            assert_eq!(resource_version(page), resource_version(&first));
        }
        assert_eq!(
            names(&bench.api.get(&collection).await.expect(200)),
            ["a", "b", "bb", "d", "e"]
        );
    });
}

async fn next_page(bench: &Bench, collection: &str, page: &Value) -> Value {
    let token = page["metadata"]["continue"].as_str().expect("a continue token");
    bench.api.get(&format!("{collection}?limit=2&continue={token}")).await.expect(200)
}

#[test]
fn remaining_items_are_not_counted_under_a_selector() {
    fact(async |bench| {
        create_config_maps(bench, &["a", "b", "c"]).await;
        let path = format!("{}?limit=1&labelSelector=!nothing", bench.core("configmaps"));
        let page = bench.api.get(&path).await.expect(200);
        assert!(page["metadata"]["continue"].is_string(), "{page}");
        assert!(page["metadata"].get("remainingItemCount").is_none(), "{page}");
    });
}

#[test]
fn garbled_continue_token_is_a_bad_request() {
    fact(async |bench| {
        let path = format!("{}?limit=1&continue=garbled", bench.core("configmaps"));
        bench.api.get(&path).await.expect_status(400, "BadRequest");
    });
}

#[test]
fn continue_token_and_resource_version_exclude_each_other() {
    fact(async |bench| {
        create_config_maps(bench, &["a", "b"]).await;
        let collection = bench.core("configmaps");
        let page = bench.api.get(&format!("{collection}?limit=1")).await.expect(200);
        let token = page["metadata"]["continue"].as_str().expect("a continue token");
        let path = format!("{collection}?limit=1&continue={token}&resourceVersion=5");
        bench.api.get(&path).await.expect_status(400, "BadRequest");
    });
}

#[test]
fn exact_resource_version_shows_the_past() {
    fact(async |bench| {
        let created = create_config_maps(bench, &["a", "b", "c"]).await;
        let collection = bench.core("configmaps");
        let at = resource_version(&created[1]);
        let path = format!("{collection}?resourceVersion={at}&resourceVersionMatch=Exact");
        let list = bench.api.get(&path).await.expect(200);
        assert_eq!(names(&list), ["a", "b"]);
        assert_eq!(resource_version(&list), at);
    });
}

#[test]
fn list_not_older_than_a_resource_version_sees_it() {
    fact(async |bench| {
        let created = create_config_maps(bench, &["a", "b"]).await;
        let collection = bench.core("configmaps");
        let at = resource_version(&created[1]);
        for query in [
            format!("resourceVersion={at}"),
            format!("resourceVersion={at}&resourceVersionMatch=NotOlderThan"),
        ] {
            let list = bench.api.get(&format!("{collection}?{query}")).await.expect(200);
            assert_eq!(names(&list), ["a", "b"], "{query}");
            assert!(resource_version(&list) >= at, "{query}");
        }
    });
}

#[test]
fn resource_version_zero_takes_any_state() {
    fact(async |bench| {
        let path = format!("{}?resourceVersion=0", bench.core("configmaps"));
        assert!(resource_version(&bench.api.get(&path).await.expect(200)) > 0);
    });
}

#[test]
fn resource_version_of_the_future_times_out() {
    fact(async |bench| {
        let list = bench.api.get(&bench.core("configmaps")).await.expect(200);
        let future = resource_version(&list) + 1_000_000;
        let path = format!("{}?resourceVersion={future}", bench.core("configmaps"));
        let status = bench.api.get(&path).await.expect_status(504, "Timeout");
        let cause = json!({
            "reason": "ResourceVersionTooLarge", "message": "Too large resource version",
        });
        assert_eq!(status["details"]["causes"], json!([cause]), "{status}");
        assert!(status["details"]["retryAfterSeconds"].as_u64() > Some(0), "{status}");
    });
}

#[track_caller]
fn check_invalid_list_options(query: &'static str, code: u16, reason: &'static str) {
    fact(async |bench| {
        let path = format!("{}?{query}", bench.core("configmaps"));
        bench.api.get(&path).await.expect_status(code, reason);
    });
}

#[test]
fn match_rule_needs_a_resource_version() {
    check_invalid_list_options("resourceVersionMatch=NotOlderThan", 422, "Invalid");
}

#[test]
fn exact_match_of_zero_is_invalid() {
    check_invalid_list_options("resourceVersion=0&resourceVersionMatch=Exact", 422, "Invalid");
}

#[test]
fn unknown_match_rule_is_invalid() {
    check_invalid_list_options("resourceVersion=1&resourceVersionMatch=Nearly", 422, "Invalid");
}

#[test]
fn resource_version_that_is_no_number_is_invalid() {
    fact(async |bench| {
        let path = format!("{}?resourceVersion=abc", bench.core("configmaps"));
        let reply = bench.api.get(&path).await;
        assert!(reply.status.is_client_error(), "{reply:?}");
    });
}

#[test]
fn limit_that_is_no_number_is_a_bad_request() {
    check_invalid_list_options("limit=many", 400, "BadRequest");
}

#[test]
fn metadata_only_list_has_no_spec() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let list = bench.api.get_as(&bench.core("pods"), accept).await.expect(200);
        assert_eq!(list["kind"], "PartialObjectMetadataList");
        assert_eq!(list["apiVersion"], "meta.k8s.io/v1");
        assert_eq!(names(&list), ["web-1"]);
        assert!(list["items"][0].get("spec").is_none(), "{list}");
    });
}

#[test]
fn metadata_only_object_has_no_spec() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let object = bench.api.get_as(&bench.core("pods/web-1"), accept).await.expect(200);
        assert_eq!(object["kind"], "PartialObjectMetadata");
        assert_eq!(object["metadata"]["name"], "web-1");
        assert!(object.get("spec").is_none(), "{object}");
    });
}

#[test]
fn options_is_not_a_way_to_read() {
    fact(async |bench| {
        let reply = bench.api.call(Method::OPTIONS, &bench.core("pods"), &[], Vec::new()).await;
        assert_eq!(reply.status, 405);
    });
}
