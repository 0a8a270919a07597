//! Whether a request may act: a synchronous decision on its headers. Whether the caller has the right is the next question,
//! which the token answers on loopback, and the API server on the secure address.
//!
//! Browsers send a page's requests with everything that they have of the user: the network that the user is in, and client
//! certificates. So an action must say that no page of another site sends it.

use super::admin_token::AdminToken;
use super::callers::bearer;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// A header that each action needs. A page of another site cannot send it: a browser asks the host first, and the host
/// allows it to nobody (CORS).
pub(super) const ACTION_HEADER: &str = "X-Informant-Action";
pub(super) const ACTION_HEADER_VALUE: &str = "true";

/// Why a request may not act, whoever sends it. None: it may, if its caller may.
///
/// `scheme` is that of the address. Loopback itself checks before whether `Host` names this machine; on the secure address any
/// `Host` is taken, and `Origin` must agree with it.
pub(super) fn forged(scheme: &str, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    let all = |name: &str, is_well: &dyn Fn(&HeaderValue) -> bool| {
        headers.get_all(name).iter().all(is_well)
    };
    if !headers.contains_key(ACTION_HEADER)
        || !all(ACTION_HEADER, &|value| value == ACTION_HEADER_VALUE)
    {
        return Some("an action needs the header X-Informant-Action: true");
    }
    if !all("sec-fetch-site", &|site| site == "same-origin") {
        return Some("another site's page asked for this action; the dashboard is at /ui/");
    }
    let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
    let hosts = headers.get_all(header::HOST).iter().map(HeaderValue::as_bytes).chain(authority);
    let hosts: Vec<&[u8]> = hosts.collect();
    let is_own = |origin: &HeaderValue| {
        let rest = origin.as_bytes().strip_prefix(scheme.as_bytes());
        let named = rest.and_then(|rest| rest.strip_prefix(b"://"));
        let is_host = |host: &&[u8]| named.is_some_and(|named| named.eq_ignore_ascii_case(host));
        !hosts.is_empty() && hosts.iter().all(is_host)
    };
    if !all("origin", &is_own) {
        return Some(
            "a page of another origin than this address asked for the action; a proxy in between must keep Host",
        );
    }
    None
}

/// Why a caller on loopback has no right to actions and to dead letters. None: it has sent the token.
pub(super) fn without_token(headers: &HeaderMap, token: &AdminToken) -> Option<&'static str> {
    match bearer(headers) {
        Some(sent) if token.is(sent) => None,
        Some(_) => Some(
            "the token is not that of this host, which makes another one at each start; informant ui prints the address \
             of the dashboard with it",
        ),
        None if headers.contains_key(header::AUTHORIZATION) => {
            Some("the header Authorization must have exactly one bearer token")
        }
        None => Some(
            "this needs the token of the host; informant ui prints the address of the dashboard with it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTION: (&str, &str) = ("x-informant-action", "true");
    const LOCAL: (&str, &str) = ("host", "127.0.0.1:8888");

    /// What becomes of a request with these headers, where `TOKEN` stands for the host's token: `allowed`, or a part of the
    /// reason. On the secure address it is the caller's right that is asked about then.
    #[track_caller]
    fn check_at(scheme: &str, target: &str, sent: &[(&'static str, &str)], expect: &str) {
        let token = AdminToken::random().expect("random numbers");
        let address = token.dashboard(([127, 0, 0, 1], 8888).into());
        let text = address.rsplit('=').next().expect("a token");
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            let value = value.replace("TOKEN", text);
            headers.append(*name, value.parse().expect("a header's value"));
        }
        let uri: Uri = target.parse().expect("a target");
        let found = forged(scheme, &uri, &headers);
        let found =
            found.or_else(|| (scheme == "http").then(|| without_token(&headers, &token)).flatten());
        let found = found.unwrap_or("allowed");
        assert!(found.contains(expect), "{scheme} {target} {sent:?}: {found}");
    }

    #[track_caller]
    fn check(more: &[(&'static str, &str)], expect: &str) {
        let sent = [&[LOCAL, ACTION][..], more].concat();
        check_at("http", "/plugins/a/pause", &sent, expect);
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer TOKEN");

    /// Invariant 43.
    #[test]
    fn on_loopback_the_token_alone_acts() {
        check(&[TOKEN], "allowed");
        check(&[("authorization", "bearer TOKEN")], "allowed");
        check(&[], "this needs the token of the host");
        for value in ["Bearer x", "Bearer TOKENx", "Bearer xTOKEN", "Bearer TOKEN TOKEN"] {
            check(&[("authorization", value)], "not that of this host");
        }
        for value in ["", "Bearer", "Bearer ", "Basic TOKEN", "TOKEN", "BearerTOKEN"] {
            check(&[("authorization", value)], "exactly one bearer token");
        }
        check(&[TOKEN, TOKEN], "exactly one bearer token");
        check(&[TOKEN, ("authorization", "Bearer x")], "exactly one bearer token");
        check(&[("cookie", "token=TOKEN"), ("x-token", "TOKEN")], "needs the token of the host");
    }

    /// Invariant 43.
    #[test]
    fn an_action_needs_its_header() {
        let check = |sent: &[(&'static str, &str)], expect: &str| {
            let sent = [&[LOCAL, TOKEN][..], sent].concat();
            check_at("http", "/plugins/a/pause", &sent, expect);
        };
        let missing = "needs the header X-Informant-Action: true";
        check(&[], missing);
        check(&[("x-informant-action", "")], missing);
        check(&[("x-informant-action", "false")], missing);
        check(&[("x-informant-action", "pause")], missing);
        check(&[ACTION, ("x-informant-action", "false")], missing);
        check(&[ACTION, ACTION], "allowed");
    }

    /// Invariant 43.
    #[test]
    fn a_page_of_another_site_does_not_act() {
        let (site, origin) = ("sec-fetch-site", "another origin than this address");
        check(&[TOKEN, (site, "same-origin")], "allowed");
        for other in ["cross-site", "same-site", "none", "", "SAME-ORIGIN"] {
            check(&[TOKEN, (site, other)], "another site's page");
        }
        check(&[TOKEN, (site, "same-origin"), (site, "cross-site")], "another site's page");
        check(&[TOKEN, ("origin", "http://127.0.0.1:8888")], "allowed");
        for other in [
            "null",
            "",
            "http://evil.example",
            "http://127.0.0.1",
            "http://127.0.0.1:3000",
            "http://localhost:8888",
            "https://127.0.0.1:8888",
            "http://127.0.0.1:8888.evil.example",
            "http://127.0.0.1:8888/",
            "http://evil@127.0.0.1:8888",
            "127.0.0.1:8888",
        ] {
            check(&[TOKEN, ("origin", other)], origin);
        }
        let own = ("origin", "http://127.0.0.1:8888");
        check(&[TOKEN, own, ("origin", "http://evil.example")], origin);
        check(&[TOKEN, own, ("host", "localhost:8888")], origin);
        let target = "http://localhost:8888/plugins/a/pause";
        check_at("http", target, &[LOCAL, ACTION, TOKEN, own], origin);
        check_at("http", "/plugins/a/pause", &[ACTION, TOKEN, own], origin);
    }

    /// Invariant 43. A browser sends a client certificate by itself.
    #[test]
    fn on_the_secure_address_the_origin_is_the_name_that_was_asked() {
        let check = |origin: &str, expect: &str| {
            let sent = [("host", "informant.shop:8443"), ACTION, ("origin", origin)];
            check_at("https", "/plugins/a/pause", &sent, expect);
        };
        check("https://informant.shop:8443", "allowed");
        check("https://Informant.Shop:8443", "allowed");
        for other in
            ["http://informant.shop:8443", "https://informant.shop", "https://evil.example"]
        {
            check(other, "another origin than this address");
        }
        let host = ("host", "informant.shop:8443");
        check_at("https", "/plugins/a/pause", &[host, ACTION], "allowed");
        check_at("https", "/plugins/a/pause", &[host], "needs the header");
    }
}
