//! The client of the admin socket.

use crate::logging::WholeLine;
use anyhow::{Context, Result, anyhow, bail};
use axum::body::Body;
use axum::http::request::Builder;
use axum::http::{Method, Request, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use informant_apiserver::JSON;
use informant_runtime::one_line;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

/// The time for an answer to a question.
const DEADLINE: Duration = Duration::from_secs(120);
/// The time for an action. The attempts to compile have 380 s of it. A load whose other steps are long, too, or that
/// waits for others, may take longer.
const ACTION_DEADLINE: Duration = Duration::from_secs(600);
/// Enough for a thousand plugins, and for some ten thousand Pods.
const ANSWER_BYTES_MAX: usize = 64 << 20;
const BROKEN: &str = "the host closed the connection";

/// Asks a running host. Each request has its own connection.
pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.get_as(path, JSON).await
    }

    /// The same, in the form that `accept` names.
    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Result<Value> {
        self.ask(Method::GET, path, accept, Body::empty()).await
    }

    /// An answer that comes line by line.
    pub(crate) async fn follow(
        &self,
        path: &str,
        accept: &str,
        headers: &[(&str, &str)],
    ) -> Result<AnswerLines> {
        let mut request = request(Method::GET, path, accept);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let begun = in_time(DEADLINE, self.send(request, Body::empty())).await?;
        if begun.status.is_success() {
            return Ok(AnswerLines { begun, waiting: BytesMut::new() });
        }
        let status = begun.status;
        Err(failure(status, serde_json::from_slice(&in_time(DEADLINE, begun.all()).await?).ok()))
    }

    /// Returns the host's message about its action.
    pub(crate) async fn post(&self, path: &str, body: Option<Value>) -> Result<String> {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let answer = self.ask(Method::POST, path, JSON, body).await?;
        Ok(answer["msg"].as_str().unwrap_or_default().to_owned())
    }

    async fn ask(&self, method: Method, path: &str, accept: &str, body: Body) -> Result<Value> {
        let deadline = if method == Method::GET { DEADLINE } else { ACTION_DEADLINE };
        let exchange = async {
            let begun = self.send(request(method, path, accept), body).await?;
            Ok((begun.status, begun.all().await?))
        };
        let (status, bytes) = in_time(deadline, exchange).await?;
        let answer = serde_json::from_slice::<Value>(&bytes);
        match status.is_success() {
            // An object may be nested deeper than this program reads: 128 levels.
            true => answer.with_context(|| {
                format!("the host answered {status}, and its JSON cannot be read")
            }),
            false => Err(failure(status, answer.ok())),
        }
    }

    async fn send(&self, request: Builder, body: Body) -> Result<BegunAnswer> {
        let stream =
            UnixStream::connect(&self.socket).await.map_err(|error| self.absent(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.context(BROKEN)?;
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            // The reader of the answer sees the same error.
            let _ = connection.await;
        }));
        let response = sender.send_request(request.body(body)?).await.context(BROKEN)?;
        let (status, body) = (response.status(), Body::new(response.into_body()));
        Ok(BegunAnswer { status, body, _sender: sender, _connection: connection })
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

fn request(method: Method, path: &str, accept: &str) -> Builder {
    let request = Request::builder().method(method).uri(path).header(header::ACCEPT, accept);
    request.header(header::HOST, "informant").header(header::CONTENT_TYPE, JSON)
}

/// An answer whose head is there.
struct BegunAnswer {
    status: StatusCode,
    body: Body,
    /// Without it the connection would end.
    _sender: http1::SendRequest<Body>,
    _connection: AbortOnDropHandle<()>,
}

impl BegunAnswer {
    async fn all(self) -> Result<Bytes> {
        let whole = Limited::new(self.body, ANSWER_BYTES_MAX).collect().await;
        let whole = whole.map_err(|error| match error.is::<LengthLimitError>() {
            true => anyhow!(
                "the host's answer has more than {} MiB; name a namespace or a selector",
                ANSWER_BYTES_MAX >> 20
            ),
            false => anyhow!("{BROKEN}: {error}"),
        })?;
        Ok(whole.to_bytes())
    }
}

/// The lines of an answer, as they come.
pub(crate) struct AnswerLines {
    begun: BegunAnswer,
    /// Bytes after the last whole line. Bounded by [`ANSWER_BYTES_MAX`].
    waiting: BytesMut,
}

impl AnswerLines {
    /// The next line without its end. None: the answer has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<String>> {
        let mut looked_at = 0;
        loop {
            let end = self.waiting[looked_at..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| looked_at + end) {
                let mut line = self.waiting.split_to(end + 1);
                line.truncate(end);
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            looked_at = self.waiting.len();
            if looked_at > ANSWER_BYTES_MAX {
                bail!("the host sent a line of more than {ANSWER_BYTES_MAX} bytes");
            }
            let Some(frame) = self.begun.body.frame().await else { return Ok(None) };
            if let Ok(data) = frame.context(BROKEN)?.into_data() {
                self.waiting.extend_from_slice(&data);
            }
        }
    }
}

async fn in_time<T>(deadline: Duration, asked: impl Future<Output = Result<T>>) -> Result<T> {
    let asked = tokio::time::timeout(deadline, asked).await;
    asked.with_context(|| {
        let seconds = deadline.as_secs();
        let hint = match deadline {
            ACTION_DEADLINE => {
                "; the action may still be under way: look at `informant plugin list`"
            }
            _ => "",
        };
        format!("the host did not answer within {seconds} s{hint}")
    })?
}

/// The reason of a refusal: a `Status` in kubectl's words, or the host's own message.
fn failure(status: StatusCode, answer: Option<Value>) -> anyhow::Error {
    let answer = answer.unwrap_or_default();
    if answer["kind"] == "Status" {
        return server_error(&answer);
    }
    match answer["msg"].as_str() {
        Some(said) => anyhow!("{said}"),
        None => anyhow!("the host answered {status} without a reason; its log may have one"),
    }
}

/// Bytes of an error of the API server.
const SERVER_ERROR_BYTES_MAX: usize = 8 << 10;

/// A `Status` as kubectl prints it (`k8s.io/kubectl/pkg/cmd/util`, `StandardErrorMessage`), on one line: whoever decides
/// about rights may write the message.
pub(crate) fn server_error(status: &Value) -> anyhow::Error {
    let text = |key: &str| status[key].as_str().unwrap_or_default();
    let reason = match text("reason") {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let line = format!("Error from server{reason}: {}", text("message"));
    WholeLine(one_line(&line, SERVER_ERROR_BYTES_MAX).into_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(answer: Option<Value>, expect: &str) {
        assert_eq!(failure(StatusCode::NOT_FOUND, answer).to_string(), expect);
    }

    #[test]
    fn a_refusal_has_the_words_of_kubectl_or_the_host() {
        let status =
            json!({"kind": "Status", "reason": "NotFound", "message": "pods \"a\" not found"});
        check(Some(status), "Error from server (NotFound): pods \"a\" not found");
        check(Some(json!({"kind": "Status", "message": "no"})), "Error from server: no");
        let forged = json!({"kind": "Status", "message": "no\u{1b}[2J\ngood  running"});
        check(Some(forged), r"Error from server: no\u{1b}[2J\ngood  running");
        check(Some(json!({"msg": "there is no plugin a"})), "there is no plugin a");
        check(None, "the host answered 404 Not Found without a reason; its log may have one");
    }

    #[tokio::test]
    async fn lines_come_whole_however_their_bytes_come() {
        let pieces = ["a\nb", "", "c\n\n", "rest"];
        let pieces = futures::stream::iter(pieces.map(Ok::<_, std::io::Error>));
        let (stream, _other) = UnixStream::pair().expect("a pair");
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("it begins");
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        let body = Body::from_stream(pieces);
        let begun =
            BegunAnswer { status: StatusCode::OK, body, _sender: sender, _connection: connection };
        let mut lines = AnswerLines { begun, waiting: BytesMut::new() };
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.expect("a line") {
            found.push(line);
        }
        assert_eq!(found, ["a", "bc", ""]);
    }
}
