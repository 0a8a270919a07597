//! Requests that would act on a plugin without the right to. On loopback anybody on the machine may send them, and every page that a
//! browser on it shows.

use crate::host::actions::token;
use crate::host::bench::host_fact;
use informant_e2e::host::Host;
use informant_e2e::http;
use serde_json::Value;
use std::net::SocketAddr;

/// By name: the request, with `HOST` for the address, `TOKEN` for the right token and `HALF` for a part of it, and the expected status.
struct Forged {
    name: &'static str,
    request: String,
    status: u16,
}

const PAUSE: &str = "/plugins/event-printer/pause";
const ACTIONS: &str = "/plugins/event-printer/actions";
const ACTION: &str = "X-Informant-Action: true";
const BEARER: &str = "Authorization: Bearer TOKEN";

/// A request with a method, a target and headers besides `Host`.
fn with(
    name: &'static str,
    (method, target): (&str, &str),
    headers: &[&str],
    status: u16,
) -> Forged {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let request = format!("{method} {target} HTTP/1.0\r\nHost: HOST\r\n{headers}\r\n");
    Forged { name, request, status }
}

/// A pause with these headers.
fn pause(name: &'static str, headers: &[&str], status: u16) -> Forged {
    with(name, ("POST", PAUSE), headers, status)
}

/// A pause with everything that it needs, and this header.
fn page(name: &'static str, header: &str) -> Forged {
    pause(name, &[ACTION, BEARER, header], 403)
}

fn without_the_token() -> Vec<Forged> {
    let bearer =
        |name, value: &str| pause(name, &[ACTION, &format!("Authorization: {value}")], 401);
    let random = "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    vec![
        pause("no token", &[ACTION], 401),
        bearer("an empty token", "Bearer "),
        bearer("a token of the same length", random),
        bearer("the beginning of the token", "Bearer HALF"),
        bearer("the token with more behind it", "Bearer TOKENx"),
        bearer("a token of the cluster", "Bearer token-of-devcluster-admin"),
        bearer("the token in another scheme", "Basic TOKEN"),
        bearer("two tokens in one", "Bearer x, Bearer TOKEN"),
        pause("two tokens", &[ACTION, "Authorization: Bearer x", BEARER], 401),
        pause("the token in a cookie", &[ACTION, "Cookie: token=TOKEN"], 401),
        pause("the token in another header", &[ACTION, "X-Token: TOKEN"], 401),
        with("the token in the query", ("POST", &format!("{PAUSE}?token=TOKEN")), &[ACTION], 401),
        pause("a user of a proxy", &[ACTION, "X-Remote-User: admin"], 401),
        pause("another user", &[ACTION, "Impersonate-User: admin"], 401),
        pause("an address of a proxy", &[ACTION, "X-Forwarded-For: 127.0.0.1"], 401),
    ]
}

fn of_other_pages() -> Vec<Forged> {
    let rebound = |target: &str, host: &str| {
        let headers = format!("{ACTION}\r\n{BEARER}\r\nOrigin: http://evil.example");
        let request = format!("POST {target} HTTP/1.0\r\nHost: {host}\r\n{headers}\r\n\r\n");
        Forged { name: "a name that leads here", request, status: 403 }
    };
    let preflight = [
        "Origin: http://evil.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization,x-informant-action",
    ];
    vec![
        pause("a form", &[BEARER, "Content-Type: application/x-www-form-urlencoded"], 403),
        pause("a request without a question before it", &[BEARER, "Content-Type: text/plain"], 403),
        pause("a header with another value", &[BEARER, "X-Informant-Action: false"], 403),
        pause("a header with two values", &[BEARER, ACTION, "X-Informant-Action: false"], 403),
        with("the question before it", ("OPTIONS", PAUSE), &preflight, 405),
        page("another site", "Origin: http://evil.example"),
        page("another site, as the browser says", "Sec-Fetch-Site: cross-site"),
        page("another port of this machine", "Origin: http://127.0.0.1:3000"),
        page("another port, as the browser says", "Sec-Fetch-Site: same-site"),
        page("an address that is typed", "Sec-Fetch-Site: none"),
        page("a frame without an origin", "Origin: null"),
        page("this address over TLS", "Origin: https://HOST"),
        page("an origin that begins alike", "Origin: http://HOST.evil.example"),
        page("two origins", "Origin: http://HOST\r\nOrigin: http://evil.example"),
        page("another host besides", "Host: evil.example"),
        rebound(PAUSE, "evil.example"),
        rebound(&format!("http://evil.example{PAUSE}"), "HOST"),
        rebound(&format!("http://HOST{PAUSE}"), "evil.example"),
    ]
}

fn on_other_ways() -> Vec<Forged> {
    let right = [ACTION, BEARER];
    let way =
        |name, method: &str, target: &str, status| with(name, (method, target), &right, status);
    let methods = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "post"];
    let methods = methods.map(|method| way("another method", method, PAUSE, 405));
    let overriding = [ACTION, BEARER, "X-HTTP-Method-Override: POST"];
    let others = [
        with("a method in a header", ("GET", PAUSE), &overriding, 405),
        way("an encoded letter", "POST", "/plugins/event-printer/p%61use", 405),
        way("an encoded slash", "POST", "/plugins/event-printer%2fpause", 404),
        way("a way up", "POST", "/plugins/x/../event-printer/pause", 404),
        way("a slash behind", "POST", "/plugins/event-printer/pause/", 404),
        way("two slashes", "POST", "/plugins//event-printer/pause", 404),
        way("a path as a name", "POST", "/plugins/..%2fevent-printer/pause", 400),
        way("a line's end in a name", "POST", "/plugins/event-printer%0a/pause", 400),
        way("an empty name", "POST", "/plugins/%20/pause", 400),
        way("a function that there is not", "POST", "/plugins/event-printer/stop", 405),
        way("the page of the token", "GET", "/ui/token", 404),
    ];
    methods.into_iter().chain(others).collect()
}

/// The statuses are as expected, and no answer has the token or lets another origin in.
fn complaint(address: SocketAddr, token: &str, forged: &Forged) -> Option<String> {
    let Forged { name, request, status } = forged;
    let request = request.replace("HOST", &address.to_string());
    let request = request.replace("TOKEN", token).replace("HALF", &token[..20]);
    let shown: String = request.chars().take(160).collect();
    let answer = match http::exchange(address, &request) {
        Ok(answer) => answer,
        Err(error) => return Some(format!("{name}: {shown:?}: {error:#}")),
    };
    let head = answer.head.to_ascii_lowercase();
    let is_well = answer.status == *status
        && !head.contains("access-control-allow")
        && !answer.body.contains(token)
        && !head.contains(&token.to_ascii_lowercase());
    (!is_well).then(|| {
        format!("{name}: {} and not {status} to {shown:?}: {}", answer.status, answer.body)
    })
}

#[track_caller]
fn check_untouched(host: &Host) {
    let plugin: Value = host.plugin("event-printer").expect("it is there");
    assert_eq!(plugin["state"], "running", "{plugin}");
    assert_eq!(plugin["counters"]["reloads"], 0, "{plugin}");
}

/// Invariant 43.
#[test]
fn no_request_acts_without_the_right_to() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&["--metrics-bind-address", "127.0.0.1:0"]).await;
        let token = token(&bench, &host);
        let forged = [without_the_token(), of_other_pages(), on_other_ways()];
        let wrong: Vec<String> = forged
            .iter()
            .flatten()
            .filter_map(|forged| complaint(host.address(), &token, forged))
            .collect();
        assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
        let metrics = host.metrics_address().expect("it has one");
        let elsewhere = with("the address of metrics", ("POST", PAUSE), &[ACTION, BEARER], 404);
        assert_eq!(complaint(metrics, &token, &elsewhere), None);
        check_untouched(&host);
        for path in [
            "/",
            "/plugins",
            "/openapi.json",
            "/ui/",
            "/ui/main.js",
            "/problems",
            "/metrics",
            ACTIONS,
        ] {
            let answer = host.get(path).expect("an answer");
            assert!(!answer.body.contains(&token) && !answer.head.contains(&token), "{path}");
        }
        assert!(!host.lines().iter().any(|line| line.text.contains(&token)), "it is logged");
        let refused = r#"informant_http_callers_refused_total{reason="unauthenticated"}"#;
        let count = host.get("/metrics").expect("a page").series(refused).expect("it is there");
        assert!(count >= without_the_token().len() as f64, "{count} were counted");
        host.check_running().unwrap();
    });
}
