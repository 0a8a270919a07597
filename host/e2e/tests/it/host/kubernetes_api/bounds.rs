//! Clients that read slowly or not at all, and more watches than allowed.

use super::api;
use crate::bench::labelled_pod;
use crate::host::bench::{LINES_DEADLINE, host_fact, pod_names};
use informant_e2e::api::Watch;
use informant_e2e::poll;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

const WATCHES_MAX: usize = 256;

/// Reads events until the watch delivers the object.
async fn tells_of(watch: &mut Watch, name: &str) {
    loop {
        if watch.event().await.name() == name {
            return;
        }
    }
}

#[test]
fn a_watcher_that_reads_nothing_is_cut_off_and_hurts_nobody() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..10)).await;
        let host = bench.start(&[]).await;
        let mut silent = TcpStream::connect(host.address()).unwrap();
        let request = "GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n";
        silent.write_all(request.as_bytes()).unwrap();
        let cached = api(&host);
        let mut watch = cached.watch("/api/v1/pods?watch=true").await.expect("a watch");
        // More than sockets buffer.
        let large = "x".repeat(200 * 1024);
        let pods = bench.pods();
        for number in 0..60 {
            let mut pod = labelled_pod(&format!("large-{number}"), &[]);
            pod["metadata"]["annotations"] = serde_json::json!({ "large": large });
            bench.api.create(&pods, &pod).await.expect(201);
        }
        tells_of(&mut watch, "large-59").await;
        // A watcher that has read nothing for 10 s loses its connection.
        let cut = async || silent.take_error().expect("a socket").map(drop);
        poll::until("the silent watcher to be cut off", LINES_DEADLINE, cut).await.unwrap();
        bench.api.create(&pods, &labelled_pod("after", &[])).await.expect(201);
        tells_of(&mut watch, "after").await;
    });
}

#[test]
fn watches_are_bounded_and_others_are_answered() {
    host_fact(async |bench| {
        let mut host = bench.start(&[]).await;
        let cached = api(&host);
        let path = "/api/v1/configmaps?watch=true";
        let mut watches = Vec::new();
        for _ in 0..WATCHES_MAX {
            watches.push(cached.watch(path).await.expect("a watch"));
        }
        cached.get(path).await.expect_status(429, "TooManyRequests");
        cached.get("/api/v1/configmaps").await.expect(200);
        assert_eq!(host.get("/plugins").unwrap().status, 200);
        // Watches end with the host, not after it.
        let ended = host.terminate(Duration::from_secs(20)).unwrap();
        assert!(ended.success(), "{ended}");
        for mut watch in watches {
            while watch.next().await.is_some() {}
        }
    });
}

#[test]
fn a_watch_ends_when_its_time_is_over() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let cached = api(&host);
        let path = "/api/v1/configmaps?watch=true&timeoutSeconds=1";
        let mut watch = cached.watch(path).await.expect("a watch");
        while watch.next().await.is_some() {}
    });
}
