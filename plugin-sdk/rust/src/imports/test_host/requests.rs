//! What a test's plugin asks over HTTP. Nobody is asked: the test says what is answered.

use crate::bindings::informant::plugin::http::{Error, Request, Response};
use std::collections::VecDeque;
use std::time::Duration;

/// A request that the plugin made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRequest {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// As the plugin wrote it.
    pub url: String,
    /// Those that the plugin set, in its order. The real host adds others.
    pub headers: Vec<(String, String)>,
    /// What was sent.
    pub body: Vec<u8>,
    /// How long the plugin wants to wait, if it says so.
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

    /// Notes it, and answers as told.
    pub(crate) fn make(&mut self, request: &Request) -> Result<Response, Error> {
        let Request { method, url, headers, body, timeout_ms } = request.clone();
        let timeout = (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms.into()));
        self.made.push(TestRequest { method, url, headers, body, timeout });
        let empty = || Response { status: 200, headers: Vec::new(), body: Vec::new() };
        self.answers.pop_front().unwrap_or_else(|| Ok(empty()))
    }
}
