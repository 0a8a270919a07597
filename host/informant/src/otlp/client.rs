//! One request to a collector. Each has a connection of its own: there is one every few seconds.

use super::endpoint::Endpoint;
use super::settings::SignalSettings;
use crate::cluster_writer::with_causes;
use crate::outbound::tls::Tls;
use anyhow::Result;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::io::Write as _;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
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

impl OtlpClient {
    pub(super) fn new(settings: SignalSettings) -> Result<Self> {
        let tls = Tls::new("OTEL_EXPORTER_OTLP_CERTIFICATE", settings.certificate.as_deref())?;
        Ok(Self { settings, tls })
    }

    /// Sends the message, within the time limit. Returns the answer's body.
    pub(super) async fn post(&self, message: Vec<u8>) -> Result<Bytes, PostError> {
        let (endpoint, limit) = (&self.settings.endpoint, self.settings.timeout);
        let posted = tokio::time::timeout(limit, self.connect_and_post(message)).await;
        posted.unwrap_or_else(|_| {
            let milliseconds = limit.as_millis();
            Err(PostError::lost(format!("{endpoint} did not answer within {milliseconds} ms")))
        })
    }

    async fn connect_and_post(&self, message: Vec<u8>) -> Result<Bytes, PostError> {
        let endpoint = &self.settings.endpoint;
        let lost = |error: &(dyn std::error::Error + 'static)| {
            PostError::lost(format!("{endpoint}: {}", with_causes(error)))
        };
        let place = (endpoint.host.as_str(), endpoint.port);
        let stream = TcpStream::connect(place).await.map_err(|error| lost(&error))?;
        if !endpoint.is_https {
            return self.exchange(stream, message).await;
        }
        let text = |problem: String| PostError::lost(format!("{endpoint}: {problem}"));
        let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| lost(&error))?;
        let tls = self.tls.connector().await.map_err(text)?;
        let stream = tls.connect(name, stream).await.map_err(|error| lost(&error))?;
        self.exchange(stream, message).await
    }

    async fn exchange<S>(&self, stream: S, message: Vec<u8>) -> Result<Bytes, PostError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let endpoint = &self.settings.endpoint;
        let lost = |error: &(dyn std::error::Error + 'static)| {
            PostError::lost(format!("{endpoint}: {}", with_causes(error)))
        };
        let request = self.request(message).map_err(|error| lost(&error))?;
        let made = handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = made.map_err(|error| lost(&error))?;
        // The sender gets the error of the connection.
        let _driver = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        let answer = sender.send_request(request).await.map_err(|error| lost(&error))?;
        let (status, wait) = (answer.status(), answer.headers().get(RETRY_AFTER).cloned());
        if !status.is_success() {
            let wait = wait.as_ref().and_then(|it| it.to_str().ok()?.parse().ok());
            return Err(PostError::refused(endpoint, status, wait.map(Duration::from_secs)));
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        Ok(body.map_err(|error| lost(&*error))?.to_bytes())
    }

    fn request(&self, message: Vec<u8>) -> http::Result<Request<Full<Bytes>>> {
        let SignalSettings { endpoint, headers, is_compressed, .. } = &self.settings;
        let mut request = Request::post(&endpoint.path)
            .header(HOST, &endpoint.authority)
            .header(USER_AGENT, AGENT)
            .header(CONTENT_TYPE, "application/x-protobuf");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        match compressed(&message).filter(|_| *is_compressed) {
            Some(small) => request.header(CONTENT_ENCODING, "gzip").body(Full::new(small.into())),
            None => request.body(Full::new(message.into())),
        }
    }
}

/// Writing to memory does not fail.
fn compressed(message: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(message).ok()?;
    encoder.finish().ok()
}

impl PostError {
    /// No answer came.
    fn lost(text: String) -> Self {
        Self { text, may_repeat: true, wait: None }
    }

    /// The answers that OTLP's specification lets a client repeat the request after.
    fn refused(endpoint: &Endpoint, status: StatusCode, wait: Option<Duration>) -> Self {
        let may_repeat = matches!(status.as_u16(), 429 | 502 | 503 | 504);
        Self { text: format!("{endpoint} answered {status}"), may_repeat, wait }
    }
}

#[cfg(test)]
mod tests;
