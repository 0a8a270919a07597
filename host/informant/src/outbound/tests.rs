//! Requests to servers on this machine, under names that the tests choose. `testdata` contains an authority, and a
//! server's certificate from it for `server.test`.

use super::interim::INTERIM_MAX;
use super::resolve::Asker;
use super::*;
use crate::fence::tests::Leader;
use informant_runtime::{AddressKind, AddressKinds, SecretHeader, SecretName, Target};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The addresses of names, one answer after the other. The last answer repeats.
#[derive(Clone, Default)]
struct Names {
    answers: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    asked: Arc<AtomicUsize>,
}

impl Names {
    fn of(answers: &[&[IpAddr]]) -> Self {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Self { answers: Arc::new(Mutex::new(answers)), asked: Arc::default() }
    }
}

impl Resolver for Names {
    fn resolve(&self, _: Asker<'_>, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, SeqCst);
        let mut answers = self.answers.lock();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let none = || io::Error::other("nobody knows it");
        Box::pin(std::future::ready(answer.ok_or_else(none)))
    }
}

/// A server that answers each path with fixed bytes.
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

type Answers = fn(&str) -> Vec<u8>;

impl Server {
    async fn start(answers: Answers) -> Self {
        Self::start_with(answers, None).await
    }

    async fn start_with(answers: Answers, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (heads, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::default());
        let (notes, count) = (heads.clone(), Arc::<AtomicUsize>::clone(&connections));
        let serve = async move {
            let mut tasks = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, SeqCst);
                let (notes, tls) = (notes.clone(), tls.clone());
                tasks.spawn(async move {
                    match tls {
                        None => serve(stream, answers, &notes).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, answers, &notes).await;
                            }
                        }
                    }
                });
            }
        };
        let task = AbortOnDropHandle::new(tokio::spawn(serve));
        Self { address, heads, connections, _task: task }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn named(&self, path: &str) -> String {
        format!("http://server.test:{}{path}", self.address.port())
    }
}

/// Answers requests until the other side ends. An answer that is empty or ends with `\x01` ends the connection. An
/// answer that ends with `\0` is never complete.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answers: Answers,
    notes: &Mutex<Vec<String>>,
) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        notes.lock().push(head + &String::from_utf8_lossy(&body));
        let mut answer = answers(&path);
        let mark = answer.pop_if(|last| *last <= 1);
        if answer.is_empty() || stream.write_all(&answer).await.is_err() || mark == Some(1) {
            return;
        }
        if mark == Some(0) {
            pending::<()>().await;
        }
    }
}

fn full(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nx-own: yes\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn request(url: &str) -> HttpRequest {
    HttpRequest {
        plugin: "a".to_owned(),
        method: "GET",
        target: url.parse::<Target>().unwrap_or_else(|problem| panic!("{url}: {problem}")),
        headers: vec![("x-own".to_owned(), b"yes".to_vec())],
        secrets: Vec::new(),
        body: Bytes::new(),
        addresses: AddressKinds::new([AddressKind::Loopback]),
        head_bytes_max: 64 << 10,
        body_bytes_max: 1_000,
    }
}

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/outbound/testdata").join(file)
}

fn no_api_servers() -> ApiServers {
    ApiServers::at(Vec::new(), None)
}

fn no_secrets() -> Secrets {
    Secrets::new(None).expect("nothing is read")
}

fn client(names: &Names) -> OutboundHttp {
    let tls = Tls::new("--http-ca", None).expect("nothing is read");
    OutboundHttp::with(names.clone(), tls, no_secrets(), no_api_servers())
}

/// Status and body, or the error.
async fn asked(client: &OutboundHttp, request: HttpRequest) -> Result<String, HttpError> {
    let HttpResponse { status, body, .. } = client.send(request).await?;
    Ok(format!("{status} {}", String::from_utf8_lossy(&body)))
}

/// The text of a failure.
#[track_caller]
fn text(answer: Result<String, HttpError>) -> String {
    answer.expect_err("it fails").to_string()
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_and_its_answer_comes_as_it_is() {
    let server = Server::start(|_| full("well")).await;
    let client = client(&Names::default());
    let mut post = request(&server.url("/a/%2F?b"));
    (post.method, post.body) = ("POST", "body".into());
    let answer = client.send(post).await.expect("an answer");
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let headers = vec![header("content-length", "4"), header("x-own", "yes")];
    assert_eq!(answer, HttpResponse { status: 200, headers, body: b"well".to_vec() });
    let head = server.heads.lock().remove(0);
    let host = server.address;
    let expect = format!(
        "POST /a/%2F?b HTTP/1.1\r\nhost: {host}\r\nx-own: yes\r\ncontent-length: 4\r\n\r\nbody"
    );
    assert_eq!(head, expect);
}

#[tokio::test]
async fn a_redirect_is_an_answer_here() {
    let server = Server::start(|_| {
        b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n"
            .to_vec()
    });
    let server = server.await;
    let answer = asked(&client(&Names::default()), request(&server.url("/"))).await;
    assert_eq!(answer, Ok("302 ".to_owned()));
}

/// Invariant 38.
#[tokio::test]
async fn only_addresses_that_are_granted_are_connected_to() {
    let server = Server::start(|_| full("well")).await;
    let metadata = IpAddr::from([169, 254, 169, 254]);
    let private = IpAddr::from([10, 0, 0, 1]);
    for refused in [metadata, private, "::ffff:169.254.169.254".parse().expect("an address")] {
        let client = client(&Names::of(&[&[refused]]));
        let answer = asked(&client, request(&server.named("/"))).await;
        assert_eq!(answer, Err(HttpError::Address(refused)));
    }
    // The client connects to the granted address among them.
    let names = Names::of(&[&[metadata, private, LOOPBACK]]);
    let answer = asked(&client(&names), request(&server.named("/"))).await;
    assert_eq!(answer, Ok("200 well".to_owned()));
    let literal = asked(&client(&Names::default()), request("http://169.254.169.254/")).await;
    assert_eq!(literal, Err(HttpError::Address(metadata)));
    let public = HttpRequest { addresses: AddressKinds::default(), ..request(&server.url("/")) };
    let answer = asked(&client(&Names::default()), public).await;
    assert_eq!(answer, Err(HttpError::Address(LOOPBACK)));
    assert_eq!(server.connections.load(SeqCst), 1);
}

/// Invariant 38.
#[tokio::test]
async fn a_name_that_leads_elsewhere_after_it_was_looked_at_changes_nothing() {
    let server = Server::start(|_| full("well")).await;
    let names = Names::of(&[&[LOOPBACK], &[IpAddr::from([169, 254, 169, 254])]]);
    let client = client(&names);
    let answer = asked(&client, request(&server.named("/"))).await;
    assert_eq!(answer, Ok("200 well".to_owned()));
    assert_eq!(names.asked.load(SeqCst), 1, "what was looked at is what is connected to");
    // Another plugin has its own connection and its own lookup.
    let other = HttpRequest { plugin: "b".to_owned(), ..request(&server.named("/")) };
    let answer = asked(&client, other).await;
    assert_eq!(answer, Err(HttpError::Address(IpAddr::from([169, 254, 169, 254]))));
}

#[tokio::test]
async fn what_cannot_be_reached_was_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let client = client(&Names::default());
    let refused = client.send(request(&format!("http://{address}/secret"))).await;
    let Err(HttpError::Unsent(text)) = refused else { panic!("{refused:?}") };
    assert!(text.starts_with(&format!("http://{address}: Connection refused")), "{text}");
    let unknown = client.send(request("http://server.test/secret")).await;
    let expect = "http://server.test: its name was not resolved: nobody knows it".to_owned();
    assert_eq!(unknown, Err(HttpError::Unsent(expect)));
}

#[tokio::test]
async fn the_api_server_is_asked_by_no_name() {
    let server = Server::start(|_| full("well")).await;
    let names = Names::of(&[&[LOOPBACK]]);
    let guarded = |host: &str, names: &Names| {
        let tls = Tls::new("--http-ca", None).expect("nothing is read");
        let api_servers = vec![(host.to_owned(), server.address.port())];
        OutboundHttp::with(names.clone(), tls, no_secrets(), ApiServers::at(api_servers, None))
    };
    for url in [server.url("/"), server.named("/")] {
        for host in ["127.0.0.1", "::ffff:127.0.0.1", "api.test"] {
            let answer = asked(&guarded(host, &names), request(&url)).await;
            assert!(matches!(answer, Err(HttpError::Refused(_))), "{answer:?}");
        }
    }
    // The API server's address is not known, so it may be this one.
    let answer = asked(&guarded("api.test", &Names::default()), request(&server.url("/"))).await;
    assert!(text(answer).contains("it may be the cluster's API server"));
    // A server on this machine has all of the machine's loopback addresses.
    let answer = asked(&guarded("127.0.0.2", &names), request(&server.url("/"))).await;
    assert!(matches!(answer, Err(HttpError::Refused(_))), "{answer:?}");
    assert_eq!(server.connections.load(SeqCst), 0);
    let answer = asked(&guarded("10.1.2.3", &names), request(&server.url("/"))).await;
    assert_eq!(answer, Ok("200 well".to_owned()));
}

#[tokio::test]
async fn an_answer_is_as_large_as_it_may_be() {
    let server = Server::start(|path| {
        let bytes: usize =
            path.rsplit('/').next().and_then(|it| it.parse().ok()).expect("a number");
        match path.starts_with("/told/") {
            true => full(&"x".repeat(bytes)),
            // No header gives the length.
            false => {
                let body = "x".repeat(bytes);
                format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{bytes:x}\r\n{body}\r\n0\r\n\r\n")
                    .into_bytes()
            }
        }
    });
    let (server, client) = (server.await, client(&Names::default()));
    for kind in ["told", "chunked"] {
        let answer = client.send(request(&server.url(&format!("/{kind}/1000")))).await;
        assert_eq!(answer.expect("it may have so much").body.len(), 1_000);
        let answer = client.send(request(&server.url(&format!("/{kind}/1001")))).await;
        let expect =
            format!("the answer of http://{} has a body of more than 1000 bytes", server.address);
        assert_eq!(answer, Err(HttpError::TooLarge(expect)));
    }
}

#[tokio::test]
async fn a_head_is_as_large_as_it_may_be() {
    let server = Server::start(|path| {
        let bytes: usize = path[1..].parse().expect("a number");
        let (begin, end) = ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ", "\r\n\r\n");
        let filling = "x".repeat(bytes - begin.len() - end.len());
        format!("{begin}{filling}{end}").into_bytes()
    });
    let (server, client) = (server.await, client(&Names::default()));
    let most = 64 << 10;
    let answer = asked(&client, request(&server.url(&format!("/{most}")))).await;
    assert_eq!(answer, Ok("200 ".to_owned()));
    for bytes in [most + 1, 3 * most] {
        let answer = asked(&client, request(&server.url(&format!("/{bytes}")))).await;
        assert!(matches!(answer, Err(HttpError::TooLarge(_))), "{bytes}: {answer:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    let server = Server::start(|path| match path {
        "/head" => b"HTTP/1.1 200 OK\r\nx: y\x01".to_vec(),
        "/body" => b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nbegin\x01".to_vec(),
        "/garbage" => b"220 smtp.test ESMTP\r\n\r\n".to_vec(),
        _ => Vec::new(),
    });
    let server = server.await;
    for path in ["/none", "/garbage", "/head", "/body"] {
        let post = HttpRequest { method: "POST", ..request(&server.url(path)) };
        let answer = asked(&client(&Names::default()), post).await;
        assert!(matches!(answer, Err(HttpError::Unknown(_))), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn interim_answers_are_bounded_for_each_request() {
    let server = Server::start(|path| {
        let count: usize = path[1..].parse().expect("a number");
        [b"HTTP/1.1 100 Continue\r\n\r\n".repeat(count), full("well")].concat()
    });
    let (server, client) = (server.await, client(&Names::default()));
    // hyper parses the whole buffer at once, and the bound is checked before the next read.
    for count in [0, INTERIM_MAX, INTERIM_MAX, INTERIM_MAX] {
        let answer = asked(&client, request(&server.url(&format!("/{count}")))).await;
        assert_eq!(answer, Ok("200 well".to_owned()), "{count}");
    }
    assert_eq!(server.connections.load(SeqCst), 1);
    let told = text(asked(&client, request(&server.url("/20000"))).await);
    assert!(told.ends_with(": there were more than 100 interim answers (1xx)"), "{told}");
}

#[tokio::test]
async fn connections_are_used_again_by_their_plugin_alone() {
    let server = Server::start(|_| full("well")).await;
    let client = client(&Names::default());
    for (plugin, connections) in [("a", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 2)] {
        let request = HttpRequest { plugin: plugin.to_owned(), ..request(&server.url("/")) };
        assert_eq!(asked(&client, request).await, Ok("200 well".to_owned()));
        assert_eq!(server.connections.load(SeqCst), connections, "{plugin}");
    }
    let wide = AddressKinds::new([AddressKind::Loopback, AddressKind::Private]);
    let request = HttpRequest { addresses: wide, ..request(&server.url("/")) };
    assert_eq!(asked(&client, request).await, Ok("200 well".to_owned()));
    assert_eq!(server.connections.load(SeqCst), 3, "it was made for other addresses");
}

#[tokio::test]
async fn a_connection_that_the_server_has_ended_is_replaced() {
    // The server ends the connection without an answer when it is asked for this path.
    let server =
        Server::start(|path| if path == "/last" { Vec::new() } else { full("well") }).await;
    let client = client(&Names::default());
    assert_eq!(asked(&client, request(&server.url("/"))).await, Ok("200 well".to_owned()));
    // A request that may be repeated is sent again on a new connection, and fails there.
    let answer = asked(&client, request(&server.url("/last"))).await;
    assert!(matches!(answer, Err(HttpError::Unknown(_))), "{answer:?}");
    assert_eq!((server.connections.load(SeqCst), server.heads.lock().len()), (2, 3));
    assert_eq!(asked(&client, request(&server.url("/"))).await, Ok("200 well".to_owned()));
    // A request that may not be repeated is sent once.
    let post = HttpRequest { method: "POST", ..request(&server.url("/last")) };
    let answer = asked(&client, post).await;
    assert!(matches!(answer, Err(HttpError::Unknown(_))), "{answer:?}");
    assert_eq!((server.connections.load(SeqCst), server.heads.lock().len()), (3, 5));
}

#[tokio::test]
async fn who_gives_up_waiting_ends_the_connection() {
    let server =
        Server::start(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nbegin\0".to_vec());
    let (server, client) = (server.await, client(&Names::default()));
    let waiting = asked(&client, request(&server.url("/")));
    let limit = std::time::Duration::from_millis(50);
    assert!(tokio::time::timeout(limit, waiting).await.is_err());
    let key = Key::of(&request(&server.url("/")), &[]);
    assert!(client.shared.idle.take(&key).is_none());
}

fn bearer(secret: &str) -> SecretHeader {
    let secret: SecretName = secret.parse().expect("a name");
    SecretHeader::new("Authorization", "Bearer ", secret).expect("a header")
}

/// Invariant 39.
#[tokio::test]
async fn a_secret_is_added_as_it_is_at_that_moment_and_never_comes_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let server =
        Server::start(|path| full(if path == "/echo" { "it was: 12345678" } else { "" })).await;
    let tls = Tls::new("--http-ca", None).expect("nothing is read");
    let secrets = Secrets::new(Some(directory.path().to_owned())).expect("it is there");
    let client = OutboundHttp::with(Names::default(), tls, secrets, no_api_servers());
    let with_secret =
        |path: &str| HttpRequest { secrets: vec![bearer("token")], ..request(&server.url(path)) };
    let answer = asked(&client, with_secret("/")).await;
    assert!(matches!(answer, Err(HttpError::Unsent(_))), "{answer:?}");
    assert_eq!(server.connections.load(SeqCst), 0);
    for value in ["1234567", "12345678"] {
        std::fs::write(directory.path().join("token"), format!("{value}\n")).expect("a file");
        asked(&client, with_secret("/")).await.expect("an answer");
        let head = server.heads.lock().pop().expect("it was asked");
        assert!(head.contains(&format!("\r\nauthorization: Bearer {value}\r\n")), "{head}");
    }
    let told = text(asked(&client, with_secret("/echo")).await);
    let expect = "the answer was thrown away: it has the secret in it that the host added as authorization; it was done";
    assert_eq!(told, expect);
    assert_eq!(
        asked(&client, request(&server.url("/echo"))).await,
        Ok("200 it was: 12345678".to_owned())
    );
}

#[tokio::test]
async fn an_answer_in_which_nobody_can_look_for_a_secret_is_thrown_away() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("token"), "12345678").expect("a file");
    let server = Server::start(|path| {
        let (line, head) = match path {
            "/packed" => ("200 OK", "content-encoding: gzip\r\n"),
            "/coded" => ("200 OK", "content-encoding: identity, br\r\n"),
            "/part" => ("206 Partial Content", "content-range: bytes 0-3/8\r\n"),
            "/unasked" => ("200 OK", "content-range: bytes 0-3/8\r\n"),
            "/plain" => ("200 OK", "content-encoding: identity\r\n"),
            _ => ("304 Not Modified", "content-encoding: gzip\r\n"),
        };
        let body = if path == "/none" { "" } else { "1234" };
        format!("HTTP/1.1 {line}\r\n{head}content-length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    });
    let (server, tls) = (server.await, Tls::new("--http-ca", None).expect("nothing is read"));
    let secrets = Secrets::new(Some(directory.path().to_owned())).expect("it is there");
    let client = OutboundHttp::with(Names::default(), tls, secrets, no_api_servers());
    let wanting = |path: &str| {
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        let headers = vec![header("accept-encoding", "gzip"), header("range", "bytes=0-3")];
        HttpRequest { headers, ..request(&server.url(path)) }
    };
    for (path, how) in
        [("packed", "packed"), ("coded", "packed"), ("part", "a part"), ("unasked", "a part")]
    {
        let path = format!("/{path}");
        let with_secret = HttpRequest { secrets: vec![bearer("token")], ..wanting(&path) };
        let told = text(asked(&client, with_secret).await);
        let expect = format!("the answer was thrown away: it is {how}, so the host cannot look");
        assert!(told.starts_with(&expect) && told.ends_with("; it was done"), "{told}");
        let head = server.heads.lock().pop().expect("it was asked");
        assert!(head.contains("\r\naccept-encoding: identity\r\n"), "{head}");
        assert!(!head.contains("range") && !head.contains("gzip"), "{head}");
        // Without a secret, these headers are the plugin's own choice.
        asked(&client, wanting(&path)).await.expect("an answer");
        let head = server.heads.lock().pop().expect("it was asked");
        assert!(head.contains("gzip") && head.contains("range: bytes=0-3"), "{head}");
    }
    for path in ["/plain", "/none"] {
        let with_secret = HttpRequest { secrets: vec![bearer("token")], ..wanting(path) };
        asked(&client, with_secret).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

#[tokio::test]
async fn connections_are_used_again_with_the_same_credentials_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let put = |value: &str| std::fs::write(directory.path().join("token"), value).expect("a file");
    let server = Server::start(|_| full("well")).await;
    let tls = Tls::new("--http-ca", None).expect("nothing is read");
    let secrets = Secrets::new(Some(directory.path().to_owned())).expect("it is there");
    let client = OutboundHttp::with(Names::default(), tls, secrets, no_api_servers());
    let plain = || request(&server.url("/"));
    let with_secret = || HttpRequest { secrets: vec![bearer("token")], ..plain() };
    put("12345678");
    for (request, connections) in
        [(with_secret(), 1), (plain(), 2), (with_secret(), 2), (plain(), 2)]
    {
        asked(&client, request).await.expect("an answer");
        assert_eq!(server.connections.load(SeqCst), connections);
    }
    put("23456789");
    asked(&client, with_secret()).await.expect("an answer");
    assert_eq!(server.connections.load(SeqCst), 3, "it is another's now");
}

#[tokio::test]
async fn nothing_is_sent_once_this_host_leads_no_more() {
    let server = Server::start(|_| full("well")).await;
    let leader = Leader::start().await;
    let client = client(&Names::default()).within(leader.fence());
    let post = || HttpRequest { method: "POST", body: "body".into(), ..request(&server.url("/")) };
    assert_eq!(asked(&client, post()).await, Ok("200 well".to_owned()));
    leader.lose().await;
    // Over the existing connection, and over a new one.
    let get = HttpRequest { plugin: "b".to_owned(), ..request(&server.url("/")) };
    for request in [post(), get] {
        assert_eq!(asked(&client, request).await, Err(HttpError::NotLeader));
    }
    assert_eq!((server.connections.load(SeqCst), server.heads.lock().len()), (1, 1));
}

/// A resolver that never answers.
struct Silence;

impl Resolver for Silence {
    fn resolve(&self, _: Asker<'_>, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(pending())
    }
}

#[tokio::test]
async fn who_loses_the_lead_while_it_connects_sends_nothing() {
    let leader = Leader::start().await;
    let tls = Tls::new("--http-ca", None).expect("nothing is read");
    let client = OutboundHttp::with(Silence, tls, no_secrets(), no_api_servers());
    let client = client.within(leader.fence());
    let (answer, ()) = tokio::join!(asked(&client, request("http://server.test/")), leader.lose());
    assert_eq!(answer, Err(HttpError::NotLeader));
}

/// Invariant 37.
#[tokio::test]
async fn a_request_that_is_being_sent_when_the_lead_is_lost_is_cut_off() {
    const BODY_BYTES: usize = 64 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let leader = Leader::start().await;
    let client = client(&Names::default()).within(leader.fence());
    let large = HttpRequest { method: "PUT", body: vec![0; BODY_BYTES].into(), ..request(&url) };
    // The server accepts, and reads nothing while the host leads. The kernel cannot take all bytes.
    let serve = async {
        let (mut stream, _) = listener.accept().await.expect("it is asked");
        leader.lose().await;
        let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
        while let Ok(bytes @ 1..) = stream.read(&mut buffer).await {
            received += bytes;
        }
        received
    };
    let (answer, received) = tokio::join!(asked(&client, large), serve);
    let expect = format!(
        "this host lost the lead before an answer of {} came; it may have been done",
        url.trim_end_matches('/')
    );
    assert_eq!(text(answer), expect);
    assert!(received < BODY_BYTES, "all of it was sent: {received}");
}

fn acceptor() -> TlsAcceptor {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain = CertificateDer::pem_file_iter(testdata("server.pem")).expect("it is there");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_file(testdata("server.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().expect("it has some");
    let config = config.with_no_client_auth().with_single_cert(chain, key).expect("they fit");
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn a_server_is_who_an_authority_says_it_is() {
    let server = Server::start_with(|_| full("well"), Some(acceptor())).await;
    let names = Names::of(&[&[LOOPBACK]]);
    let trusting = || {
        let tls =
            Tls::new("--http-ca", Some(&testdata("authority.pem"))).expect("it has an authority");
        OutboundHttp::with(names.clone(), tls, no_secrets(), no_api_servers())
    };
    let url = |host: &str| format!("https://{host}:{}/", server.address.port());
    let answer = asked(&trusting(), request(&url("server.test"))).await;
    assert_eq!(answer, Ok("200 well".to_owned()));
    for host in ["other.test", "127.0.0.1"] {
        let told = text(asked(&trusting(), request(&url(host))).await);
        assert!(told.contains("no TLS connection: invalid peer certificate"), "{told}");
    }
    // Without the test's authority, the server's certificate is not trusted, even if the system has other authorities.
    let answer = asked(&client(&names), request(&url("server.test"))).await;
    let told = text(answer);
    assert!(told.contains("no TLS connection: "), "{told}");
    assert_eq!(server.heads.lock().len(), 1);
    for file in ["server.key", "nothing.pem"] {
        assert!(Tls::new("--http-ca", Some(&testdata(file))).is_err(), "{file}");
    }
}
