//! The calls between one instance of a plugin and its host, for a recording or a playback: each call of the guest, its
//! calls of host functions, and their answers.
//!
//! An instance without a tape costs one check for each call; its host functions are linked without this
//! (`guest/host_functions/taped.rs`).

mod values;

pub(crate) use values::Taped;

use crate::account::Weighed;
use crate::call_error::CallError;
use crate::event::{CurrentEvent, Event};
use crate::guest::bindings::exports::informant::plugin::handler;
use crate::guest::bindings::informant::plugin::log::Level;
use crate::plugin_name::PluginName;
use crate::shard::Shard;
use serde_json::Value;
use std::sync::{Arc, Weak};

/// A call of the guest.
pub(crate) enum Called<'a> {
    Start,
    Stop,
    Snapshot,
    /// With the number and the snapshot of the version before.
    Restore(&'a str, &'a [u8]),
    Handle(&'a handler::Event<'a>, &'a CurrentEvent),
    /// The `synced` call of the subscription with this index.
    Synced(u32),
    /// A key, and its attempt.
    Reconcile(&'a str, u32),
    /// A schedule, and its time in milliseconds since 1970.
    Fire(&'a str, u64),
}

/// The result of a successful call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallAnswer {
    Done,
    /// The key is to come again after so many milliseconds.
    Again(u64),
    /// The size of a snapshot.
    Bytes(usize),
}

/// Gets all calls between one instance and its host, in order. No method waits.
pub(crate) trait Tape: Send + Sync + 'static {
    /// The guest is about to be called.
    fn called(&self, call: &Called<'_>);
    /// The call has ended.
    fn ended(&self, result: Result<CallAnswer, &CallError>);
    /// The answer of a host function that is not to run; `None` runs it.
    fn answer(&self, function: &'static str, with: &Value) -> Option<Value> {
        let _ = (function, with);
        None
    }
    /// The unwritten data, for the plugin's account; `None` if there is none.
    fn weighed(&self) -> Option<Weak<dyn Weighed>> {
        None
    }
    /// A host function has given this answer.
    fn asked(&self, function: &'static str, with: Value, answer: Value);
    /// Whether the tape wants the guest's lines of this level; `None`: as the host's log does.
    fn wants(&self, level: Level) -> Option<bool> {
        let _ = level;
        None
    }
    /// The subscription's filter did not let this event pass.
    fn passed_over(&self, subscription: &str, event: &Event) {
        let _ = (subscription, event);
    }
    /// An event has become these keys, and is not delivered.
    fn became_keys(&self, subscription: &str, event: &Event, keys: &mut dyn Iterator<Item = &str>) {
        let _ = (subscription, event, keys);
    }
    /// The guest, or the host about the guest's end, has logged a line.
    fn logged(&self, level: Level, message: &str, fields: &str) {
        let _ = (level, message, fields);
    }
}

/// The description of a tape: a version's instances in one shard.
pub(crate) struct TapeOf<'a> {
    pub(crate) plugin: &'a PluginName,
    /// The version number in the descriptor.
    pub(crate) version: &'a str,
    pub(crate) shard: Shard,
    /// Whether Secrets or tokens may pass.
    pub(crate) grants_secrets: bool,
    /// Name and resource of each subscription, in the descriptor's order.
    pub(crate) subscriptions: Vec<(&'a str, &'a str)>,
}

/// Makes tapes.
pub(crate) trait Tapes: Send + Sync + 'static {
    /// The tape for these instances, which the host asks for once. `None`: they are not recorded. The tape ends when
    /// it is dropped.
    fn tape(&self, of: &TapeOf<'_>) -> Option<Arc<dyn Tape>>;
}

/// The name of a level in text.
pub(crate) fn level_name(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}
