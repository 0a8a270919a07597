//! kubectl with Informant's address. Skipped with a message without kubectl.

use crate::bench::{deployment, labelled_pod};
use crate::host::bench::{HostBench, host_fact};
use informant_e2e::kubectl::Kubectl;

fn with_kubectl(run: impl AsyncFnOnce(HostBench<'_>, Kubectl)) {
    if !Kubectl::is_installed() {
        return;
    }
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let server = format!("http://{}", host.address());
        run(bench, Kubectl::with(&["--server", &server])).await;
        drop(host);
    });
}

#[test]
fn kubectl_gets_what_is_there() {
    with_kubectl(async |bench, kubectl| {
        let (api, namespace) = (&bench.api, &bench.namespace);
        api.create(&bench.pods(), &labelled_pod("web-1", &[("app", "web")])).await.expect(201);
        let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        api.create(&deployments, &deployment("web", 1)).await.expect(201);
        let node =
            serde_json::json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}});
        api.create("/api/v1/nodes", &node).await.expect(201);
        let shown = kubectl.run(&["get", "po,deploy,nodes", "-A", "-o", "wide"]);
        for name in
            ["pod/web-1", "deployment.apps/web", "node/node-1", "NOMINATED", "CONTAINER-RUNTIME"]
        {
            assert!(shown.contains(name), "{name} in:\n{shown}");
        }
        let shown = kubectl.run(&["get", "pods", "-n", namespace, "-l", "app=web", "-o", "name"]);
        assert_eq!(shown.trim(), "pod/web-1");
        let shown =
            kubectl.run(&["get", "pod", "web-1", "-n", namespace, "-o", "jsonpath={.kind}"]);
        assert_eq!(shown, "Pod");
        let shown = kubectl.run(&["describe", "deployment", "web", "-n", namespace]);
        assert!(shown.contains("Replicas:"), "{shown}");
        let shown = kubectl.run(&["api-resources"]);
        assert!(shown.contains("deployments") && !shown.contains("secrets"), "{shown}");
        let refused = kubectl.output(&["delete", "pod", "web-1", "-n", namespace]);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && error.contains("read-only cache"), "{error}");
    });
}

#[test]
fn kubectl_watches_what_happens() {
    with_kubectl(async |bench, kubectl| {
        let (api, pods) = (&bench.api, bench.pods());
        api.create(&pods, &labelled_pod("first", &[])).await.expect(201);
        let watch = kubectl.lines(&["get", "pods", "-A", "-w"]);
        assert_eq!(watch.next_words()[..3], ["NAMESPACE", "NAME", "READY"]);
        assert_eq!(watch.next_words()[..2], [&*bench.namespace, "first"]);
        api.create(&pods, &labelled_pod("second", &[])).await.expect(201);
        assert_eq!(watch.next_words()[1], "second");
        api.delete(&format!("{pods}/first")).await;
        assert_eq!(watch.next_words()[1], "first");
    });
}
