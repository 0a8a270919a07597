//! HTTP requests to addresses that no plugin may reach, and requests that a server interprets differently from the
//! rules. No server listens at the granted address: a request that passed the rules would fail with a refused
//! connection.

use super::attacker::{Try, check, refused};
use crate::host::bench::host_fact;
use serde_json::{Value, json};

/// No server listens there.
const SERVER: &str = "http://127.0.0.1:9";

fn get(url: &str) -> Value {
    json!({"call": "http.send", "of": "GET", "text": url})
}

fn of_server(path: &str) -> Value {
    get(&format!("{SERVER}{path}"))
}

fn with_header(name: &str, value: &str) -> Value {
    let mut call = of_server("/v1");
    call["pairs"] = json!([[name, value]]);
    call
}

/// Grants everything that no rule can grant, as far as the configuration can express it.
fn settings() -> Value {
    let addresses = [
        "http://169.254.169.254",
        "http://[::ffff:a9fe:a9fe]",
        "http://[64:ff9b::a9fe:a9fe]",
        "http://[64:ff9b:1::7f00:1]",
        "http://[2002:7f00:1::1]",
        "http://[2001:0:7f00:1::1]",
        "http://[::ffff:0:7f00:1]",
        "http://[fe80::1]",
        "http://[::]",
        "http://0.0.0.0",
        "http://100.100.100.200",
        SERVER,
    ];
    json!({"http": [{
        "origins": addresses,
        "methods": ["GET"],
        "paths": ["/v1"],
        "addresses": ["public", "private", "loopback"],
    }]})
}

fn addresses() -> Vec<Try> {
    let link_local = "has a link-local address";
    vec![
        refused("metadata", get("http://169.254.169.254/v1"), link_local),
        refused("metadata as a number", get("http://2852039166/v1"), link_local),
        refused("metadata in octal", get("http://0251.0376.0251.0376/v1"), link_local),
        refused("metadata mapped", get("http://[::ffff:169.254.169.254]/v1"), link_local),
        refused(
            "metadata translated",
            get("http://[64:ff9b::a9fe:a9fe]/v1"),
            "has a translated address that is not public",
        ),
        refused(
            "loopback by a network's own translator",
            get("http://[64:ff9b:1::127.0.0.1]/v1"),
            "has a translated address of a network's own",
        ),
        refused(
            "loopback translated without a prefix",
            get("http://[::ffff:0:127.0.0.1]/v1"),
            "has a translated address of a network's own",
        ),
        refused("loopback in 6to4", get("http://[2002:7f00:1::1]/v1"), "has a 6to4 address"),
        refused("loopback in Teredo", get("http://[2001:0:7f00:1::1]/v1"), "has a Teredo address"),
        refused("a neighbour's link", get("http://[fe80::1]/v1"), link_local),
        refused("any address", get("http://0.0.0.0/v1"), "has an unspecified address"),
        refused("any address of IPv6", get("http://[::]/v1"), "has an unspecified address"),
        refused(
            "another cloud's metadata",
            get("http://100.100.100.200/v1"),
            "has the address of a cloud's metadata",
        ),
    ]
}

fn paths() -> Vec<Try> {
    let (below, dots) =
        ("to GET this path of http://127.0.0.1:9 is not granted", "has . or .. in it");
    vec![
        refused("another path", of_server("/admin"), below),
        refused("a path that begins alike", of_server("/v10"), below),
        refused("a way up", of_server("/v1/../admin"), dots),
        refused("a way up with parameters", of_server("/v1/..;a/admin"), dots),
        refused("a way up, encoded", of_server("/v1/%2e%2e/admin"), dots),
        refused("a slash, encoded", of_server("/v1/..%2fadmin"), below),
        refused("a slash, encoded twice", of_server("/v1/..%252fadmin"), below),
        refused("a backslash, encoded", of_server("/v1/..%5cadmin"), below),
        refused("a backslash", of_server("/v1\\..\\admin"), "a URL has no"),
        refused("an overlong slash", of_server("/v1/..%c0%afadmin"), below),
        refused("overlong dots", of_server("/v1/%c0%ae%c0%ae/admin"), below),
        refused("code points", of_server("/v1/%u002e%u002e%u2215admin"), below),
        refused("dots and blanks", of_server("/v1/..%20/admin"), below),
        refused("dots that look alike", of_server("/v1/%EF%BC%8E%EF%BC%8E/admin"), below),
        refused("an end of a text", of_server("/v1/%00/../../admin"), dots),
    ]
}

fn requests() -> Vec<Try> {
    let of_another = "would claim that another client sends it";
    let own = "is the host's own";
    let post = json!({"call": "http.send", "of": "POST", "text": format!("{SERVER}/v1")});
    let trace = json!({"call": "http.send", "of": "TRACE", "text": format!("{SERVER}/v1")});
    vec![
        refused("another method", post, "is not granted"),
        refused("an echo", trace, "the method has"),
        refused("another host behind a user", get("http://127.0.0.1:9@evil.test/v1"), "a user"),
        refused("another scheme", get("file:///etc/passwd"), "a URL begins with"),
        refused("another host", with_header("Host", "evil.test"), own),
        refused("another length", with_header("Content-Length", "0"), own),
        refused(
            "another request behind it",
            with_header("x", "a\r\n\r\nGET /"),
            "control characters",
        ),
        refused("a header in a name", with_header("x\r\nHost", "a"), "cannot be the name"),
        refused(
            "another method in a header",
            with_header("X-HTTP-Method-Override", "PUT"),
            "would have a server",
        ),
        refused(
            "another path in a header",
            with_header("X_Original_URL", "/admin"),
            "would have a server",
        ),
        refused("another asker", with_header("X-Forwarded-For", "127.0.0.1"), of_another),
        refused(
            "another asker, by the standard",
            with_header("Forwarded", "for=127.0.0.1"),
            of_another,
        ),
        refused("another user", with_header("X-Remote-User", "admin"), of_another),
        // A granted request would be sent.
        refused(
            "what is granted",
            of_server("/v1/x"),
            "nothing was sent: http://127.0.0.1:9: Connection refused",
        ),
    ]
}

#[test]
fn nobody_is_asked_who_is_not_to_be_and_nothing_that_others_read_otherwise() {
    host_fact(async |bench| {
        let tries = addresses().into_iter().chain(paths()).chain(requests());
        let tries: Vec<Try> = tries.collect();
        check(&bench, settings(), json!({}), &tries).await;
    });
}
