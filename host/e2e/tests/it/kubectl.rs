//! kubectl in ordinary use. Skipped with a message without kubectl.

use crate::bench::{deployment, event, fact_with_own_cluster, labelled_pod};
use informant_e2e::api::Api;
use informant_e2e::cluster::User;
use informant_e2e::kubectl::Kubectl;
use serde_json::json;

fn with_kubectl(run: impl AsyncFnOnce(&Kubectl, &Api, &str)) {
    if !Kubectl::is_installed() {
        return;
    }
    fact_with_own_cluster(async |cluster, namespace| {
        let kubeconfig = cluster.kubeconfig(User::Admin).display().to_string();
        let kubectl = Kubectl::with(&["--kubeconfig", &kubeconfig, "--namespace", namespace]);
        run(&kubectl, &cluster.api(User::Admin).await.unwrap(), namespace).await;
    });
}

/// The words of a line, so that column widths do not matter.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn get_watch_shows_what_happens() {
    with_kubectl(async |kubectl, api, namespace| {
        let pods = format!("/api/v1/namespaces/{namespace}/pods");
        api.create(&pods, &labelled_pod("first", &[])).await.expect(201);
        let watch = kubectl.lines(&["get", "pods", "-A", "-w"]);
        assert_eq!(watch.next_words()[..3], ["NAMESPACE", "NAME", "READY"]);
        assert_eq!(watch.next_words()[..4], [namespace, "first", "0/1", "Pending"]);
        api.create(&pods, &labelled_pod("second", &[])).await.expect(201);
        assert_eq!(watch.next_words()[1], "second");
        kubectl.run(&["label", "pod", "first", "tier=front"]);
        assert_eq!(watch.next_words()[1], "first");
        kubectl.run(&["delete", "pod", "second", "--wait=false"]);
        assert_eq!(watch.next_words()[1], "second");
    });
}

#[test]
fn deployment_is_created_scaled_and_deleted() {
    with_kubectl(async |kubectl, _, _| {
        let said = kubectl.run(&["create", "deployment", "web", "--image=nginx", "--replicas=2"]);
        assert_eq!(said.trim(), "deployment.apps/web created");
        let table = kubectl.run(&["get", "deployments"]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(words(lines[0]), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
        assert_eq!(words(lines[1])[0], "web");
        kubectl.run(&["scale", "deployment", "web", "--replicas=5"]);
        let replicas = ["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"];
        assert_eq!(kubectl.run(&replicas), "5");
        kubectl.run(&["set", "image", "deployment/web", "nginx=nginx:2"]);
        let image = "jsonpath={.spec.template.spec.containers[0].image}";
        assert_eq!(kubectl.run(&["get", "deploy", "web", "-o", image]), "nginx:2");
        kubectl.run(&["delete", "deployment", "web"]);
        let missing = kubectl.output(&["get", "deployment", "web"]);
        assert_eq!(missing.status.code(), Some(1));
        let error = String::from_utf8_lossy(&missing.stderr).into_owned();
        assert!(error.contains("(NotFound): deployments.apps \"web\" not found"), "{error}");
    });
}

#[test]
fn file_is_applied_again_and_again() {
    with_kubectl(async |kubectl, _, _| {
        let mut object = deployment("web", 1);
        object["metadata"]["labels"] = serde_json::json!({"tier": "front"});
        let file = kubectl.write("web.json", &object.to_string());
        assert!(kubectl.run(&["apply", "-f", &file]).contains("created"));
        assert!(kubectl.run(&["apply", "-f", &file]).contains("unchanged"));
        object["spec"]["replicas"] = serde_json::json!(3);
        object["metadata"]["labels"] = serde_json::json!({});
        let file = kubectl.write("web.json", &object.to_string());
        assert!(kubectl.run(&["apply", "-f", &file]).contains("configured"));
        let replicas = ["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"];
        assert_eq!(kubectl.run(&replicas), "3");
        let labels = ["get", "deployment", "web", "-o", "jsonpath={.metadata.labels}"];
        assert_eq!(kubectl.run(&labels), "", "what the file no longer has is taken away");
        assert!(
            kubectl
                .run(&["apply", "--server-side", "--force-conflicts", "-f", &file])
                .contains("serverside-applied")
        );
        assert!(kubectl.run(&["delete", "-f", &file]).contains("deleted"));
    });
}

#[test]
fn labels_annotations_and_patches() {
    with_kubectl(async |kubectl, _, _| {
        kubectl.run(&["run", "web", "--image=nginx", "--labels=app=web"]);
        kubectl.run(&["label", "pod", "web", "tier=front"]);
        kubectl.run(&["annotate", "pod", "web", "example.com/note=hello"]);
        let named = |selector: &str| kubectl.run(&["get", "pods", "-l", selector, "-o", "name"]);
        assert_eq!(named("tier=front,app in (web)").trim(), "pod/web");
        assert_eq!(named("tier!=front"), "");
        kubectl.run(&["label", "pod", "web", "tier-"]);
        assert_eq!(named("tier=front"), "");
        for (kind, patch) in [
            ("strategic", r#"{"spec": {"containers": [{"name": "web", "image": "nginx:2"}]}}"#),
            ("merge", r#"{"metadata": {"annotations": {"example.com/note": null}}}"#),
            ("json", r#"[{"op": "add", "path": "/metadata/labels/json", "value": "yes"}]"#),
        ] {
            kubectl.run(&["patch", "pod", "web", "--type", kind, "-p", patch]);
        }
        let all =
            "jsonpath={.spec.containers[0].image} {.metadata.annotations} {.metadata.labels.json}";
        assert_eq!(words(&kubectl.run(&["get", "pod", "web", "-o", all])), ["nginx:2", "yes"]);
        let by_field = ["get", "pods", "--field-selector", "status.phase=Running", "-o", "name"];
        assert_eq!(kubectl.run(&by_field), "");
    });
}

#[test]
fn everything_else_people_look_at() {
    with_kubectl(async |kubectl, _, _| {
        kubectl.run(&["run", "web", "--image=nginx"]);
        let description = kubectl.run(&["describe", "pod", "web"]);
        for part in ["Name:", "Image:", "nginx", "Status:", "Pending"] {
            assert!(description.contains(part), "no {part} in\n{description}");
        }
        let resources = kubectl.run(&["api-resources"]);
        for line in ["deployments deploy apps/v1 true Deployment", "pods po v1 true Pod"] {
            let found = resources.lines().any(|one| words(one).join(" ") == line);
            assert!(found, "no {line} in\n{resources}");
        }
        assert!(kubectl.run(&["api-versions"]).lines().any(|line| line == "apps/v1"));
        assert!(kubectl.run(&["version"]).contains("Server Version: v1.36"));
        kubectl.run(&["create", "namespace", "elsewhere"]);
        assert!(kubectl.run(&["get", "namespaces"]).contains("elsewhere"));
        kubectl.run(&["create", "configmap", "settings", "--from-literal=colour=blue"]);
        let yaml = kubectl.run(&["get", "configmap", "settings", "-o", "yaml"]);
        assert!(yaml.contains("colour: blue") && yaml.contains("kind: ConfigMap"), "{yaml}");
        assert!(kubectl.run(&["get", "pods", "-o", "wide"]).contains("NOMINATED NODE"));
        assert!(kubectl.run(&["get", "all"]).contains("pod/web"));
    });
}

#[test]
fn describe_shows_events_of_the_newer_api() {
    with_kubectl(async |kubectl, api, namespace| {
        let pods = format!("/api/v1/namespaces/{namespace}/pods");
        let pod = api.create(&pods, &labelled_pod("web", &[])).await.expect(201);
        let regarding = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "web",
            "namespace": namespace,
            "uid": pod["metadata"]["uid"],
        });
        let events = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let event = event("web.1", namespace, &regarding);
        api.create(&events, &event).await.expect(201);
        let described = kubectl.run(&["describe", "pod", "web"]);
        let line = described.lines().find(|line| line.contains("LatestTag"));
        let line = words(line.unwrap_or_else(|| panic!("{described}")));
        assert_eq!((line[0], line[3]), ("Warning", "informant.dev/latest"));
        for resource in ["events", "events.events.k8s.io"] {
            let table = kubectl.run(&["get", resource, "--no-headers", "--sort-by=.reason"]);
            let line = table.lines().find(|line| line.contains("LatestTag"));
            let line = words(line.unwrap_or_else(|| panic!("{resource}: {table}")));
            assert_eq!(line[1..], ["Warning", "LatestTag", "pod/web", "name", "a", "version"]);
        }
    });
}

#[test]
fn custom_resource_is_used_by_its_short_name() {
    with_kubectl(async |kubectl, _, _| {
        let definition = serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "roses.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "roses", "singular": "rose", "kind": "Rose", "shortNames": ["ro"]},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema":
                        {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        });
        let file = kubectl.write("definition.json", &definition.to_string());
        kubectl.run(&["apply", "-f", &file]);
        let name = "customresourcedefinition/roses.example.com";
        kubectl.run(&["wait", "--for=condition=Established", name, "--timeout=30s"]);
        let rose =
            "apiVersion: example.com/v1\nkind: Rose\nmetadata: {name: red}\nspec: {petals: 5}\n";
        let file = kubectl.write("rose.yaml", rose);
        kubectl.run(&["apply", "-f", &file]);
        assert!(kubectl.run(&["get", "ro"]).contains("red"));
        kubectl.run(&["delete", "rose", "red"]);
    });
}
