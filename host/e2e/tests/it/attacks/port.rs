//! Callers that use much of the host's port, and plugins whose metrics make that expensive.

use super::attacker::{Try, check, refused};
use super::kept::{check_kept, measure, start_with_good};
use crate::bench::config_map;
use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact};
use informant_e2e::host::Host;
use informant_e2e::promises::{PROBE_MAX, are_times_compared, attack_time};
use informant_e2e::stalls::Stalls;
use informant_e2e::{http, poll, process_stats};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// More than the places of a listener.
const CONNECTIONS: usize = 300;
/// The number of threads that connect, and the number of connections that each makes, one after another.
const COMERS: usize = 2;
const CONNECTIONS_OF_EACH: usize = 750;
/// The number of callers that ask for a list at the same time.
const CALLERS: usize = 40;
/// The objects and labels of the request. Each answer takes an unoptimised build 20 ms or more.
const OBJECTS: usize = 300;
const LABELS: usize = 60;
/// Generous: a loaded machine accepts a connection within a second.
const CONNECT_MAX: Duration = Duration::from_secs(60);
/// The connections of both listeners: 128 + 128 waiting, 384 + 8 served, 64 + 64 ending. And the host's own files.
const FILES_MAX: u64 = 776 + 100;
/// The address of another peer than 127.0.0.1.
const ANOTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A socket of this address.
fn socket(from: Ipv4Addr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((from, 0)).into()).expect("an address of loopback");
    socket
}

fn connect(socket: Socket, address: SocketAddr) -> TcpStream {
    socket.connect(&address.into()).expect("it listens");
    socket.into()
}

/// Asks for the page again and again and reads nothing. Returns the stream even if the server closes it early: it has
/// then asked enough.
pub(super) fn stall(address: SocketAddr) -> TcpStream {
    let socket = socket(Ipv4Addr::LOCALHOST);
    socket.set_recv_buffer_size(4 << 10).expect("a small buffer");
    let mut stream = connect(socket, address);
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let _ = stream.write_all(request.repeat(50).as_bytes());
    stream
}

fn check_probe(address: SocketAddr) {
    let (asked, stalls) = (Instant::now(), Stalls::begin());
    let answer = http::get(address, "/livez").expect("an answer");
    let took = asked.elapsed();
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"), "{address}");
    let most = PROBE_MAX + stalls.since(asked);
    assert!(
        took < most || !are_times_compared(),
        "/livez took {took:?} on {address}, at most {most:?}"
    );
}

/// The whole page, if the listener has a place for the connection.
fn scrape(from: Ipv4Addr, address: SocketAddr) -> Option<String> {
    let mut stream = connect(socket(from), address);
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    (page.starts_with("HTTP/1.0 200") && page.ends_with("# EOF\n")).then_some(page)
}

/// Many connections from one address ask for the page and read nothing. Probes are answered meanwhile, and other
/// callers get the page when these connections are cut off.
async fn check_stalled(host: &Host, address: SocketAddr) {
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS {
        connections.push(stall(address));
        if number % 20 == 0 {
            check_probe(address);
        }
    }
    if Some(address) == host.metrics_address() {
        scrape(ANOTHER, address).expect("one peer does not have all places");
    }
    let page = async || {
        check_probe(address);
        scrape(Ipv4Addr::LOCALHOST, address)
    };
    poll::until("a place for the page", LINES_DEADLINE, page).await.unwrap();
    drop(connections);
}

/// A host with a plugin that has the largest number of series, each of the largest size.
async fn start(bench: &HostBench<'_>) -> (Host, tempfile::TempDir) {
    let tries: [Try; 1] = [refused(
        "more than the page has room for",
        json!({"call": "metrics.histograms", "of": "flood", "text": "1000"}),
        "limits.metricBytes",
    )];
    let settings = json!({"config": {}, "limits": {"metricBytes": "16Mi"}});
    bench.drop_plugin("event-printer", "event-printer");
    check(bench, settings, json!({}), &tries).await
}

#[test]
#[ignore = "takes half a minute: `make slow-tests`"]
fn scrapers_that_read_nothing_take_no_probes_place_and_little_memory() {
    host_fact(async |bench| {
        let (mut host, _directory) = start(&bench).await;
        let metrics = host.metrics_address().expect("it has one");
        let promises = measure(&bench, &host).await;
        check_stalled(&host, metrics).await;
        check_stalled(&host, host.address()).await;
        check_kept(promises).await;
        let page = scrape(ANOTHER, metrics).expect("a page");
        let counter =
            r#"informant_http_refused_total{listener="metrics-bind-address",refused="request"}"#;
        let count = page.lines().find_map(|line| line.strip_prefix(counter)).expect("it is there");
        assert_ne!(count.trim(), "0", "nobody was refused");
        host.check_running().unwrap();
    });
}

#[test]
fn a_page_of_metrics_is_bounded_and_is_never_whole_in_memory() {
    host_fact(async |bench| {
        let (host, _directory) = start(&bench).await;
        let metrics = host.metrics_address().expect("it has one");
        let promises = measure(&bench, &host).await;
        let pages = std::thread::scope(|scope| {
            let readers = [Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, ANOTHER, ANOTHER];
            let readers = readers.map(|from| scope.spawn(move || scrape(from, metrics)));
            check_probe(metrics);
            readers.map(|reader| reader.join().expect("no panic").expect("a page"))
        });
        check_kept(promises).await;
        let is_own = |line: &&str| line.starts_with("flood_");
        let own: usize = pages[0].lines().filter(is_own).map(|line| line.len() + 1).sum();
        assert!((15 << 20..16 << 20).contains(&own), "{own} bytes of the plugin's");
    });
}

/// Creates objects, each with as many labels as a selector may have requirements. Returns a query that inspects all of
/// them and selects none.
async fn objects_and_query(bench: &HostBench<'_>) -> String {
    let labels: Vec<String> = (0..LABELS).map(|number| format!("l{number:02}")).collect();
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    for number in 0..OBJECTS {
        let mut map = config_map(&format!("labelled-{number}"), &[]);
        map["metadata"]["labels"] = labels.iter().map(|label| (label.clone(), "y")).collect();
        bench.api.create(&path, &map).await.expect(201);
    }
    let requirements = labels.iter().map(|label| format!("{label}!=x,"));
    let selector = requirements.collect::<String>() + "none";
    format!("/core/v1/namespaces/{}/configmaps?labelSelector={selector}", bench.namespace)
}

/// Sends requests until `end`. Returns the number of answers: the callers share one core.
fn ask_until(address: SocketAddr, query: &str, end: Instant) -> usize {
    let mut answers = 0;
    loop {
        if let Ok(answer) = http::get(address, query) {
            assert_eq!(answer.json()["msg"], json!([]));
            answers += 1;
        }
        if Instant::now() >= end {
            return answers;
        }
    }
}

#[test]
fn callers_whose_selectors_select_nothing_delay_no_event() {
    host_fact(async |bench| {
        let query = objects_and_query(&bench).await;
        let mut host = start_with_good(&bench).await;
        let address = host.address();
        // The first request makes the host cache the objects.
        assert_eq!(http::get(address, &query).expect("an answer").json()["msg"], json!([]));
        let promises = measure(&bench, &host).await;
        let end = Instant::now() + attack_time();
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| (query.clone(), end))
            .map(|(query, end)| std::thread::spawn(move || ask_until(address, &query, end)))
            .collect();
        while callers.iter().any(|caller| !caller.is_finished()) {
            poll::pause(Duration::from_millis(20)).await;
        }
        let asked: usize = callers.into_iter().map(|caller| caller.join().expect("no panic")).sum();
        assert!(asked > 0, "nobody was answered");
        check_kept(promises).await;
        host.check_running().unwrap();
    });
}

/// Connects and resets the connection, again and again.
fn come_and_go(address: SocketAddr) {
    let half = format!("GET /livez HTTP/1.1\r\nHost: {address}");
    for _ in 0..CONNECTIONS_OF_EACH {
        let socket = socket(Ipv4Addr::LOCALHOST);
        socket.set_linger(Some(Duration::ZERO)).expect("a reset");
        socket.connect_timeout(&address.into(), CONNECT_MAX).expect("a connection");
        let _ = TcpStream::from(socket).write_all(half.as_bytes());
    }
}

#[test]
fn connections_that_come_and_go_leave_few_files_open() {
    host_fact(async |bench| {
        let host = bench.start(&["--metrics-bind-address", "127.0.0.1:0"]).await;
        for address in [host.address(), host.metrics_address().expect("it has one")] {
            let comers = [(); COMERS].map(|()| std::thread::spawn(move || come_and_go(address)));
            let mut most = 0;
            while comers.iter().any(|comer| !comer.is_finished()) {
                most = most.max(process_stats::open_files(host.id()).unwrap());
                poll::pause(Duration::from_millis(20)).await;
            }
            comers.into_iter().for_each(|comer| comer.join().unwrap());
            assert!(most < FILES_MAX, "{most} open files");
            check_probe(address);
        }
    });
}
