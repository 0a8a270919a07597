//! The container image and the example Deployment: their command lines start the host as they say.

use serde_json::Value;

use crate::host::bench::{HostBench, LINES_DEADLINE, await_told, host_fact, pod_names};
use informant_e2e::cluster::{Kind, User};
use informant_e2e::host::Host;
use informant_e2e::{http, paths, poll, skip};

/// The arguments of the Dockerfile's last `CMD`.
fn image_arguments() -> Vec<String> {
    let dockerfile = std::fs::read_to_string(paths::root().join("Dockerfile")).unwrap();
    let command = dockerfile.lines().rev().find_map(|line| line.strip_prefix("CMD "));
    let command: Value = serde_json::from_str(command.expect("a CMD")).expect("in JSON form");
    let arguments = command.as_array().expect("a list").iter();
    arguments.map(|one| one.as_str().expect("text").to_owned()).collect()
}

/// The `args` of the example's Deployment, one to a line.
fn example_arguments() -> Vec<String> {
    let text = crate::examples::manifest();
    let after = text.split_once("          args:\n").expect("args").1;
    let is_item = |line: &&str| line.starts_with("            ");
    let lines = after.lines().take_while(is_item).map(str::trim);
    lines.filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}

/// The same flags with this machine's directory and a free port for the image's.
fn on_this_machine(bench: &HostBench<'_>, arguments: &[String]) -> Vec<String> {
    let plugins = format!("--plugins={}", bench.plugins.display());
    let place = |argument: &String| match argument.as_str() {
        "--plugins=/plugins" => plugins.clone(),
        "--listen=0.0.0.0:8888" => "--listen=0.0.0.0:0".to_owned(),
        other => other.to_owned(),
    };
    arguments.iter().map(place).collect()
}

fn check_starts_with(arguments: Vec<String>) {
    for flag in ["run", "--plugins=/plugins", "--listen=0.0.0.0:8888", "--log-format=json"] {
        assert!(arguments.iter().any(|one| one == flag), "no {flag} in {arguments:?}");
    }
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let kubeconfig = bench.cluster.kubeconfig(User::Admin);
        let arguments = on_this_machine(&bench, &arguments);
        let mut host = Host::start_with(&bench.program, &kubeconfig, &arguments).await.unwrap();
        let address = ([127, 0, 0, 1], host.address().port()).into();
        for probe in ["/livez", "/readyz"] {
            let ok = async || (http::get(address, probe).ok()?.status == 200).then_some(());
            poll::until(probe, LINES_DEADLINE, ok).await.unwrap();
        }
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
        assert!(host.terminate(std::time::Duration::from_secs(30)).unwrap().success());
    });
}

#[test]
fn image_starts_as_its_command_says() {
    check_starts_with(image_arguments());
}

#[test]
fn example_deployment_starts_as_its_arguments_say() {
    check_starts_with(example_arguments());
}

#[test]
fn example_role_is_enough_for_what_it_promises() {
    host_fact(async |bench| {
        if bench.cluster.kind() == Kind::Embedded {
            return skip::say("the embedded cluster has no users; `make e2e` tests it");
        }
        crate::examples::grant_to_reader(&bench.api).await;
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..1)).await;
        let host = bench.start_unready(User::Reader, &[]).await;
        host.await_ready().await.unwrap();
        await_told(&host, &bench.namespace, "added", 1).await;
        assert_eq!(host.get("/deploy").unwrap().status, 200);
        assert_eq!(host.get("/apps/v1/deployments").unwrap().status, 200);
    });
}
