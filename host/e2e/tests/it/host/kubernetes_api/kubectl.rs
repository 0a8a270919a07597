//! kubectl against Informant's address. Skipped loudly where there is none.

use crate::bench::{deployment, labelled_pod};
use crate::host::bench::{HostBench, host_fact};
use informant_e2e::child::Child;
use informant_e2e::host::Host;
use informant_e2e::skip;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const LINE_DEADLINE: Duration = Duration::from_secs(90);

struct Kubectl {
    server: String,
    dir: tempfile::TempDir,
}

fn with_kubectl(run: impl AsyncFnOnce(HostBench<'_>, Host, Kubectl)) {
    let found = Command::new("kubectl").args(["version", "--client"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        return skip::say("there is no kubectl on PATH");
    }
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let server = format!("http://{}", host.address());
        run(bench, host, Kubectl { server, dir: tempfile::tempdir().unwrap() }).await;
    });
}

impl Kubectl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.env("KUBECONFIG", self.dir.path().join("none"));
        command.args(["--server", &self.server, "--cache-dir"]).arg(self.dir.path().join("cache"));
        command.args(arguments);
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("kubectl runs")
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn kubectl_gets_what_is_there() {
    with_kubectl(async |bench, _host, kubectl| {
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
    with_kubectl(async |bench, _host, kubectl| {
        let (api, pods) = (&bench.api, bench.pods());
        api.create(&pods, &labelled_pod("first", &[])).await.expect(201);
        let mut command = kubectl.command(&["get", "pods", "-A", "-w"]);
        let mut watch = Child::spawn("kubectl", command.stdout(Stdio::piped())).unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = watch.take_output().0.unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let next = || lines.recv_timeout(LINE_DEADLINE).expect("a line in time");
        assert_eq!(words(&next())[..3], ["NAMESPACE", "NAME", "READY"]);
        assert_eq!(words(&next())[..2], [&*bench.namespace, "first"]);
        api.create(&pods, &labelled_pod("second", &[])).await.expect(201);
        assert_eq!(words(&next())[1], "second");
        api.delete(&format!("{pods}/first")).await;
        assert_eq!(words(&next())[1], "first");
    });
}
