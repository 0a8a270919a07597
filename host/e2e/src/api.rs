//! A Kubernetes API client that hides nothing: status, headers and the body as they came.
//!
//! It goes through `kube::Client` for the kubeconfig, TLS and tokens, and through none of its types.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

/// Longer than any answer a healthy server gives; a test that hits it has failed.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// The four ways to write a patch, by their media types.
#[derive(Clone, Copy, Debug)]
pub enum Patch {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// Kubernetes' own, with merge keys.
    Strategic,
    /// Server-side apply. Its path needs `fieldManager`.
    Apply,
}

impl Patch {
    fn content_type(self) -> &'static str {
        match self {
            Patch::Merge => "application/merge-patch+json",
            Patch::Json => "application/json-patch+json",
            Patch::Strategic => "application/strategic-merge-patch+json",
            Patch::Apply => "application/apply-patch+yaml",
        }
    }
}

/// Speaks to one cluster as one user.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
}

/// One answer, whatever its status.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// A watch: one JSON object a line, until the server ends it.
pub struct Watch {
    chunks: BoxStream<'static, Result<Bytes, kube::Error>>,
    buffer: BytesMut,
}

/// One line of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub kind: String,
    /// The object, or the Status of an error.
    pub object: Value,
}

/// Writes a kubeconfig for one cluster and one user, in the fields of such a file.
pub fn write_kubeconfig(path: &Path, cluster: &Value, user: &Value) -> anyhow::Result<()> {
    let file = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    });
    std::fs::write(path, file.to_string()).with_context(|| format!("write {}", path.display()))
}

impl Api {
    /// Speaks through `client`.
    pub fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// As the current context of a kubeconfig says. It lives on the calling test's runtime.
    pub async fn from_kubeconfig(path: &Path) -> anyhow::Result<Self> {
        Ok(Self::new(client(path).await?))
    }

    /// Any request. `accept` is JSON where it is empty.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(header::HeaderName, &str)],
        body: Vec<u8>,
    ) -> Reply {
        let what = format!("{method} {path}");
        match self.send(method, path, headers, body).await {
            Ok(reply) => reply,
            Err(error) => panic!("{what}: {error:#}"),
        }
    }

    /// Like [`Api::call`], but a connection that fails, or an answer that does not come, is an error and not the end of
    /// the test.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(header::HeaderName, &str)],
        body: Vec<u8>,
    ) -> anyhow::Result<Reply> {
        let answer = async {
            let response = self.client.send(request(method, path, headers, body)?).await?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.context("read the body")?.to_bytes();
            Ok(Reply { status: parts.status, headers: parts.headers, body })
        };
        let answer = tokio::time::timeout(DEADLINE, answer).await;
        answer.with_context(|| format!("no answer within {DEADLINE:?}"))?
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, &[], Vec::new()).await
    }

    /// GET with another `Accept`.
    pub async fn get_as(&self, path: &str, accept: &str) -> Reply {
        self.call(Method::GET, path, &[(header::ACCEPT, accept)], Vec::new()).await
    }

    /// POST of a JSON object.
    pub async fn create(&self, path: &str, object: &Value) -> Reply {
        self.call(Method::POST, path, &[JSON], object.to_string().into_bytes()).await
    }

    /// PUT of a JSON object.
    pub async fn update(&self, path: &str, object: &Value) -> Reply {
        self.call(Method::PUT, path, &[JSON], object.to_string().into_bytes()).await
    }

    /// PATCH.
    pub async fn patch(&self, path: &str, patch: Patch, body: &Value) -> Reply {
        let headers = [(header::CONTENT_TYPE, patch.content_type())];
        self.call(Method::PATCH, path, &headers, body.to_string().into_bytes()).await
    }

    /// DELETE without options.
    pub async fn delete(&self, path: &str) -> Reply {
        self.call(Method::DELETE, path, &[], Vec::new()).await
    }

    /// DELETE with a `DeleteOptions`.
    pub async fn delete_with(&self, path: &str, options: &Value) -> Reply {
        self.call(Method::DELETE, path, &[JSON], options.to_string().into_bytes()).await
    }

    /// Starts a watch; `path` has `watch=true` and what else it needs.
    ///
    /// A refusal (410 at once, say) comes back as the [`Reply`].
    pub async fn watch(&self, path: &str) -> Result<Watch, Reply> {
        self.watch_as(path, "application/json").await
    }

    /// Like [`Api::watch`] with another `Accept`.
    pub async fn watch_as(&self, path: &str, accept: &str) -> Result<Watch, Reply> {
        let headers = [(header::ACCEPT, accept)];
        let request = request(Method::GET, path, &headers, Vec::new()).expect("a valid request");
        let response = tokio::time::timeout(DEADLINE, self.client.send(request))
            .await
            .unwrap_or_else(|_| panic!("watch {path}: no answer within {DEADLINE:?}"))
            .unwrap_or_else(|error| panic!("watch {path}: {error}"));
        let (parts, body) = response.into_parts();
        if !parts.status.is_success() {
            let body = body.collect().await.expect("a refusal's body").to_bytes();
            return Err(Reply { status: parts.status, headers: parts.headers, body });
        }
        Ok(Watch { chunks: body.into_data_stream().boxed(), buffer: BytesMut::new() })
    }
}

/// As the current context of a kubeconfig says. It lives on the calling test's runtime.
pub async fn client(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    let path = kubeconfig.display();
    let file = Kubeconfig::read_from(kubeconfig).with_context(|| format!("read {path}"))?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("use {path}"))?;
    // A 429, 503 or 504 is an answer to look at here, not one to hide by asking again.
    config.default_retry = false;
    kube::Client::try_from(config).context("make a client")
}

const JSON: (header::HeaderName, &str) = (header::CONTENT_TYPE, "application/json");

fn request(
    method: Method,
    path: &str,
    headers: &[(header::HeaderName, &str)],
    body: Vec<u8>,
) -> anyhow::Result<Request<Body>> {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| name == header::ACCEPT) {
        request = request.header(header::ACCEPT, "application/json");
    }
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(Body::from(body)).with_context(|| format!("make the request for {path}"))
}

impl Reply {
    /// The body as JSON; `null` where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The body of an answer with exactly this status; anything else ends the test with what came.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(2000)]);
        assert_eq!(self.status.as_u16(), status, "the answer was: {text}");
        self.json()
    }

    /// A refusal: HTTP status, and a Status object that agrees with it and gives this reason.
    #[track_caller]
    pub fn expect_status(self, code: u16, reason: &str) -> Value {
        let status = self.expect(code);
        assert_eq!(status["kind"], "Status", "{status}");
        assert_eq!(status["apiVersion"], "v1", "{status}");
        assert_eq!(status["status"], "Failure", "{status}");
        assert_eq!(status["code"], code, "{status}");
        assert_eq!(status["reason"], reason, "{status}");
        status
    }
}

impl Watch {
    /// The next event, or none when the server has ended the stream.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        match tokio::time::timeout(DEADLINE, self.read()).await {
            Ok(event) => event,
            Err(_) => panic!("no watch event within {DEADLINE:?}"),
        }
    }

    /// The next event if it comes in time. For showing that something does not come.
    pub async fn next_within(&mut self, time: Duration) -> Option<WatchEvent> {
        tokio::time::timeout(time, self.read()).await.ok().flatten()
    }

    /// The next event; the end of the stream ends the test.
    pub async fn event(&mut self) -> WatchEvent {
        self.next().await.expect("another event, but the server ended the watch")
    }

    async fn read(&mut self) -> Option<WatchEvent> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return Some(WatchEvent::parse(&line));
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                // A cut connection ends a watch as a polite server does: the next list tells.
                Some(Err(_)) | None => return None,
            }
        }
    }
}

impl WatchEvent {
    fn parse(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let mut event: Value = serde_json::from_slice(line)
            .unwrap_or_else(|error| panic!("a watch line is not JSON ({error}): {text}"));
        let kind = event["type"].as_str().unwrap_or_else(|| panic!("no type in {text}")).to_owned();
        Self { kind, object: event["object"].take() }
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The object's resourceVersion as a number. Opaque to clients, but both our servers count.
    pub fn resource_version(&self) -> u64 {
        resource_version(&self.object)
    }
}

/// The resourceVersion of an object or a list.
#[track_caller]
pub fn resource_version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no resourceVersion in {object}"))
}
