//! Connections: to addresses that were looked at, and to no others.

use super::resolve::Resolver;
use super::tls::Tls;
use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use informant_runtime::{HttpError, HttpRequest};
use std::env;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// For one address. There may be another, and a call waits for 10 s by itself.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 8;

/// One connection, which ends with this.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    _driver: AbortOnDropHandle<()>,
}

/// Makes connections.
pub(super) struct Connector {
    resolver: Box<dyn Resolver>,
    tls: Tls,
    /// Hosts and ports of the cluster's API server.
    api_servers: Vec<(String, u16)>,
}

/// As the client reaches it, and as every pod does.
pub(super) fn api_servers(uri: &Uri) -> Vec<(String, u16)> {
    let port = match uri.scheme_str() {
        Some("http") => 80,
        _ => 443,
    };
    let plain = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let named = uri.host().map(|host| (plain(host), uri.port_u16().unwrap_or(port)));
    let variable = |name: &str| env::var(format!("KUBERNETES_SERVICE_{name}")).ok();
    let of_pod = variable("HOST").zip(variable("PORT").and_then(|port| port.parse().ok()));
    named.into_iter().chain(of_pod).collect()
}

impl Connector {
    pub(super) fn new(
        resolver: Box<dyn Resolver>,
        tls: Tls,
        api_servers: Vec<(String, u16)>,
    ) -> Self {
        Self { resolver, tls, api_servers }
    }

    /// A new connection to whom the request is for.
    pub(super) async fn connect(&self, request: &HttpRequest) -> Result<Connection, HttpError> {
        let stream = self.reach(request).await?;
        let target = &request.target;
        if !target.is_https() {
            return handshake(stream, request).await;
        }
        let unsent = |problem: String| {
            HttpError::Unsent(format!("{}: no TLS connection: {problem}", target.origin()))
        };
        let name = rustls::pki_types::ServerName::try_from(target.host().to_owned());
        let name = name.map_err(|error| unsent(error.to_string()))?;
        let tls = self.tls.connector().await.map_err(unsent)?;
        let stream = tls.connect(name, stream).await.map_err(|error| unsent(error.to_string()))?;
        handshake(stream, request).await
    }

    async fn reach(&self, request: &HttpRequest) -> Result<TcpStream, HttpError> {
        let (target, origin) = (&request.target, request.target.origin());
        let unsent = |problem: String| HttpError::Unsent(format!("{origin}: {problem}"));
        let found = self.addresses(target.host(), target.address()).await.map_err(unsent)?;
        let (allowed, refused): (Vec<IpAddr>, Vec<IpAddr>) =
            found.into_iter().partition(|address| request.addresses.allow(*address));
        if allowed.is_empty() {
            return Err(match refused.first() {
                Some(address) => HttpError::Address(*address),
                None => unsent("its name has no address".to_owned()),
            });
        }
        let mut problem = String::new();
        for address in allowed.into_iter().take(ADDRESSES_MAX) {
            let address = SocketAddr::new(address, target.port());
            if self.is_api_server(address).await.map_err(unsent)? {
                return Err(HttpError::Refused(format!(
                    "{origin} is the cluster's API server at {address}: it is written to through kube, and nothing grants requests to it"
                )));
            }
            match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Requests are small and somebody waits; without it they are only slower.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => problem = format!("{address}: {error}"),
                Err(_) => {
                    problem =
                        format!("{address} did not answer within {} s", CONNECT_MAX.as_secs());
                }
            }
        }
        Err(unsent(problem))
    }

    async fn addresses(&self, host: &str, address: Option<IpAddr>) -> Result<Vec<IpAddr>, String> {
        match address {
            Some(address) => Ok(vec![address]),
            None => {
                let found = self.resolver.resolve(host).await;
                found.map_err(|error| format!("its name was not resolved: {error}"))
            }
        }
    }

    /// Whoever asks it asks through `kube`, as the grants there say. Where its address cannot be known it may be any.
    async fn is_api_server(&self, address: SocketAddr) -> Result<bool, String> {
        for (host, port) in self.api_servers.iter().filter(|(_, port)| *port == address.port()) {
            let found = self.addresses(host, host.parse().ok()).await;
            let found = found.map_err(|problem| {
                format!("it may be the cluster's API server {host}:{port}: {problem}")
            })?;
            let is_it = |one: &IpAddr| one.to_canonical() == address.ip().to_canonical();
            if found.iter().any(is_it) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

async fn handshake<S>(stream: S, request: &HttpRequest) -> Result<Connection, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head = request.head_bytes_max;
    let mut builder = Builder::new();
    builder.max_header_size(head).max_buf_size(2 * head);
    let made = builder.handshake(TokioIo::new(stream)).await;
    let (sender, connection) = made.map_err(|error| {
        HttpError::Unsent(format!("{}: no connection: {error}", request.target.origin()))
    })?;
    let driver = tokio::spawn(async move {
        // Whoever waits for an answer hears of its end.
        let _ = connection.await;
    });
    Ok(Connection { sender, _driver: AbortOnDropHandle::new(driver) })
}
