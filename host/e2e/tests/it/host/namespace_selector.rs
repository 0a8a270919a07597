//! Plugins for namespaces with some labels: objects enter and leave a view as the labels of their namespace change.

use std::collections::BTreeMap;

use informant_e2e::api::Patch;
use informant_e2e::cluster::{ClusterKind, TestCluster, User};
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

use crate::bench::{config_map, labelled_pod};
use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact, pod_names, told,
};
use crate::host::namespaces::printed;

const NAME: &str = "event-printer";
/// A namespace that the fact creates and deletes.
const OTHER: &str = "other-team";

/// Puts event-printer into the directory, for namespaces of the team `shop`.
fn drop_plugin(bench: &HostBench<'_>, more: &str) {
    configure(bench, &format!("namespaceLabels: team=shop{more}"));
    bench.drop_plugin(NAME, NAME);
}

/// Writes event-printer's configuration, which grants it namespaces of the team `shop` alone.
fn configure(bench: &HostBench<'_>, config: &str) {
    let reads = "[{resources: [v1/pods], namespaceSelector: team=shop}]";
    let text = format!("{HEAD}PluginConfiguration\nconfig: {{{config}}}\nreads: {reads}\n");
    std::fs::write(bench.plugins.join(format!("{NAME}.yaml")), text).expect("a file");
}

async fn label(bench: &HostBench<'_>, namespace: &str, team: Value) {
    let path = format!("/api/v1/namespaces/{namespace}");
    let patch = json!({"metadata": {"labels": {"team": team}}});
    bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
}

/// The changes of each pod. The API server may update a pod before it deletes the pod: such an update is left out.
fn told_of(host: &Host, namespace: &str) -> BTreeMap<String, Vec<String>> {
    let mut told = told(&host.lines_of(NAME), namespace);
    for changes in told.values_mut() {
        let is_updated = changes.ends_with(&["updated".to_owned(), "deleted".to_owned()]);
        if is_updated {
            changes.remove(changes.len() - 2);
        }
    }
    told
}

/// Waits until the plugin has got these changes of the pods of a namespace, and no others.
async fn await_told(host: &Host, namespace: &str, expect: &[(&str, &[&str])]) {
    let expect: BTreeMap<String, Vec<String>> = expect
        .iter()
        .map(|(name, told)| ((*name).to_owned(), told.iter().map(|it| (*it).to_owned()).collect()))
        .collect();
    let all = || told_of(host, namespace);
    let is_so = async || (all() == expect).then_some(());
    if let Err(error) = poll::until("the plugin to be told", LINES_DEADLINE, is_so).await {
        panic!("{error}: {:?} instead of {expect:?}; last lines:\n{}", all(), host.tail());
    }
}

/// Deletes a namespace. A real API server keeps it until a controller has emptied it; without one, this request ends it
/// with its pods left.
async fn delete_namespace(bench: &HostBench<'_>, name: &str) {
    let path = format!("/api/v1/namespaces/{name}");
    bench.api.delete(&path).await.expect(200);
    if bench.cluster.kind() == ClusterKind::Embedded {
        return;
    }
    let mut namespace = bench.api.get(&path).await.expect(200);
    namespace["spec"]["finalizers"] = json!([]);
    bench.api.update(&format!("{path}/finalize"), &namespace).await.expect(200);
}

#[test]
fn objects_are_told_as_they_enter_and_leave_with_the_labels_of_their_namespace() {
    host_fact(async |bench| {
        let namespace = bench.namespace.clone();
        drop_plugin(&bench, "");
        bench.create_pods(&pod_names(0..2)).await;
        let other = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": OTHER, "labels": {"team": "shop"}},
        });
        bench.api.create("/api/v1/namespaces", &other).await.expect(201);
        let pods = format!("/api/v1/namespaces/{OTHER}/pods");
        bench.api.create(&pods, &labelled_pod("there", &[])).await.expect(201);
        let host = bench.start(&[]).await;
        await_told(&host, OTHER, &[("there", &["added"])]).await;
        await_told(&host, &namespace, &[]).await;

        label(&bench, &namespace, json!("shop")).await;
        let both = |told: &'static [&'static str]| [("pod-0000", told), ("pod-0001", told)];
        await_told(&host, &namespace, &both(&["added"])).await;
        bench.delete_pods(&pod_names(1..2)).await;
        let first = ("pod-0000", &["added"] as &[&str]);
        let second = ("pod-0001", &["added", "deleted"] as &[&str]);
        await_told(&host, &namespace, &[first, second]).await;
        label(&bench, &namespace, Value::Null).await;
        let first = ("pod-0000", &["added", "deleted"] as &[&str]);
        await_told(&host, &namespace, &[first, second]).await;

        // Changes outside of the view are not told, and the present objects are when they are back in it.
        bench.label_pods(&pod_names(0..1)).await;
        bench.create_pods(&pod_names(2..3)).await;
        // The watches of pods and of namespaces have no order between them.
        let labelled = format!("/core/v1/namespaces/{namespace}/pods?labels[app]=labelled");
        let has_change = async || {
            let answer = host.get(&labelled).ok()?.json();
            (answer["msg"].as_array()?.len() == 1).then_some(())
        };
        poll::until("the changed pod in the cache", LINES_DEADLINE, has_change)
            .await
            .expect("a change");
        label(&bench, &namespace, json!("shop")).await;
        let first = ("pod-0000", &["added", "deleted", "added"] as &[&str]);
        let third = ("pod-0002", &["added"] as &[&str]);
        await_told(&host, &namespace, &[first, second, third]).await;

        delete_namespace(&bench, OTHER).await;
        await_told(&host, OTHER, &[("there", &["added", "deleted"])]).await;
        await_told(&host, &namespace, &[first, second, third]).await;
        let plugin = host.plugin(NAME).expect("it is there");
        assert_eq!(plugin["subscriptions"][0]["namespaceSelector"], "team=shop", "{plugin}");
    });
}

/// A host that may not list namespaces says so, and begins once it may. Facts share the users of a real API server, and
/// another one may have granted them namespaces.
#[test]
fn a_host_without_the_right_to_namespaces_says_so_and_begins_with_it() {
    host_fact(async |bench| {
        let namespace = bench.namespace.clone();
        drop_plugin(&bench, &format!(", namespaces: [{namespace}]"));
        let documents = printed(&bench);
        let of_namespaces = |document: &&String| document.contains("kind: ClusterRole");
        assert_eq!(documents.iter().filter(of_namespaces).count(), 2, "{documents:?}");
        let TestCluster::Embedded(cluster) = &*bench.cluster else { return };
        let faults = cluster.dev_cluster().faults();
        faults.forbid(User::Reader.name(), "namespaces", None);
        label(&bench, &namespace, json!("shop")).await;
        bench.create_pods(&pod_names(0..1)).await;
        let host = bench.start_unready(User::Reader, &[]).await;
        let says = |plugin: &Value| {
            let why = plugin["why"].to_string();
            why.contains("v1/namespaces is forbidden")
        };
        host.await_plugin(NAME, "WHY to have the namespaces", says).await.unwrap();
        let query = format!("/why?kind=pods&namespace={namespace}&name=pod-0000&plugin={NAME}");
        let why = host.get(&query).expect("an answer").json();
        let refusals = &why["plugins"][0]["subscriptions"][0]["refusals"];
        assert_eq!(refusals[0]["question"], "informer", "{why}");
        assert!(refusals.to_string().contains("v1/namespaces is forbidden"), "{why}");
        await_told(&host, &namespace, &[]).await;
        faults.allow(User::Reader.name(), "namespaces", None);
        await_told(&host, &namespace, &[("pod-0000", &["added"])]).await;
    });
}

/// A plugin that asks for namespaces with other labels than its grant waits, and goes on once it asks for those.
#[test]
fn a_read_is_granted_to_a_plugin_that_asks_for_its_labels() {
    host_fact(async |bench| {
        label(&bench, &bench.namespace, json!("shop")).await;
        bench.create_pods(&pod_names(0..1)).await;
        bench.drop_plugin(NAME, NAME);
        let of_api = ("namespaceLabels: team=api", "v1/pods in namespaces with team=api,");
        for (config, asked) in [("", "v1/pods,"), of_api] {
            configure(&bench, config);
            let host = bench.start(&[]).await;
            let refused = |plugin: &Value| {
                let reason = plugin["lastLoad"]["reason"].as_str().unwrap_or_default();
                reason.starts_with(&format!("it asks to read {asked}"))
            };
            host.await_plugin(NAME, "a refusal", refused).await.unwrap();
            configure(&bench, "namespaceLabels: 'tier!=db,team=shop'");
            await_told(&host, &bench.namespace, &[("pod-0000", &["added"])]).await;
        }
    });
}

/// A write is granted in the namespaces that have the label at that moment.
#[test]
fn a_grant_by_labels_comes_and_goes_with_the_labels() {
    host_fact(async |bench| {
        let namespace = &bench.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let directory = tempfile::tempdir().expect("a directory");
        let own = directory.path().join("informant.yaml");
        let config = format!(
            "{{as: handler, resource: v1/configmaps, namespace: {namespace}, mood: replaces}}"
        );
        let writes =
            "[{resources: [v1/configmaps], verbs: [update], namespaceSelector: team=shop}]";
        let text = format!(
            "{HEAD}HostConfiguration\nplugins: {{moods: {{config: {config}, writes: {writes}}}}}\n"
        );
        std::fs::write(&own, text).expect("a file");
        bench.api.create(&path, &config_map("first", &[])).await.expect(201);
        bench.drop_plugin("moods", "moods");
        let host = bench.start(&["--config", &own.display().to_string()]).await;
        let refused = |plugin: &Value| {
            let why = plugin["why"].to_string();
            why.contains("namespaceSelector: the labels of namespace")
        };
        host.await_plugin("moods", "the write to be refused", refused).await.unwrap();
        let replaced = async |name: &str| {
            let made = bench.api.get(&format!("{path}/{name}")).await.expect(200);
            (made["data"]["replaced"] == "yes").then_some(())
        };
        assert!(replaced("first").await.is_none());
        label(&bench, namespace, json!("shop")).await;
        let what = "the object to be replaced";
        poll::until(what, LINES_DEADLINE, async || replaced("first").await).await.unwrap();
        label(&bench, namespace, json!("office")).await;
        let is_seen = async || {
            let seen = host.get("/core/v1/namespaces").expect("an answer").body;
            seen.contains("office").then_some(())
        };
        poll::until("the host to see the label", LINES_DEADLINE, is_seen).await.unwrap();
        bench.api.create(&path, &config_map("second", &[])).await.expect(201);
        host.await_plugin("moods", "the next write to be refused", refused).await.unwrap();
        assert!(replaced("second").await.is_none());
    });
}
