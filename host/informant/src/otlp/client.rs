//! One request to a collector. Each has a connection of its own: there is one every few seconds.

use super::endpoint::Endpoint;
use super::messages::ExportResponse;
use super::settings::SignalSettings;
use crate::outbound::interim::InterimAnswers;
use crate::outbound::tls::Tls;
use anyhow::Result;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use informant_cache::with_causes;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use prost::Message as _;
use rustls::pki_types::ServerName;
use std::io::Write as _;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

/// Bytes of an answer: numbers and a text for people.
const ANSWER_BYTES_MAX: usize = 64 << 10;
const AGENT: &str = concat!("informant/", env!("CARGO_PKG_VERSION"));

/// Sends requests of one signal.
pub(super) struct OtlpClient {
    settings: SignalSettings,
    tls: Tls,
}

/// A request without success.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PostError {
    pub(super) text: String,
    /// Whether the same request may succeed later.
    pub(super) may_repeat: bool,
    /// The wait that the collector asked for.
    pub(super) wait: Option<Duration>,
}

/// The body of a request, which may be sent several times.
#[derive(Clone)]
pub(super) struct OtlpBody {
    bytes: Bytes,
    is_packed: bool,
}

/// The connection of an answer, which its body needs.
struct OpenAnswer {
    answer: Response<Incoming>,
    _driver: AbortOnDropHandle<()>,
}

impl OtlpBody {
    /// Compresses an encoded message, which takes milliseconds for a large one. Call it on a thread for such work.
    pub(super) fn new(bytes: Vec<u8>, is_compressed: bool) -> Self {
        match is_compressed.then(|| packed(&bytes)).flatten() {
            Some(small) => Self { bytes: small.into(), is_packed: true },
            None => Self { bytes: bytes.into(), is_packed: false },
        }
    }
}

/// Writing to memory does not fail.
fn packed(message: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(message).ok()?;
    encoder.finish().ok()
}

impl OtlpClient {
    pub(super) fn new(settings: SignalSettings) -> Result<Self> {
        let (variable, file) = settings.certificate.clone().unzip();
        let variable = variable.as_deref().unwrap_or("OTEL_EXPORTER_OTLP_CERTIFICATE");
        let tls = Tls::new(variable, file.as_deref())?;
        Ok(Self { settings, tls })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.settings.endpoint
    }

    /// Whether bodies are to be compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.settings.is_compressed
    }

    /// Sends the message, within the time limit. Returns the collector's answer. A success without a readable answer is
    /// an error, because the answer may refuse items. The message must not be sent again then.
    pub(super) async fn post(&self, body: &OtlpBody) -> Result<ExportResponse, PostError> {
        let (endpoint, limit) = (&self.settings.endpoint, self.settings.timeout);
        let deadline = Instant::now() + limit;
        let posted = timeout_at(deadline, self.connect_and_post(body)).await;
        let OpenAnswer { answer, _driver } = posted.unwrap_or_else(|_| {
            let milliseconds = limit.as_millis();
            Err(PostError::lost(format!("{endpoint} did not answer within {milliseconds} ms")))
        })?;
        let status = answer.status();
        if !status.is_success() {
            let wait = answer.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok());
            let wait = wait.and_then(|it| asked_wait(it, Timestamp::now()));
            return Err(PostError::refused(endpoint, status, wait));
        }
        let unknown = |with: &str| PostError::unknown(endpoint, status, with);
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let body = match timeout_at(deadline, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                return Err(unknown(&format!("more than {ANSWER_BYTES_MAX} bytes")));
            }
            Ok(Err(_)) => return Err(unknown("a body that ended early")),
            Err(_) => return Err(unknown("a body that did not end in time")),
        };
        ExportResponse::decode(body).map_err(|_| unknown("a body that is no answer of OTLP"))
    }

    async fn connect_and_post(&self, body: &OtlpBody) -> Result<OpenAnswer, PostError> {
        let endpoint = &self.settings.endpoint;
        let lost = |error: &(dyn std::error::Error + 'static)| {
            PostError::lost(format!("{endpoint}: {}", with_causes(error)))
        };
        let place = (endpoint.host.as_str(), endpoint.port);
        let stream = TcpStream::connect(place).await.map_err(|error| lost(&error))?;
        if !endpoint.is_https {
            return self.exchange(stream, body).await;
        }
        let text = |problem: String| PostError::lost(format!("{endpoint}: {problem}"));
        let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| lost(&error))?;
        let tls = self.tls.connector().await.map_err(text)?;
        let stream = tls.connect(name, stream).await.map_err(|error| lost(&error))?;
        self.exchange(stream, body).await
    }

    async fn exchange<S>(&self, stream: S, body: &OtlpBody) -> Result<OpenAnswer, PostError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let endpoint = &self.settings.endpoint;
        let lost = |error: &(dyn std::error::Error + 'static)| {
            PostError::lost(format!("{endpoint}: {}", with_causes(error)))
        };
        let mut request = self.request(body).map_err(|error| lost(&error))?;
        let interim = InterimAnswers::default();
        interim.count_for(&mut request);
        let made = handshake(TokioIo::new(interim.bound(stream))).await;
        let (mut sender, connection) = made.map_err(|error| lost(&error))?;
        // The sender gets the error of the connection.
        let _driver = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        let answer = sender.send_request(request).await.map_err(|error| lost(&error))?;
        Ok(OpenAnswer { answer, _driver })
    }

    fn request(&self, body: &OtlpBody) -> http::Result<Request<Full<Bytes>>> {
        let SignalSettings { endpoint, headers, .. } = &self.settings;
        let mut request = Request::post(&endpoint.path)
            .header(HOST, &endpoint.authority)
            .header(USER_AGENT, AGENT)
            .header(CONTENT_TYPE, "application/x-protobuf");
        if body.is_packed {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.body(Full::new(body.bytes.clone()))
    }
}

/// The wait in a header `Retry-After`: seconds or a date.
fn asked_wait(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::parse(value.trim()).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

impl PostError {
    /// No answer came.
    fn lost(text: String) -> Self {
        Self { text, may_repeat: true, wait: None }
    }

    /// A success with an answer that cannot be read. It may say that the collector refused items.
    fn unknown(endpoint: &Endpoint, status: StatusCode, with: &str) -> Self {
        let text = format!(
            "{endpoint} answered {status} with {with}, so it is unknown which items it took"
        );
        Self { text, may_repeat: false, wait: None }
    }

    /// The answers that OTLP's specification lets a client repeat the request after.
    fn refused(endpoint: &Endpoint, status: StatusCode, wait: Option<Duration>) -> Self {
        let may_repeat = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        Self { text: format!("{endpoint} answered {status}"), may_repeat, wait }
    }
}

#[cfg(test)]
pub(super) mod tests;
