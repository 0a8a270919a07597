//! From the informer's notifications to one plugin's events: host code that runs in the informer's task,
//! evaluates the subscription on old and new, and enqueues. It never calls a guest and never waits.

use crate::descriptor::SubscriptionSpec;
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
use crate::json_pointer::changed;
use crate::plugin_queue::PluginQueue;
use crate::view::View;
use informant_cache::{Cause, FinalState, Object, ResourceEventHandler};
use std::sync::Arc;

/// Listens to one informer for one subscription of one plugin.
pub(crate) struct SubscriptionHandler {
    id: SubscriptionId,
    spec: SubscriptionSpec,
    view: View,
    queue: Arc<PluginQueue>,
    /// The reason that replayed objects are told with.
    replay_reason: Reason,
    /// False while the objects that were there before are to be passed over.
    tells_initial: bool,
}

impl SubscriptionHandler {
    /// `replay_reason` is what the objects of the replay are told with; none means that they are known.
    pub(crate) fn new(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
        replay_reason: Option<Reason>,
    ) -> Self {
        Self {
            id,
            spec: spec.clone(),
            view: View::from(spec),
            queue,
            replay_reason: replay_reason.unwrap_or(Reason::Initial),
            tells_initial: replay_reason.is_some(),
        }
    }

    fn enqueue(
        &self,
        change: Change,
        object: &Object,
        old: Option<&Object>,
        gone: Option<Gone>,
        cause: Cause,
    ) {
        let types = self.spec.types;
        let wanted = match change {
            Change::Added => types.added,
            Change::Updated => types.updated,
            Change::Deleted => types.deleted,
        };
        let reason = match Reason::from(cause.reason) {
            Reason::Initial => self.replay_reason,
            reason => reason,
        };
        if !wanted {
            return self.queue.count_filtered();
        }
        self.queue.push(Event {
            subscription: self.id,
            change,
            reason,
            gone,
            object: object.clone(),
            old: old.cloned(),
            coalesced: 0,
            received: cause.received,
        });
    }

    /// Whether an update within the view concerns one of the pointers.
    fn concerns(&self, old: &Object, new: &Object) -> bool {
        let pointers = &self.spec.only_if_changed;
        pointers.is_empty() || pointers.iter().any(|pointer| changed(new, old, pointer))
    }
}

impl ResourceEventHandler for SubscriptionHandler {
    fn on_add(&self, object: &Object, cause: Cause) {
        let replayed = cause.reason == informant_cache::Reason::Initial;
        if !self.view.contains(object) || (replayed && !self.tells_initial) {
            return;
        }
        self.enqueue(Change::Added, object, None, None, cause);
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        match (self.view.contains(old), self.view.contains(new)) {
            (true, true) if self.concerns(old, new) => {
                self.enqueue(Change::Updated, new, Some(old), None, cause);
            }
            (true, true) => self.queue.count_filtered(),
            (false, true) => self.enqueue(Change::Added, new, None, None, cause),
            (true, false) => self.enqueue(Change::Deleted, old, None, Some(Gone::LeftView), cause),
            (false, false) => {}
        }
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        if !self.view.contains(last) {
            return;
        }
        let gone = match final_state {
            FinalState::Known => Gone::Deleted,
            FinalState::Unknown => Gone::Unknown,
        };
        self.enqueue(Change::Deleted, last, None, Some(gone), cause);
    }
}

#[cfg(test)]
mod tests;
