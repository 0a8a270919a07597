//! Informant's lists and watches compared with the server's own, object by object.

use super::{api, cut};
use crate::bench::{config_map, deployment, labelled_pod};
use crate::host::bench::{LINES_DEADLINE, host_fact, pod_names};
use informant_e2e::api::{Api, Watch, resource_version};
use informant_e2e::poll;
use serde_json::{Value, json};

/// The events of a watch up to the object `last`.
async fn told(mut watch: Watch) -> Vec<(String, Value)> {
    let mut told = Vec::new();
    let read = async {
        while let Some(event) = watch.next().await {
            let is_last = event.name() == "last";
            if event.kind != "BOOKMARK" {
                told.push((event.kind, cut(event.object)));
            }
            if is_last {
                break;
            }
        }
    };
    tokio::time::timeout(LINES_DEADLINE, read).await.expect("the last object comes");
    told
}

/// The items of a list, in the cache's form.
async fn items(api: &Api, path: &str) -> (u64, Vec<Value>) {
    let mut list = api.get(path).await.expect(200);
    let version = resource_version(&list);
    let items = list["items"].take();
    (version, items.as_array().expect("a list").iter().cloned().map(cut).collect())
}

#[test]
fn objects_and_changes_are_the_servers() {
    host_fact(async |bench| {
        let pods = bench.pods();
        bench.create_pods(&pod_names(0..10)).await;
        let host = bench.start(&[]).await;
        let cached = api(&host);
        let (version, before) = items(&bench.api, &pods).await;
        let not_older =
            format!("{pods}?resourceVersion={version}&resourceVersionMatch=NotOlderThan");
        assert_eq!(items(&cached, &not_older).await, (version, before));
        let watch = format!("{pods}?watch=true&allowWatchBookmarks=true&resourceVersion={version}");
        let labelled = format!("{watch}&labelSelector=app%3Dburst");
        let by_name = format!("{watch}&fieldSelector=metadata.name%3Dpod-0050");
        let mut watches = Vec::new();
        for path in [watch, labelled.clone()] {
            let theirs = bench.api.watch(&path).await.expect("a watch");
            let ours = cached.watch(&path).await.expect("a watch");
            watches.push((path, tokio::spawn(told(theirs)), tokio::spawn(told(ours))));
        }
        let names = pod_names(0..100);
        bench.create_pods(&names).await;
        bench.label_pods(&names[..60]).await;
        bench.delete_pods(&names[30..]).await;
        // Every watch ends with this object.
        let last = labelled_pod("last", &[("app", "burst")]);
        bench.api.create(&pods, &last).await.expect(201);
        let after = items(&bench.api, &pods).await;
        for (path, theirs, ours) in watches {
            let (theirs, ours) = (theirs.await.expect("told"), ours.await.expect("told"));
            assert!(theirs.len() > 100, "{} events", theirs.len());
            assert_eq!(ours.len(), theirs.len(), "{path}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert_eq!(ours, theirs, "{path}");
            }
        }
        // A later watch gets past changes, too, also with selectors.
        for path in [labelled, by_name] {
            let mut theirs = bench.api.watch(&path).await.expect("a watch");
            let mut ours = cached.watch(&path).await.expect("a watch");
            for _ in 0..2 {
                let (theirs, ours) = (theirs.event().await, ours.event().await);
                assert_eq!((ours.kind, cut(ours.object)), (theirs.kind, cut(theirs.object)));
            }
        }
        let not_older = format!("{pods}?resourceVersion={}", after.0);
        assert_eq!(items(&cached, &not_older).await.1, after.1);
    });
}

#[test]
fn a_watch_begins_with_what_is_there_and_says_where_that_ends() {
    host_fact(async |bench| {
        let maps = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
        for name in ["a", "b"] {
            bench.api.create(&maps, &config_map(name, &[])).await.expect(201);
        }
        let host = bench.start(&[]).await;
        let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let mut watch = api(&host).watch(&format!("{maps}?{query}")).await.expect("a watch");
        let mut seen = Vec::new();
        loop {
            let event = watch.event().await;
            let annotations = &event.object["metadata"]["annotations"];
            if annotations["k8s.io/initial-events-end"] == "true" {
                assert_eq!(event.kind, "BOOKMARK");
                break;
            }
            seen.push((event.kind.clone(), event.name().to_owned()));
        }
        let added = |name: &str| ("ADDED".to_owned(), name.to_owned());
        // The controllers of a real server may add a ConfigMap.
        seen.retain(|(_, name)| name != "kube-root-ca.crt");
        assert_eq!(seen, [added("a"), added("b")]);
        bench.api.create(&maps, &config_map("c", &[])).await.expect(201);
        let event = watch.event().await;
        assert_eq!((event.kind.as_str(), event.name()), ("ADDED", "c"));
    });
}

#[test]
fn tables_metadata_and_single_objects_are_the_servers() {
    host_fact(async |bench| {
        let collection = format!("/apis/apps/v1/namespaces/{}/deployments", bench.namespace);
        bench.api.create(&collection, &deployment("web", 2)).await.expect(201);
        let host = bench.start(&[]).await;
        let cached = api(&host);
        let one = format!("{collection}/web");
        let (theirs, ours) =
            (bench.api.get(&one).await.expect(200), cached.get(&one).await.expect(200));
        assert_eq!(ours, cut(theirs));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cells = |table: &Value| -> Vec<Value> {
            let rows = table["rows"].as_array().expect("rows").iter();
            rows.map(|row| json!([row["cells"][0], row["cells"][1], row["object"]["kind"]]))
                .collect()
        };
        let columns = |table: &Value| -> Vec<Value> {
            let columns = table["columnDefinitions"].as_array().expect("columns").iter();
            columns.map(|column| column["name"].clone()).collect()
        };
        let (theirs, ours) = (
            bench.api.get_as(&collection, table).await.expect(200),
            cached.get_as(&collection, table).await.expect(200),
        );
        assert_eq!((columns(&ours), cells(&ours)), (columns(&theirs), cells(&theirs)));
        let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
        let ours = cached.get_as(&collection, metadata).await.expect(200);
        assert_eq!(ours["kind"], "PartialObjectMetadataList");
        assert_eq!(ours["items"][0]["metadata"]["name"], "web");
        assert_eq!(ours["items"][0]["spec"], Value::Null);
    });
}

#[test]
fn discovery_is_the_clusters_without_secrets_and_writes() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let cached = api(&host);
        let resources = |list: Value| -> Vec<Value> {
            let all = list["resources"].as_array().expect("resources").clone();
            all.into_iter()
                .filter(|one| !one["name"].as_str().is_some_and(|n| n.contains('/')))
                .collect()
        };
        for path in ["/api/v1", "/apis/apps/v1", "/apis/networking.k8s.io/v1"] {
            let theirs = resources(bench.api.get(path).await.expect(200));
            let ours = resources(cached.get(path).await.expect(200));
            let followed = |one: &&Value| {
                let has = |verb| one["verbs"].as_array().is_some_and(|v| v.contains(&json!(verb)));
                has("list") && has("watch") && one["name"] != "secrets"
            };
            let theirs: Vec<&Value> = theirs.iter().filter(followed).collect();
            assert_eq!(ours.len(), theirs.len(), "{path}");
            for (ours, theirs) in ours.iter().zip(theirs) {
                for key in
                    ["name", "singularName", "kind", "namespaced", "shortNames", "categories"]
                {
                    assert_eq!(ours[key], theirs[key], "{path} {key}");
                }
                assert_eq!(ours["verbs"], json!(["get", "list", "watch"]), "{path}");
            }
        }
        for path in ["/api", "/apis", "/apis/apps", "/version", "/openapi/v3"] {
            cached.get(path).await.expect(200);
        }
    });
}

/// The columns of a custom resource come from its definition.
#[test]
fn a_custom_resource_is_served_from_its_definition_on() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let cached = api(&host);
        let path = "/apis/late.example.com/v1/gadgets";
        cached.get(path).await.expect_status(404, "NotFound");
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.late.example.com"},
            "spec": {
                "group": "late.example.com", "scope": "Namespaced",
                "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
                }],
            },
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        bench.api.create(definitions, &definition).await.expect(201);
        let gadgets = format!("/apis/late.example.com/v1/namespaces/{}/gadgets", bench.namespace);
        let gadget = json!({
            "apiVersion": "late.example.com/v1", "kind": "Gadget",
            "metadata": {"name": "one"}, "spec": {"color": "red"},
        });
        let made = async || (bench.api.create(&gadgets, &gadget).await.status == 201).then_some(());
        poll::until("the resource to be served", LINES_DEADLINE, made).await.unwrap();
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let shown = async || {
            let answer = cached.get_as(path, table).await;
            (answer.status == 200).then(|| answer.json())
        };
        let shown = poll::until("the resource in the cache", LINES_DEADLINE, shown).await.unwrap();
        assert_eq!(shown["columnDefinitions"][1]["name"], "Color");
        assert_eq!(shown["rows"][0]["cells"], json!(["one", "red"]));
        let list = cached.get(path).await.expect(200);
        assert_eq!(
            (&list["kind"], &list["items"][0]["kind"]),
            (&json!("GadgetList"), &json!("Gadget"))
        );
    });
}
