//! From the informer's notifications to one plugin's events: host code that runs in the informer's task,
//! evaluates the subscription on old and new, and enqueues. It never calls a guest and never waits.

use crate::descriptor::{Replay, SubscriptionSpec};
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
use crate::json_pointer::changed;
use crate::plugin_queue::PluginQueue;
use crate::view::View;
use informant_cache::{Cause, FinalState, Object, ResourceEventHandler};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Listens to one informer for one subscription of one plugin.
pub(crate) struct SubscriptionHandler {
    id: SubscriptionId,
    spec: SubscriptionSpec,
    view: View,
    queue: Arc<PluginQueue>,
    /// The reason that replayed objects are told with.
    replay_reason: Reason,
    /// What the plugin was told of before this handler took over; until the replay is through it decides
    /// what has to be told as gone.
    told_before: Option<View>,
    replayed: AtomicBool,
}

impl SubscriptionHandler {
    /// A subscription that the plugin did not have before.
    pub(crate) fn new(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
    ) -> Self {
        Self {
            id,
            spec: spec.clone(),
            view: View::from(spec),
            queue,
            replay_reason: Reason::Initial,
            told_before: None,
            replayed: AtomicBool::new(false),
        }
    }

    /// A subscription in the place of one that asked for something else, or that wants its objects again.
    pub(crate) fn replacing(
        id: SubscriptionId,
        spec: &SubscriptionSpec,
        queue: Arc<PluginQueue>,
        before: &SubscriptionSpec,
    ) -> Self {
        Self {
            replay_reason: Reason::Reload,
            told_before: Some(View::from(before)),
            ..Self::new(id, spec, queue)
        }
    }

    /// Whether the object was in the view of the handler before, and the replay may not have come by yet.
    fn was_told(&self, object: &Object) -> bool {
        let before = self.told_before.as_ref().filter(|_| !self.replayed.load(Ordering::Acquire));
        before.is_some_and(|view| view.contains(object))
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
        if !self.view.contains(object) {
            if replayed && self.was_told(object) {
                self.enqueue(Change::Deleted, object, None, Some(Gone::LeftView), cause);
            }
            return;
        }
        // A subscription that wants no replay has one only when it takes another's place.
        if replayed && self.spec.replay == Replay::Never && self.was_told(object) {
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
        if !self.view.contains(last) && !self.was_told(last) {
            return;
        }
        let gone = match final_state {
            FinalState::Known => Gone::Deleted,
            FinalState::Unknown => Gone::Unknown,
            FinalState::LeftScope => Gone::LeftView,
        };
        self.enqueue(Change::Deleted, last, None, Some(gone), cause);
    }

    fn on_synced(&self) {
        self.replayed.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
