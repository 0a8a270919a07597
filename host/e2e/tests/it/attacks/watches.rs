//! Callers whose watches read much and are sent little.

use super::kept::{check_kept, measure, start_with_good};
use crate::bench::config_map;
use crate::host::bench::{HostBench, host_fact};
use informant_e2e::poll;
use informant_e2e::promises::{attack_time, if_compared};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const OBJECT_BYTES: usize = 500 << 10;
/// Callers that begin watches at the same time.
const CALLERS: usize = 4;
/// Generous: an unoptimised build parses all objects in some seconds.
const READ_MAX: Duration = Duration::from_secs(60);

fn objects() -> usize {
    if_compared(50, 8)
}

async fn create_objects(bench: &HostBench<'_>) {
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    for number in 0..objects() {
        let mut map = config_map(&format!("large-{number}"), &[]);
        // Many small values, which take the longest to parse.
        let values = (0..OBJECT_BYTES / 20).map(|value| (format!("k{value:07}"), json!("abc")));
        map["data"] = values.collect();
        bench.api.create(&path, &map).await.expect(201);
    }
}

/// Begins the watch, and reads until the objects of the beginning are there.
fn watch(address: SocketAddr, (path, accept): (&str, &str), end_of_objects: &str) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(READ_MAX)).expect("a socket");
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let (mut text, mut bytes) = (String::new(), [0; 16 << 10]);
    while !text.contains(end_of_objects) {
        let count = stream.read(&mut bytes).expect("it goes on");
        assert_ne!(count, 0, "the watch ended after: {text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    assert_eq!(text.matches("large-").count(), objects(), "{path}: an object is missing or twice");
}

/// The good plugin and the probes are not delayed while callers begin this watch again and again.
fn check(request: impl Fn(&HostBench<'_>) -> (String, &'static str), end_of_objects: &'static str) {
    host_fact(async |bench| {
        create_objects(&bench).await;
        let mut host = start_with_good(&bench).await;
        let address = host.address();
        let (path, accept) = request(&bench);
        // The first request makes the host cache the objects.
        watch(address, (&path, accept), end_of_objects);
        let promises = measure(&bench, &host).await;
        let end = Instant::now() + attack_time();
        let call = || {
            let path = path.clone();
            std::thread::spawn(move || {
                loop {
                    watch(address, (&path, accept), end_of_objects);
                    if Instant::now() >= end {
                        break;
                    }
                }
            })
        };
        let callers = [(); CALLERS].map(|()| call());
        while callers.iter().any(|caller| !caller.is_finished()) {
            poll::pause(Duration::from_millis(20)).await;
        }
        callers.into_iter().for_each(|caller| caller.join().expect("no panic"));
        check_kept(promises).await;
        host.check_running().unwrap();
    });
}

#[test]
fn watches_of_the_metadata_of_large_objects_delay_no_event() {
    let path = |bench: &HostBench<'_>| {
        let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        format!("/api/v1/namespaces/{}/configmaps?{query}", bench.namespace)
    };
    let accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    check(|bench| (path(bench), accept), "BOOKMARK");
}

#[test]
fn events_with_one_field_of_large_objects_delay_no_event() {
    let path = |bench: &HostBench<'_>| {
        let query = "watch=true&fields=metadata.name";
        format!("/core/v1/namespaces/{}/configmaps?{query}", bench.namespace)
    };
    check(|bench| (path(bench), "*/*"), "event: bookmark");
}
