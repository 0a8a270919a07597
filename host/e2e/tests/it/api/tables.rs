//! The requests of `kubectl get`.

use serde_json::{Value, json};

use crate::bench::{config_map, deployment, fact, pod};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

fn columns(table: &Value, priority: u64) -> Vec<String> {
    let definitions = table["columnDefinitions"].as_array().expect("columnDefinitions");
    definitions
        .iter()
        .filter(|column| column["priority"] == priority)
        .map(|column| column["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn pods_have_the_columns_kubectl_shows() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        let table = bench.api.get_as(&bench.core("pods"), TABLE).await.expect(200);
        assert_eq!(
            (&table["kind"], &table["apiVersion"]),
            (&json!("Table"), &json!("meta.k8s.io/v1"))
        );
        assert_eq!(columns(&table, 0), ["Name", "Ready", "Status", "Restarts", "Age"]);
        assert_eq!(columns(&table, 1), ["IP", "Node", "Nominated Node", "Readiness Gates"]);
        let row = &table["rows"][0];
        let cells = row["cells"].as_array().expect("cells");
        assert_eq!(cells[..3], [json!("web-1"), json!("0/1"), json!("Pending")]);
        assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(row["object"]["metadata"]["name"], "web-1");
        assert!(table["metadata"]["resourceVersion"].is_string(), "{table}");
    });
}

#[track_caller]
fn check_columns(path: &'static str, expect: &'static [&'static str]) {
    fact(async |bench| {
        let path = path.replace("NAMESPACE", &bench.namespace);
        let table = bench.api.get_as(&path, TABLE).await.expect(200);
        assert_eq!(columns(&table, 0), expect, "{path}");
    });
}

#[test]
fn deployments_have_their_columns() {
    let expect = &["Name", "Ready", "Up-to-date", "Available", "Age"];
    check_columns("/apis/apps/v1/namespaces/NAMESPACE/deployments", expect);
}

#[test]
fn replica_sets_have_their_columns() {
    let expect = &["Name", "Desired", "Current", "Ready", "Age"];
    check_columns("/apis/apps/v1/namespaces/NAMESPACE/replicasets", expect);
}

#[test]
fn services_have_their_columns() {
    let expect = &["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"];
    check_columns("/api/v1/namespaces/NAMESPACE/services", expect);
}

#[test]
fn nodes_have_their_columns() {
    check_columns("/api/v1/nodes", &["Name", "Status", "Roles", "Age", "Version"]);
}

#[test]
fn namespaces_have_their_columns() {
    check_columns("/api/v1/namespaces", &["Name", "Status", "Age"]);
}

#[test]
fn config_maps_have_their_columns() {
    check_columns("/api/v1/namespaces/NAMESPACE/configmaps", &["Name", "Data", "Age"]);
}

#[test]
fn jobs_have_their_columns() {
    let expect = &["Name", "Status", "Completions", "Duration", "Age"];
    check_columns("/apis/batch/v1/namespaces/NAMESPACE/jobs", expect);
}

#[test]
fn one_object_is_a_table_of_one_row() {
    fact(async |bench| {
        bench.create(&bench.apps("deployments"), &deployment("web", 3)).await;
        let table = bench.api.get_as(&bench.apps("deployments/web"), TABLE).await.expect(200);
        let rows = table["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 1);
        let cells = rows[0]["cells"].as_array().expect("cells");
        assert_eq!(cells[..4], [json!("web"), json!("0/3"), json!(0), json!(0)]);
    });
}

#[test]
fn whole_object_or_none_comes_with_a_row_as_asked() {
    fact(async |bench| {
        let object = config_map("settings", &[("colour", "blue")]);
        bench.create(&bench.core("configmaps"), &object).await;
        let path = bench.core("configmaps");
        let table = bench.api.get_as(&format!("{path}?includeObject=Object"), TABLE).await;
        assert_eq!(table.expect(200)["rows"][0]["object"]["data"]["colour"], "blue");
        let table = bench.api.get_as(&format!("{path}?includeObject=None"), TABLE).await;
        assert!(table.expect(200)["rows"][0]["object"].is_null());
    });
}

#[test]
fn watch_of_tables_tells_its_columns_once() {
    fact(async |bench| {
        bench.create(&bench.core("pods"), &pod("web-1")).await;
        bench.create(&bench.core("pods"), &pod("web-2")).await;
        let path = format!("{}?watch=true", bench.core("pods"));
        let mut events = bench.api.watch_as(&path, TABLE).await.expect("a watch");
        let first = events.event().await.object;
        assert_eq!(first["kind"], "Table");
        assert_eq!(first["rows"][0]["cells"][0], "web-1");
        assert!(!columns(&first, 0).is_empty());
        let second = events.event().await.object;
        assert_eq!(second["rows"][0]["cells"][0], "web-2");
        assert!(second["columnDefinitions"].as_array().is_none_or(Vec::is_empty), "{second}");
    });
}

#[test]
fn errors_are_statuses_even_when_a_table_was_asked_for() {
    fact(async |bench| {
        let reply = bench.api.get_as(&bench.core("pods/nobody"), TABLE).await;
        reply.expect_status(404, "NotFound");
    });
}
