//! Requests to HTTP servers. Each has to be granted in the configuration of whoever runs the host (`http` in `NAME.yaml`), by origin, method and
//! path; [`Error::NotGranted`] has the lines that would. Credentials are best left to the host, which adds them where the configuration says so.
//!
//! The plugin waits for the answer, 10 s at most for all requests of one call if the host says nothing else. It may ask while it is told of something,
//! works on a key or hears of the time. A call that fails takes nothing back of what it sent and comes again, so send what may be sent twice.
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

/// What is asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Only asks.
    Get,
    /// Only asks, and for the headers alone.
    Head,
    /// Has the server do something with the body.
    Post,
    /// Puts the body there.
    Put,
    /// Changes what is there.
    Patch,
    /// Removes what is there.
    Delete,
    /// Asks what can be asked.
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

/// A request. Redirects are followed, up to five of them, each if it is granted by itself.
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

    /// Asks for what is there.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::Get, url)
    }

    /// Hands something over.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::Post, url)
    }

    /// Puts something there.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new(Method::Put, url)
    }

    /// Changes what is there.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new(Method::Patch, url)
    }

    /// Removes what is there.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new(Method::Delete, url)
    }

    /// One more header. `Host`, `Content-Length` and their like are the host's own, as are those that the configuration has it add.
    /// `Forwarded`, `X-Forwarded-For` and their like are refused. A redirect to another origin takes only those along that say what is sent and wanted.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.headers.push((name.into(), value.into()));
        self
    }

    /// What is sent.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.request.body = body.into();
        self
    }

    /// Sends this as JSON, and says so in `Content-Type`.
    pub fn json(self, value: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(value).map_err(|error| Error::Json(error.to_string()))?;
        Ok(self.header("content-type", "application/json").body(body))
    }

    /// Waits no longer than this, nor than the call may.
    pub fn timeout(mut self, limit: Duration) -> Self {
        let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        // 0 would be as long as the call may.
        self.request.timeout_ms = milliseconds.max(1);
        self
    }

    /// Sends it and waits for the answer, whatever its status.
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
    /// An answer for a test to give.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// The same with one more header.
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

    /// The status, 200 where all is well.
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

    /// All headers, with names in small letters.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as text; what is none is replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body's JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Json(error.to_string()))
    }

    /// The same, if the status says that all is well: 200 to 299.
    pub fn success(self) -> Result<Self, Error> {
        match self.status {
            200..=299 => Ok(self),
            _ => Err(Error::Status(self)),
        }
    }
}

/// Why there is no answer, or not the one that was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nothing grants it; the text has the lines that would, where any would.
    NotGranted(String),
    /// Another replica of the host acts.
    NotLeader,
    /// It cannot be a request: no URL, a header that is not the plugin's to set, or too much.
    Invalid(String),
    /// No whole answer came in time: it may have been done or not, unless the text says that nothing was sent.
    TimedOut(String),
    /// The answer is larger than it may be. It was done.
    TooLarge(String),
    /// No answer came: it may have been done or not, unless the text says that nothing was sent.
    Transport(String),
    /// An answer whose status is not the one that was wanted: [`Response::success`].
    Status(Response),
    /// The answer does not fit the type asked for, or what was to be sent cannot be written as JSON.
    Json(String),
}

impl Error {
    /// The failure to answer with: retried when the server says so, never where it would fail again.
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
