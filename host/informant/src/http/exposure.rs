//! What an address may serve: a synchronous decision on path and headers.
//!
//! These callers are not authenticated. So everything is served on loopback only, and there web pages of others are
//! refused.

use axum::http::{HeaderMap, Uri};
use informant_apiserver::{check_site, names_this_machine};
use std::net::SocketAddr;

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
            Self::Loopback if !names_this_machine(uri, headers) => Err(
                "the Host header is missing or names another machine; use 127.0.0.1 or localhost",
            ),
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
    fn another_address_serves_health_and_metrics_only() {
        check("0.0.0.0:8888", "/healthz", Some("10.0.0.7:8888"), true);
        check("10.0.0.7:8888", "/metrics", None, true);
        check("0.0.0.0:8888", "/plugins", Some("127.0.0.1:8888"), false);
        check("0.0.0.0:8888", "/core/v1/pods", Some("localhost"), false);
        check("0.0.0.0:8888", "/api/v1/pods", Some("localhost"), false);
        check("0.0.0.0:8888", "/healthz/x", Some("10.0.0.7"), false);
    }
}
