//! The parts of an event that its spans name. They are shared with the event.

use super::resources::object_attributes;
use super::span::SpanAttribute;
use crate::event::{Change, CurrentEvent, Event, Gone, Reason};
use informant_cache::Object;
use std::sync::Arc;

/// The parts of an event that its spans name.
pub(crate) struct TracedEvent {
    pub(super) resource: Arc<str>,
    pub(super) object: Object,
    pub(super) change: Change,
    pub(super) reason: Reason,
    pub(super) gone: Option<Gone>,
}

impl From<&CurrentEvent> for TracedEvent {
    fn from(event: &CurrentEvent) -> Self {
        Self::new(event.resource.clone(), &event.event)
    }
}

impl TracedEvent {
    pub(crate) fn new(resource: Arc<str>, event: &Event) -> Self {
        let Event { change, reason, gone, .. } = event;
        let object = event.object.clone();
        Self { resource, object, change: *change, reason: *reason, gone: *gone }
    }

    /// Whether the event is a change that the API server reported. All plugins get it at once, so it has one trace. Other
    /// events repeat what the cache has, for one subscription, at any later time. So does the end of an object that the API
    /// server did not report: it has the last version that was known.
    pub(super) fn is_news(&self) -> bool {
        match (self.reason, self.gone) {
            (_, Some(Gone::LeftView | Gone::Unknown)) => false,
            (Reason::Watch | Reason::Relist, None | Some(Gone::Deleted)) => true,
            (Reason::Initial | Reason::Resync | Reason::Reload | Reason::Redrive, _) => false,
        }
    }

    /// The attributes of the object's version; `uid` is the object's.
    pub(super) fn push_version<'a>(
        &'a self,
        uid: &'a str,
        attributes: &mut Vec<SpanAttribute<'a>>,
    ) {
        let (object, key) = (&self.object, self.object.key());
        let named = [key.namespace(), key.name(), uid];
        attributes.extend(object_attributes(&self.resource, named));
        attributes.push(("k8s.object.resource_version", object.resource_version().into()));
    }
}
