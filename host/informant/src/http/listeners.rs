//! The addresses that a host serves on, bound before anything else starts.

use anyhow::{Context, Result, anyhow};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// A listener, of no async runtime yet, and the address that it got.
pub(crate) struct Bound {
    pub(crate) listener: std::net::TcpListener,
    pub(crate) address: SocketAddr,
}

/// All listeners of a host.
pub(crate) struct Listeners {
    /// The HTTP API, with probes and metrics.
    pub(crate) api: Bound,
    /// Probes and metrics alone. None where no address was named.
    pub(crate) metrics: Option<Bound>,
}

impl Listeners {
    /// Binds the addresses of `--listen` and `--metrics-bind-address`.
    pub(crate) async fn bind(listen: SocketAddr, metrics: Option<SocketAddr>) -> Result<Self> {
        let api = Bound::new("--listen", listen).await?;
        let metrics = match metrics {
            Some(address) => Some(Bound::new("--metrics-bind-address", address).await?),
            None => None,
        };
        Ok(Self { api, metrics })
    }

    /// Where the HTTP API is served.
    pub(crate) fn address(&self) -> SocketAddr {
        self.api.address
    }

    /// Where probes and metrics alone are served.
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|bound| bound.address)
    }
}

impl Bound {
    async fn new(option: &str, address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let advice = match error.kind() {
                std::io::ErrorKind::AddrInUse => format!(
                    "another listener has it; name another address with {option} (port 0 picks a \
                     free one)"
                ),
                _ => format!("name another address with {option}"),
            };
            anyhow!("cannot listen on {address} ({option}): {error}; {advice}")
        })?;
        let address = listener.local_addr().context("the listening address is not known")?;
        let listener = listener.into_std().context("the listener cannot be taken over")?;
        Ok(Self { listener, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a host whose addresses are these.
    #[track_caller]
    fn check_refused(bound: Result<Listeners>, expect: &[&str]) {
        let error = bound.err().expect("it is refused").to_string();
        for part in expect {
            assert!(error.contains(part), "no {part:?} in {error:?}");
        }
    }

    #[tokio::test]
    async fn an_address_in_use_is_refused_with_its_option() {
        let free = "127.0.0.1:0".parse().expect("an address");
        let listeners = Listeners::bind(free, Some(free)).await.expect("free ports");
        let taken = listeners.address();
        let in_use = |option| ["cannot listen on", option, "in use", "another listener has it"];
        check_refused(Listeners::bind(taken, None).await, &in_use("--listen"));
        let metrics = Listeners::bind(free, Some(taken)).await;
        check_refused(metrics, &in_use("--metrics-bind-address"));
        assert_ne!(Some(taken), listeners.metrics_address());
    }
}
