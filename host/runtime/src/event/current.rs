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
    /// With `metadata_only` the guest sees no more of the objects, whatever the cache has.
    pub(crate) fn new(resource: Arc<str>, event: &Event, metadata_only: bool) -> Self {
        let deleted = event.change == Change::Deleted;
        let seen = |object: &Object| match metadata_only {
            true => object.metadata_only(),
            false => object.clone(),
        };
        let object = seen(&event.object);
        let (new, old) = match deleted {
            true => (None, Some(object.clone())),
            false => (Some(object.clone()), event.old.as_ref().map(seen)),
        };
        let Event { change, reason, gone, .. } = *event;
        Self { resource, change, reason, gone, object, new, old, readers: [None, None] }
    }
}
