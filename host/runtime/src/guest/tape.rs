//! The calls between one instance of a plugin and its host, for a recording or a playback: each
//! call of the guest, its calls of host functions, and their answers.
//!
//! An instance without a tape costs one look at a call; its host functions are linked without any of this (`guest/host_functions/taped.rs`).

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

/// What the guest is called with.
pub(crate) enum Called<'a> {
    Start,
    Stop,
    Snapshot,
    /// With what a version of this number had to say.
    Restore(&'a str, &'a [u8]),
    Handle(&'a handler::Event<'a>, &'a CurrentEvent),
    /// The initial objects of the subscription with this index are through.
    Synced(u32),
    /// A key, and its attempt.
    Reconcile(&'a str, u32),
    /// A schedule, and its moment in milliseconds since 1970.
    Fire(&'a str, u64),
}

/// How a call ended that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallAnswer {
    Done,
    /// After so many milliseconds once more.
    Again(u64),
    /// So many bytes were handed over.
    Bytes(usize),
}

/// Hears of everything that passes between one instance and its host, in order. Nothing of it waits for anybody.
pub(crate) trait Tape: Send + Sync + 'static {
    /// The guest is about to be called.
    fn called(&self, call: &Called<'_>);
    /// It has answered, or has ended.
    fn ended(&self, result: Result<CallAnswer, &CallError>);
    /// What a host function is to answer without doing anything; none: what it would.
    fn answer(&self, function: &'static str, with: &Value) -> Option<Value> {
        let _ = (function, with);
        None
    }
    /// What waits to be written, for the plugin's account; none: nothing does.
    fn weighed(&self) -> Option<Weak<dyn Weighed>> {
        None
    }
    /// A host function has answered so.
    fn asked(&self, function: &'static str, with: Value, answer: Value);
    /// Whether the guest's lines of this level are wanted; none: as the host's log wants them.
    fn wants(&self, level: Level) -> Option<bool> {
        let _ = level;
        None
    }
    /// The host has not told the guest of an event of the subscription of this name, because of its filter.
    fn passed_over(&self, subscription: &str, event: &Event) {
        let _ = (subscription, event);
    }
    /// An event has become these keys, instead of being told.
    fn became_keys(&self, subscription: &str, event: &Event, keys: &mut dyn Iterator<Item = &str>) {
        let _ = (subscription, event, keys);
    }
    /// The guest, or the host about its end, has logged a line.
    fn logged(&self, level: Level, message: &str, fields: &str) {
        let _ = (level, message, fields);
    }
}

/// A version's instances in one shard, as whoever has tapes knows them.
pub(crate) struct TapeOf<'a> {
    pub(crate) plugin: &'a PluginName,
    /// As its descriptor says.
    pub(crate) version: &'a str,
    pub(crate) shard: Shard,
    /// Secrets or tokens may pass.
    pub(crate) grants_secrets: bool,
    /// Name and resource of each subscription, in the descriptor's order.
    pub(crate) subscriptions: Vec<(&'a str, &'a str)>,
}

/// Who has a tape for whom.
pub(crate) trait Tapes: Send + Sync + 'static {
    /// One for these instances, which is asked for once; none: nobody wants to know. It ends when it is dropped.
    fn tape(&self, of: &TapeOf<'_>) -> Option<Arc<dyn Tape>>;
}

/// A level as people write it.
pub(crate) fn level_name(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}
