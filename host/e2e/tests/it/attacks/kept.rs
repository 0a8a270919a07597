//! A host during an attack, and the check of its promises.

use crate::host::bench::{HostBench, built_plugin, drop_file};
use informant_e2e::cluster::User;
use informant_e2e::host::Host;
use informant_e2e::promises::{Control, Promises};
use serde_json::Value;

/// Starts a host with the good plugin.
pub async fn start_with_good(bench: &HostBench<'_>) -> Host {
    bench.drop_plugin("event-printer", "event-printer");
    let host = bench.start(&["--metrics-bind-address", "127.0.0.1:0"]).await;
    await_good(&host).await;
    host
}

/// Waits until the good plugin runs.
pub async fn await_good(host: &Host) {
    let runs = |plugin: &Value| plugin["state"] == "running";
    host.await_plugin("event-printer", "it to run", runs).await.unwrap();
}

/// Measures the host from now on, together with a host that is not attacked. The attack comes next.
pub async fn measure<'a>(bench: &HostBench<'_>, host: &'a Host) -> Promises<'a> {
    let kubeconfig = bench.cluster.kubeconfig(User::Admin);
    let plugins = tempfile::tempdir().expect("a directory");
    drop_file(&built_plugin("event-printer"), &plugins.path().join("event-printer.wasm"));
    let control = Host::start(&bench.program, &kubeconfig, plugins.path(), &[]).await.unwrap();
    await_good(&control).await;
    Promises::begin(host, Control { host: control, plugins }, kubeconfig).await.unwrap()
}

/// Checks the promises. The attack is over, or continues without further calls.
#[allow(clippy::print_stdout)] // The harness keeps it, and shows it where a fact fails or with `--nocapture`.
pub async fn check_kept(promises: Promises<'_>) {
    let report = promises.check().await.unwrap();
    println!("{report}");
}
