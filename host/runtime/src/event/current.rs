//! The event of the current call.

use super::{Change, Event};
use bytes::Bytes;
use informant_cache::{JsonReader, Object};
use std::sync::Arc;

/// The event of the current call, for `event-data` and for the log's keys.
pub(crate) struct CurrentEvent {
    pub(crate) resource: Arc<str>,
    pub(crate) event: Arc<Event>,
    /// Whether the guest sees no more than the objects' metadata, whatever the cache has.
    pub(crate) metadata_only: bool,
    /// Made when the guest first reads. Most guests read nothing, and each call moves this struct.
    pub(crate) readers: Option<Box<EventReaders>>,
}

/// The readers of an event's states, each made with its first read.
#[derive(Default)]
pub(crate) struct EventReaders {
    pub(crate) new: Option<JsonReader>,
    pub(crate) old: Option<JsonReader>,
}

impl CurrentEvent {
    pub(crate) fn new(resource: Arc<str>, event: Arc<Event>, metadata_only: bool) -> Self {
        Self { resource, event, metadata_only, readers: None }
    }

    /// As much of the object as the guest sees, as JSON.
    pub(crate) fn json_of(object: &Object, metadata_only: bool) -> Bytes {
        match metadata_only {
            true => object.metadata_json(),
            false => object.json(),
        }
    }
}

impl Event {
    /// The present state. `None` for a deletion, whose last state is the old one.
    pub(crate) fn new_state(&self) -> Option<&Object> {
        (self.change != Change::Deleted).then_some(&self.object)
    }

    /// The state before; for a deletion the last one known.
    pub(crate) fn old_state(&self) -> Option<&Object> {
        match self.change {
            Change::Deleted => Some(&self.object),
            Change::Added | Change::Updated => self.old.as_ref(),
        }
    }
}
