//! What an address may serve: a synchronous decision on path and headers.
//!
//! These callers are not authenticated. So everything is served on loopback only, and there a foreign
//! `Host` is refused, which is how a web page in a browser on this machine would come (DNS rebinding), and what
//! a browser says that another site asks for.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Paths that are answered at once, whatever else is asked for.
const PROBES: [&str; 3] = ["/healthz", "/livez", "/readyz"];
const METRICS: &str = "/metrics";

/// Whether a request for this path is a probe.
pub(crate) fn is_probe(path: &str) -> bool {
    PROBES.contains(&path)
}

/// Paths that any address serves: they say nothing of the cluster's content.
fn is_open(path: &str) -> bool {
    is_probe(path) || path == METRICS
}

/// What the listening address may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Everything, to callers that know where they are.
    Loopback,
    /// Health and metrics.
    HealthOnly,
}

impl Exposure {
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.ip().to_canonical().is_loopback() { Self::Loopback } else { Self::HealthOnly }
    }

    /// Why the request is refused, if it is.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let path = uri.path();
        match self {
            Self::Loopback if !all_local(uri, headers) => {
                Err("the Host header names another machine; use 127.0.0.1 or localhost")
            }
            Self::Loopback => check_site(headers),
            Self::HealthOnly if is_open(path) => Ok(()),
            Self::HealthOnly => Err(
                "only /healthz, /livez, /readyz and /metrics are served on an address that is not \
                 loopback, because callers are not authenticated; use --listen with a loopback address \
                 and --metrics-bind-address for probes and metrics, or --secure-listen-address for \
                 users of the cluster",
            ),
        }
    }
}

/// Whether everything that names the host of a request names this machine, and something does.
fn all_local(uri: &Uri, headers: &HeaderMap) -> bool {
    let authority = uri.authority().is_none_or(|authority| is_local(authority.as_str()));
    let mut hosts = headers.get_all(header::HOST).iter().peekable();
    let named = uri.authority().is_some() || hosts.peek().is_some();
    named && authority && hosts.all(|host| host.to_str().is_ok_and(is_local))
}

/// Why a request is refused that another site's page makes. A browser says so (Fetch Metadata); others say nothing.
pub(super) fn check_site(headers: &HeaderMap) -> Result<(), &'static str> {
    match headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site") {
        true => Err("another site's page asked for this; open the address by itself"),
        false => Ok(()),
    }
}

/// Whether a `Host` names this machine: a name or an address, then perhaps a port, and nothing else.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let port = match host.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        // A user's name comes first.
        None => false,
    };
    let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(name) => name.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => name.parse::<std::net::Ipv4Addr>().ok().map(IpAddr::V4),
    };
    let local = address.is_some_and(|address| address.to_canonical().is_loopback());
    port && (local || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with these headers and this target, which is a path or absolute.
    #[track_caller]
    fn check_headers(listen: &str, target: &str, named: &[(&'static str, &str)], allowed: bool) {
        let exposure = Exposure::of(listen.parse().expect("an address"));
        let mut headers = HeaderMap::new();
        for (name, value) in named {
            headers.append(*name, value.parse().expect("a header's value"));
        }
        let uri: Uri = target.parse().expect("a target");
        let found = exposure.check(&uri, &headers);
        assert_eq!(found.is_ok(), allowed, "{listen} {target} {named:?}");
    }

    #[track_caller]
    fn check(listen: &str, path: &str, host: Option<&str>, allowed: bool) {
        let named: Vec<_> = host.into_iter().map(|host| ("host", host)).collect();
        check_headers(listen, path, &named, allowed);
    }

    #[test]
    fn loopback_serves_everything_to_local_hosts() {
        for host in ["127.0.0.1:8888", "localhost", "LOCALHOST:1", "[::1]:8888", "127.0.0.2"] {
            check("127.0.0.1:8888", "/plugins", Some(host), true);
        }
        check("[::1]:8888", "/core/v1/pods", Some("localhost"), true);
        check("127.0.0.1:8888", "http://localhost:8888/plugins", Some("localhost:8888"), true);
        check("127.0.0.1:8888", "/api/v1/pods", Some("localhost"), true);
    }

    #[test]
    fn a_foreign_or_missing_host_is_refused_on_loopback() {
        for host in [Some("evil.example"), Some("127.0.0.1.evil.example"), Some(""), None] {
            check("127.0.0.1:8888", "/plugins", host, false);
            check("127.0.0.1:8888", "/healthz", host, false);
        }
    }

    #[test]
    fn a_host_with_more_than_a_name_and_a_port_is_refused() {
        let hosts = [
            "[::1].evil",
            "[::1]evil:80",
            "[localhost]",
            "[127.0.0.1]",
            "::1",
            "127.0.0.1:x",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:80:80",
            "127.0.0.1:x@evil",
            "127.0.0.1@evil",
            "evil@127.0.0.1",
            "127.0.0.1/evil",
            "localhost.",
            "127.1",
        ];
        for host in hosts {
            check("127.0.0.1:8888", "/plugins", Some(host), false);
        }
    }

    #[test]
    fn every_name_of_the_host_must_be_local() {
        let check = |target: &str, hosts: &[&str], allowed| {
            let named: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
            check_headers("127.0.0.1:8888", target, &named, allowed);
        };
        check("/plugins", &["localhost", "evil.example"], false);
        check("/plugins", &["evil.example", "localhost"], false);
        check("http://evil.example/plugins", &["localhost"], false);
        check("http://localhost/plugins", &["evil.example"], false);
        check("http://localhost/plugins", &[], true);
    }

    #[test]
    fn other_sites_pages_are_refused() {
        let check = |site, allowed| {
            let named = [("host", "localhost"), ("sec-fetch-site", site)];
            check_headers("127.0.0.1:8888", "/plugins", &named, allowed);
        };
        check("cross-site", false);
        check("same-origin", true);
        check("none", true);
    }

    #[test]
    fn another_address_serves_health_and_metrics_only() {
        check("0.0.0.0:8888", "/healthz", Some("10.0.0.7:8888"), true);
        check("10.0.0.7:8888", "/metrics", None, true);
        check("0.0.0.0:8888", "/plugins", Some("127.0.0.1:8888"), false);
        check("0.0.0.0:8888", "/core/v1/pods", Some("localhost"), false);
        check("0.0.0.0:8888", "/api/v1/pods", Some("localhost"), false);
        check("0.0.0.0:8888", "/healthz/x", Some("10.0.0.7"), false);
    }
}
