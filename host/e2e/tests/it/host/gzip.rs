//! Answers in gzip, for callers that accept it.

use std::net::SocketAddr;

use ::http::{Method, header};

use crate::host::bench::{host_fact, pod_names};
use crate::host::secure::{Caller, certificate, options};
use informant_e2e::http::{self, Answer};

/// The answer to a caller that accepts gzip. A body in gzip is decompressed.
fn ask(address: SocketAddr, path: &str, more: &str) -> Answer {
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept-Encoding: gzip\r\n");
    http::exchange(address, &format!("{head}{more}\r\n")).expect("an answer")
}

#[track_caller]
fn check(address: SocketAddr, path: &str, compressed: bool) -> Answer {
    let answer = ask(address, path, "");
    let expect = (200, compressed.then_some("gzip"));
    assert_eq!((answer.status, answer.header("content-encoding")), expect, "{path}");
    answer
}

#[test]
fn answers_are_compressed_and_have_the_same_content() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..20)).await;
        let host = bench.start(&["--metrics-bind-address", "127.0.0.1:0"]).await;
        let pods = format!("/core/v1/namespaces/{}/pods", bench.namespace);
        let api = format!("/api/v1/namespaces/{}/pods", bench.namespace);
        for path in [&pods, &api] {
            let compressed = check(host.address(), path, true);
            let plain = host.get(path).expect("an answer");
            assert!(plain.header("content-encoding").is_none());
            for answer in [&compressed, &plain] {
                assert_eq!(answer.header("vary"), Some("accept, accept-encoding"));
            }
            assert_eq!(compressed.json(), plain.json(), "{path}");
            assert_eq!(compressed.header("etag"), plain.header("etag"), "{path}");
        }
        for address in [host.address(), host.metrics_address().expect("it is announced")] {
            let metrics = check(address, "/metrics", true).body;
            assert!(metrics.contains("# EOF"), "{metrics}");
            check(address, "/readyz", false);
        }
        check(host.address(), &format!("{pods}?limit=1&fields=metadata.name"), false);
    });
}

/// RFC 9110, 8.8.3: one tag stands for both forms, so it is weak.
#[test]
fn a_client_with_either_form_of_an_answer_gets_no_second_copy() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..20)).await;
        let host = bench.start(&[]).await;
        let pods = format!("/core/v1/namespaces/{}/pods", bench.namespace);
        let tag = host.get(&pods).expect("an answer").header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with("W/"), "{tag}");
        let known = ask(host.address(), &pods, &format!("If-None-Match: {tag}\r\n"));
        assert_eq!((known.status, known.body.as_str()), (304, ""));
        assert_eq!(known.header("vary"), Some("accept, accept-encoding"));
        assert_eq!(known.header("etag"), Some(tag.as_str()));
    });
}

#[test]
fn watches_are_not_compressed() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..20)).await;
        let host = bench.start(&[]).await;
        let api = format!("/api/v1/namespaces/{}/pods", bench.namespace);
        let watch = check(host.address(), &format!("{api}?watch=true&timeoutSeconds=1"), false);
        assert_eq!(watch.body.matches("\"ADDED\"").count(), 20);
    });
}

#[test]
fn the_secure_address_compresses_too() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..20)).await;
        let [certificate, key] = ["server.pem", "server.key"].map(certificate);
        let host = bench.start(&options(&certificate, &key)).await;
        let caller = Caller::new(&bench, &host).await;
        let client = caller.client(&caller.token().await).await;
        let accepted = [(header::ACCEPT_ENCODING, "gzip")];
        let reply = client.call(Method::GET, &caller.own()[0], &accepted, Vec::new()).await;
        assert_eq!(reply.headers[header::CONTENT_ENCODING], "gzip");
        assert_eq!(reply.body[..2], [0x1f, 0x8b]);
    });
}
