//! `plugins/config-reloader`: rolls a workload once when its mounted configuration changes, and not on dry runs of
//! writes.

use informant_e2e::api::Patch;
use informant_e2e::poll;
use serde_json::{Value, json};

use super::{Shipped, shipped_fact, with_config};
use crate::bench::{config_map, deployment};
use crate::host::bench::LINES_DEADLINE;

const NAME: &str = "config-reloader";
const SEEN: &str = "/metadata/annotations/informant.dev~1reload-seen";
const ROLLED: &str = "/spec/template/metadata/annotations/informant.dev~1reload-hash";

/// The lines for the host's own file, from the README.
const CEILING: &str = "ceiling:\n  writes: [{resources: [apps/v1/deployments, apps/v1/statefulsets, apps/v1/daemonsets], verbs: [patch]}]\n";

fn collection(shipped: &Shipped<'_>, group: &str, resource: &str) -> String {
    format!("/{group}/namespaces/{}/{resource}", shipped.bench.namespace)
}

/// Creates a ConfigMap, and the Deployment `web` that mounts it and asks to be rolled.
async fn create(shipped: &Shipped<'_>) {
    let api = &shipped.bench.api;
    let config_maps = collection(shipped, "api/v1", "configmaps");
    api.create(&config_maps, &config_map("settings", &[("a", "1")])).await.expect(201);
    let mut web = deployment("web", 1);
    web["metadata"]["annotations"] = json!({"informant.dev/reload": "auto"});
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "settings", "configMap": {"name": "settings"}}]);
    api.create(&collection(shipped, "apis/apps/v1", "deployments"), &web).await.expect(201);
}

async fn change(shipped: &Shipped<'_>, value: &str) {
    let path = format!("{}/settings", collection(shipped, "api/v1", "configmaps"));
    shipped.bench.api.patch(&path, Patch::Merge, &json!({"data": {"a": value}})).await.expect(200);
}

async fn web(shipped: &Shipped<'_>) -> Value {
    let path = format!("{}/web", collection(shipped, "apis/apps/v1", "deployments"));
    shipped.bench.api.get(&path).await.expect(200)
}

/// Waits until the Deployment has another value at this pointer. Returns the value.
async fn await_other(shipped: &Shipped<'_>, pointer: &str, than: &Value) -> Value {
    let what = format!("{pointer} to be other than {than}");
    let other = async || {
        let found = web(shipped).await.pointer(pointer).cloned().unwrap_or_default();
        (found != *than).then_some(found)
    };
    poll::until(&what, LINES_DEADLINE, other).await.unwrap()
}

#[test]
fn a_deployment_is_rolled_when_what_it_mounts_changes() {
    let edit = |text: String| with_config(&text, &["settle: 0s"]);
    shipped_fact(NAME, "go", edit, async |shipped| {
        shipped.configure(CEILING);
        create(&shipped).await;
        let host = shipped.start(&[]).await;
        let seen = await_other(&shipped, SEEN, &Value::Null).await;
        assert_eq!(web(&shipped).await.pointer(ROLLED), None, "it is followed, and not rolled");
        change(&shipped, "2").await;
        let first = await_other(&shipped, ROLLED, &Value::Null).await;
        assert_ne!(web(&shipped).await.pointer(SEEN), Some(&seen));
        shipped.says(&host, &["rolled deployments ", "configmap/settings"]).await;
        // The plugin catches up on changes from the time without a host, and repeats no work.
        drop(host);
        let host = shipped.start(&[]).await;
        change(&shipped, "1").await;
        await_other(&shipped, ROLLED, &first).await;
        assert_eq!(web(&shipped).await.pointer(SEEN), Some(&seen));
        shipped.says(&host, &["rolled deployments "]).await;
        let lines = host.lines_of(NAME);
        let rolled = lines.iter().filter(|line| line.message().starts_with("rolled ")).count();
        assert_eq!(rolled, 1, "{lines:?}");
    });
}

#[test]
fn what_changed_while_no_host_ran_is_made_up_for() {
    let edit = |text: String| with_config(&text, &["settle: 0s"]);
    shipped_fact(NAME, "go", edit, async |shipped| {
        shipped.configure(CEILING);
        create(&shipped).await;
        let host = shipped.start(&[]).await;
        await_other(&shipped, SEEN, &Value::Null).await;
        drop(host);
        change(&shipped, "2").await;
        let _host = shipped.start(&[]).await;
        await_other(&shipped, ROLLED, &Value::Null).await;
    });
}

#[test]
fn where_writes_are_only_tried_nothing_is_rolled() {
    let edit = |text: String| text.replacen("# dryRun: true", "dryRun: true", 1);
    shipped_fact(NAME, "go", edit, async |shipped| {
        shipped.configure(CEILING);
        create(&shipped).await;
        let host = shipped.start(&[]).await;
        shipped.says(&host, &["web is followed"]).await;
        assert_eq!(web(&shipped).await.pointer(SEEN), None);
    });
}

/// The lines for the host's own file for Secrets, from the README, without a wait.
const SECRETS: &str = "plugins:
  config-reloader:
    config: {secrets: true, settle: 0s}
    reads: [{resources: [v1/configmaps, v1/secrets, apps/v1/deployments, apps/v1/statefulsets, apps/v1/daemonsets]}]
    writes: [{resources: [apps/v1/deployments, apps/v1/statefulsets, apps/v1/daemonsets], verbs: [patch]}]
";

#[test]
fn a_deployment_is_rolled_when_a_secret_changes_where_that_is_granted() {
    shipped_fact(
        NAME,
        "go",
        |text| text,
        async |shipped| {
            shipped.configure(SECRETS);
            create(&shipped).await;
            let secrets = collection(&shipped, "api/v1", "secrets");
            let secret = json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"a": "MQ=="},
            });
            shipped.bench.api.create(&secrets, &secret).await.expect(201);
            let asks = json!({"informant.dev/reload": "auto, secret/key"});
            let web = format!("{}/web", collection(&shipped, "apis/apps/v1", "deployments"));
            let patch = json!({"metadata": {"annotations": asks}});
            shipped.bench.api.patch(&web, Patch::Merge, &patch).await.expect(200);
            let host = shipped.start(&[]).await;
            await_other(&shipped, SEEN, &Value::Null).await;
            let path = format!("{secrets}/key");
            let patch = json!({"data": {"a": "Mg=="}});
            shipped.bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
            shipped.says(&host, &["rolled deployments ", "secret/key"]).await;
            await_other(&shipped, ROLLED, &Value::Null).await;
        },
    );
}

#[test]
fn without_the_ceiling_it_says_what_is_missing() {
    shipped_fact(
        NAME,
        "go",
        |text| text,
        async |shipped| {
            shipped.configure("");
            let looked = shipped.check();
            let why = looked["notGranted"].as_str().unwrap_or_default();
            let names = why.contains("patch apps/v1/deployments") && why.contains("--config");
            assert!(names, "{looked}");
        },
    );
}
