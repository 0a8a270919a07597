//! What outlives the host: waiting retries, dead letters, pauses and plugins' state, in one file of a directory of the host's own.
//!
//! Plugins' tasks only say what has changed, into a cupboard (`pending.rs`) that is bounded by what is kept of each; one thread (`writer.rs`) owns the file and
//! writes all that changed meanwhile in one transaction. What that promises: `host/docs/designs/state.md`.

#[cfg(test)]
mod disk;
mod handle;
mod paces;
mod pending;
mod record;
mod store;
mod writer;

use crate::event::Event;
use crate::kept::dead_letters::DeadLetter;
use crate::plugin_name::PluginName;
use bytes::Bytes;
use informant_cache::ObjectKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use handle::Archive;
pub use handle::StateDirectoryStatus;
pub use store::StateDirectoryError;
pub(crate) use writer::ArchiveThread;
pub use writer::check_state_directory;

/// Where the host keeps what is to outlive it, and for how long.
#[derive(Debug, Clone)]
pub struct StateDirectoryOptions {
    /// A directory of this host's own, which is made if it is not there.
    pub directory: PathBuf,
    /// How long what belongs to a plugin is kept once its file is gone.
    pub keep_removed: Duration,
}

/// Where something of a plugin is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArchiveKey {
    /// What is known of the plugin's name. It is there as long as anything of the plugin is.
    Head,
    /// The attempted event at the head of an object's lane. By the subscription's name: its id is this host's.
    Retry { subscription: Arc<str>, key: ObjectKey },
    /// A dead letter by its id.
    Letter(u64),
    /// A value of the plugin's own.
    State(Arc<str>),
}

/// What is kept there.
#[derive(Debug, Clone)]
pub(crate) enum ArchiveValue {
    Head(NameRecord),
    Retry(Box<WaitingRetry>),
    Letter(Box<DeadLetter>),
    State(Bytes),
}

/// What is known of a plugin's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameRecord {
    /// The id of the last dead letter: they rise over restarts as well.
    pub(crate) letters: u64,
    /// Somebody holds it.
    pub(crate) paused: bool,
    /// When its file was found to be gone, in seconds since 1970.
    pub(crate) gone: Option<i64>,
}

/// An event that waits for its next attempt.
#[derive(Debug, Clone)]
pub(crate) struct WaitingRetry {
    /// The subscription's, as text.
    pub(crate) resource: Arc<str>,
    /// Its subscription's id says nothing here.
    pub(crate) event: Event,
    /// The next one's number.
    pub(crate) attempt: u32,
    pub(crate) crashes: u32,
    /// As wall time, which goes on while no host runs.
    pub(crate) due: Timestamp,
    /// How long that was when it was written: it waits no longer, whatever has become of the clock.
    pub(crate) wait: Duration,
}

/// Everything that is kept of one plugin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// None where nothing is kept.
    pub(crate) head: Option<NameRecord>,
    pub(crate) retries: Vec<(Arc<str>, WaitingRetry)>,
    /// By id.
    pub(crate) letters: Vec<DeadLetter>,
    pub(crate) state: BTreeMap<Arc<str>, Bytes>,
    /// Records that nobody can read any more; they are left where they are.
    pub(crate) unreadable: usize,
}

/// What becomes of places, the last word for each; none: it is empty from here on.
pub(crate) type Changes = BTreeMap<(PluginName, ArchiveKey), Option<ArchiveValue>>;

impl ArchiveKey {
    /// Bytes that it takes in memory, about.
    pub(crate) fn size(&self) -> usize {
        let text = match self {
            Self::Head | Self::Letter(_) => 0,
            Self::Retry { subscription, key } => {
                subscription.len() + key.namespace().len() + key.name().len()
            }
            Self::State(key) => key.len(),
        };
        size_of::<(PluginName, Self)>() + text
    }
}

impl ArchiveValue {
    /// Bytes that it takes, about.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Head(_) => size_of::<NameRecord>(),
            Self::Retry(waiting) => waiting.size(),
            Self::Letter(letter) => letter.size(),
            Self::State(value) => value.len(),
        }
    }
}

impl WaitingRetry {
    /// Bytes that its record takes, about.
    pub(crate) fn size(&self) -> usize {
        let old = self.event.old.as_ref().map_or(0, |old| old.json_len());
        size_of::<Self>() + self.event.object.json_len() + old
    }
}
