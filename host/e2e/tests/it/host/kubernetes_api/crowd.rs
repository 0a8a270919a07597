//! Many watchers of one resource beside a plugin, while many changes come.

use super::api;
use crate::bench::labelled_pod;
use crate::host::bench::{HostBench, LINES_DEADLINE, await_told, host_fact, told_line};
use futures::StreamExt as _;
use informant_e2e::api::resource_version;
use informant_e2e::host::Host;
use informant_e2e::percentiles::Percentiles;
use informant_e2e::{poll, process_stats};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::collections::HashMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const WATCHERS: usize = 200;
/// Half of the changes that the host keeps: no watcher falls off their end, however slow the machine is.
const CHANGES: usize = 1_500;
/// 500 changes a second, as far as the machine can make them.
const EVERY: Duration = Duration::from_millis(2);
/// Changes on their way to the API server.
const IN_FLIGHT: usize = 32;
const OBJECT_BYTES: usize = 5 << 10;
/// For a watch's request and its connection's buffers.
const WATCH_BYTES_MAX: u64 = 256 << 10;
/// The kept changes, and the new objects in the cache with what the allocator does not give back at once.
const OTHER_BYTES_MAX: u64 = (16 << 20) + (32 << 20);

/// A change: when it was sent, and its resourceVersion.
type Made = (Instant, u64);

/// Creates the pods at the rate.
async fn create(bench: &HostBench<'_>, names: &[String]) -> Vec<Made> {
    let (begin, pods) = (tokio::time::Instant::now(), bench.pods());
    let create = async |(number, name): (u32, &String)| {
        let mut pod = labelled_pod(name, &[]);
        // Behind the metadata, and not to be packed well.
        let filler: String =
            std::iter::repeat_with(fastrand::alphanumeric).take(OBJECT_BYTES).collect();
        pod["spec"]["containers"][0]["args"] = json!([filler]);
        tokio::time::sleep_until(begin + EVERY * number).await;
        let sent = Instant::now();
        (sent, resource_version(&bench.api.create(&pods, &pod).await.expect(201)))
    };
    futures::stream::iter((0..).zip(names)).map(create).buffered(IN_FLIGHT).collect().await
}

/// How long after its change was sent the plugin's line came.
async fn delays(
    bench: &HostBench<'_>,
    host: &Host,
    names: &[String],
    made: &[Made],
) -> Percentiles {
    let namespace = &bench.namespace;
    let lines = host.lines_of("event-printer");
    let mut logged: HashMap<&str, Instant> = HashMap::new();
    for line in &lines {
        if let Some(("added", name)) = told_line(line.message(), namespace) {
            assert!(logged.insert(name, line.at).is_none(), "{name} was logged twice");
        }
    }
    let delay = |(name, (sent, _)): (&String, &Made)| {
        logged[name.as_str()].saturating_duration_since(*sent)
    };
    let mut delays: Vec<Duration> = names.iter().zip(made).map(delay).collect();
    delays.sort_unstable();
    Percentiles::of(&delays)
}

fn request(path: &str) -> String {
    // Without chunks: a line is an event.
    format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")
}

/// A watch whose answer has begun.
async fn begun(address: SocketAddr, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request(path).as_bytes()).await.expect("it reads");
    let mut stream = BufReader::with_capacity(64 << 10, stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).await.expect("a line"), 0, "{head}");
    }
    assert!(head.starts_with("HTTP/1.0 200 "), "{head}");
    stream
}

/// The resourceVersions of the next events of a watch, each of which adds an object.
async fn versions(mut stream: BufReader<TcpStream>, count: usize) -> Vec<u64> {
    let (mut versions, mut line) = (Vec::new(), Vec::new());
    while versions.len() < count {
        line.clear();
        let read = stream.read_until(b'\n', &mut line).await.expect("it goes on");
        let begin = String::from_utf8_lossy(&line[..read.min(512)]);
        let version = begin.strip_prefix(r#"{"type":"ADDED""#).and_then(|event| {
            let (_, version) = event.split_once(r#""resourceVersion":""#)?;
            version.split('"').next()?.parse().ok()
        });
        versions.push(version.unwrap_or_else(|| panic!("after {versions:?}: {begin}")));
    }
    versions
}

/// A watcher that reads nothing.
fn silent(address: SocketAddr, path: &str) -> std::net::TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(4 << 10).expect("a small buffer");
    socket.connect(&address.into()).expect("it listens");
    let mut stream: std::net::TcpStream = socket.into();
    stream.write_all(request(path).as_bytes()).expect("it reads");
    stream
}

/// The number of a series; 0 without it.
fn metric(host: &Host, series: &str) -> u64 {
    let page = host.get("/metrics").expect("the page").body;
    let number =
        page.lines().find_map(|line| line.strip_prefix(series)?.trim().parse::<f64>().ok());
    number.unwrap_or_default() as u64
}

async fn await_watches(host: &Host, count: usize) {
    let series = r#"informant_kubernetes_api_watches{resource="v1/pods"}"#;
    let are_there = async || (metric(host, series) == count as u64).then_some(());
    let what = format!("{count} watches of pods");
    poll::until(&what, LINES_DEADLINE, are_there).await.unwrap();
}

#[test]
#[allow(clippy::print_stdout)] // The harness keeps it, and shows it where the fact fails or with `--nocapture`.
fn many_watchers_get_every_change_beside_a_plugin() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&[]).await;
        let names: Vec<String> = (0..2 * CHANGES).map(|number| format!("p-{number:05}")).collect();
        let (before, during) = names.split_at(CHANGES);
        let made = create(&bench, before).await;
        await_told(&host, &bench.namespace, "added", CHANGES).await;
        let alone = delays(&bench, &host, before, &made).await;

        let pods = bench.pods();
        let version = resource_version(&api(&host).get(&pods).await.expect(200));
        let path = format!("{pods}?watch=true&resourceVersion={version}");
        let resident = process_stats::resident(host.id()).unwrap();
        process_stats::forget_peak(host.id()).unwrap();
        let mut watchers = Vec::new();
        for _ in 0..WATCHERS {
            let watch = begun(host.address(), &path).await;
            watchers.push(tokio::spawn(versions(watch, CHANGES)));
        }
        let _silent = silent(host.address(), &path);
        await_watches(&host, WATCHERS + 1).await;
        let begin = Instant::now();
        let made = create(&bench, during).await;
        let took = begin.elapsed();
        let mut expect: Vec<u64> = made.iter().map(|(_, version)| *version).collect();
        expect.sort_unstable();
        for watcher in watchers {
            let seen =
                tokio::time::timeout(LINES_DEADLINE, watcher).await.expect("all changes come");
            assert!(seen.expect("a watch") == expect, "changes are missing, twice or out of order");
        }
        let all_seen = begin.elapsed();
        await_told(&host, &bench.namespace, "added", 2 * CHANGES).await;
        let beside = delays(&bench, &host, during, &made).await;
        let more = process_stats::peak(host.id()).unwrap().saturating_sub(resident);

        // The watchers close their connections; the one that reads nothing is cut off.
        await_watches(&host, 0).await;
        let ended = r#"informant_kubernetes_api_watches_ended_total{reason="client"}"#;
        assert_eq!(metric(&host, ended), WATCHERS as u64 + 1);
        let sent = metric(&host, "informant_kubernetes_api_changes_sent_total{}");
        assert!(sent >= (WATCHERS * CHANGES) as u64, "{sent} changes were sent");
        host.check_running().unwrap();
        println!(
            "{CHANGES} changes of {OBJECT_BYTES} bytes in {took:.1?}, all seen after {all_seen:.1?}"
        );
        println!("the plugin without watchers: {alone}");
        println!("the plugin beside {WATCHERS} watchers: {beside}");
        println!("memory: {} MiB, and {} MiB more at most", resident >> 20, more >> 20);
        let more_max = OTHER_BYTES_MAX + WATCHERS as u64 * WATCH_BYTES_MAX;
        assert!(more <= more_max, "the host took {more} bytes more, at most {more_max}");
    });
}
