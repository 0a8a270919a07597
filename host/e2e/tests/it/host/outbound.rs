//! Plugins that send HTTP requests: granted requests arrive with the host's additions, and no other requests arrive.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::host::bench::{CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, host_fact};
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line};
use serde_json::{Value, json};

/// The plugin and its guest.
const NAME: &str = "asks-outside";
/// A text that occurs nowhere else.
const SECRET: &str = "correct-horse-battery";

/// A server on a free port. It answers each request as its path says, and then ends the connection.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// Request lines, with the value of `Authorization`.
    asked: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// `/away` redirects to `elsewhere`.
    pub(super) fn start(elsewhere: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (asked, is_over) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicBool>::default());
        let (notes, ends) = (asked.clone(), is_over.clone());
        let serve = move || {
            // Connections without an answer stay open until the end.
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                open.extend(answer(stream, &notes, &elsewhere));
            }
        };
        let thread = Some(std::thread::spawn(serve));
        Self { address, asked, is_over, thread }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // One more connection wakes the thread.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers one request. Returns the connection if it must stay open.
fn answer(mut stream: TcpStream, notes: &Mutex<Vec<String>>, elsewhere: &str) -> Option<TcpStream> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).ok()? == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let named = head.lines().find_map(|line| line.strip_prefix("authorization: "));
    let credential = named.unwrap_or("-").to_owned();
    notes.lock().expect("nobody panics with it").push(format!("{line} {credential}"));
    let full = |body: &str| format!("200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let path = line.split(' ').nth(1).unwrap_or_default();
    let text = match path {
        "/slow" => "200 OK\r\ncontent-length: 10\r\n\r\nbegin".to_owned(),
        "/echo" => full(&credential),
        "/large" => full(&"x".repeat((1 << 20) + 1)),
        "/head" => format!("200 OK\r\nx: {}\r\n\r\n", "x".repeat(70 << 10)),
        "/here" => "302 Found\r\nlocation: /ok\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "/away" => format!("302 Found\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n"),
        _ => full("well"),
    };
    let text = format!("HTTP/1.1 {}", text.replacen("\r\n", "\r\nconnection: close\r\n", 1));
    // The client may end the connection before it has read everything.
    let _ = stream.write_all(text.as_bytes());
    (path == "/slow").then_some(stream)
}

/// A host whose own file makes the guest request these URLs, one after the other. It grants the URLs of the server and
/// of the API server.
async fn started(
    bench: &HostBench<'_>,
    directory: &tempfile::TempDir,
    server: &Server,
    asks: &[(&str, String)],
) -> Host {
    let secrets = directory.path().join("secrets");
    std::fs::create_dir(&secrets).expect("a directory");
    std::fs::write(secrets.join("token"), format!("{SECRET}\n")).expect("a file");
    let asks = asks.iter().map(|(what, url)| json!({"what": what, "url": url}));
    let config = json!({"asks": asks.collect::<Vec<_>>()});
    let origins = json!([server.url(""), api_server(bench)]);
    let rule = format!(
        "{{origins: {origins}, methods: [GET], addresses: [loopback], headers: {{Authorization: {{secret: token, prefix: 'Bearer '}}}}}}"
    );
    let limits = "limits: {waitTime: 2s}";
    let own = directory.path().join("informant.yaml");
    let text = format!(
        "{HEAD}HostConfiguration\nplugins: {{{NAME}: {{config: {config}, {limits}, http: [{rule}]}}}}\n"
    );
    std::fs::write(&own, text).expect("a file");
    bench.drop_plugin(NAME, NAME);
    let [own, secrets] = [own, secrets].map(|path| path.display().to_string());
    bench.start(&["--config", &own, "--secrets", &secrets]).await
}

/// The address of the API server.
fn api_server(bench: &HostBench<'_>) -> String {
    let kubeconfig = bench.cluster.kubeconfig(User::Admin);
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).expect("it is there");
    let cluster = kubeconfig.clusters[0].cluster.clone();
    let server = cluster.and_then(|cluster| cluster.server).expect("it names a server");
    server.trim_end_matches('/').to_owned()
}

/// Waits until the guest has sent all requests for a new pod with this name.
async fn asked_about(bench: &HostBench<'_>, host: &Host, pod: &str) {
    bench.create_pods(&[pod.to_owned()]).await;
    let end = format!("/{pod}");
    let asked =
        |line: &Line| line.message().starts_with("asked about ") && line.text.contains(&end);
    host.await_line("the guest to have asked", LINES_DEADLINE, asked).await.unwrap();
}

/// Checks the guest's last line about this.
#[track_caller]
fn check_said(host: &Host, what: &str, expect: &str) {
    let lines = host.lines_of(NAME);
    let begin = format!("{what}: ");
    let said = lines.iter().rev().find_map(|line| line.message().strip_prefix(&begin));
    assert!(said.is_some_and(|said| said.contains(expect)), "{what}: {said:?}");
}

/// Checks that the secret appears in no page and no line.
#[track_caller]
fn check_secret_is_nowhere(host: &Host, secret: &str) {
    let pages =
        ["/plugins", "/metrics", "/problems"].map(|page| host.get(page).expect("a page").body);
    assert!(pages.iter().all(|page| !page.contains(secret)));
    let told = host.lines().into_iter().find(|line| line.text.contains(secret));
    assert!(told.is_none(), "{told:?}");
}

/// Invariant 39.
#[test]
fn requests_arrive_with_what_the_host_adds_and_a_changed_secret_is_seen() {
    host_fact(async |bench| {
        let (directory, server) =
            (tempfile::tempdir().expect("a directory"), Server::start(String::new()));
        let asks = ["ok", "here", "echo"].map(|what| (what, server.url(&format!("/{what}"))));
        let host = started(&bench, &directory, &server, &asks).await;
        asked_about(&bench, &host, NAME).await;
        check_said(&host, "ok", "200 well");
        check_said(&host, "here", "200 well");
        check_said(&host, "echo", "the answer was thrown away");
        let line = |path: &str, secret: &str| format!("GET {path} Bearer {secret}");
        let expect = ["/ok", "/here", "/ok", "/echo"];
        assert_eq!(server.asked(), expect.map(|path| line(path, SECRET)));
        check_secret_is_nowhere(&host, SECRET);

        let token = directory.path().join("secrets/token");
        std::fs::write(token, "another-one-altogether").expect("a file");
        asked_about(&bench, &host, &format!("{NAME}-again")).await;
        assert_eq!(server.asked()[4], line("/ok", "another-one-altogether"));
        check_secret_is_nowhere(&host, "another-one-altogether");
        let metrics = host.get("/metrics").expect("an answer").body;
        let line = format!(
            r#"informant_plugin_http_requests_total{{plugin="{NAME}",method="GET",result="ok"}} 4"#
        );
        assert!(metrics.contains(&line), "{metrics}");
    });
}

#[test]
fn what_is_not_granted_or_too_much_reaches_nobody() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let other = Server::start(String::new());
        let server = Server::start(other.url("/ok"));
        let own = |path: &'static str| (&path[1..], server.url(path));
        let asks = [
            own("/away"),
            own("/large"),
            own("/head"),
            ("other", other.url("/ok")),
            ("name", format!("http://localhost:{}/ok", server.address.port())),
            ("server", format!("{}/version", api_server(&bench))),
            // This request takes all the time that a call has.
            own("/slow"),
            ("late", server.url("/ok")),
        ];
        let host = started(&bench, &directory, &server, &asks).await;
        asked_about(&bench, &host, NAME).await;
        let not_granted = format!("to GET http://{} is not granted", other.address);
        check_said(&host, "away", &format!("leads elsewhere: {not_granted}"));
        check_said(&host, "other", &not_granted);
        check_said(&host, "large", "has a body of more than 1048576 bytes");
        check_said(&host, "head", "has a head of more than 65536 bytes");
        check_said(&host, "slow", "no answer in time");
        check_said(&host, "name", "to GET http://localhost");
        check_said(&host, "server", "is the cluster's API server: ");
        check_said(&host, "late", "nothing was sent: a call waits 2000 ms at most");
        assert_eq!(other.asked(), [""; 0]);
        assert_eq!(server.asked().len(), 4, "{:?}", server.asked());
        check_secret_is_nowhere(&host, SECRET);
        let shown = host.plugin(NAME).unwrap();
        let rule = &shown["configuration"]["http"]["value"][0]["headers"]["Authorization"];
        assert_eq!(rule["secret"], Value::from("token"), "{shown}");
    });
}
