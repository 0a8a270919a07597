//! The addresses that a host serves on, bound before anything else starts.

use super::admin_token::AdminToken;
use super::exposure::Exposure;
use super::tls::{ServerTls, TlsFiles};
use anyhow::{Context, Result, anyhow};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that the kernel keeps until they are accepted, if it has no smaller bound (`net.core.somaxconn`). With the usual 128 it forgets the first packet of
/// whoever comes in a crowd, which is sent again after a second: too late for a probe.
const BACKLOG: u32 = 4096;

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
    /// The HTTP API for users of the cluster. None where no address was named.
    pub(crate) secure: Option<SecureBound>,
    /// With it callers on loopback act.
    pub(super) token: Arc<AdminToken>,
}

/// The addresses of a host, as its options name them.
pub(crate) struct Addresses {
    /// `--listen`.
    pub(crate) api: SocketAddr,
    /// `--metrics-bind-address`. None: probes and metrics are served on the first address alone.
    pub(crate) metrics: Option<SocketAddr>,
    /// `--secure-listen-address`. None: callers on other machines are not served.
    pub(crate) secure: Option<SecureAddress>,
}

/// The secure address, and its certificate.
#[derive(Clone, Debug)]
pub(crate) struct SecureAddress {
    pub(crate) address: SocketAddr,
    pub(crate) files: TlsFiles,
}

/// The listener of the secure address, with its certificate.
pub(crate) struct SecureBound {
    pub(crate) bound: Bound,
    pub(crate) tls: Arc<ServerTls>,
}

impl Listeners {
    /// Binds the addresses.
    pub(crate) fn bind(addresses: &Addresses) -> Result<Self> {
        let api = Bound::new("--listen", addresses.api)?;
        let metrics = match addresses.metrics {
            Some(address) => Some(Bound::new("--metrics-bind-address", address)?),
            None => None,
        };
        let secure = match &addresses.secure {
            Some(SecureAddress { address, files }) => Some(SecureBound {
                tls: Arc::new(ServerTls::load(files.clone())?),
                bound: Bound::new("--secure-listen-address", *address)?,
            }),
            None => None,
        };
        Ok(Self { api, metrics, secure, token: Arc::new(AdminToken::random()?) })
    }

    /// The address of the dashboard, with the token that acts.
    ///
    /// # Errors
    /// The address is not loopback and serves no dashboard. The reason names the secure address, if there is one: there each
    /// user acts with its own rights.
    pub(crate) fn dashboard(&self) -> Result<String, String> {
        let address = self.address();
        match (Exposure::of(address), self.secure_address()) {
            (Exposure::Loopback, _) => Ok(self.token.dashboard(address)),
            (_, Some(secure)) => Err(format!(
                "this host's --listen is not loopback; its dashboard is at /ui/ of the secure address {secure}, for callers with the right to act"
            )),
            (_, None) => Err(
                "the dashboard is served on loopback and on --secure-listen-address, and this host's --listen is neither".to_owned(),
            ),
        }
    }

    /// Where the HTTP API is served.
    pub(crate) fn address(&self) -> SocketAddr {
        self.api.address
    }

    /// Where probes and metrics alone are served.
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|bound| bound.address)
    }

    /// Where users of the cluster are served.
    pub(crate) fn secure_address(&self) -> Option<SocketAddr> {
        self.secure.as_ref().map(|secure| secure.bound.address)
    }
}

impl Bound {
    fn new(option: &str, address: SocketAddr) -> Result<Self> {
        let listener = listen(address).map_err(|error| {
            let advice = match error.kind() {
                std::io::ErrorKind::AddrInUse => {
                    // A second host of the same user has the same two defaults.
                    let too = if option == "--listen" { ", and another --admin-socket" } else { "" };
                    format!(
                        "another listener has it; name another address with {option} (port 0 picks a \
                         free one){too}"
                    )
                }
                _ => format!("name another address with {option}"),
            };
            anyhow!("cannot listen on {address} ({option}): {error}; {advice}")
        })?;
        let address = listener.local_addr().context("the listening address is not known")?;
        let listener = listener.into_std().context("the listener cannot be taken over")?;
        Ok(Self { listener, address })
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A host that starts anew has the address of the one before it.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;
    use std::time::Duration;

    /// The error of a host whose addresses are these.
    #[track_caller]
    fn check_refused(bound: Result<Listeners>, expect: &[&str]) {
        let error = bound.err().expect("it is refused").to_string();
        for part in expect {
            assert!(error.contains(part), "no {part:?} in {error:?}");
        }
    }

    fn bind(api: SocketAddr, metrics: Option<SocketAddr>) -> Result<Listeners> {
        Listeners::bind(&Addresses { api, metrics, secure: None })
    }

    #[tokio::test]
    async fn an_address_in_use_is_refused_with_its_option() {
        let free = "127.0.0.1:0".parse().expect("an address");
        let listeners = bind(free, Some(free)).expect("free ports");
        let taken = listeners.address();
        let in_use = |option| ["cannot listen on", option, "in use", "another listener has it"];
        check_refused(bind(taken, None), &in_use("--listen"));
        check_refused(bind(taken, None), &["and another --admin-socket"]);
        let metrics = bind(free, Some(taken));
        check_refused(metrics, &in_use("--metrics-bind-address"));
        assert_ne!(Some(taken), listeners.metrics_address());
    }

    #[tokio::test]
    async fn a_crowd_that_comes_at_once_is_kept_until_it_is_looked_at() {
        let free = "127.0.0.1:0".parse().expect("an address");
        let listeners = bind(free, None).expect("a free port");
        // The first packet is sent again after a second.
        let soon = Duration::from_millis(900);
        let connect = || TcpStream::connect_timeout(&listeners.address(), soon);
        let crowd: Vec<TcpStream> = (0..400).map_while(|_| connect().ok()).collect();
        assert_eq!(crowd.len(), 400);
    }
}
