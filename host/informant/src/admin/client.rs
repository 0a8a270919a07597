//! The client of the admin socket.

use anyhow::{Context, Result, anyhow, bail};
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

/// A load takes as long as the compilation and the start of the plugin.
const DEADLINE: Duration = Duration::from_secs(120);
/// Enough for a thousand plugins, and many times the largest object that etcd holds.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Asks a running host. Each request has its own connection.
pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.ask(Method::GET, path, Body::empty()).await
    }

    /// Returns the host's message about its action.
    pub(crate) async fn post(&self, path: &str, body: Option<Value>) -> Result<String> {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let answer = self.ask(Method::POST, path, body).await?;
        Ok(answer["msg"].as_str().unwrap_or_default().to_owned())
    }

    async fn ask(&self, method: Method, path: &str, body: Body) -> Result<Value> {
        let asked = tokio::time::timeout(DEADLINE, self.exchange(method, path, body)).await;
        asked.with_context(|| format!("the host did not answer within {} s", DEADLINE.as_secs()))?
    }

    async fn exchange(&self, method: Method, path: &str, body: Body) -> Result<Value> {
        let stream =
            UnixStream::connect(&self.socket).await.map_err(|error| self.absent(&error))?;
        let broken = "the host closed the connection";
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.context(broken)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "informant")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)?;
        let connection = AbortOnDropHandle::new(tokio::spawn(connection));
        let response = sender.send_request(request).await.context(broken)?;
        let status = response.status();
        let bytes = to_bytes(Body::new(response.into_body()), ANSWER_BYTES_MAX).await;
        drop(connection);
        let bytes = bytes.context(broken)?;
        let answer = serde_json::from_slice::<Value>(&bytes);
        if status.is_success() {
            return answer.with_context(|| format!("the host answered {status} and no JSON"));
        }
        let said = answer.ok().and_then(|answer| Some(answer["msg"].as_str()?.to_owned()));
        bail!(
            "{}",
            said.unwrap_or_else(|| format!("the host answered {status} and said nothing more"))
        )
    }

    fn absent(&self, error: &std::io::Error) -> anyhow::Error {
        let socket = self.socket.display();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => anyhow!(
                "no host listens on {socket}; start one (informant run or dev), or name its socket with --admin-socket"
            ),
            ErrorKind::PermissionDenied => {
                anyhow!("{socket} may only be opened by the user who runs the host")
            }
            _ => anyhow!("{socket} cannot be opened: {error}"),
        }
    }
}
