//! The event of the current call.

use super::{Change, Event, Gone, Reason};
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
    /// The readers of `new` and of `old`, made when the guest first reads.
    pub(crate) readers: [Option<JsonReader>; 2],
}

impl CurrentEvent {
    pub(crate) fn new(resource: Arc<str>, event: &Event) -> Self {
        let deleted = event.change == Change::Deleted;
        let object = event.object.clone();
        let (new, old) = match deleted {
            true => (None, Some(object.clone())),
            false => (Some(object.clone()), event.old.clone()),
        };
        let Event { change, reason, gone, .. } = *event;
        Self { resource, change, reason, gone, object, new, old, readers: [None, None] }
    }
}
