//! Plugins that write to the cluster: granted writes arrive, and no others.

use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact};
use informant_e2e::host::{Host, Line};
use informant_e2e::poll;
use serde_json::{Value, json};

/// A host whose own file has these settings for `writer`, and a pod for it to write about.
async fn started(bench: &HostBench<'_>, settings: &str) -> (Host, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let own = directory.path().join("informant.yaml");
    let text = format!("{HEAD}HostConfiguration\nplugins: {{writer: {{{settings}}}}}\n");
    std::fs::write(&own, text).expect("a file");
    bench.drop_plugin("writer", "writer");
    let host = bench.start(&["--config", &own.display().to_string()]).await;
    bench.create_pods(&["writer".to_owned()]).await;
    (host, directory)
}

/// Grants for all writes of `writer` in the fact's namespace.
pub fn grants(bench: &HostBench<'_>) -> String {
    let namespace = &bench.namespace;
    let rule = |resource: &str, verbs: &str| {
        format!("{{resources: [{resource}], verbs: [{verbs}], namespaces: [{namespace}]}}")
    };
    let rules = [
        rule("v1/pods", "patch, create"),
        rule("v1/configmaps", "create, update, delete"),
        rule("events.k8s.io/v1/events", "create"),
    ];
    format!("writes: [{}]", rules.join(", "))
}

/// Checks the guest's line about this.
#[track_caller]
fn check_said(host: &Host, what: &str, expect: &str) {
    let lines = host.lines_of("writer");
    let begin = format!("{what}: ");
    let said = lines.iter().find_map(|line| line.message().strip_prefix(&begin));
    assert!(said.is_some_and(|said| said.contains(expect)), "{what}: {said:?}");
}

#[test]
fn writes_arrive_and_refusals_reach_the_plugin() {
    host_fact(async |bench| {
        let (host, _directory) = started(&bench, &grants(&bench)).await;
        let wrote = |line: &Line| line.message().starts_with("wrote about ");
        host.await_line("the guest to have written", LINES_DEADLINE, wrote).await.unwrap();
        let pod = bench.api.get(&format!("{}/writer", bench.pods())).await.expect(200);
        for label in ["merge", "json", "strategic", "apply"] {
            assert_eq!(pod["metadata"]["labels"][label], "yes", "{pod}");
        }
        let path = format!("/api/v1/namespaces/{}/configmaps/writer", bench.namespace);
        let made = bench.api.get(&path).await.expect(200);
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], pod["metadata"]["uid"]);
        assert_eq!(made["data"]["seen"], "yes");
        check_said(&host, "again", "409 AlreadyExists");
        check_said(&host, "late", "409 Conflict");
        check_said(&host, "other", "409 Conflict");
        check_said(&host, "secret", "not granted: to delete v1/secrets");
        check_said(&host, "elsewhere", "not granted: to delete v1/configmaps in kube-system");
        check_said(&host, "trick", "cannot be the name of a namespace");
        let metrics = host.get("/metrics").expect("an answer").body;
        let line = r#"informant_plugin_cluster_writes_total{plugin="writer",verb="patch",resource="v1/pods",result="ok"} 4"#;
        assert!(metrics.contains(line), "{metrics}");

        let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", bench.namespace);
        let found = async || {
            let list = bench.api.get(&events).await.expect(200);
            let items = list["items"].as_array().cloned().unwrap_or_default();
            items.into_iter().find(|event: &Value| event["reason"] == "Written")
        };
        let event = poll::until("the Kubernetes Event", LINES_DEADLINE, found).await.unwrap();
        assert_eq!(event["regarding"]["uid"], pod["metadata"]["uid"], "{event}");
        assert_eq!(event["reportingController"], "informant.dev/writer");
    });
}

#[test]
fn dry_run_changes_nothing() {
    host_fact(async |bench| {
        let settings = format!("dryRun: true, {}", grants(&bench));
        let (host, _directory) = started(&bench, &settings).await;
        let tried = |line: &Line| {
            line.message().starts_with("dry run: create ")
                && line.message().ends_with("it would be done")
        };
        host.await_line("a create to be tried", LINES_DEADLINE, tried).await.unwrap();
        let path = format!("/api/v1/namespaces/{}/configmaps/writer", bench.namespace);
        bench.api.get(&path).await.expect_status(404, "NotFound");
        let pod = bench.api.get(&format!("{}/writer", bench.pods())).await.expect(200);
        assert!(pod["metadata"]["labels"].get("merge").is_none(), "{pod}");
    });
}

/// The cache removes the annotation, and `kubectl apply` needs it.
#[test]
fn an_update_of_what_the_cache_handed_out_takes_no_annotation_from_an_object() {
    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    host_fact(async |bench| {
        let namespace = &bench.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        for (name, annotations) in [("applied", json!({LAST_APPLIED: "{}"})), ("made", json!({}))] {
            let metadata = json!({"name": name, "annotations": annotations});
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            bench.api.create(&path, &object).await.expect(201);
        }
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let config = format!(
            "{{as: handler, resource: v1/configmaps, namespace: {namespace}, mood: replaces}}"
        );
        let writes = "[{resources: [v1/configmaps], verbs: [update]}]";
        let text = format!(
            "{HEAD}HostConfiguration\nplugins: {{moods: {{config: {config}, writes: {writes}}}}}\n"
        );
        std::fs::write(&own, text).expect("a file");
        bench.drop_plugin("moods", "moods");
        let host = bench.start(&["--config", &own.display().to_string()]).await;
        let refused = |line: &Line| {
            line.field("name") == Some("applied")
                && line.message().contains("gave up")
                && line.message().contains("which the cache leaves out")
        };
        host.await_line("the update to be refused", LINES_DEADLINE, refused).await.unwrap();
        let applied = bench.api.get(&format!("{path}/applied")).await.expect(200);
        assert_eq!(applied["metadata"]["annotations"][LAST_APPLIED], "{}", "{applied}");
        assert!(applied.get("data").is_none(), "{applied}");
        let replaced = async || {
            let made = bench.api.get(&format!("{path}/made")).await.expect(200);
            (made["data"]["replaced"] == "yes").then_some(())
        };
        poll::until("the other to be replaced", LINES_DEADLINE, replaced).await.unwrap();
    });
}
