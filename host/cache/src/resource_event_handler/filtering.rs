//! A handler that is told only of some objects. Answers to client-go's `FilteringResourceEventHandler`
//! (`tools/cache/controller.go`).
//!
//! The filter decides on states: an update from one that it refuses to one that it accepts is an addition, the other way round a
//! deletion. It is asked for every state that goes by, so it should be cheap and always answer the same for the same state.

use super::Notification;
use super::{Cause, FinalState, Interest, ResourceEventHandler};
use crate::indexer::Indexer;
use crate::object::Object;

/// Tells `handler` of the objects that `filter` accepts.
pub struct FilteringResourceEventHandler<F, H> {
    filter: F,
    handler: H,
}

impl<F, H> FilteringResourceEventHandler<F, H>
where
    F: Fn(&Object) -> bool + Send + Sync + 'static,
    H: ResourceEventHandler,
{
    /// `filter` answers whether an object in this state concerns `handler`.
    pub fn new(filter: F, handler: H) -> Self {
        Self { filter, handler }
    }
}

impl<F, H: std::fmt::Debug> std::fmt::Debug for FilteringResourceEventHandler<F, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilteringResourceEventHandler").field("handler", &self.handler).finish()
    }
}

impl<F, H> ResourceEventHandler for FilteringResourceEventHandler<F, H>
where
    F: Fn(&Object) -> bool + Send + Sync + 'static,
    H: ResourceEventHandler,
{
    fn interest(&self) -> Interest {
        match self.handler.interest() {
            // A sieve sees updates that are none for the handler behind the filter.
            Interest::Sifted(_) => Interest::All,
            interest => interest,
        }
    }

    fn on_add(&self, object: &Object, cause: Cause) {
        if (self.filter)(object) {
            self.handler.on_add(object, cause);
        }
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        match ((self.filter)(old), (self.filter)(new)) {
            (true, true) => self.handler.on_update(old, new, cause),
            (false, true) => self.handler.on_add(new, cause),
            (true, false) => self.handler.on_delete(old, FinalState::LeftScope, cause),
            (false, false) => {}
        }
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        if (self.filter)(last) {
            self.handler.on_delete(last, final_state, cause);
        }
    }

    fn on_delete_known_as(
        &self,
        known_as: &Object,
        last: &Object,
        final_state: FinalState,
        cause: Cause,
    ) {
        if (self.filter)(known_as) {
            self.handler.on_delete_known_as(known_as, last, final_state, cause);
        }
    }

    fn on_replay(&self, object: &Object, cause: Cause) {
        if (self.filter)(object) {
            self.handler.on_replay(object, cause);
        }
    }

    /// The newest state decides, as it does when the replay comes to the object.
    fn on_ahead(&self, notification: &Notification) {
        if notification.object().is_some_and(&self.filter) {
            self.handler.on_ahead(notification);
        }
    }

    fn has_room(&self) -> bool {
        self.handler.has_room()
    }

    fn is_ready(&self, looks_left: &mut usize) -> bool {
        self.handler.is_ready(looks_left)
    }

    fn walk(&self, store: &Indexer, takes: &dyn Fn(&Object) -> bool, objects_max: usize) -> usize {
        let takes = |object: &Object| takes(object) && (self.filter)(object);
        self.handler.walk(store, &takes, objects_max)
    }

    fn on_synced(&self) {
        self.handler.on_synced();
    }

    fn on_batch_told(&self) -> bool {
        self.handler.on_batch_told()
    }
}
