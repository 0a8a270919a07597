//! The writes of a test's plugin. They change no object: the test sets the answers.

use crate::ObjectKey;
use crate::bindings::informant::plugin::kube::{Error, PatchType};
use serde_json::Value;
use std::collections::VecDeque;

/// A write that the plugin made, or a Kubernetes Event that it recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct TestWrite {
    /// `create`, `update`, `json-patch`, `merge`, `strategic`, `apply`, `delete`, `event`.
    pub verb: &'static str,
    /// The resource with its subresource, in the form of grants: `v1/pods/status`.
    pub resource: String,
    /// The object's key.
    pub key: ObjectKey,
    /// The body. For a deletion, the UID if there is one; for an Event, its type, reason and message.
    pub body: Value,
}

#[derive(Default)]
pub(crate) struct Writes {
    made: Vec<TestWrite>,
    answers: VecDeque<Result<Value, Error>>,
}

impl Writes {
    pub(crate) fn made(&self) -> &[TestWrite] {
        &self.made
    }

    pub(crate) fn answer(&mut self, answer: Result<Value, Error>) {
        self.answers.push_back(answer);
    }

    /// Records the write. Returns the answer that the test has set, or else the written body.
    pub(crate) fn make(&mut self, write: TestWrite) -> Result<Vec<u8>, Error> {
        let sent = write.body.clone();
        self.made.push(write);
        let answer = self.answers.pop_front().unwrap_or(Ok(sent));
        answer.map(|object| object.to_string().into_bytes())
    }

    /// Records an Event, which has no answer.
    pub(crate) fn note(&mut self, write: TestWrite) {
        self.made.push(write);
    }
}

pub(crate) fn name(kind: PatchType) -> &'static str {
    match kind {
        PatchType::JsonPatch => "json-patch",
        PatchType::Merge => "merge",
        PatchType::Strategic => "strategic",
        PatchType::Apply(_) => "apply",
    }
}
