//! The event of the current call.

use super::{Change, Event, Gone, Reason};
use bytes::Bytes;
use informant_cache::{JsonReader, Object};
use std::sync::Arc;

/// The event of the current call, for `event-data` and for the log's keys.
pub(crate) struct CurrentEvent {
    pub(crate) resource: Arc<str>,
    pub(crate) change: Change,
    pub(crate) reason: Reason,
    pub(crate) gone: Option<Gone>,
    pub(crate) object: Object,
    /// `None` for a deletion, whose last state is `old`.
    pub(crate) new: Option<Object>,
    pub(crate) old: Option<Object>,
    /// Whether the guest sees no more than the objects' metadata, whatever the cache has.
    pub(crate) metadata_only: bool,
    /// The readers of `new` and of `old`, made when the guest first reads.
    pub(crate) readers: [Option<JsonReader>; 2],
}

impl CurrentEvent {
    pub(crate) fn new(resource: Arc<str>, event: &Event, metadata_only: bool) -> Self {
        let object = event.object.clone();
        let (new, old) = match event.change {
            Change::Deleted => (None, Some(object.clone())),
            Change::Added | Change::Updated => (Some(object.clone()), event.old.clone()),
        };
        let Event { change, reason, gone, .. } = event;
        Self {
            resource,
            change: *change,
            reason: *reason,
            gone: *gone,
            object,
            new,
            old,
            metadata_only,
            readers: [None, None],
        }
    }

    /// As much of the object as the guest sees, as JSON.
    pub(crate) fn json_of(object: &Object, metadata_only: bool) -> Bytes {
        match metadata_only {
            true => object.metadata_json(),
            false => object.json(),
        }
    }
}
