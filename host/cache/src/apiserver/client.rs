//! The client whose connections detect a lost server. As the pings of client-go's HTTP/2 transport (`ReadIdleTimeout`
//! 30 s, `PingTimeout` 15 s in `k8s.io/apimachinery/pkg/util/net/http.go`).
//!
//! kube's client speaks HTTP/1.1, which has no ping, and its connections send no probes. Here the kernel probes each
//! connection. `host/docs/designs/connections.md` has the cases that a probe cannot find.

use super::credentials::Credentials;
use super::turns::TurnTaking;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderValue, Request, Response, Uri};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, Client, ClientBuilder, ConfigExt};
use kube::{Config, Error};
use percent_encoding::percent_decode_str;
use std::time::Duration;
use tokio::time::timeout;
use tower::util::BoxCloneService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _, service_fn};

/// When a connection is probed, and when it is given up. The default finds a lost peer within 45 s, as client-go does.
/// Invariant 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// The time without a byte before the kernel's first probe. At least a second: the kernel counts seconds.
    pub idle: Duration,
    /// The time between two probes. At least a second.
    pub interval: Duration,
    /// A request or a probe that the peer has not acknowledged for so long ends the connection. On other systems than
    /// Linux three unanswered probes end the connection, and the system bounds a request.
    pub lost_after: Duration,
}

impl Default for KeepAlive {
    /// Probes after 15 s, 25 s and 35 s; the connection ends at the third.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { idle: seconds(15), interval: seconds(10), lost_after: seconds(30) }
    }
}

/// The bytes that hyper reads at once, and the longest head of an answer. Heads of API servers have less than 2 KiB.
const BUFFER_BYTES: usize = 32 << 10;

const PROXY_SCHEMES: &str =
    "the proxy's URL (`proxy-url`, or HTTPS_PROXY) must begin with http://, https:// or socks5://";

/// The most unanswered probes, on systems without a time limit.
const PROBES_MAX: u32 = 3;

/// A client for informers and elections: as `kube::Client::try_from`, with [`KeepAlive`]'s default and without kube's
/// retries, because its users wait and report by themselves. The configuration's read and write timeouts are not used:
/// a watch without changes is quiet.
///
/// Tokens and files of certificates that the configuration names are read again while the client is used. kube's
/// configuration has no path of a kubeconfig's `certificate-authority`: set `root_cert_file` to have that file read again.
///
/// Behind a proxy (`proxy_url`) the connection to the proxy is probed.
pub fn client_for_config(config: Config) -> Result<Client, Error> {
    client_with_keep_alive(config, KeepAlive::default())
}

/// As [`client_for_config`], with other times.
pub fn client_with_keep_alive(config: Config, keep_alive: KeepAlive) -> Result<Client, Error> {
    client_with_bodies(config, keep_alive, |body| body)
}

/// As [`client_with_keep_alive`]. `bodies` maps the body of each request before a connection sends it.
pub fn client_with_bodies<B>(
    config: Config,
    keep_alive: KeepAlive,
    bodies: impl Fn(Body) -> B + Clone + Send + 'static,
) -> Result<Client, Error>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let (base_uri, namespace) = (config.base_uri_layer(), config.default_namespace.clone());
    let connect = move |config: &Config| connect(config, keep_alive, bodies.clone());
    let credentials = Credentials::new(config, connect)?;
    let service = service_fn(move |request| credentials.clone().send(request));
    let service = ServiceBuilder::new().layer(base_uri).service(service);
    Ok(ClientBuilder::new(service, namespace).build())
}

/// Sends requests over connections that are kept.
type Connections = BoxCloneService<Request<Body>, Response<Incoming>, BoxError>;

fn connect<B>(
    config: &Config,
    keep_alive: KeepAlive,
    bodies: impl Fn(Body) -> B + Clone + Send + 'static,
) -> Result<Connections, Error>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_connect_timeout(config.connect_timeout);
    probe(&mut connector, keep_alive);
    let Some(proxy) = config.proxy_url.clone() else { return over(connector, config, bodies) };
    match proxy.scheme_str() {
        Some("socks5") => over(SocksV5::new(proxy, connector), config, bodies),
        Some("https") => {
            let connector = config.rustls_https_connector_with_connector(connector)?;
            over(tunnel(&proxy, connector), config, bodies)
        }
        Some("http") => over(tunnel(&proxy, connector), config, bodies),
        // The URL may have a password.
        _ => Err(Error::Service(PROXY_SCHEMES.into())),
    }
}

/// A connector through an HTTP proxy, with the user and the password of its URL.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let authority = proxy.authority().map(Authority::as_str);
    let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) else {
        return tunnel;
    };
    // `Uri` leaves them as they are written.
    let user: Vec<u8> = percent_decode_str(user).collect();
    let header = HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(user)));
    // Base64 is always a header's value.
    let Ok(mut header) = header else { return tunnel };
    header.set_sensitive(true);
    tunnel.with_auth(header)
}

fn over<C, B>(
    connector: C,
    config: &Config,
    bodies: impl Fn(Body) -> B + Clone + Send + 'static,
) -> Result<Connections, Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Connection + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let limit = config.connect_timeout.unwrap_or(Duration::MAX);
    let connector = connector.map_response(TurnTaking::new).map_future(move |connecting| {
        // The TCP connection has this limit too; this is also for the proxy's answer and for TLS.
        let connecting = timeout(limit, connecting);
        Box::pin(async move { connecting.await.unwrap_or_else(|late| Err(late.into())) })
    });
    let mut client = HttpClient::builder(TokioExecutor::new());
    let client = client.http1_max_buf_size(BUFFER_BYTES).build::<_, B>(connector);
    let service = ServiceBuilder::new()
        .layer(config.extra_headers_layer()?)
        .map_request(move |request: Request<Body>| request.map(&bodies))
        .map_err(BoxError::from)
        .service(client);
    Ok(BoxCloneService::new(service))
}

fn probe(connector: &mut HttpConnector, keep_alive: KeepAlive) {
    let KeepAlive { idle, interval, lost_after } = keep_alive;
    connector.set_keepalive(Some(idle));
    connector.set_keepalive_interval(Some(interval));
    connector.set_keepalive_retries(Some(PROBES_MAX));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(lost_after));
    #[cfg(not(target_os = "linux"))]
    let _ = lost_after;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use socket2::{SockFilter, SockRef};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinHandle;

    /// At most a tenth of the default's times. The kernel's timers are real.
    const QUICK: KeepAlive = KeepAlive {
        idle: Duration::from_secs(1),
        interval: Duration::from_secs(1),
        lost_after: Duration::from_millis(1_500),
    };
    /// Much more than that, for a busy machine; much less than the minutes without probes.
    const FOUND_MAX: Duration = Duration::from_secs(30);

    /// From now on the peer drops every packet: no answer, no acknowledgement, no reset. This is like a machine
    /// without power.
    fn fall_silent(stream: &TcpStream) {
        // BPF's `return 0`: keep nothing of the packet.
        let nothing = SockFilter::new(0x06, 0, 0, 0);
        SockRef::from(stream).attach_filter(&[nothing]).expect("a filter needs no permission");
    }

    /// A server that answers each request with the beginning of a watch, and falls silent before or after that.
    async fn serve(answers: bool) -> (String, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("it has one"));
        let serving = tokio::spawn(async move {
            let mut streams = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                if answers {
                    let _ = stream.read(&mut [0; 4096]).await;
                    let watch = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n\n\r\n";
                    stream.write_all(watch).await.expect("it is sent");
                }
                fall_silent(&stream);
                streams.push(stream);
            }
        });
        (url, serving)
    }

    async fn watch(url: &str) -> Result<(), Error> {
        let config = Config::new(url.parse().expect("a URI"));
        let client = client_with_keep_alive(config, QUICK)?;
        let request = Request::get("/api/v1/pods?watch=1").body(Body::empty()).expect("a request");
        let body = client.send(request).await?.into_body();
        body.collect().await.map(drop)
    }

    async fn check_is_found(answers: bool) {
        let (url, serving) = serve(answers).await;
        let watched = tokio::time::timeout(FOUND_MAX, watch(&url)).await;
        serving.abort();
        let error = watched.expect("the silence is noticed").expect_err("nothing more comes");
        let causes = crate::error_causes::with_causes(&error);
        assert!(causes.contains("timed out") || causes.contains("os error 110"), "{causes}");
    }

    /// Invariant 16.
    #[tokio::test]
    async fn a_watch_whose_server_is_gone_without_a_word_ends() {
        check_is_found(true).await;
    }

    #[tokio::test]
    async fn a_request_that_nobody_acknowledges_ends() {
        check_is_found(false).await;
    }

    /// Reads a head, and answers it.
    async fn answer(stream: &mut TcpStream, answer: &[u8]) -> String {
        let (mut head, mut buffer) = (String::new(), [0; 4096]);
        while !head.ends_with("\r\n\r\n") {
            let bytes = stream.read(&mut buffer).await.expect("a head");
            assert_ne!(bytes, 0, "it ends after {head:?}");
            head += str::from_utf8(&buffer[..bytes]).expect("text");
        }
        stream.write_all(answer).await.expect("it is sent");
        head
    }

    #[tokio::test]
    async fn a_proxy_gets_the_user_and_the_password_of_its_url() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let proxy = listener.local_addr().expect("it has one");
        let mut config = Config::new("http://cluster.example:81".parse().expect("a URI"));
        config.proxy_url = format!("http://user:p%40ss@{proxy}").parse().ok();
        let client = client_with_keep_alive(config, KeepAlive::default()).expect("a client");
        let request = Request::get("/version").body(Vec::new()).expect("a request");
        let serve = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let connect = answer(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n").await;
            let words = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nwell";
            (connect, answer(&mut stream, words).await)
        };
        let (text, (connect, get)) = tokio::join!(client.request_text(request), serve);
        assert_eq!(text.expect("the proxy's answer"), "well");
        let lines: Vec<_> = connect.lines().collect();
        assert_eq!(lines[0], "CONNECT cluster.example:81 HTTP/1.1");
        let user = BASE64_STANDARD.encode("user:p@ss");
        assert!(connect.to_lowercase().contains("proxy-authorization: basic"), "{connect}");
        assert!(connect.contains(&user), "{connect}");
        assert!(get.starts_with("GET /version HTTP/1.1\r\n"), "{get}");
    }

    /// Invariant 16.
    #[test]
    fn by_default_a_lost_server_is_found_within_45_seconds() {
        let KeepAlive { idle, interval, lost_after } = KeepAlive::default();
        // The connection ends at the first probe that is due after this time.
        let probes = std::iter::successors(Some(idle), |probe| Some(*probe + interval));
        let ends = probes.into_iter().skip(1).find(|probe| *probe >= lost_after);
        assert!(ends.is_some_and(|ends| ends <= Duration::from_secs(45)), "{ends:?}");
    }
}
