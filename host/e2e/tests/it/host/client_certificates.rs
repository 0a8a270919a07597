//! Callers of the secure address with a certificate: the common name is the user, and the organizations are its groups.

use http::{HeaderName, Method, header};

use crate::host::bench::{HostBench, host_fact};
use crate::host::secure::{Caller, PAGES, certificate, client_certificate, code, options};
use informant_e2e::host::Host;

/// A host that takes certificates of the test's authority.
async fn start(bench: &HostBench<'_>) -> Host {
    let [certificate, key] = ["server.pem", "server.key"].map(certificate);
    let clients = client_certificate("clients.pem");
    let secure = options(&certificate, &key);
    bench.start(&[&secure[..], &["--client-ca-file", &clients]].concat()).await
}

/// Invariant 42.
#[test]
fn a_caller_with_a_certificate_reads_what_its_group_may_read_and_nothing_else() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        Caller::certified(&bench, &host, "jane.pem").await.check().await;
    });
}

/// The API server says so, and not the host.
#[test]
fn a_caller_in_the_group_of_masters_reads_everything_but_secrets() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        let admin = Caller::new(&bench, &host).await.client_with("admin.pem").await;
        // There is no such plugin, so there is no log.
        let pages = PAGES.into_iter().filter(|page| !page.ends_with("/logs"));
        for path in pages.chain(["/core/v1/pods", "/apis"]) {
            assert_eq!(code(&admin, path).await, 200, "{path}");
        }
        assert_eq!(code(&admin, "/core/v1/secrets").await, 403);
        let description = admin.get("/openapi.json").await.json();
        let schemes = &description["components"]["securitySchemes"];
        assert_eq!(
            (&schemes["bearer"]["scheme"], &schemes["certificate"]["type"]),
            (&"bearer".into(), &"mutualTLS".into())
        );
    });
}

#[test]
fn a_caller_without_a_certificate_or_a_name_goes_on_with_its_token() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        let caller = Caller::new(&bench, &host).await;
        caller.check().await;
        let nameless = caller.client_with("nameless.pem").await;
        let path = &caller.own()[0];
        assert_eq!(code(&nameless, path).await, 401);
        let bearer = format!("Bearer {}", caller.token().await);
        let token = [(header::AUTHORIZATION, bearer.as_str())];
        let reply = nameless.call(Method::GET, path, &token, Vec::new()).await;
        assert_eq!(reply.status.as_u16(), 200);
    });
}

/// Invariant 43. A browser sends a certificate by itself, so the certificate says nothing of the page that asks.
#[test]
fn a_certificate_acts_for_no_page_of_another_site() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = start(&bench).await;
        let admin = Caller::new(&bench, &host).await.client_with("admin.pem").await;
        let action = (HeaderName::from_static("x-informant-action"), "true");
        let site = HeaderName::from_static("sec-fetch-site");
        let plain = (header::CONTENT_TYPE, "text/plain");
        let pause = "/plugins/event-printer/pause";
        for (headers, expect) in [
            (vec![], 403),
            (vec![plain], 403),
            (vec![action.clone(), (header::ORIGIN, "https://evil.example")], 403),
            (vec![action.clone(), (header::ORIGIN, "null")], 403),
            (vec![action.clone(), (site.clone(), "cross-site")], 403),
            (vec![action.clone(), (site.clone(), "same-site")], 403),
            (vec![action, (site, "same-origin")], 200),
        ] {
            let state = host.plugin("event-printer").expect("it is there")["state"].clone();
            assert_eq!(state, "running", "before {headers:?}");
            let reply = admin.call(Method::POST, pause, &headers, Vec::new()).await;
            assert_eq!(reply.status.as_u16(), expect, "{headers:?}");
        }
    });
}

/// Invariant 42.
#[test]
fn a_caller_whose_certificate_is_not_valid_is_refused_in_the_handshake() {
    host_fact(async |bench| {
        let host = start(&bench).await;
        let caller = Caller::new(&bench, &host).await;
        for file in ["ended.pem", "early.pem", "server-usage.pem", "stranger.pem"] {
            let client = caller.client_with(file).await;
            for path in ["/livez", &caller.own()[0]] {
                let answer = client.send(Method::GET, path, &[], Vec::new()).await;
                assert!(answer.is_err(), "{file} {path}");
            }
        }
    });
}
