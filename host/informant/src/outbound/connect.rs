//! Connections to addresses that were checked, and to no others.

use super::api_servers::ApiServers;
use super::interim::InterimAnswers;
use super::resolve::{Asker, Resolver};
use super::tls::Tls;
use crate::fence::{Fence, FencedStream, Meter};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use informant_runtime::{HttpError, HttpRequest};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

/// The time for one address. There may be a second address, and a call waits for 10 s by default.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// The number of addresses of one name that are tried.
const ADDRESSES_MAX: usize = 8;

/// One connection. Dropping it ends the connection.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    /// Counts the bytes that are sent over the connection.
    pub(super) meter: Meter,
    /// Counts the interim answers that come over the connection.
    pub(super) interim: InterimAnswers,
    pub(super) made: Instant,
    _driver: AbortOnDropHandle<()>,
}

/// Makes connections.
pub(super) struct Connector {
    resolver: Box<dyn Resolver>,
    tls: Tls,
    api_servers: ApiServers,
}

impl Connector {
    pub(super) fn new(resolver: Box<dyn Resolver>, tls: Tls, api_servers: ApiServers) -> Self {
        Self { resolver, tls, api_servers }
    }

    /// A new connection to the request's server, within the fence.
    pub(super) async fn connect(
        &self,
        request: &HttpRequest,
        fence: &Fence,
    ) -> Result<Connection, HttpError> {
        let (stream, meter) = self.reach(request, fence).await?;
        let target = &request.target;
        if !target.is_https() {
            return handshake(stream, meter, request).await;
        }
        let unsent = |problem: String| {
            HttpError::Unsent(format!("{}: no TLS connection: {problem}", target.origin()))
        };
        let name = rustls::pki_types::ServerName::try_from(target.host().to_owned());
        let name = name.map_err(|error| unsent(error.to_string()))?;
        let tls = self.tls.connector().await.map_err(unsent)?;
        let stream = tls.connect(name, stream).await.map_err(|error| unsent(error.to_string()))?;
        handshake(stream, meter, request).await
    }

    /// Connects to one of the checked addresses. Only the log contains the address, because a plugin must not learn
    /// the addresses of names.
    async fn reach(
        &self,
        request: &HttpRequest,
        fence: &Fence,
    ) -> Result<(FencedStream<TcpStream>, Meter), HttpError> {
        let (target, origin) = (&request.target, request.target.origin());
        let plugin = request.plugin.as_str();
        let unsent = |problem: String| HttpError::Unsent(format!("{origin}: {problem}"));
        let found = self.addresses(plugin, target.host(), target.address()).await;
        // Invariant 38.
        let (allowed, refused): (Vec<IpAddr>, Vec<IpAddr>) =
            found.map_err(unsent)?.into_iter().partition(|it| request.addresses.allow(*it));
        if allowed.is_empty() {
            return Err(match refused.first() {
                Some(address) => HttpError::Address(*address),
                None => unsent("its name has no address".to_owned()),
            });
        }
        let mut problem = String::new();
        for address in allowed.into_iter().take(ADDRESSES_MAX) {
            let address = SocketAddr::new(address, target.port());
            if self.api_servers.are_at(address, &*self.resolver).await.map_err(unsent)? {
                debug!(plugin, "{origin} is the API server at {address}");
                return Err(HttpError::Refused(format!(
                    "{origin} is the cluster's API server: it is written to through kube, and nothing grants requests to it"
                )));
            }
            let connected = timeout(CONNECT_MAX, TcpStream::connect(address)).await;
            let connected = connected.unwrap_or_else(|_| {
                let seconds = CONNECT_MAX.as_secs();
                Err(io::Error::other(format!("no answer within {seconds} s")))
            });
            match connected.and_then(|stream| fence.bound(&stream).map(|()| stream)) {
                Ok(stream) => {
                    // Requests are small, and a plugin waits. If this fails, requests are only slower.
                    let _ = stream.set_nodelay(true);
                    return Ok(fence.around(stream));
                }
                Err(error) => {
                    debug!(plugin, "{origin} at {address}: {error}");
                    problem = error.to_string();
                }
            }
        }
        Err(unsent(problem))
    }

    async fn addresses(
        &self,
        plugin: &str,
        host: &str,
        address: Option<IpAddr>,
    ) -> Result<Vec<IpAddr>, String> {
        match address {
            Some(address) => Ok(vec![address]),
            None => {
                let found = self.resolver.resolve(Asker::Plugin(plugin), host).await;
                found.map_err(|error| format!("its name was not resolved: {error}"))
            }
        }
    }
}

async fn handshake<S>(
    stream: S,
    meter: Meter,
    request: &HttpRequest,
) -> Result<Connection, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head = request.head_bytes_max;
    let mut builder = Builder::new();
    builder.max_header_size(head).max_buf_size(2 * head);
    let interim = InterimAnswers::default();
    let made = builder.handshake(TokioIo::new(interim.bound(stream))).await;
    let (sender, connection) = made.map_err(|error| {
        HttpError::Unsent(format!("{}: no connection: {error}", request.target.origin()))
    })?;
    let driver = tokio::spawn(async move {
        // The sender that waits for an answer gets the error of the connection.
        let _ = connection.await;
    });
    let made = Instant::now();
    Ok(Connection { sender, meter, interim, made, _driver: AbortOnDropHandle::new(driver) })
}
