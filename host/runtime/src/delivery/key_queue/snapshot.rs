//! A snapshot of the queue of keys, for `/plugins` and metrics.

use super::HashedKey;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Instant;

/// A key that was given up on.
#[derive(Debug, Clone)]
pub(crate) struct GivenUp {
    pub(crate) key: HashedKey,
    pub(crate) attempts: u32,
    pub(crate) error: String,
    pub(crate) at: Timestamp,
}

/// The content of the queue at one moment.
#[derive(Debug, Clone, Default)]
pub struct KeysSnapshot {
    /// All known keys: keys that wait, are delayed or have only failed.
    pub keys: usize,
    /// The bytes of the known keys.
    pub bytes: usize,
    /// Whether events wait until there is room for their keys.
    pub holds_events: bool,
    /// Keys that are due now.
    pub depth: usize,
    /// Keys that wait for a call: the due keys, and failed keys that come again later.
    pub waiting: usize,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// When the oldest due key began to wait.
    pub oldest: Option<Instant>,
    /// Keys that have failed and come again.
    pub failed: usize,
    pub(crate) given_up: Vec<GivenUp>,
}

impl KeysSnapshot {
    /// The snapshot as `/plugins` shows it.
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
