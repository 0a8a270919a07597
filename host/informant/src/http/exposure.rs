//! What an address may serve: a synchronous decision on path and `Host`.
//!
//! Callers cannot be authenticated yet. So everything is served on loopback only, and there a foreign
//! `Host` is refused, which is how a web page in a browser on this machine would come (DNS rebinding).

use std::net::SocketAddr;

/// Paths that any address serves: they say nothing of the cluster's content.
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/metrics"];

/// What the listening address may show.
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
    pub(crate) fn check(&self, path: &str, host: Option<&str>) -> Result<(), &'static str> {
        match self {
            _ if reserved(path) => {
                Err("the paths /api and /apis are reserved; resources are at /core/v1/pods")
            }
            Self::Loopback if host.is_some_and(is_local) => Ok(()),
            Self::Loopback => {
                Err("the Host header names another machine; use 127.0.0.1 or localhost")
            }
            Self::HealthOnly if OPEN.contains(&path) => Ok(()),
            Self::HealthOnly => Err(
                "only /healthz, /livez, /readyz and /metrics are served on an address that is not \
                 loopback, because callers are not authenticated; use kubectl port-forward",
            ),
        }
    }
}

/// Kubernetes' own paths, which will be the Kubernetes API over the cache.
fn reserved(path: &str) -> bool {
    ["/api", "/apis"].iter().any(|root| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether a `Host` header names this machine, with or without a port.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listen: &str, path: &str, host: Option<&str>, allowed: bool) {
        let exposure = Exposure::of(listen.parse().expect("an address"));
        assert_eq!(exposure.check(path, host).is_ok(), allowed, "{listen} {path} {host:?}");
    }

    #[test]
    fn loopback_serves_everything_to_local_hosts() {
        for host in ["127.0.0.1:8888", "localhost", "LOCALHOST:1", "[::1]:8888", "127.0.0.2"] {
            check("127.0.0.1:8888", "/plugins", Some(host), true);
        }
        check("[::1]:8888", "/core/v1/pods", Some("localhost"), true);
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
        check("0.0.0.0:8888", "/healthz/x", Some("10.0.0.7"), false);
    }

    #[test]
    fn kubernetes_own_paths_are_reserved() {
        check("127.0.0.1:1", "/api/v1/pods", Some("localhost"), false);
        check("127.0.0.1:1", "/apis", Some("localhost"), false);
        check("127.0.0.1:1", "/apiserver/v1/pods", Some("localhost"), true);
    }
}
