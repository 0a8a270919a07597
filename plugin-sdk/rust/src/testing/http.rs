//! What a test's plugin asks over HTTP. Nobody is asked: the test says what is answered.

use crate::bindings::informant::plugin::http::{Error, Request, Response};
use crate::http::{Error as Refusal, Response as Answer};
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
pub(super) struct Requests {
    made: Vec<TestRequest>,
    answers: VecDeque<Result<Answer, Refusal>>,
}

impl Requests {
    pub(super) fn made(&self) -> &[TestRequest] {
        &self.made
    }

    pub(super) fn answer(&mut self, answer: Result<Answer, Refusal>) {
        self.answers.push_back(answer);
    }

    /// Notes it, and answers as told.
    pub(super) fn make(&mut self, request: &Request) -> Result<Response, Error> {
        let Request { method, url, headers, body, timeout_ms } = request.clone();
        let timeout = (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms.into()));
        self.made.push(TestRequest { method, url, headers, body, timeout });
        let answer = self.answers.pop_front().unwrap_or_else(|| Ok(Answer::new(200, "")));
        answer.map(Answer::into_contract).map_err(error)
    }
}

fn error(error: Refusal) -> Error {
    match error {
        Refusal::NotGranted(text) => Error::NotGranted(text),
        Refusal::NotLeader => Error::NotLeader,
        Refusal::Invalid(text) => Error::Invalid(text),
        Refusal::TimedOut(text) => Error::TimedOut(text),
        Refusal::TooLarge(text) => Error::TooLarge(text),
        Refusal::Transport(text) => Error::Transport(text),
        // What only a plugin makes of an answer is none that a host gives.
        other @ (Refusal::Status(_) | Refusal::Json(_)) => Error::Transport(other.to_string()),
    }
}
