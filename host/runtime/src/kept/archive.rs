//! The data that outlives the host: waiting retries, dead letters, pauses and plugins' state, in one file of the
//! host's own directory.
//!
//! Plugins' tasks only put their changes into a queue (`pending.rs`). The kept data of each plugin bounds it. One
//! thread (`writer.rs`) owns the file, and writes all new changes in one transaction. `host/docs/designs/state.md` has
//! the promises.

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

/// The place of the data that outlives the host, and its life time.
#[derive(Debug, Clone)]
pub struct StateDirectoryOptions {
    /// A directory of this host's own, which is made if it is missing.
    pub directory: PathBuf,
    /// How long a plugin's data is kept after its file is gone.
    pub keep_removed: Duration,
}

/// The place of a record of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArchiveKey {
    /// The record of the plugin's name. It exists as long as any other record of the plugin.
    Head,
    /// The attempted event at the head of an object's lane. By the subscription's name, because its id is valid only
    /// in this host.
    Retry { subscription: Arc<str>, key: ObjectKey },
    /// A dead letter by its id.
    Letter(u64),
    /// A value of the plugin's `state`.
    State(Arc<str>),
}

/// The content of a record.
#[derive(Debug, Clone)]
pub(crate) enum ArchiveValue {
    Head(NameRecord),
    Retry(Box<WaitingRetry>),
    Letter(Box<DeadLetter>),
    State(Bytes),
}

/// The record of a plugin's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameRecord {
    /// The id of the last dead letter: ids rise over restarts as well.
    pub(crate) letters: u64,
    /// Whether a user paused the plugin.
    pub(crate) paused: bool,
    /// When the host found that the plugin's file is gone, in seconds since 1970.
    pub(crate) gone: Option<i64>,
}

/// An event that waits for its next attempt.
#[derive(Debug, Clone)]
pub(crate) struct WaitingRetry {
    /// The subscription's resource, as text.
    pub(crate) resource: Arc<str>,
    /// Its subscription id has no meaning here.
    pub(crate) event: Event,
    /// The number of the next attempt.
    pub(crate) attempt: u32,
    pub(crate) crashes: u32,
    /// As wall time, which goes on while no host runs.
    pub(crate) due: Timestamp,
    /// The wait when the record was written: the retry waits no longer, whatever the clock shows.
    pub(crate) wait: Duration,
}

/// The kept data of one plugin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// `None` if there is no data.
    pub(crate) head: Option<NameRecord>,
    pub(crate) retries: Vec<(Arc<str>, WaitingRetry)>,
    /// In the order of their ids.
    pub(crate) letters: Vec<DeadLetter>,
    pub(crate) state: BTreeMap<Arc<str>, Bytes>,
    /// Records that cannot be read; they stay in the file.
    pub(crate) unreadable: usize,
}

/// The last change of each place; `None` empties it.
pub(crate) type Changes = BTreeMap<(PluginName, ArchiveKey), Option<ArchiveValue>>;

impl ArchiveKey {
    /// Bytes in memory. An estimate.
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
    /// Its bytes. An estimate.
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
    /// Bytes of its record. An estimate.
    pub(crate) fn size(&self) -> usize {
        let old = self.event.old.as_ref().map_or(0, |old| old.json_len());
        size_of::<Self>() + self.event.object.json_len() + old
    }
}
