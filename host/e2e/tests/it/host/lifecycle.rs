//! Start and end.

use std::time::{Duration, Instant};

use crate::host::bench::{await_told, host_fact, pod_names};
use informant_e2e::cluster::User;

#[test]
fn first_lines_say_cluster_user_directory_and_address() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let first: Vec<String> = host.lines().into_iter().take(8).map(|line| line.text).collect();
        let first = first.join("\n");
        let kubeconfig = std::fs::read(bench.cluster.kubeconfig(User::Admin)).unwrap();
        let kubeconfig: serde_json::Value = serde_json::from_slice(&kubeconfig).unwrap();
        let cluster = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
        let user = kubeconfig["users"][0]["name"].as_str().unwrap();
        let directory = bench.plugins.display().to_string();
        let address = host.address().to_string();
        for part in [cluster, user, &directory, &address] {
            assert!(first.contains(part), "no {part} in\n{first}");
        }
    });
}

#[test]
fn terminated_host_ends_well_and_soon() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&[]).await;
        bench.create_pods(&pod_names(0..100)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
        let begin = Instant::now();
        let status = host.terminate(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(0), "after {:?}:\n{}", begin.elapsed(), host.tail());
    });
}

#[test]
fn host_without_plugins_is_ready_and_waits_for_files() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
    });
}

#[test]
fn host_waits_for_a_cluster_that_is_down() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..1)).await;
        bench.cluster.kill().await.unwrap();
        let host = bench.start_unready(User::Admin, &[]).await;
        assert_eq!(host.get("/livez").unwrap().status, 200, "alive without a cluster");
        assert_ne!(host.get("/readyz").unwrap().status, 200, "but not ready");
        bench.cluster.restart().await.unwrap();
        host.await_ready().await.unwrap();
        await_told(&host, &bench.namespace, "added", 1).await;
    });
}
