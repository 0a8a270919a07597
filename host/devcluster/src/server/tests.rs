//! Requests and their answers. Only the tests about sockets use a socket.

use futures::{Stream, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/// The server without its socket.
struct Bench {
    state: State,
}

impl Bench {
    fn new() -> Self {
        let bookmark_interval = Duration::from_millis(5);
        Self { state: State::new(&DevClusterOptions { bookmark_interval, ..Default::default() }) }
    }

    async fn respond(&self, line: &str, media_type: &str, body: Vec<u8>) -> Response {
        let (method, path) = line.split_once(' ').expect("METHOD path");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, media_type)
            .header(ACCEPT, if method == "GET" { media_type } else { "application/json" })
            .body(Body::from(body))
            .expect("a valid request");
        self.state.answer(request).await
    }

    /// Code and body. `media_type` is that of the body, or the accepted one for GET.
    async fn call_as(&self, line: &str, media_type: &str, body: Value) -> (u16, Value) {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let response = self.respond(line, media_type, bytes).await;
        let code = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("whole");
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn call(&self, line: &str, body: Value) -> (u16, Value) {
        self.call_as(line, "application/json", body).await
    }

    /// Checks the code of the answer. Returns the value at `pointer`.
    async fn check(&self, line: &str, body: Value, code: u16, pointer: &str) -> Value {
        let (seen, answer) = self.call(line, body).await;
        assert_eq!(seen, code, "{line}: {answer:#}");
        answer.pointer(pointer).cloned().unwrap_or_default()
    }

    async fn get(&self, path: &str, pointer: &str) -> Value {
        self.check(&format!("GET {path}"), Value::Null, 200, pointer).await
    }

    async fn make_pods(&self, names: &[&str]) {
        for name in names {
            self.check(&format!("POST {PODS}"), pod(name, "web"), 201, "").await;
        }
    }

    async fn version(&self) -> String {
        let version = self.get("/api/v1/nodes", "/metadata/resourceVersion").await;
        version.as_str().expect("every list has one").to_owned()
    }

    async fn watch(&self, path: &str) -> Events<impl Stream<Item = Vec<u8>> + use<>> {
        let response = self.respond(&format!("GET {path}"), "application/json", Vec::new()).await;
        assert_eq!(response.status(), 200, "{path}");
        let chunks = response.into_body().into_data_stream();
        let chunks = chunks.map(|chunk| chunk.expect("no errors in memory").to_vec());
        Events { chunks: Box::pin(chunks), lines: Vec::new() }
    }
}

/// The events of a watch.
struct Events<S> {
    chunks: std::pin::Pin<Box<S>>,
    lines: Vec<Value>,
}

impl<S: Stream<Item = Vec<u8>>> Events<S> {
    /// The next event that is not a periodic bookmark. `None` at the end.
    async fn next_value(&mut self) -> Option<Value> {
        loop {
            let next = self.next_of_all().await?;
            let ends_initial = next["object"]["metadata"]["annotations"].is_object();
            if next["type"] != "BOOKMARK" || ends_initial {
                return Some(next);
            }
        }
    }

    async fn next_of_all(&mut self) -> Option<Value> {
        if self.lines.is_empty() {
            let chunk = self.chunks.next().await?;
            let lines = chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            self.lines = lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
        }
        Some(self.lines.remove(0))
    }

    /// `TYPE name`, or `TYPE code`, or `end`.
    async fn next(&mut self) -> String {
        let Some(event) = self.next_value().await else { return "end".to_owned() };
        let object = &event["object"];
        let shown = object["metadata"]["name"].as_str().map(str::to_owned);
        let shown = shown.unwrap_or_else(|| object["code"].to_string());
        format!("{} {shown}", event["type"].as_str().unwrap_or_default())
    }
}

fn pod(name: &str, app: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    })
}

#[tokio::test]
async fn objects_are_made_read_changed_and_deleted() {
    let bench = Bench::new();
    let made = bench.check(&format!("POST {PODS}"), pod("a", "web"), 201, "").await;
    assert_eq!((&made["kind"], &made["apiVersion"]), (&json!("Pod"), &json!("v1")));
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(bench.get(&format!("{PODS}/a"), "").await, made);
    bench.check(&format!("POST {PODS}"), pod("a", "web"), 409, "").await;

    let mut changed = made.clone();
    changed["metadata"]["labels"]["app"] = "db".into();
    let line = format!("PUT {PODS}/a");
    let app = bench.check(&line, changed.clone(), 200, "/metadata/labels/app").await;
    assert_eq!(app, "db");
    let reason = bench.check(&line, changed, 409, "/reason").await;
    assert_eq!(reason, "Conflict", "the resourceVersion is the old one");

    let name = bench.check(&format!("DELETE {PODS}/a"), Value::Null, 200, "/metadata/name").await;
    assert_eq!(name, "a", "a deleted pod is shown");
    let reason = bench.check(&format!("GET {PODS}/a"), Value::Null, 404, "/reason").await;
    assert_eq!(reason, "NotFound");
    bench.check(&format!("DELETE {PODS}/a"), Value::Null, 404, "").await;
}

#[tokio::test]
async fn patches_change_parts() {
    let bench = Bench::new();
    bench.make_pods(&["a"]).await;
    let line = format!("PATCH {PODS}/a");
    let patch = async |media_type: &str, patch: Value| {
        let media_type = format!("application/{media_type}");
        bench.call_as(&line, &media_type, patch).await
    };
    let (code, object) =
        patch("merge-patch+json", json!({"metadata": {"labels": {"x": "1"}}})).await;
    assert_eq!((code, &object["metadata"]["labels"]), (200, &json!({"app": "web", "x": "1"})));
    let remove = json!([{"op": "remove", "path": "/metadata/labels/x"}]);
    let (code, object) = patch("json-patch+json", remove).await;
    assert_eq!((code, &object["metadata"]["labels"]), (200, &json!({"app": "web"})));
    let image = json!({"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}});
    let (code, object) = patch("strategic-merge-patch+json", image).await;
    assert_eq!((code, &object["spec"]["containers"][0]["image"]), (200, &json!("nginx:2")));
    assert_eq!(object["spec"]["containers"][0]["name"], "c");
    let stale = json!({"metadata": {"resourceVersion": "1", "labels": {"y": "1"}}});
    assert_eq!(patch("merge-patch+json", stale).await.0, 409);
    assert_eq!(patch("unknown", json!({})).await.0, 415);
}

#[tokio::test]
async fn applying_makes_or_merges() {
    let bench = Bench::new();
    let line = format!("PATCH {CONFIG_MAPS}/a?fieldManager=test");
    let apply = "application/apply-patch+yaml";
    let object = |key: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {key: "1"}});
    assert_eq!(bench.call_as(&line, apply, object("x")).await.0, 201);
    let (code, merged) = bench.call_as(&line, apply, object("y")).await;
    assert_eq!((code, &merged["data"]), (200, &json!({"x": "1", "y": "1"})));
    let (_, again) = bench.call_as(&line, apply, object("y")).await;
    assert_eq!(again, merged, "nothing changed, so the resourceVersion did not either");
}

#[tokio::test]
async fn lists_come_in_consistent_pages() {
    let bench = Bench::new();
    bench.make_pods(&["a", "b", "c"]).await;
    let first = bench.get(&format!("{PODS}?limit=2"), "").await;
    assert_eq!(first["kind"], "PodList");
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    assert!(first["items"][0].get("kind").is_none(), "items of typed lists have no kind");
    bench.check(&format!("DELETE {PODS}/c"), Value::Null, 200, "").await;
    bench.make_pods(&["d"]).await;
    let token = first["metadata"]["continue"].as_str().expect("there is more").to_owned();
    let path = format!("{PODS}?limit=2&continue={token}");
    let second = bench.get(&path, "").await;
    assert_eq!(second["items"][0]["metadata"]["name"], "c", "as it was at the first page");
    assert_eq!(second["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);

    bench.state.cluster.write(Store::compact);
    let (code, expired) = bench.call(&format!("GET {path}"), Value::Null).await;
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
    let rest = expired["metadata"]["continue"].as_str().expect("the remainder is offered");
    let rest =
        bench.get(&format!("{PODS}?limit=2&continue={rest}"), "/items/0/metadata/name").await;
    assert_eq!(rest, "d", "as it is now");
}

#[tokio::test]
async fn lists_are_narrowed_by_selectors() {
    let bench = Bench::new();
    bench.make_pods(&["a", "b"]).await;
    bench.check(&format!("POST {PODS}"), pod("c", "db"), 201, "").await;
    let count = async |query: &str| {
        let items = bench.get(&format!("/api/v1/pods?{query}"), "/items").await;
        items.as_array().map(Vec::len)
    };
    assert_eq!(count("").await, Some(3));
    assert_eq!(count("labelSelector=app%3Dweb").await, Some(2));
    assert_eq!(count("fieldSelector=metadata.name!%3Da,status.phase%3DPending").await, Some(2));
    assert_eq!(count("fieldSelector=spec.nodeName%3Dn1").await, Some(0));
    let unknown = "GET /api/v1/pods?fieldSelector=spec.foo%3D1";
    bench.check(unknown, Value::Null, 400, "").await;
    bench.check("GET /api/v1/pods?labelSelector=%3D%3D", Value::Null, 400, "").await;
}

#[tokio::test]
async fn watches_tell_of_changes_after_a_version() {
    let bench = Bench::new();
    bench.make_pods(&["a"]).await;
    let version = bench.version().await;
    let mut events = bench.watch(&format!("{PODS}?watch=1&resourceVersion={version}")).await;
    bench.make_pods(&["b"]).await;
    let line = format!("PATCH {PODS}/a");
    let label = json!({"metadata": {"labels": {"x": "1"}}});
    bench.call_as(&line, "application/merge-patch+json", label).await;
    bench.check(&format!("DELETE {PODS}/b"), Value::Null, 200, "").await;
    assert_eq!(events.next().await, "ADDED b");
    assert_eq!(events.next().await, "MODIFIED a");
    assert_eq!(events.next().await, "MODIFIED b", "marked as being deleted");
    let deleted = events.next_value().await.expect("it was deleted");
    assert_eq!(deleted["type"], "DELETED");
    assert_eq!(deleted["object"]["metadata"]["resourceVersion"], bench.version().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_change_is_told_once_and_in_order_while_many_write() {
    const WRITERS: usize = 8;
    const MAPS: usize = 40;
    let bench = Arc::new(Bench::new());
    let mut events = bench.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let bench = Arc::clone(&bench);
        writers.spawn(async move {
            for index in 0..MAPS {
                let name = format!("m{writer}-{index}");
                let map = json!({"metadata": {"name": name}});
                bench.check(&format!("POST {CONFIG_MAPS}"), map, 201, "").await;
                bench.check(&format!("DELETE {CONFIG_MAPS}/{name}"), Value::Null, 200, "").await;
            }
        });
    }
    let mut last = 0;
    let mut told = std::collections::BTreeMap::<String, String>::new();
    for _ in 0..2 * WRITERS * MAPS {
        let event = events.next_value().await.expect("the watch goes on");
        let metadata = &event["object"]["metadata"];
        let version = metadata["resourceVersion"].as_str().and_then(|v| v.parse::<u64>().ok());
        let version = version.expect("every event has one");
        assert!(version > last, "{version} after {last}");
        last = version;
        let name = metadata["name"].as_str().expect("every object has one");
        let types = told.entry(name.to_owned()).or_default();
        *types += event["type"].as_str().expect("every event has one");
    }
    assert!(told.values().all(|types| types == "ADDEDDELETED"), "{told:?}");
    assert_eq!(told.len(), WRITERS * MAPS);
    while let Some(finished) = writers.join_next().await {
        finished.expect("no writer fails");
    }
}

#[tokio::test]
async fn watches_tell_of_moves_into_and_out_of_their_selectors() {
    let bench = Bench::new();
    bench.make_pods(&["a"]).await;
    let version = bench.version().await;
    let query = format!("watch=1&resourceVersion={version}&labelSelector=app%3Ddb");
    let mut events = bench.watch(&format!("{PODS}?{query}")).await;
    let line = format!("PATCH {PODS}/a");
    for app in ["db", "web"] {
        let label = json!({"metadata": {"labels": {"app": app}}});
        bench.call_as(&line, "application/merge-patch+json", label).await;
    }
    assert_eq!(events.next().await, "ADDED a");
    let left = events.next_value().await.expect("it left");
    assert_eq!(left["type"], "DELETED");
    assert_eq!(left["object"]["metadata"]["labels"]["app"], "db", "the state it left with");
    assert_eq!(left["object"]["metadata"]["resourceVersion"], bench.version().await);
}

#[tokio::test]
async fn watch_lists_say_where_the_initial_events_end() {
    let bench = Bench::new();
    bench.make_pods(&["a", "b"]).await;
    let query = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
                 &resourceVersionMatch=NotOlderThan";
    let mut events = bench.watch(&format!("{PODS}?{query}")).await;
    assert_eq!(events.next().await, "ADDED a");
    assert_eq!(events.next().await, "ADDED b");
    let end = events.next_value().await.expect("the bookmark");
    assert_eq!(end["type"], "BOOKMARK");
    let metadata = &end["object"]["metadata"];
    assert_eq!(metadata["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    assert_eq!(metadata["resourceVersion"], bench.version().await);
    bench.make_pods(&["c"]).await;
    assert_eq!(events.next().await, "ADDED c");
}

#[tokio::test]
async fn bookmarks_follow_the_changes_of_other_resources() {
    let bench = Bench::new();
    let mut events = bench.watch(&format!("{PODS}?watch=1&allowWatchBookmarks=true")).await;
    let map = json!({"metadata": {"name": "a"}});
    bench.check(&format!("POST {CONFIG_MAPS}"), map, 201, "").await;
    let bookmark = events.next_of_all().await.expect("a bookmark is due");
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], bench.version().await);
    let repeated = events.next_of_all().await.expect("another, so that the client hears something");
    assert_eq!(repeated, bookmark);
}

#[tokio::test]
async fn watch_after_whose_start_nothing_changes_brings_no_bookmark() {
    let bench = Bench::new();
    bench.make_pods(&["a"]).await;
    let version = bench.version().await;
    let line = format!(
        "{PODS}?watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=1"
    );
    let mut events = bench.watch(&line).await;
    assert_eq!(events.next_of_all().await, None, "the end of its time");
}

#[tokio::test]
async fn watchers_that_fall_behind_are_told_so() {
    let bench = Bench::new();
    let version = bench.version().await;
    let mut events = bench.watch(&format!("{PODS}?watch=1&resourceVersion={version}")).await;
    bench.make_pods(&["a"]).await;
    bench.state.cluster.write(Store::compact);
    assert_eq!(events.next().await, "ERROR 410");
    assert_eq!(events.next().await, "end");
    let mut late = bench.watch(&format!("{PODS}?watch=1&resourceVersion={version}")).await;
    assert_eq!(late.next().await, "ERROR 410");
}

#[tokio::test]
async fn watches_end_when_their_time_is_over_or_they_are_dropped() {
    let bench = Bench::new();
    let mut dropped = bench.watch(&format!("{PODS}?watch=1")).await;
    std::mem::take(&mut *bench.state.watches.lock()).cancel();
    assert_eq!(dropped.next().await, "end");
    let mut timed = bench.watch(&format!("{PODS}?watch=1&timeoutSeconds=1")).await;
    assert_eq!(timed.next().await, "end");
}

#[tokio::test]
async fn resource_versions_from_the_future_time_out() {
    let bench = Bench::new();
    let line = "GET /api/v1/pods?resourceVersion=999999&resourceVersionMatch=NotOlderThan";
    let cause = bench.check(line, Value::Null, 504, "/details/causes/0/reason").await;
    assert_eq!(cause, "ResourceVersionTooLarge");
}

#[tokio::test]
async fn custom_resources_are_served_while_their_definition_is_there() {
    let bench = Bench::new();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}},
                {"name": "v1beta1", "served": true, "storage": false},
            ],
        },
    });
    let things = "/apis/example.com/v1/namespaces/default/things";
    bench.check(&format!("GET {things}"), Value::Null, 404, "").await;
    bench.check(&format!("POST {definitions}"), definition, 201, "").await;
    let path = format!("{definitions}/things.example.com");
    assert_eq!(bench.get(&path, "/status/conditions/1/type").await, "Established");
    assert_eq!(bench.get("/apis/example.com", "/preferredVersion/version").await, "v1");

    let thing = json!({"metadata": {"name": "a"}, "spec": {"x": 1}, "status": {"y": 1}});
    let made = bench.check(&format!("POST {things}"), thing, 201, "").await;
    assert_eq!((&made["kind"], made.get("status")), (&json!("Thing"), None));
    let beta = things.replace("v1", "v1beta1");
    assert_eq!(bench.get(&format!("{beta}/a"), "/apiVersion").await, "example.com/v1beta1");
    assert_eq!(bench.get(&beta, "/items/0/apiVersion").await, "example.com/v1beta1");

    let mut events = bench.watch(&format!("{things}?watch=1")).await;
    assert_eq!(events.next().await, "ADDED a");
    bench.check(&format!("DELETE {path}"), Value::Null, 200, "").await;
    assert_eq!(events.next().await, "DELETED a");
    assert_eq!(events.next().await, "end");
    bench.check(&format!("GET {things}"), Value::Null, 404, "").await;
}

#[tokio::test]
async fn a_deleted_namespace_takes_its_objects_along() {
    let bench = Bench::new();
    let namespace = json!({"metadata": {"name": "x"}});
    bench.check("POST /api/v1/namespaces", namespace, 201, "").await;
    let maps = "/api/v1/namespaces/x/configmaps";
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    bench.check(&format!("POST {maps}"), json!({"metadata": {"name": "a"}}), 201, "").await;
    bench.check(&format!("POST {maps}"), held, 201, "").await;
    bench.check("DELETE /api/v1/namespaces/x", Value::Null, 200, "").await;
    assert_eq!(bench.get("/api/v1/namespaces/x", "/status/phase").await, "Terminating");
    bench.check(&format!("GET {maps}/a"), Value::Null, 404, "").await;
    let late = json!({"metadata": {"name": "late"}});
    bench.check(&format!("POST {maps}"), late, 403, "").await;
    let release = json!({"metadata": {"finalizers": null}});
    bench.call_as(&format!("PATCH {maps}/held"), "application/merge-patch+json", release).await;
    bench.check("GET /api/v1/namespaces/x", Value::Null, 404, "").await;
    bench.check(&format!("POST {maps}"), json!({"metadata": {"name": "b"}}), 404, "").await;
}

#[tokio::test]
async fn collections_are_deleted_as_selected() {
    let bench = Bench::new();
    bench.make_pods(&["a", "b"]).await;
    bench.check(&format!("POST {PODS}"), pod("c", "db"), 201, "").await;
    let line = format!("DELETE {PODS}?labelSelector=app%3Dweb");
    let items = bench.check(&line, Value::Null, 200, "/items").await;
    assert_eq!(items.as_array().map(Vec::len), Some(2));
    assert_eq!(bench.get(PODS, "/items/0/metadata/name").await, "c");
}

#[tokio::test]
async fn status_and_scale_are_subresources() {
    let bench = Bench::new();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    });
    let made = bench.check(&format!("POST {deployments}"), deployment, 201, "").await;
    assert_eq!(
        (&made["spec"]["replicas"], &made["metadata"]["generation"]),
        (&json!(1), &json!(1))
    );

    let mut status = made.clone();
    status["status"] = json!({"replicas": 1});
    status["spec"]["replicas"] = 7.into();
    let changed = bench.check(&format!("PUT {deployments}/web/status"), status, 200, "").await;
    assert_eq!(
        (&changed["status"]["replicas"], &changed["spec"]["replicas"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(changed["metadata"]["generation"], 1, "a status is no new specification");

    let scale = bench.get(&format!("{deployments}/web/scale"), "").await;
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)));
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "app=web"}));
    let line = format!("PATCH {deployments}/web/scale");
    let three = json!({"spec": {"replicas": 3}});
    assert_eq!(bench.call_as(&line, "application/merge-patch+json", three).await.0, 200);
    let scaled = bench.get(&format!("{deployments}/web"), "").await;
    assert_eq!(
        (&scaled["spec"]["replicas"], &scaled["metadata"]["generation"]),
        (&json!(3), &json!(2))
    );
    let mut stale = scale;
    stale["spec"]["replicas"] = 9.into();
    bench.check(&format!("PUT {deployments}/web/scale"), stale, 409, "").await;
    bench.check(&format!("GET {PODS}/a/scale"), Value::Null, 404, "").await;
    bench.check(&format!("GET {PODS}/a/log"), Value::Null, 404, "").await;
}

#[tokio::test]
async fn tables_and_partial_metadata_are_served_on_demand() {
    let bench = Bench::new();
    bench.make_pods(&["a"]).await;
    let (_, table) = bench.call_as(&format!("GET {PODS}"), TABLE, Value::Null).await;
    assert_eq!((&table["kind"], &table["rows"][0]["cells"][0]), (&json!("Table"), &json!("a")));
    let (_, list) = bench.call_as(&format!("GET {PODS}"), PARTIAL, Value::Null).await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    assert!(list["items"][0].get("spec").is_none());
    let protobuf = "application/vnd.kubernetes.protobuf";
    assert_eq!(bench.call_as(&format!("GET {PODS}"), protobuf, Value::Null).await.0, 406);
}

#[tokio::test]
async fn dry_runs_change_nothing() {
    let bench = Bench::new();
    let version = bench.version().await;
    bench.check(&format!("POST {PODS}?dryRun=All"), pod("a", "web"), 201, "").await;
    bench.check(&format!("GET {PODS}/a"), Value::Null, 404, "").await;
    assert_eq!(bench.version().await, version);
}

#[tokio::test]
async fn bad_requests_are_told_what_is_wrong() {
    let bench = Bench::new();
    let map = json!({"metadata": {"name": "a"}});
    bench.check(&format!("POST {CONFIG_MAPS}"), map.clone(), 201, "").await;
    let renamed = json!({"metadata": {"name": "b"}});
    let line = format!("PATCH {CONFIG_MAPS}/a");
    assert_eq!(bench.call_as(&line, "application/merge-patch+json", renamed).await.0, 400);
    let unowned = bench.call_as(&line, "application/apply-patch+yaml", map).await;
    assert_eq!(unowned.0, 422, "applying needs a field manager");
    let unknown = "GET /apis/example.com/v1/things";
    bench.check(unknown, Value::Null, 404, "").await;
    bench.check("GET /nothing", Value::Null, 404, "").await;
    bench.check("POST /version", Value::Null, 405, "").await;
    bench.check("POST /api/v1/pods", pod("a", "web"), 405, "").await;
    bench.check("POST /api/v1/namespaces/none/pods", pod("a", "web"), 404, "").await;
    let empty = json!({"metadata": {"name": "A"}, "spec": {}});
    let causes = bench.check(&format!("POST {PODS}"), empty, 422, "/details/causes").await;
    assert_eq!(causes.as_array().map(Vec::len), Some(2), "{causes}");
    let other = json!({"kind": "Node", "metadata": {"name": "a"}});
    bench.check(&format!("POST {PODS}"), other, 400, "").await;
    let line = format!("POST {PODS}");
    assert_eq!(bench.respond(&line, "application/json", b"{".to_vec()).await.status(), 400);
    assert_eq!(bench.respond(&line, "text/plain", b"{}".to_vec()).await.status(), 415);
    let large = vec![b' '; 3 * 1024 * 1024 + 1];
    assert_eq!(bench.respond(&line, "application/json", large).await.status(), 413);
}

#[tokio::test]
async fn reviews_answer_yes_and_store_nothing() {
    let bench = Bench::new();
    let version = bench.version().await;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let allowed = bench.check(&format!("POST {path}"), json!({}), 201, "/status/allowed").await;
    assert_eq!(allowed, true);
    assert_eq!(bench.version().await, version);
}

#[tokio::test]
async fn a_review_of_a_user_says_what_was_forbidden_to_it() {
    let bench = Bench::new();
    bench.state.faults.forbid("ann", "pods", Some("shop"));
    let path = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";
    for (user, resource, namespace, expect) in [
        ("ann", "pods", "shop", false),
        ("ann", "pods", "office", true),
        ("ann", "pods", "", true),
        ("ann", "nodes", "shop", true),
        ("bob", "pods", "shop", true),
    ] {
        let asked = json!({"verb": "list", "resource": resource, "namespace": namespace});
        let body = json!({"spec": {"user": user, "resourceAttributes": asked}});
        let allowed = bench.check(path, body, 201, "/status/allowed").await;
        assert_eq!(allowed, expect, "{user} {resource} {namespace}");
    }
}

#[tokio::test]
async fn planned_failures_are_answered() {
    let bench = Bench::new();
    bench.state.faults.fail_next(1, "/pods", Status::too_many_requests("planned", 3));
    let response = bench.respond(&format!("GET {PODS}"), "application/json", Vec::new()).await;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "3");
    bench.get(PODS, "").await;
}

/// Makes one request over a socket. Returns the whole answer as text.
async fn exchange(address: SocketAddr) -> io::Result<String> {
    let mut socket = TcpStream::connect(address).await?;
    socket
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn the_server_stops_and_comes_back_with_its_state() {
    let cluster = DevCluster::start(DevClusterOptions::default()).await.expect("a free port");
    let address = cluster.address();
    assert!(exchange(address).await.expect("it serves").ends_with("\r\n\r\nok"));
    let mut open = TcpStream::connect(address).await.expect("it serves");
    let watch = format!("GET {PODS}?watch=1 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    open.write_all(watch.as_bytes()).await.expect("it reads");
    open.read_u8().await.expect("it answers");

    let version = cluster.cluster().resource_version();
    cluster.stop_serving().await;
    let mut rest = Vec::new();
    // Broken or ended: in both cases the connection is gone.
    let _ = open.read_to_end(&mut rest).await;
    exchange(address).await.expect_err("nobody listens");
    cluster.serve_again().await.expect("the port is free");
    assert!(exchange(address).await.is_ok());
    assert_eq!(cluster.cluster().resource_version(), version);
    cluster.shutdown().await;
    exchange(address).await.expect_err("nobody listens");
}

#[tokio::test]
async fn a_taken_port_is_an_error_with_advice() {
    let cluster = DevCluster::start(DevClusterOptions::default()).await.expect("a free port");
    let options = DevClusterOptions { listen: cluster.address(), ..Default::default() };
    let error = DevCluster::start(options).await.err().expect("it is taken");
    let text = error.to_string();
    assert!(text.contains(&cluster.address().to_string()) && text.contains("port 0"), "{text}");
}

#[tokio::test]
async fn the_kubeconfig_is_written_whole() {
    let cluster = DevCluster::start(DevClusterOptions::default()).await.expect("a free port");
    let dir = std::env::temp_dir().join(format!("devcluster-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a writable place");
    cluster.write_kubeconfig(&dir.join("config")).expect("writable");
    let written = std::fs::read_to_string(dir.join("config")).expect("written");
    assert_eq!(written, cluster.kubeconfig());
    assert_eq!(std::fs::read_dir(&dir).expect("there").count(), 1, "nothing is left aside");
    std::fs::remove_dir_all(&dir).expect("removable");
    let value: Value = serde_json::from_str(&written).expect("JSON");
    let server = format!("http://{}", cluster.address());
    assert_eq!(value["clusters"][0]["cluster"]["server"], server);
}

/// Nobody is authenticated. A page in a browser may send a request to any address.
#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let bench = Bench::new();
    let check = async |headers: &[(&str, &str)], code: u16| {
        let mut request = Request::builder().method("POST").uri(CONFIG_MAPS);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Body::from(r#"{"metadata":{"generateName":"a-"}}"#);
        let answer = bench.state.answer(request.body(body).expect("a valid request")).await;
        assert_eq!(answer.status(), code, "{headers:?}");
    };
    check(&[("host", "127.0.0.1:7007")], 201).await;
    check(&[("host", "localhost"), ("sec-fetch-site", "none")], 201).await;
    check(&[("host", "localhost"), ("sec-fetch-site", "cross-site")], 403).await;
    check(&[("host", "evil.example")], 403).await;
    check(&[], 403).await;
}

#[tokio::test]
async fn forbidden_user_is_told_so_and_others_are_served() {
    let bench = Bench::new();
    bench.state.faults.forbid("reader", "pods", None);
    let ask = async |user: &str, query: &str| {
        let request = Request::builder()
            .uri(format!("{PODS}{query}"))
            .header(HOST, "localhost")
            .header("Impersonate-User", user)
            .body(Body::empty())
            .expect("a valid request");
        bench.state.answer(request).await
    };
    assert_eq!(ask("admin", "").await.status(), 200);
    let refused = ask("reader", "?watch=true").await;
    assert_eq!(refused.status(), 403);
    let body = axum::body::to_bytes(refused.into_body(), usize::MAX).await.expect("whole");
    let status: Value = serde_json::from_slice(&body).expect("a Status");
    let message = "pods is forbidden: User \"reader\" cannot watch resource \"pods\" in API group \
                   \"\" in the namespace \"default\"";
    assert_eq!((&status["reason"], &status["message"]), (&json!("Forbidden"), &json!(message)));
    bench.state.faults.allow("reader", "pods", None);
    assert_eq!(ask("reader", "").await.status(), 200);
}

#[tokio::test]
async fn restored_server_ends_open_watches_and_serves_the_past() {
    let cluster = DevCluster::start(DevClusterOptions::default()).await.expect("a free port");
    let gvr = "v1/configmaps".parse().expect("a resource's name");
    let backup = cluster.backup();
    let object = json!({"metadata": {"name": "lost"}});
    cluster.cluster().create(&gvr, Some("default"), object).expect("it is new");
    let mut open = TcpStream::connect(cluster.address()).await.expect("it serves");
    let watch = format!("GET {CONFIG_MAPS}?watch=1 HTTP/1.0\r\nhost: localhost\r\n\r\n");
    open.write_all(watch.as_bytes()).await.expect("it reads");
    open.read_u8().await.expect("it answers");

    cluster.restore(&backup);
    let mut rest = String::new();
    open.read_to_string(&mut rest).await.expect("the watch ends as a polite server ends it");
    assert!(rest.contains("lost") && !rest.contains("DELETED"), "{rest}");
    assert!(cluster.cluster().get(&gvr, Some("default"), "lost").is_err());
    cluster.shutdown().await;
}

#[tokio::test]
async fn both_resources_of_events_have_one_storage() {
    let bench = Bench::new();
    let core = "/api/v1/namespaces/default/events";
    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    let regarding = json!({"kind": "Pod", "name": "web"});
    let made = json!({"metadata": {"name": "a"}, "note": "text", "regarding": regarding});
    bench.check(&format!("POST {events}"), made, 201, "").await;
    let mut shown = bench.get(&format!("{core}/a"), "").await;
    assert_eq!((&shown["message"], &shown["involvedObject"]), (&json!("text"), &regarding));

    let version = bench.version().await;
    let same = bench.check(&format!("PUT {core}/a"), shown.clone(), 200, "").await;
    assert_eq!((&same, bench.version().await), (&shown, version), "nothing has changed");
    shown["message"] = "other".into();
    bench.check(&format!("PUT {core}/a"), shown, 200, "").await;
    let count = json!([{"op": "test", "path": "/note", "value": "other"}, {"op": "add", "path": "/deprecatedCount", "value": 3}]);
    let (code, _) =
        bench.call_as(&format!("PATCH {events}/a"), "application/json-patch+json", count).await;
    assert_eq!((code, bench.get(&format!("{core}/a"), "/count").await), (200, 3.into()));

    let selected = format!("{core}?fieldSelector=involvedObject.name%3Dweb&includeObject=Object");
    let (_, table) = bench.call_as(&format!("GET {selected}"), TABLE, Value::Null).await;
    assert_eq!(table["rows"][0]["object"]["message"], "other", "{table:#}");
    let line = format!("DELETE {core}?fieldSelector=involvedObject.name%3Dweb");
    assert_eq!(bench.check(&line, Value::Null, 200, "/items/0/message").await, "other");
    assert_eq!(bench.get(events, "/items").await, json!([]));
}
