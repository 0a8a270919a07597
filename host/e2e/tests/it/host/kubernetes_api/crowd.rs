//! Many watchers of one resource beside a plugin, while many changes come.

use super::api;
use crate::bench::labelled_pod;
use crate::host::bench::{HostBench, LINES_DEADLINE, await_told, host_fact, told_line};
use futures::StreamExt as _;
use informant_e2e::api::resource_version;
use informant_e2e::host::Host;
use informant_e2e::{poll, process_stats};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const WATCHERS: usize = 200;
/// A third of the changes that the host keeps: no watcher falls off their end, however slow the machine is.
const CHANGES: usize = 1_000;
/// 500 changes a second, as far as the machine can make them.
const EVERY: Duration = Duration::from_millis(2);
/// Changes on their way to the API server.
const IN_FLIGHT: usize = 32;
const OBJECT_BYTES: usize = 5 << 10;
/// For a watch's request and its connection's buffers.
const WATCH_BYTES_MAX: u64 = 256 << 10;
/// The kept changes, and the new objects in the cache with what the allocator does not give back at once.
const OTHER_BYTES_MAX: u64 = (16 << 20) + (32 << 20);

/// Creates the pods at the rate. Returns their resourceVersions.
async fn create(bench: &HostBench<'_>, names: &[String]) -> Vec<u64> {
    let (begin, pods) = (tokio::time::Instant::now(), bench.pods());
    let create = async |(number, name): (u32, &String)| {
        let mut pod = labelled_pod(name, &[]);
        // Behind the metadata, and not to be packed well.
        let filler: String =
            std::iter::repeat_with(fastrand::alphanumeric).take(OBJECT_BYTES).collect();
        pod["spec"]["containers"][0]["args"] = json!([filler]);
        tokio::time::sleep_until(begin + EVERY * number).await;
        resource_version(&bench.api.create(&pods, &pod).await.expect(201))
    };
    futures::stream::iter((0..).zip(names)).map(create).buffered(IN_FLIGHT).collect().await
}

/// The plugin has logged each of these pods, and each once.
fn check_logged(bench: &HostBench<'_>, host: &Host, names: &[String]) {
    let lines = host.lines_of("event-printer");
    let added = lines.iter().filter_map(|line| match told_line(line.message(), &bench.namespace) {
        Some(("added", name)) => Some(name),
        _ => None,
    });
    let mut logged: Vec<&str> = added.collect();
    logged.sort_unstable();
    assert_eq!(logged, names, "the names are in order");
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

/// The number of a series, whose metric is on the page. A gauge at 0 has no series.
fn metric(host: &Host, name: &str, labels: &str) -> u64 {
    let page = host.get("/metrics").expect("the page");
    let family = name.trim_end_matches("_total");
    assert!(page.body.contains(&format!("# TYPE {family} ")), "there is no metric {family}");
    page.series(&format!("{name}{{{labels}}}")).unwrap_or_default() as u64
}

async fn await_watches(host: &Host, count: usize) {
    let open = || metric(host, "informant_http_watches", r#"resource="v1/pods""#);
    let are_there = async || (open() == count as u64).then_some(());
    let what = format!("{count} watches of pods");
    poll::until(&what, LINES_DEADLINE, are_there).await.unwrap();
}

#[test]
fn many_watchers_get_every_change_beside_a_plugin() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&[]).await;
        let names: Vec<String> = (0..CHANGES).map(|number| format!("p-{number:05}")).collect();
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
        let mut expect = create(&bench, &names).await;
        expect.sort_unstable();
        for watcher in watchers {
            let seen =
                tokio::time::timeout(LINES_DEADLINE, watcher).await.expect("all changes come");
            assert!(seen.expect("a watch") == expect, "changes are missing, twice or out of order");
        }
        await_told(&host, &bench.namespace, "added", CHANGES).await;
        check_logged(&bench, &host, &names);
        let more = process_stats::peak(host.id()).unwrap().saturating_sub(resident);

        // The watchers close their connections; the one that reads nothing is cut off.
        await_watches(&host, 0).await;
        let ended = metric(&host, "informant_http_watches_ended_total", r#"reason="client""#);
        assert_eq!(ended, WATCHERS as u64 + 1);
        let sent = metric(&host, "informant_http_watch_changes_sent_total", "");
        assert!(sent >= (WATCHERS * CHANGES) as u64, "{sent} changes were sent");
        host.check_running().unwrap();
        let more_max = OTHER_BYTES_MAX + WATCHERS as u64 * WATCH_BYTES_MAX;
        assert!(more <= more_max, "the host took {more} bytes more, at most {more_max}");
    });
}
