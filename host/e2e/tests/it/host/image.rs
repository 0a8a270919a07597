//! The container image: its command line starts the host.

use serde_json::Value;

use crate::host::bench::{HostBench, LINES_DEADLINE, await_told, host_fact, pod_names};
use informant_e2e::cluster::User;
use informant_e2e::host::Host;
use informant_e2e::{http, paths, poll};

/// The address of probes and metrics in the image.
const METRICS: &str = "--metrics-bind-address=0.0.0.0:8889";

/// The arguments of the Dockerfile's last `CMD`.
fn image_arguments() -> Vec<String> {
    let dockerfile = std::fs::read_to_string(paths::root().join("Dockerfile")).unwrap();
    let command = dockerfile.lines().rev().find_map(|line| line.strip_prefix("CMD "));
    let command: Value = serde_json::from_str(command.expect("a CMD")).expect("in JSON form");
    let arguments = command.as_array().expect("a list").iter();
    arguments.map(|one| one.as_str().expect("text").to_owned()).collect()
}

/// The same flags with this machine's directory, and free ports.
fn on_this_machine(bench: &HostBench<'_>, arguments: &[String]) -> Vec<String> {
    let plugins = format!("--plugins={}", bench.plugins.display());
    let place = |argument: &String| match argument.as_str() {
        "--plugins=/plugins" => plugins.clone(),
        METRICS => "--metrics-bind-address=0.0.0.0:0".to_owned(),
        other => other.to_owned(),
    };
    let api = "--listen=127.0.0.1:0".to_owned();
    arguments.iter().map(place).chain([api]).collect()
}

#[test]
fn image_starts_as_its_command_says() {
    let arguments = image_arguments();
    for flag in ["run", "--plugins=/plugins", METRICS, "--log-format=json"] {
        assert!(arguments.iter().any(|one| one == flag), "no {flag} in {arguments:?}");
    }
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let kubeconfig = bench.cluster.kubeconfig(User::Admin);
        let arguments = on_this_machine(&bench, &arguments);
        let mut host = Host::start_with(&bench.program, &kubeconfig, &arguments).await.unwrap();
        let metrics = host.metrics_address().expect("a second listener");
        let address = ([127, 0, 0, 1], metrics.port()).into();
        for probe in ["/livez", "/readyz"] {
            let ok = async || (http::get(address, probe).ok()?.status == 200).then_some(());
            poll::until(probe, LINES_DEADLINE, ok).await.unwrap();
        }
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
        assert!(host.terminate(std::time::Duration::from_secs(30)).unwrap().success());
    });
}
