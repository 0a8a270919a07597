//! The HTTP requests of a test's plugin. They are not sent: the test sets the answers.

use crate::bindings::informant::plugin::http::{Error, Request, Response};
use std::collections::VecDeque;
use std::time::Duration;

/// A request that the plugin made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRequest {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The URL, as the plugin wrote it.
    pub url: String,
    /// The headers that the plugin set, in its order. The real host adds others.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The plugin's timeout, if it set one.
    pub timeout: Option<Duration>,
}

#[derive(Default)]
pub(crate) struct Requests {
    made: Vec<TestRequest>,
    answers: VecDeque<Result<Response, Error>>,
}

impl Requests {
    pub(crate) fn made(&self) -> &[TestRequest] {
        &self.made
    }

    pub(crate) fn answer(&mut self, answer: Result<Response, Error>) {
        self.answers.push_back(answer);
    }

    /// Records the request. Returns the answer that the test has set.
    pub(crate) fn make(&mut self, request: &Request) -> Result<Response, Error> {
        let Request { method, url, headers, body, timeout_ms } = request.clone();
        let timeout = (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms.into()));
        self.made.push(TestRequest { method, url, headers, body, timeout });
        let empty = || Response { status: 200, headers: Vec::new(), body: Vec::new() };
        self.answers.pop_front().unwrap_or_else(|| Ok(empty()))
    }
}
