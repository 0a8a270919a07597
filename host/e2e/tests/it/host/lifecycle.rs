//! Start and end.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::host::bench::{LINES_DEADLINE, await_told, host_fact, pod_names};
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line};

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

/// A terminal that is closed: it tells the program, and so does the shell in it.
#[test]
fn host_whose_terminal_is_closed_ends_well() {
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let client = half_a_request(&host);
        host.signal("HUP").unwrap();
        let stopping = |line: &Line| line.message().starts_with("stopping after SIGHUP");
        host.await_line("the stop", LINES_DEADLINE, stopping).await.unwrap();
        host.signal("HUP").unwrap();
        drop(client);
        let status = host.await_end(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(0), "{}", host.tail());
    });
}

/// A client that has sent half a request, which holds up the stop for some seconds.
fn half_a_request(host: &Host) -> TcpStream {
    let mut client = TcpStream::connect(host.address()).unwrap();
    client.write_all(b"GET /plug").unwrap();
    // The server takes connections in order: it has the first when it answers the second.
    assert_eq!(host.get("/livez").unwrap().status, 200);
    client
}

#[test]
fn half_sent_request_makes_no_failure_of_the_end() {
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let _client = half_a_request(&host);
        let status = host.terminate(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(0), "{}", host.tail());
    });
}

#[test]
fn second_signal_ends_the_host_at_once() {
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let _client = half_a_request(&host);
        host.ask_to_stop().unwrap();
        let stopping = |line: &Line| line.message().starts_with("stopping after SIGTERM");
        host.await_line("the stop", LINES_DEADLINE, stopping).await.unwrap();
        let begin = Instant::now();
        let status = host.terminate(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(128 + 15), "{}", host.tail());
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
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
