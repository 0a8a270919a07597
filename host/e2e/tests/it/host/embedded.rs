//! The two commands with an embedded cluster, `informant cluster` and `informant dev`: they print its address, and end
//! without an error.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::bench::{labelled_pod, runtime};
use crate::host::bench::{LINES_DEADLINE, built_plugin, drop_file, told_line};
use informant_e2e::api::Api;
use informant_e2e::host::{self, Host, Line, announced_address};
use informant_e2e::skip;

/// The time for a stop that waits for nothing.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// Runs a fact about the built program, with an empty directory.
fn check(run: impl AsyncFnOnce(&Path, &Path)) {
    let Some(program) = host::program().expect("the program that is named exists") else {
        let why = "target/debug/informant is not built; `cargo build -p informant` builds it";
        return skip::say(why);
    };
    let dir = tempfile::tempdir().expect("a directory");
    runtime().block_on(run(&program, dir.path()));
}

fn arguments(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&argument| argument.to_owned()).collect()
}

/// Parses `embedded cluster at http://127.0.0.1:4321`.
pub fn announced_cluster(line: &Line) -> Option<SocketAddr> {
    line.message().strip_prefix("embedded cluster at http://")?.parse().ok()
}

/// The kubeconfig that `informant dev` names.
pub fn kubeconfig(line: &Line) -> Option<PathBuf> {
    let (_, rest) = line.message().split_once("kubectl --kubeconfig ")?;
    Some(rest.split(' ').next()?.into())
}

/// Creates a pod with this name in the default namespace, and reads it.
pub async fn create_pod(kubeconfig: &Path, name: &str) {
    let api = Api::from_kubeconfig(kubeconfig).await.expect("the kubeconfig leads to a cluster");
    let pods = "/api/v1/namespaces/default/pods";
    let made = api.create(pods, &labelled_pod(name, &[])).await.expect(201);
    let read = api.get(&format!("{pods}/{name}")).await.expect(200);
    assert_eq!(read["metadata"]["uid"], made["metadata"]["uid"]);
}

#[test]
fn cluster_alone_says_where_it_is_and_ends_well() {
    check(async |program, dir| {
        let kubeconfig = dir.join("kubeconfig");
        let path = kubeconfig.display().to_string();
        let arguments =
            arguments(&["cluster", "--log-format", "json", "--write-kubeconfig", &path]);
        let mut cluster = Host::spawn(program, &arguments, announced_cluster).await.unwrap();
        let says_how = |line: &Line| line.message().contains(&format!("--kubeconfig {path} "));
        cluster.await_line("how to use it", LINES_DEADLINE, says_how).await.unwrap();
        let address = cluster.address().to_string();
        let lines = cluster.lines();
        let places: Vec<&Line> = lines.iter().filter(|line| line.text.contains(&address)).collect();
        assert_eq!(places.len(), 1, "one line says where: {places:#?}");

        let written: Value = serde_json::from_slice(&std::fs::read(&kubeconfig).unwrap()).unwrap();
        assert_eq!(written["clusters"][0]["cluster"]["server"], format!("http://{address}"));
        create_pod(&kubeconfig, "by-hand").await;
        let status = cluster.terminate(STOP_DEADLINE).unwrap();
        assert_eq!(status.code(), Some(0), "{}", cluster.tail());
        assert!(cluster.get("/readyz").is_err(), "nobody listens any more");
    });
}

#[test]
fn dev_runs_plugins_beside_a_cluster_of_its_own_and_ends_well() {
    check(async |program, dir| {
        drop_file(&built_plugin("event-printer"), &dir.join("event-printer.wasm"));
        let path = dir.display().to_string();
        let arguments =
            arguments(&["dev", &path, "--log-format", "json", "--listen", "127.0.0.1:0"]);
        let mut dev = Host::spawn(program, &arguments, announced_address).await.unwrap();
        dev.await_ready().await.unwrap();
        let says_how = |line: &Line| kubeconfig(line).is_some();
        let line = dev.await_line("how to look in", LINES_DEADLINE, says_how).await.unwrap();
        let kubeconfig = kubeconfig(&line).expect("it was there a moment ago");
        create_pod(&kubeconfig, "by-hand").await;
        let told = |line: &Line| {
            line.field("plugin") == Some("event-printer")
                && told_line(line.message(), "default") == Some(("added", "by-hand"))
        };
        dev.await_line("the plugin to tell of the pod", LINES_DEADLINE, told).await.unwrap();
        let status = dev.terminate(STOP_DEADLINE).unwrap();
        assert_eq!(status.code(), Some(0), "{}", dev.tail());
        assert!(!kubeconfig.exists(), "its kubeconfig is of no use any more");
    });
}
