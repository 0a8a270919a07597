//! `plugins/node-watcher`: logs changes of nodes once, and ignores heartbeats.

use informant_e2e::api::Patch;
use informant_e2e::poll;
use serde_json::{Value, json};

use super::{Shipped, measured, shipped_fact, with_config};
use crate::bench::pod;
use crate::host::bench::LINES_DEADLINE;

const NODES: &str = "/api/v1/nodes";

fn node(name: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"conditions": conditions(ready, "2026-01-01T00:00:00Z")},
    })
}

fn conditions(ready: &str, heard: &str) -> Value {
    json!([
        {"type": "DiskPressure", "status": "False", "lastHeartbeatTime": heard},
        {"type": "Ready", "status": ready, "reason": "Because", "message": "it is so", "lastHeartbeatTime": heard},
    ])
}

async fn patch(shipped: &Shipped<'_>, path: &str, patch: Value) {
    shipped.bench.api.patch(path, Patch::Merge, &patch).await.expect(200);
}

/// Creates a pod that runs on the node.
async fn create_pod(shipped: &Shipped<'_>, node: &str) -> String {
    let mut web = pod("web");
    web["spec"]["nodeName"] = node.into();
    shipped.bench.api.create(&shipped.bench.pods(), &web).await.expect(201);
    format!("{}/web", shipped.bench.pods())
}

#[test]
fn nodes_are_told_of_and_heartbeats_are_not() {
    let edit = |text: String| with_config(&text, &["drainCheck: 1s"]);
    shipped_fact("node-watcher", "go", edit, async |shipped| {
        shipped.configure("");
        let api = &shipped.bench.api;
        api.create(NODES, &node("before", "False")).await.expect(201);
        let host = shipped.start(&[]).await;
        shipped.says(&host, &["watching nodes", "not-ready=before"]).await;
        shipped.says(&host, &["node before: not-ready"]).await;

        api.create(NODES, &node("later", "True")).await.expect(201);
        shipped.says(&host, &["node later joined, ready"]).await;
        let status = format!("{NODES}/later/status");
        let beat = conditions("True", "2026-01-01T00:05:00Z");
        patch(&shipped, &status, json!({"status": {"conditions": beat}})).await;
        let down = conditions("False", "2026-01-01T00:06:00Z");
        patch(&shipped, &status, json!({"status": {"conditions": down}})).await;
        shipped.says(&host, &["node later is not ready", "why=it is so"]).await;

        let web = create_pod(&shipped, "later").await;
        let later = format!("{NODES}/later");
        patch(&shipped, &later, json!({"spec": {"unschedulable": true}})).await;
        shipped.says(&host, &["node later is cordoned"]).await;
        shipped.says(&host, &["node later is not empty yet", "pods=1"]).await;
        api.delete_with(&web, &json!({"gracePeriodSeconds": 0})).await;
        shipped.says(&host, &["node later is drained"]).await;
        patch(&shipped, &later, json!({"spec": {"unschedulable": null}})).await;
        shipped.says(&host, &["node later is uncordoned"]).await;
        api.delete(&later).await;
        shipped.says(&host, &["node later is gone"]).await;

        let lines = host.lines_of("node-watcher");
        let told = lines.iter().filter(|line| line.message().starts_with("node later "));
        let told: Vec<&str> = told.map(|line| &line.message()["node later ".len()..]).collect();
        let expect = [
            "joined, ready",
            "is not ready",
            "is cordoned",
            "is not empty yet",
            "is drained",
            "is uncordoned",
            "is gone",
        ];
        assert_eq!(told, expect);
        for (series, words, expect) in [
            ("node_watcher_nodes", ["state=\"not-ready\""], 1),
            ("node_watcher_changes_total", ["change=\"cordoned\""], 1),
            // The host did not call the plugin for the heartbeat.
            ("informant_plugin_events_total", ["result=\"ok\""], 5),
        ] {
            let what = format!("{series} {words:?} to be {expect}");
            let is = async || (measured(&host, series, &words)? == expect).then_some(());
            poll::until(&what, LINES_DEADLINE, is).await.unwrap();
        }
    });
}
