//! The host as in `examples/deployment`: with its arguments, its ServiceAccount and only its roles.
//!
//! kubectl port-forward connects to loopback in the Pod. So requests over loopback here show what kubectl port-forward
//! gets.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::deployment;
use crate::deployment::manifests::{
    NAMESPACE, arguments, of_base, of_folder, patched_deployment, text, yaml,
};
use crate::deployment::monitoring::dashboard;
use crate::host::bench::{
    HostBench, LINES_DEADLINE, await_told, built_plugin, host_fact, pod_names,
};
use crate::host::secure::{Caller, certificate};
use informant_e2e::cluster::{ClusterKind, User};
use informant_e2e::host::{Host, program, run_to_end};
use informant_e2e::{http, poll, skip};

/// The arguments of `rbac` that print the roles of `base/rbac.yaml`.
const RBAC: &str =
    "--resource v1/pods --resource apps/v1/deployments --namespace informant --leader-elect";

/// Writes the ServiceAccount's kubeconfig into `directory`. Without users, any kubeconfig will do.
async fn kubeconfig(bench: &HostBench<'_>, directory: &Path) -> PathBuf {
    if bench.cluster.kind() == ClusterKind::Embedded {
        return bench.cluster.kubeconfig(User::Reader);
    }
    let account = of_base("Deployment")["spec"]["template"]["spec"]["serviceAccountName"].clone();
    let account = account.as_str().expect("a ServiceAccount");
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token");
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600},
    });
    let answer = bench.api.create(&path, &request).await.expect(201);
    let admins = std::fs::read_to_string(bench.cluster.kubeconfig(User::Admin)).expect("a file");
    let mut file: Value = serde_json::from_str(&admins).expect("it is written as JSON");
    file["users"][0]["user"] = json!({"token": answer["status"]["token"]});
    // As in a Pod, where the Lease is in the Pod's namespace.
    file["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
    let path = directory.join("kubeconfig");
    std::fs::write(&path, file.to_string()).expect("a file");
    path
}

/// The same arguments with directories and free ports of this machine.
fn on_this_machine(bench: &HostBench<'_>, directory: &Path, arguments: &[String]) -> Vec<String> {
    let local = |path: &str| directory.join(path.trim_start_matches('/')).display().to_string();
    let place = |argument: &String| match argument.split_once('=') {
        Some((option @ "--plugins", "/plugins")) => {
            format!("{option}={}", bench.plugins.display())
        }
        Some((option @ ("--code-cache" | "--state-dir"), path)) => {
            format!("{option}={}", local(path))
        }
        Some((option @ ("--tls-cert-file" | "--tls-private-key-file"), file)) => {
            let file = if file.ends_with(".crt") { "server.pem" } else { "server.key" };
            format!("{option}={}", certificate(file))
        }
        Some((
            option @ ("--listen" | "--metrics-bind-address" | "--secure-listen-address"),
            address,
        )) => {
            let address: SocketAddr = address.parse().expect("an address");
            format!("{option}={}", SocketAddr::new(address.ip(), 0))
        }
        _ => argument.clone(),
    };
    // Each is a directory of the host in a volume.
    for volume in ["cache", "state"] {
        std::fs::create_dir_all(directory.join(volume)).expect("a directory");
    }
    arguments.iter().map(place).collect()
}

/// The host of this Deployment. The other objects of `base` exist unchanged.
async fn deployed(bench: &HostBench<'_>, directory: &Path, deployment: &Value) -> Host {
    bench.drop_plugin("event-printer", "event-printer");
    let kubeconfig = kubeconfig(bench, directory).await;
    let arguments = on_this_machine(bench, directory, &arguments(deployment));
    Host::start_with(&bench.program, &kubeconfig, &arguments).await.expect("it starts")
}

/// Creates the objects of `base` except the Deployment, because no kubelet would run it.
async fn apply_base(bench: &HostBench<'_>) {
    for manifest in of_folder("base").iter().filter(|it| it.kind() != "Deployment") {
        manifest.create(&bench.api, false).await.expect(201);
    }
}

/// The address that the kubelet and Prometheus use.
fn metrics_address(host: &Host) -> SocketAddr {
    let address = host.metrics_address().expect("a second listener");
    SocketAddr::from(([127, 0, 0, 1], address.port()))
}

async fn await_ready(host: &Host) {
    let probe = metrics_address(host);
    let ready = async || (http::get(probe, "/readyz").ok()?.status == 200).then_some(());
    poll::until("the Pod to be ready", LINES_DEADLINE, ready).await.unwrap();
}

#[track_caller]
fn check_names(host: &Host, path: &str, member: &str, expect: &[&str]) {
    let answer = host.get(path).expect("an answer");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    let items = answer.json()[member].as_array().cloned().unwrap_or_default();
    let mut names: Vec<&str> =
        items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, expect, "{path}");
}

/// The listener for probes and metrics serves them, and nothing else.
#[track_caller]
fn check_probes(host: &Host) {
    let probes = metrics_address(host);
    for path in ["/livez", "/readyz", "/healthz", "/metrics"] {
        assert_eq!(http::get(probes, path).unwrap().status, 200, "{path}");
    }
    for path in ["/", "/plugins", "/problems", "/deploy", "/core/v1/pods", "/api/v1/pods"] {
        let answer = http::get(probes, path).unwrap();
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        let text = answer.json()["msg"].as_str().unwrap_or_default().to_owned();
        let other = format!("the HTTP API is served on {} (--listen)", host.address());
        assert!(text.contains(&other), "{path}: {text}");
    }
}

#[test]
fn deployment_answers_over_loopback_with_its_own_role_alone() {
    host_fact(async |bench| {
        apply_base(&bench).await;
        let mut dns = deployment("coredns", 1);
        dns["metadata"]["labels"] = json!({"k8s-app": "kube-dns"});
        let collection = format!("/apis/apps/v1/namespaces/{}/deployments", bench.namespace);
        bench.api.create(&collection, &dns).await.expect(201);
        bench.create_pods(&pod_names(0..2)).await;
        let directory = tempfile::tempdir().expect("a directory");
        let mut host = deployed(&bench, directory.path(), &of_base("Deployment")).await;
        await_ready(&host).await;
        assert!(host.address().ip().is_loopback());

        check_names(&host, "/deploy?labels[k8s-app]=kube-dns", "data", &["coredns"]);
        check_names(&host, "/core/v1/pods", "msg", &["pod-0000", "pod-0001"]);
        let refused = host.get("/deploy?labels[k8s-app]=not%20a%20value").expect("an answer");
        assert_eq!((refused.status, refused.json()["msg"].is_string()), (400, true));
        check_probes(&host);

        // The Lease's Role lets the host lead, so that its plugin runs.
        await_told(&host, &bench.namespace, "added", 2).await;
        if bench.cluster.kind() == ClusterKind::Real {
            let beyond = host.get("/core/v1/services").expect("an answer");
            assert_eq!(beyond.status, 403, "{}", beyond.body);
            assert!(beyond.body.contains("system:serviceaccount:informant:informant"));
        } else {
            skip::say("the embedded cluster has no users: no role was tried; `make e2e` does");
        }
        assert!(host.terminate(Duration::from_secs(30)).unwrap().success(), "{}", host.tail());
    });
}

/// The names and expressions of the alerts.
fn alerts() -> Vec<(String, String)> {
    let rule = yaml("monitoring", "prometheus_rule.yaml");
    let groups = rule["spec"]["groups"].as_array().expect("groups").iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().expect("rules"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    rules.map(|rule| (text(&rule["alert"]), text(&rule["expr"]))).collect()
}

/// The metrics in an expression: the words before braces.
fn metrics_of(expression: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = expression.match_indices('{').map(|(at, _)| &expression[..at]);
    before.filter_map(|text| text.rsplit(|c| !is_name(c)).next()).collect()
}

/// Prometheus' names of the shown metrics.
fn shown_metrics(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let names = |(name, kind): (&str, &str)| match kind {
        "counter" => vec![format!("{name}_total")],
        "histogram" => ["bucket", "sum", "count"].map(|it| format!("{name}_{it}")).to_vec(),
        _ => vec![name.to_owned()],
    };
    types.flat_map(names).collect()
}

#[test]
fn deployment_with_state_keeps_it_and_shows_every_metric_of_alerts_and_dashboard() {
    host_fact(async |bench| {
        apply_base(&bench).await;
        let with_state = patched_deployment(&bench.api, "state").await;
        let directory = tempfile::tempdir().expect("a directory");
        let host = deployed(&bench, directory.path(), &with_state).await;
        await_ready(&host).await;
        assert!(directory.path().join("state/informant/state.redb").exists(), "{}", host.tail());
        let answer = http::get(metrics_address(&host), "/metrics").expect("an answer");
        let shown = shown_metrics(&answer.body);
        let panels = dashboard().into_iter();
        let panels =
            panels.flat_map(|(title, all)| all.into_iter().map(move |it| (title.clone(), it)));
        for (name, expression) in alerts().into_iter().chain(panels) {
            let metrics = metrics_of(&expression);
            assert!(!metrics.is_empty(), "{name} selects nothing: {expression}");
            for metric in metrics {
                assert!(shown.contains(metric), "{name}: there is no metric {metric}");
            }
        }
    });
}

/// The host's own role and the binding of `secure` are enough to know a caller and its rights.
#[test]
fn deployment_with_a_secure_address_knows_its_callers() {
    host_fact(async |bench| {
        apply_base(&bench).await;
        for manifest in of_folder("secure") {
            manifest.create(&bench.api, false).await.expect(201);
        }
        let secured = patched_deployment(&bench.api, "secure").await;
        let directory = tempfile::tempdir().expect("a directory");
        let host = deployed(&bench, directory.path(), &secured).await;
        await_ready(&host).await;
        let caller = Caller::new(&bench, &host).await;
        caller.check().await;
    });
}

#[test]
fn roles_are_those_that_informant_rbac_prints() {
    let Some(program) = program().expect("the program that is named exists") else {
        return skip::say(
            "target/debug/informant is not built; `cargo build -p informant` does it",
        );
    };
    let plugin = built_plugin("event-printer").display().to_string();
    let arguments: Vec<&str> = ["rbac", &plugin].into_iter().chain(RBAC.split(' ')).collect();
    let output = run_to_end(&program, &arguments).expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("it is text");
    let file = text("base", "rbac.yaml");
    let is_remark = |line: &&str| line.starts_with('#');
    let remarks: Vec<&str> = file.lines().take_while(is_remark).collect();
    let words = remarks.iter().map(|line| line.trim_matches(['#', ' ', '\\']));
    let head = words.collect::<Vec<_>>().join(" ");
    assert!(head.contains(RBAC), "the file says how it is made: {head}");
    let roles: String = file.lines().skip_while(is_remark).map(|it| format!("{it}\n")).collect();
    assert_eq!(roles.trim_end(), printed.trim_end(), "write anew what the file's head says");
}

#[test]
fn roles_let_nothing_be_written_but_the_lease() {
    for manifest in of_folder("base").iter().filter(|it| it.kind().ends_with("Role")) {
        for rule in manifest.object["rules"].as_array().expect("rules") {
            let text = rule.to_string();
            assert!(!text.contains("secrets") && !text.contains('*'), "{text}");
            let is_lease = rule["resources"] == json!(["leases"]);
            assert!(is_lease || rule["verbs"] == json!(["list", "watch"]), "{text}");
        }
    }
}
