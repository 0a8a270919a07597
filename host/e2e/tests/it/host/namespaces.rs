//! A plugin for some namespaces: the host lists and watches only those, and needs no other permissions.

use http::{Method, header};
use informant_e2e::cluster::{ClusterKind, User};
use informant_e2e::host::{Host, run_to_end};
use serde_json::Value;

use crate::bench::labelled_pod;
use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, await_told, host_fact, pod_names, told,
};

const RBAC: &str = "rbac.authorization.k8s.io";
const NAME: &str = "event-printer";

/// The output of `rbac` for the plugin, for the user of this host.
pub fn printed(bench: &HostBench<'_>) -> Vec<String> {
    let plugin = bench.plugins.join(format!("{NAME}.wasm")).display().to_string();
    let arguments = ["rbac", &plugin, "--name", NAME];
    let output = run_to_end(&bench.program, &arguments).expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it is text");
    let subject = "- kind: ServiceAccount\n  name: \"informant\"\n  namespace: \"default\"";
    let user = format!("- apiGroup: {RBAC}\n  kind: User\n  name: {}", User::Reader.name());
    text.replace(subject, &user).split("---\n").map(str::to_owned).collect()
}

/// Creates the printed objects, which must be for the fact's namespace alone.
async fn allow(bench: &HostBench<'_>) {
    let documents = printed(bench);
    assert_eq!(documents.len(), 2, "{documents:?}");
    for (document, kind) in documents.iter().zip(["roles", "rolebindings"]) {
        assert!(!document.contains("kind: ClusterRole"), "{document}");
        let namespace = &bench.namespace;
        let path = format!("/apis/{RBAC}/v1/namespaces/{namespace}/{kind}?fieldValidation=Strict");
        let yaml = [(header::CONTENT_TYPE, "application/yaml")];
        let body = document.as_bytes().to_vec();
        let made = bench.api.call(Method::POST, &path, &yaml, body).await;
        assert_eq!(made.status, 201, "{document}: {}", String::from_utf8_lossy(&made.body));
    }
}

fn state(host: &Host) -> Value {
    host.plugin(NAME).unwrap()["subscriptions"][0]["informer"]["state"].clone()
}

#[test]
fn a_plugin_of_one_namespace_runs_with_a_role_there_and_is_told_of_nothing_else() {
    host_fact(async |bench| {
        let namespace = &bench.namespace;
        let text = format!("{HEAD}PluginConfiguration\nconfig: {{namespaces: [{namespace}]}}\n");
        std::fs::write(bench.plugins.join(format!("{NAME}.yaml")), text).expect("a file");
        bench.drop_plugin(NAME, NAME);
        let has_roles = bench.cluster.kind() != ClusterKind::Embedded;
        if has_roles {
            allow(&bench).await;
        }
        bench.create_pods(&pod_names(0..2)).await;
        let elsewhere = labelled_pod("elsewhere", &[("app", "web")]);
        bench.api.create("/api/v1/namespaces/default/pods", &elsewhere).await.expect(201);
        let host = bench.start_unready(User::Reader, &[]).await;
        await_told(&host, namespace, "added", 2).await;
        assert_eq!(state(&host), "synced");

        // A caller asks for more than the host may see.
        let asked = host.get("/core/v1/pods").expect("an answer");
        assert_eq!(asked.status, if has_roles { 403 } else { 200 }, "{}", asked.body);
        let of_namespace = |namespace: &str| {
            host.get(&format!("/core/v1/pods?namespace={namespace}")).expect("an answer")
        };
        let asked = of_namespace(namespace);
        assert_eq!(asked.status, 200, "it may read this one: {}", asked.body);
        let names: Vec<String> = asked.json()["msg"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|pod| pod["metadata"]["name"].as_str().expect("a name").to_owned())
            .collect();
        assert_eq!(names, pod_names(0..2));
        let asked = of_namespace("default");
        assert_eq!(asked.status, if has_roles { 403 } else { 200 }, "{}", asked.body);
        bench.create_pods(&pod_names(2..4)).await;
        await_told(&host, namespace, "added", 4).await;
        assert_eq!(state(&host), "synced");
        assert!(told(&host.lines_of(NAME), "default").is_empty(), "{}", host.tail());
    });
}
