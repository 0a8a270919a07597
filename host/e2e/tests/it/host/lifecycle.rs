//! The start and the end of the program.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::host::bench::{LINES_DEADLINE, await_told, host_fact, pod_names};
use informant_e2e::child::Child;
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line, announced_address};
use informant_e2e::{http, poll, skip};

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

/// Whether this process ignores SIGHUP, as every process that `nohup` has started.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// A terminal that is closed: both the terminal and its shell send SIGHUP to the program.
#[test]
fn host_whose_terminal_is_closed_ends_well() {
    if is_hangup_ignored() {
        skip::say("SIGHUP is ignored here, by nohup or the like, and so it is by the host");
        return;
    }
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let client = half_a_request(&host).await;
        host.signal("HUP").unwrap();
        let stopping = |line: &Line| line.message().starts_with("stopping after SIGHUP");
        host.await_line("the stop", LINES_DEADLINE, stopping).await.unwrap();
        host.signal("HUP").unwrap();
        drop(client);
        let status = host.await_end(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(0), "{}", host.tail());
    });
}

/// A client that has sent half a request. It delays the stop for some seconds once the server has read it.
async fn half_a_request(host: &Host) -> TcpStream {
    let mut client = TcpStream::connect(host.address()).unwrap();
    client.write_all(b"GET /plug").unwrap();
    let ports = [host.address().port(), client.local_addr().unwrap().port()];
    let is_read = async || (unread(ports) == Some(0)).then_some(());
    poll::until("the server to read half a request", LINES_DEADLINE, is_read).await.unwrap();
    client
}

/// The number of unread bytes that came over loopback to the first port from the second. `None` without such a
/// connection.
fn unread(ports: [u16; 2]) -> Option<u64> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, own, other, _, queues, ..] = columns[..] else { return None };
        let is_port = |address: &str, port: u16| address.ends_with(&format!(":{port:04X}"));
        let is_it = is_port(own, ports[0]) && is_port(other, ports[1]);
        let (_, received) = queues.split_once(':').filter(|_| is_it)?;
        u64::from_str_radix(received, 16).ok()
    })
}

#[test]
fn half_sent_request_makes_no_failure_of_the_end() {
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let _client = half_a_request(&host).await;
        let status = host.terminate(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(0), "{}", host.tail());
    });
}

#[test]
fn host_that_stops_is_not_ready_and_alive_until_the_rest_has_ended() {
    host_fact(async |bench| {
        let mut host = bench.start(&["--metrics-bind-address", "127.0.0.1:0"]).await;
        let probes = host.metrics_address().expect("a second listener");
        assert_eq!(http::get(probes, "/readyz").unwrap().status, 200);
        let _client = half_a_request(&host).await;
        host.ask_to_stop().unwrap();
        let stopping = async || {
            let answer = http::get(probes, "/readyz").expect("it listens");
            (answer.status == 503 && answer.body == "stopping\n").then_some(())
        };
        poll::until("the host to be unready", LINES_DEADLINE, stopping).await.unwrap();
        let refused = async || host.get("/livez").is_err().then_some(());
        poll::until("the HTTP API to take no more connections", LINES_DEADLINE, refused)
            .await
            .unwrap();
        assert_eq!(http::get(probes, "/livez").unwrap().status, 200);
        let status = host.await_end(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(0), "{}", host.tail());
    });
}

#[test]
fn second_signal_ends_the_host_at_once() {
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let _client = half_a_request(&host).await;
        host.ask_to_stop().unwrap();
        let stopping = |line: &Line| line.message().starts_with("stopping after SIGTERM");
        host.await_line("the stop", LINES_DEADLINE, stopping).await.unwrap();
        // The status is that of the second signal: the first alone ends with 0, once the client is cut off.
        let status = host.terminate(Duration::from_secs(15)).unwrap();
        assert_eq!(status.code(), Some(128 + 15), "{}", host.tail());
    });
}

/// More lines than the log buffers for its reader.
const PODS: usize = 3_000;

/// A pager in front of the log, a terminal that is held, or a collector that hangs.
#[test]
fn host_whose_log_nobody_reads_any_more_ends_when_it_is_told_to() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.limit_plugin("event-printer", "logLines: 4000");
        let mut command = Command::new(&bench.program);
        command.args(["run", "--log-format", "json"]);
        let socket = bench.plugins.join("admin.sock");
        command.arg("--admin-socket").arg(socket).arg("--plugins").arg(&bench.plugins);
        command.arg("--kubeconfig").arg(bench.cluster.kubeconfig(User::Admin));
        command.args(["--listen", "127.0.0.1:0"]);
        let mut child = Child::spawn("informant", command.stdout(Stdio::piped())).unwrap();
        let mut log = BufReader::new(child.take_output().0.unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(address) = announced_address(&Line::of(&line)) {
                break address;
            }
        };
        // From now on the log has no reader. The pipe fills, then the log's buffer, and then the threads that log
        // block.
        bench.create_pods(&pod_names(0..PODS)).await;
        let mut seen = (0, Instant::now());
        let is_held_up = async || {
            // The thread that would answer may itself wait for the log.
            let Ok(plugins) = http::get(address, "/plugins") else { return Some(()) };
            let handled = plugins.json()[0]["counters"]["ok"].as_u64()?;
            if handled != seen.0 {
                seen = (handled, Instant::now());
            }
            let is_still = seen.1.elapsed() > Duration::from_secs(2);
            ((500..PODS as u64).contains(&handled) && is_still).then_some(())
        };
        poll::until("the log to hold up the plugin", LINES_DEADLINE, is_held_up).await.unwrap();
        let ends = async || {
            let _ = child.signal("TERM");
            child.ended().unwrap()
        };
        let ended = poll::until("the host to end", Duration::from_secs(30), ends).await.unwrap();
        assert!(matches!(ended.code(), Some(0 | 143)), "{ended}");
        drop(log);
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
