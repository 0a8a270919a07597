//! What the queue of keys holds at one moment, for whoever looks.

use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// A key that was given up on.
#[derive(Debug, Clone)]
pub(crate) struct GivenUp {
    pub(crate) key: Arc<str>,
    pub(crate) attempts: u32,
    pub(crate) error: String,
    pub(crate) at: Timestamp,
}

/// What the queue holds at one moment.
#[derive(Debug, Clone, Default)]
pub struct KeysSnapshot {
    /// Everything that is kept of keys: those that wait, are delayed or only have failed.
    pub keys: usize,
    /// Bytes that they take.
    pub bytes: usize,
    /// Whether events wait until there is room for their keys.
    pub holds_events: bool,
    /// Keys that could be worked on now.
    pub depth: usize,
    /// Keys that wait for a call: these, and keys that have failed and come again later.
    pub waiting: usize,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// Since when the first of those that could be worked on waits.
    pub oldest: Option<Instant>,
    /// Keys that have failed and come again.
    pub failed: usize,
    pub(crate) given_up: Vec<GivenUp>,
}

impl KeysSnapshot {
    /// What `/plugins` shows of it.
    pub(crate) fn to_json(&self) -> Value {
        let given_up = self.given_up.iter().map(|given_up| {
            json!({
                "key": &*given_up.key,
                "attempts": given_up.attempts,
                "error": given_up.error,
                "at": given_up.at.to_string(),
            })
        });
        json!({
            "keys": self.keys,
            "bytes": self.bytes,
            "holdsEvents": self.holds_events,
            "depth": self.depth,
            "waiting": self.waiting,
            "delayed": self.delayed,
            "failed": self.failed,
            "ageSeconds": self.oldest.map(|oldest| oldest.elapsed().as_secs_f64()),
            "givenUp": given_up.collect::<Vec<_>>(),
        })
    }
}
