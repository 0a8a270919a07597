//! HTTP requests. The host's own file must grant each of them (`http` of `plugins.NAME`), or `NAME.yaml` within that
//! file's `ceiling`, by origin, method and path. [`Error::NotGranted`] contains the lines that would grant it. Leave
//! credentials to the host, which adds them if the configuration says so.
//!
//! The plugin waits for the answer. All requests of one call have 10 s together by default. Requests are possible in
//! `handle`, `reconcile`, `fire` and `synced`. A failed call does not undo its requests, and it comes again. So send only
//! requests that may be repeated.
//!
//! ```
//! use informant_plugin::http::{self, Request};
//! use informant_plugin::prelude::*;
//! use serde_json::json;
//!
//! fn alert(event: &Event) -> Result {
//!     let alert = json!([{"labels": {"alertname": "gone", "pod": event.key().name}}]);
//!     let request = Request::post("http://alerts.shop.svc:9093/api/v2/alerts").json(&alert)?;
//!     let answer = request.send().and_then(http::Response::success);
//!     answer.map_err(http::Error::into_failure)?;
//!     Ok(())
//! }
//! ```

use crate::Failure;
use crate::bindings::informant::plugin::http as contract;
use crate::imports::http as host;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Reads something.
    Get,
    /// Reads the headers alone.
    Head,
    /// Sends the body for processing.
    Post,
    /// Stores the body at the URL.
    Put,
    /// Changes the content at the URL.
    Patch,
    /// Removes the content at the URL.
    Delete,
    /// Reads the supported methods.
    Options,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}

/// A request. Up to five redirects are followed, each only if it is granted itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it is sent by `send`"]
pub struct Request {
    request: contract::Request,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            request: contract::Request {
                method: method.name().to_owned(),
                url: url.into(),
                headers: Vec::new(),
                body: Vec::new(),
                timeout_ms: 0,
            },
        }
    }

    /// Reads the content at the URL.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::Get, url)
    }

    /// Sends something.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::Post, url)
    }

    /// Stores something at the URL.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new(Method::Put, url)
    }

    /// Changes the content at the URL.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new(Method::Patch, url)
    }

    /// Removes the content at the URL.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new(Method::Delete, url)
    }

    /// Adds a header. The host sets `Host`, `Content-Length` and similar ones itself, and the headers that its
    /// configuration names. It refuses `Forwarded`, `X-Forwarded-For` and similar ones. On a redirect to another
    /// origin, only the headers about the format of the body and the answer are kept.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.headers.push((name.into(), value.into()));
        self
    }

    /// The body of the request.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.request.body = body.into();
        self
    }

    /// Sends this value as JSON, and sets `Content-Type`.
    pub fn json(self, value: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(value).map_err(|error| Error::Json(error.to_string()))?;
        Ok(self.header("content-type", "application/json").body(body))
    }

    /// The largest wait. It cannot be longer than the call's own time.
    pub fn timeout(mut self, limit: Duration) -> Self {
        let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        // 0 would mean the call's own time.
        self.request.timeout_ms = milliseconds.max(1);
        self
    }

    /// Sends the request and waits for the answer, whatever its status.
    pub fn send(&self) -> Result<Response, Error> {
        let contract::Response { status, headers, body } = host::send(&self.request)?;
        Ok(Response { status, headers, body })
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    /// An answer for a test.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// The same answer with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.into()));
        self
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn into_contract(self) -> contract::Response {
        let Self { status, headers, body } = self;
        contract::Response { status, headers, body }
    }

    /// The status. 200 means success.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// All headers, with names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as text. Invalid bytes are replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Decodes the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Json(error.to_string()))
    }

    /// The same answer if its status means success: 200 to 299.
    pub fn success(self) -> Result<Self, Error> {
        match self.status {
            200..=299 => Ok(self),
            _ => Err(Error::Status(self)),
        }
    }
}

/// Why there is no answer, or no successful one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The request is not granted. If a grant is possible, the text contains its lines.
    NotGranted(String),
    /// Another replica of the host leads.
    NotLeader,
    /// The request is invalid: the URL is none, a header is not allowed, or a part is too large.
    Invalid(String),
    /// No complete answer came in time. The server may have carried the request out, unless the text says that nothing
    /// was sent.
    TimedOut(String),
    /// The answer is too large. The server carried the request out.
    TooLarge(String),
    /// No answer came. The server may have carried the request out, unless the text says that nothing was sent.
    Transport(String),
    /// The answer's status does not mean success: [`Response::success`].
    Status(Response),
    /// The answer does not fit the requested type, or the value to send cannot be encoded as JSON.
    Json(String),
}

impl Error {
    /// The failure for the plugin's result. It has a retry after the server's `Retry-After`, and none for an invalid
    /// request or for JSON that does not fit.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        let failure = Failure::new(&self);
        match self {
            Self::Invalid(_) | Self::Json(_) => failure.never_retry(),
            Self::Status(answer) => match answer.header("retry-after").map(str::parse) {
                Some(Ok(seconds)) => failure.retry_after(Duration::from_secs(seconds)),
                _ => failure,
            },
            _ => failure,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted(text) => write!(f, "not granted: {text}"),
            Self::NotLeader => f.write_str("another replica of the host acts"),
            Self::Invalid(text) => write!(f, "nothing that could be sent: {text}"),
            Self::TimedOut(text) | Self::TooLarge(text) => f.write_str(text),
            Self::Transport(text) => write!(f, "no answer: {text}"),
            Self::Status(answer) => write!(f, "answered with status {}", answer.status),
            Self::Json(text) => write!(f, "the JSON does not fit: {text}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<contract::Error> for Error {
    fn from(error: contract::Error) -> Self {
        match error {
            contract::Error::NotGranted(text) => Self::NotGranted(text),
            contract::Error::NotLeader => Self::NotLeader,
            contract::Error::Invalid(text) => Self::Invalid(text),
            contract::Error::TimedOut(text) => Self::TimedOut(text),
            contract::Error::TooLarge(text) => Self::TooLarge(text),
            contract::Error::Transport(text) => Self::Transport(text),
        }
    }
}
