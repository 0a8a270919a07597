//! Requests that the host's port must refuse.

use super::secrets::check_nothing_is_known;
use crate::host::bench::{SECRET, host_fact};
use informant_e2e::http;
use std::net::SocketAddr;

/// By name: the request, with `HOST` for the address, and the accepted statuses.
type Sent = (&'static str, String, &'static [u16]);

const REFUSED: &[u16] = &[400, 403, 404, 405, 414, 421, 431, 501];

fn get(name: &'static str, target: &str) -> Sent {
    (name, format!("GET {target} HTTP/1.0\r\nHost: HOST\r\n\r\n"), REFUSED)
}

fn with_method(name: &'static str, method: &str, path: &str) -> Sent {
    let head = format!("{method} {path} HTTP/1.0\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n");
    (name, head + "{}", REFUSED)
}

fn with_header(name: &'static str, target: &str, header: &str) -> Sent {
    (name, format!("GET {target} HTTP/1.0\r\n{header}\r\n\r\n"), REFUSED)
}

fn paths_to_secrets() -> Vec<Sent> {
    let mut sent = vec![
        get("Secrets", "/core/v1/secrets"),
        get("Secrets with a query", "/core/v1/secrets?labels[a]=b"),
        get("Secrets of another version", "/core/v2/secrets"),
        get("Secrets in upper case", "/core/v1/Secrets"),
        get("a version in upper case", "/core/V1/secrets"),
        get("a group in upper case", "/CORE/v1/secrets"),
        get("an encoded letter", "/core/v1/%73ecrets"),
        get("an encoded group", "/%63ore/v1/secrets"),
        get("encoded twice", "/core/v1/%2573ecrets"),
        get("encoded slashes", "/core%2fv1%2fsecrets"),
        get("a slash behind", "/core/v1/secrets/"),
        get("two slashes before", "//core/v1/secrets"),
        get("no group", "/v1/secrets"),
        get("an empty group", "//v1/secrets"),
        get("out of another resource", "/core/v1/pods/../secrets"),
        get("out of it, encoded", "/core/v1/%2e%2e/secrets"),
        get("a parameter behind", "/core/v1/secrets;a"),
        get("NUL behind", "/core/v1/secrets%00"),
        get("a line's end behind", "/core/v1/secrets%0d%0a"),
        get("not UTF-8", "/core/v1/secrets%ff"),
        get("Secrets of a namespace", "/core/v1/namespaces/default/secrets"),
        get("the same in the query", "/core/v1/secrets?namespace=default"),
        get("one of them", "/core/v1/namespaces/default/secrets/password"),
        get("a page of them", "/core/v1/secrets?limit=1"),
        get("events of them", "/core/v1/secrets?watch=true"),
        get("events of one", "/core/v1/namespaces/default/secrets/password?watch=true"),
        get("fields of them", "/core/v1/secrets?fields=data"),
        get("a namespace that leads elsewhere", "/core/v1/namespaces/..%2fsecrets/pods"),
        get("the same in the query", "/core/v1/pods?namespace=../../secrets"),
        get("the API server's path", "/api/v1/secrets"),
        get("the same in a namespace", "/api/v1/namespaces/default/secrets"),
        get("a path of another machine", "http://evil.example/core/v1/secrets"),
        get("a path of this machine", "http://localhost/core/v1/secrets"),
        get("a file", "/../../../../etc/passwd"),
    ];
    let selectors = [
        "labels[a]=b%2c!c",
        "labels[a%3db%2cc]=d",
        "fieldSelector=x",
        "limit=0",
        "limit=1&watch=true",
    ];
    sent.extend(
        selectors.map(|query| get("a selector that is more", &format!("/core/v1/pods?{query}"))),
    );
    sent
}

fn other_requests() -> Vec<Sent> {
    let mut sent = vec![
        get("a target of 100 KiB", &format!("/{}", "a".repeat(100 << 10))),
        get("a query of 100 KiB", &format!("/core/v1/pods?labels[a]={}", "b".repeat(100 << 10))),
        get("a thousand labels", &format!("/core/v1/pods?{}", "labels[a]=b&".repeat(1_000))),
        with_header("no Host", "/plugins", "X: y"),
        with_header("another Host", "/plugins", "Host: evil.example"),
        with_header("two Hosts", "/plugins", "Host: HOST\r\nHost: evil.example"),
        with_header("a Host with a user", "/plugins", "Host: HOST@evil.example"),
        with_header("a Host that begins well", "/plugins", "Host: 127.0.0.1.evil.example"),
        with_header("another site's page", "/plugins", "Host: HOST\r\nSec-Fetch-Site: cross-site"),
        with_header(
            "another site's page on a resource",
            "/core/v1/pods",
            "Host: HOST\r\nSec-Fetch-Site: cross-site",
        ),
        with_header(
            "headers of 1 MiB",
            "/plugins",
            &format!("Host: HOST\r\n{}X: y", "X: y\r\n".repeat(170_000)),
        ),
    ];
    for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "FLY"] {
        sent.push(with_method("a method that writes", method, "/core/v1/pods"));
        sent.push(with_method("a method that writes, on plugins", method, "/plugins"));
    }
    sent
}

/// The only accepted results are a refusal and the end of the connection.
fn complaint(address: SocketAddr, (name, request, statuses): &Sent) -> Option<String> {
    let request = request.replace("HOST", &address.to_string());
    let Ok(answer) = http::exchange(address, &request) else { return None };
    let is_well = statuses.contains(&answer.status) && !answer.body.contains(SECRET);
    let shown: String = request.chars().take(80).collect();
    (!is_well).then(|| format!("{name}: {} to {shown:?}: {}", answer.status, answer.body))
}

#[test]
fn no_request_leads_to_what_is_not_served() {
    host_fact(async |bench| {
        bench.create_secret().await;
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&[]).await;
        let sent = [paths_to_secrets(), other_requests()].concat();
        let wrong: Vec<String> =
            sent.iter().filter_map(|one| complaint(host.address(), one)).collect();
        assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
        check_nothing_is_known(&host);
        assert_eq!(host.get("/readyz").expect("an answer").status, 200);
        let plugin = host.plugin("event-printer").expect("it is there");
        assert_eq!(plugin["state"], "running", "{plugin}");
        host.check_running().unwrap();
    });
}
