//! `plugins/restart-alert`: sends one message for a crash loop, with the host's credential, and no second one after a
//! restart.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use http::header;
use informant_e2e::api::Patch;
use informant_e2e::poll;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{Shipped, shipped_fact, shown};
use crate::bench::pod;
use crate::host::bench::LINES_DEADLINE;

const NAME: &str = "restart-alert";
const TOKEN: &str = "xoxb-not-a-token";

/// The posted messages: the credential and the text.
type Posts = Arc<Mutex<Vec<(String, String)>>>;

/// A server that receives messages.
struct Webhook {
    address: SocketAddr,
    posts: Posts,
    serving: JoinHandle<()>,
}

impl Webhook {
    async fn start() -> Self {
        let posts = Posts::default();
        let router = axum::Router::new().route("/hook", axum::routing::post(post));
        let router = router.with_state(posts.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { address, posts, serving }
    }

    /// Waits for this number of messages. Returns them.
    async fn await_posts(&self, count: usize) -> Vec<(String, String)> {
        let what = format!("{count} messages");
        let came = async || (self.posts.lock().len() >= count).then_some(());
        poll::until(&what, LINES_DEADLINE, came).await.unwrap();
        self.posts.lock().clone()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn post(State(posts): State<Posts>, request: Request) -> &'static str {
    let credential = request.headers().get(header::AUTHORIZATION);
    let credential = credential.map(|value| value.to_str().expect("it is text").to_owned());
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("it is JSON");
    let text = body["text"].as_str().expect("a text").to_owned();
    posts.lock().push((credential.unwrap_or_default(), text));
    "ok"
}

/// Writes the host's own file, with the grants that `plugin check` prints, and the credential.
fn configure(shipped: &Shipped<'_>, webhook: &Webhook) {
    let url = format!("http://{}/hook", webhook.address);
    let config = json!({"url": url, "addresses": "loopback", "restarts": 2, "groupWait": "1s"});
    let write = |lines: &[String]| {
        let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        shipped.configure(&format!("plugins:\n  {NAME}:\n    config: {config}\n{lines}"));
    };
    write(&[]);
    let grant = shipped.check()["grant"].take();
    let grant = grant.as_array().unwrap_or_else(|| panic!("it asks for something: {grant}"));
    let header = "headers: {Authorization: {secret: token, prefix: 'Bearer '}}";
    let lines: Vec<String> = grant
        .iter()
        .map(|line| line.as_str().expect("a line").to_owned())
        .map(|line| line.replace("methods: [POST]", &format!("methods: [POST], {header}")))
        .collect();
    assert!(lines.iter().any(|line| line.contains(header)), "{lines:?}");
    write(&lines);
}

/// Makes a pod's container crash this number of times.
async fn crash(shipped: &Shipped<'_>, name: &str, restarts: u32) {
    let bench = &shipped.bench;
    let made = bench.api.create(&bench.pods(), &pod(name)).await;
    assert!([201, 409].contains(&made.status.as_u16()), "{}", made.status);
    let ended = json!({"exitCode": 1, "reason": "Error", "message": "no <config>"});
    let status = json!({
        "name": "main", "image": "registry.example/app:1", "imageID": "", "ready": false, "restartCount": restarts,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended},
    });
    let patch = json!({"status": {"phase": "Running", "containerStatuses": [status]}});
    let path = format!("{}/{name}/status", bench.pods());
    bench.api.patch(&path, Patch::Merge, &patch).await.expect(200);
}

#[test]
fn a_crash_loop_is_told_once_over_restarts() {
    shipped_fact(
        NAME,
        "js",
        |text| text,
        async |shipped| {
            let webhook = Webhook::start().await;
            configure(&shipped, &webhook);
            let directory = shipped.directory.path();
            let [secrets, state] = ["secrets", "state"].map(|name| directory.join(name));
            std::fs::create_dir(&secrets).expect("a directory");
            std::fs::write(secrets.join("token"), format!("{TOKEN}\n")).expect("a file");
            let [secrets, state] = [secrets, state].map(shown);
            let arguments = ["--secrets", secrets.as_str(), "--state-dir", &state];
            let mut host = shipped.start(&arguments).await;
            crash(&shipped, "web", 1).await;
            crash(&shipped, "web", 2).await;
            let posts = webhook.await_posts(1).await;
            let text = format!(
                "Pod {}/web: main keeps crashing in web (restarted 2 times, exit code 1 (Error)): no &lt;config&gt;",
                shipped.bench.namespace
            );
            assert_eq!(posts, [(format!("Bearer {TOKEN}"), text)]);
            shipped.says(&host, &["main keeps crashing in web"]).await;
            assert!(host.lines().iter().all(|line| !line.text.contains(TOKEN)));

            host.terminate(Duration::from_secs(60)).unwrap();
            let host = shipped.start(&arguments).await;
            crash(&shipped, "web", 3).await;
            crash(&shipped, "other", 2).await;
            let posts = webhook.await_posts(2).await;
            assert_eq!(posts.len(), 2, "{posts:?}");
            assert!(posts[1].1.contains("/other: "), "{posts:?}");
            drop(host);
        },
    );
}

#[test]
fn without_a_webhook_it_needs_no_grant_and_writes_to_the_log() {
    let edit = |text: String| super::with_config(&text, &["groupWait: 1s", "restarts: 2"]);
    shipped_fact(NAME, "js", edit, async |shipped| {
        shipped.configure("");
        let host = shipped.start(&[]).await;
        crash(&shipped, "web", 2).await;
        shipped.says(&host, &["/web: main keeps crashing in web", "WARN"]).await;
    });
}
