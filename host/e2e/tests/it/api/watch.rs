//! Watches: the events of a change.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Bench, config_map, fact, labelled_pod, pod};
use informant_e2e::api::{Patch, Watch, resource_version};

/// Long enough for a wrong event to arrive. Only facts in which no event may come wait for it.
const QUIET: Duration = Duration::from_millis(500);

/// The annotation of the bookmark that ends a watch-list's first part.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

async fn watch(bench: &Bench, resource: &str, query: &str) -> Watch {
    let path = format!("{}?watch=true{query}", bench.core(resource));
    bench.api.watch(&path).await.unwrap_or_else(|reply| panic!("{path}: {reply:?}"))
}

async fn list_version(bench: &Bench, resource: &str) -> u64 {
    resource_version(&bench.api.get(&bench.core(resource)).await.expect(200))
}

/// The next `(type, name)` pairs.
async fn next_events<const N: usize>(watch: &mut Watch) -> [(String, String); N] {
    let mut events = Vec::new();
    for _ in 0..N {
        let event = watch.event().await;
        events.push((event.kind.clone(), event.name().to_owned()));
    }
    events.try_into().expect("N of them")
}

fn pair(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[test]
fn watch_from_a_list_sees_every_later_change_in_order() {
    fact(async |bench| {
        bench.create(&bench.core("configmaps"), &config_map("before", &[])).await;
        let from = list_version(bench, "configmaps").await;
        let mut events = watch(bench, "configmaps", &format!("&resourceVersion={from}")).await;

        let path = bench.core("configmaps/settings");
        let created = bench.create(&bench.core("configmaps"), &config_map("settings", &[])).await;
        let blue = json!({"data": {"colour": "blue"}});
        let updated = bench.api.patch(&path, Patch::Merge, &blue).await.expect(200);
        bench.api.delete(&path).await.expect(200);

        let added = events.event().await;
        assert_eq!((added.kind.as_str(), &added.object), ("ADDED", &created));
        let modified = events.event().await;
        assert_eq!((modified.kind.as_str(), &modified.object), ("MODIFIED", &updated));
        let deleted = events.event().await;
        assert_eq!(deleted.kind, "DELETED");
        assert_eq!(deleted.object["data"]["colour"], "blue", "the last state");
        let at = deleted.resource_version();
        assert!(at > modified.resource_version(), "the deletion has a version of its own");
    });
}

#[test]
fn deleted_pod_is_seen_marked_and_then_gone() {
    fact(async |bench| {
        let created = bench.create(&bench.core("pods"), &pod("web-1")).await;
        let from = resource_version(&created);
        let mut events = watch(bench, "pods", &format!("&resourceVersion={from}")).await;
        bench.api.delete(&bench.core("pods/web-1")).await.expect(200);
        let marked = events.event().await;
        assert_eq!(marked.kind, "MODIFIED");
        let metadata = &marked.object["metadata"];
        assert!(metadata["deletionTimestamp"].is_string(), "{metadata}");
        assert_eq!(metadata["deletionGracePeriodSeconds"], 0);
        let deleted = events.event().await;
        assert_eq!(deleted.kind, "DELETED");
        assert!(deleted.resource_version() > marked.resource_version());
        assert!(deleted.object["metadata"]["deletionTimestamp"].is_string());
    });
}

#[test]
fn pod_on_a_node_is_given_its_grace_period() {
    fact(async |bench| {
        let mut object = pod("web-1");
        object["spec"]["nodeName"] = json!("node-1");
        bench.create(&bench.core("pods"), &object).await;
        let path = bench.core("pods/web-1");
        bench.api.delete(&path).await.expect(200);
        let waiting = bench.api.get(&path).await.expect(200);
        assert_eq!(waiting["metadata"]["deletionGracePeriodSeconds"], 30);
        // The kubelet's request when the containers have ended.
        let now = json!({"gracePeriodSeconds": 0});
        bench.api.delete_with(&path, &now).await.expect(200);
        bench.api.get(&path).await.expect_status(404, "NotFound");
    });
}

#[test]
fn watch_from_the_past_replays_it() {
    fact(async |bench| {
        let from = list_version(bench, "configmaps").await;
        bench.create(&bench.core("configmaps"), &config_map("a", &[])).await;
        bench.create(&bench.core("configmaps"), &config_map("b", &[])).await;
        bench.api.delete(&bench.core("configmaps/a")).await.expect(200);
        let mut events = watch(bench, "configmaps", &format!("&resourceVersion={from}")).await;
        let expect = [pair("ADDED", "a"), pair("ADDED", "b"), pair("DELETED", "a")];
        assert_eq!(next_events(&mut events).await, expect);
    });
}

#[test]
fn watch_without_a_resource_version_begins_with_what_is_there() {
    fact(async |bench| {
        bench.create(&bench.core("configmaps"), &config_map("a", &[])).await;
        for query in ["", "&resourceVersion=0"] {
            let mut events = watch(bench, "configmaps", query).await;
            assert_eq!(next_events(&mut events).await, [pair("ADDED", "a")], "{query}");
        }
    });
}

#[test]
fn watched_object_has_its_kind() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let event = watch(bench, "pods", "").await.event().await;
        assert_eq!(
            (&event.object["kind"], &event.object["apiVersion"]),
            (&json!("Pod"), &json!("v1"))
        );
    });
}

#[test]
fn watch_of_a_namespace_sees_no_other() {
    fact(async |bench| {
        let from = list_version(bench, "configmaps").await;
        let mut events = watch(bench, "configmaps", &format!("&resourceVersion={from}")).await;
        let name = format!("other-{}", bench.namespace);
        let other = config_map(&name, &[]);
        bench.create("/api/v1/namespaces/default/configmaps", &other).await;
        bench.create(&bench.core("configmaps"), &config_map("own", &[])).await;
        assert_eq!(next_events(&mut events).await, [pair("ADDED", "own")]);
    });
}

#[test]
fn watch_of_one_name_sees_no_other() {
    fact(async |bench| {
        let from = list_version(bench, "configmaps").await;
        let query = format!("&resourceVersion={from}&fieldSelector=metadata.name%3Db");
        let mut events = watch(bench, "configmaps", &query).await;
        for name in ["a", "b", "c"] {
            bench.create(&bench.core("configmaps"), &config_map(name, &[])).await;
        }
        assert_eq!(next_events(&mut events).await, [pair("ADDED", "b")]);
        assert_eq!(events.next_within(QUIET).await, None);
    });
}

#[test]
fn watch_list_ends_its_first_part_with_a_bookmark() {
    fact(async |bench| {
        for name in ["a", "b"] {
            bench.create(&bench.core("configmaps"), &config_map(name, &[])).await;
        }
        let query =
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut events = watch(bench, "configmaps", query).await;
        let mut initial: [_; 2] = next_events(&mut events).await;
        initial.sort();
        assert_eq!(initial, [pair("ADDED", "a"), pair("ADDED", "b")]);

        let bookmark = events.event().await;
        assert_eq!(bookmark.kind, "BOOKMARK");
        let metadata = &bookmark.object["metadata"];
        assert_eq!(metadata["annotations"][INITIAL_EVENTS_END], "true", "{metadata}");
        assert_eq!(bookmark.object["kind"], "ConfigMap");
        assert_eq!(bookmark.object["apiVersion"], "v1");

        let created = bench.create(&bench.core("configmaps"), &config_map("c", &[])).await;
        assert!(bookmark.resource_version() < resource_version(&created));
        let live = events.event().await;
        assert_eq!((live.kind.as_str(), live.name()), ("ADDED", "c"));
    });
}

#[test]
fn watch_list_of_nothing_is_one_bookmark() {
    fact(async |bench| {
        let query =
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let bookmark = watch(bench, "configmaps", query).await.event().await;
        assert_eq!(bookmark.kind, "BOOKMARK");
        assert_eq!(bookmark.object["metadata"]["annotations"][INITIAL_EVENTS_END], "true");
    });
}

#[test]
fn watch_list_honours_its_selector() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &labelled_pod("web-1", &[("app", "web")])).await;
        bench.create(&bench.core("pods"), &labelled_pod("db-1", &[("app", "db")])).await;
        let query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                     &allowWatchBookmarks=true&labelSelector=app%3Dweb";
        let mut events = watch(bench, "pods", query).await;
        let expect = [pair("ADDED", "web-1"), pair("BOOKMARK", "")];
        assert_eq!(next_events(&mut events).await, expect);
    });
}

#[test]
fn watch_without_initial_events_begins_now() {
    fact(async |bench| {
        bench.create(&bench.core("configmaps"), &config_map("before", &[])).await;
        let query =
            "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut events = watch(bench, "configmaps", query).await;
        bench.create(&bench.core("configmaps"), &config_map("after", &[])).await;
        assert_eq!(next_events(&mut events).await, [pair("ADDED", "after")]);
    });
}

#[test]
fn initial_events_need_a_match_rule() {
    fact(async |bench| {
        for query in [
            "sendInitialEvents=true&allowWatchBookmarks=true",
            "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=Exact",
            "resourceVersionMatch=NotOlderThan",
        ] {
            let path = format!("{}?watch=true&{query}", bench.core("configmaps"));
            let Err(reply) = bench.api.watch(&path).await else { panic!("{query} was accepted") };
            reply.expect_status(422, "Invalid");
        }
    });
}

#[test]
fn initial_events_are_for_watches_only() {
    fact(async |bench| {
        let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0";
        let path = format!("{}?{query}", bench.core("configmaps"));
        bench.api.get(&path).await.expect_status(422, "Invalid");
    });
}

#[test]
fn bookmark_comes_before_the_timeout_and_then_the_end() {
    fact(async |bench| {
        let created = bench.create(&bench.core("configmaps"), &config_map("a", &[])).await;
        let from = resource_version(&created);
        let query = format!("&resourceVersion={from}&allowWatchBookmarks=true&timeoutSeconds=5");
        let mut events = watch(bench, "configmaps", &query).await;
        // A bookmark reports progress, so a change elsewhere is needed.
        let elsewhere = config_map(&format!("elsewhere-{}", bench.namespace), &[]);
        bench.create("/api/v1/namespaces/default/configmaps", &elsewhere).await;
        let bookmark = events.event().await;
        assert_eq!(bookmark.kind, "BOOKMARK");
        assert_eq!(bookmark.object["kind"], "ConfigMap");
        assert!(bookmark.resource_version() > from, "{bookmark:?}");
        assert!(bookmark.object["metadata"].get("annotations").is_none(), "{bookmark:?}");
        while let Some(event) = events.next().await {
            assert_eq!(event.kind, "BOOKMARK");
        }
    });
}

#[test]
fn watch_without_bookmarks_gets_none() {
    fact(async |bench| {
        let from = list_version(bench, "configmaps").await;
        let query = format!("&resourceVersion={from}&timeoutSeconds=2");
        assert_eq!(watch(bench, "configmaps", &query).await.next().await, None);
    });
}

#[test]
fn object_that_leaves_a_label_selector_is_deleted_for_it_with_its_old_state() {
    fact(async |bench| {
        let path = bench.core("pods/web-1");
        let created =
            bench.create(&bench.core("pods"), &labelled_pod("web-1", &[("app", "web")])).await;
        let from = resource_version(&created);
        let query = format!("&resourceVersion={from}&labelSelector=app%3Dweb");
        let mut events = watch(bench, "pods", &query).await;

        let relabel = |app: &str| json!({"metadata": {"labels": {"app": app}}});
        let left = bench.api.patch(&path, Patch::Merge, &relabel("db")).await.expect(200);
        bench.api.patch(&path, Patch::Merge, &relabel("cache")).await.expect(200);
        let back = bench.api.patch(&path, Patch::Merge, &relabel("web")).await.expect(200);

        let deleted = events.event().await;
        assert_eq!(deleted.kind, "DELETED");
        assert_eq!(deleted.object["metadata"]["labels"]["app"], "web", "the state before it left");
        assert_eq!(deleted.resource_version(), resource_version(&left), "at the time it left");
        let added = events.event().await;
        assert_eq!((added.kind.as_str(), &added.object), ("ADDED", &back));
    });
}

#[test]
fn object_that_leaves_a_field_selector_is_deleted_for_it() {
    fact(async |bench| {
        let created = bench.create(&bench.core("pods"), &pod("web-1")).await;
        let from = resource_version(&created);
        let query = format!("&resourceVersion={from}&fieldSelector=status.phase%3DPending");
        let mut events = watch(bench, "pods", &query).await;
        set_phase(bench, "Running").await;
        set_phase(bench, "Pending").await;
        let expect = [pair("DELETED", "web-1"), pair("ADDED", "web-1")];
        assert_eq!(next_events(&mut events).await, expect);
    });
}

async fn set_phase(bench: &Bench, phase: &str) -> Value {
    let patch = json!({"status": {"phase": phase}});
    bench.api.patch(&bench.core("pods/web-1/status"), Patch::Merge, &patch).await.expect(200)
}

#[test]
fn metadata_only_watch_has_no_spec() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let path = format!("{}?watch=true", bench.core("pods"));
        let mut events = bench.api.watch_as(&path, accept).await.expect("a watch");
        let event = events.event().await;
        assert_eq!(event.object["kind"], "PartialObjectMetadata");
        assert_eq!(event.name(), "web-1");
        assert!(event.object.get("spec").is_none(), "{event:?}");
    });
}

#[test]
fn watch_of_the_future_waits_for_nothing_wrong() {
    fact(async |bench| {
        let from = list_version(bench, "configmaps").await + 1_000_000;
        let path = format!("{}?watch=true&resourceVersion={from}", bench.core("configmaps"));
        match bench.api.watch(&path).await {
            // Refused, or a stream without the present state.
            Err(reply) => assert_eq!(reply.status, 504, "{reply:?}"),
            Ok(mut events) => {
                bench.create(&bench.core("configmaps"), &config_map("a", &[])).await;
                let event = events.next_within(QUIET).await;
                assert!(event.is_none_or(|event| event.kind == "ERROR"));
            }
        }
    });
}

#[test]
fn watch_from_a_resource_version_that_is_no_number_is_refused() {
    fact(async |bench| {
        let path = format!("{}?watch=true&resourceVersion=abc", bench.core("configmaps"));
        let Err(reply) = bench.api.watch(&path).await else { panic!("accepted") };
        // The real server answers with a 500.
        assert!(reply.status.is_client_error() || reply.status == 500, "{reply:?}");
    });
}
