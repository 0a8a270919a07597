//! Changes of objects that a subscription's replay has not reached.
//!
//! Such a change is queued at once: first the object's replay in the state before the change, then the change. So no
//! change waits for a long replay, and a subscription without additions misses no change. The replay keeps the objects
//! without an event to queue, and all objects of a first list. The deletion of an object that the plugin does not know
//! is queued only for two subscriptions: without `added` events, or with `enqueue` rules.

use super::evaluation::Judged;
use super::{QueuePlace, SubscriptionHandler, Telling, gone};
use crate::contract::descriptor::ReplayOption;
use crate::event::Gone;
use informant_cache::{Cause, Notification, Object, Reason, ResourceEventHandler};

impl SubscriptionHandler {
    pub(super) fn hear_ahead(&self, notification: &Notification) {
        match notification {
            Notification::Added { object, cause, .. } => self.comes_ahead(object, *cause),
            Notification::Updated { old, new, cause, .. } => {
                self.changes_ahead([old, new], *cause);
            }
            Notification::Deleted { last, known_as, final_state, cause, .. } => {
                let known_as = known_as.as_ref().unwrap_or(last);
                let telling = Telling::deleted(last, gone(*final_state)).known_as(known_as);
                self.goes_ahead(known_as, telling, *cause);
            }
            Notification::Synced => {}
        }
    }

    fn comes_ahead(&self, object: &Object, cause: Cause) {
        let is_initial = cause.reason == Reason::Initial;
        if is_initial && (self.replay != ReplayOption::Never || self.enters(object)) {
            return self.progress.note_new(object);
        }
        // An object outside the view is not remembered, unless an earlier subscription may have delivered it.
        if self.progress.succeeds() || self.view.contains(object) {
            self.progress.note_told(object);
        }
        if !is_initial {
            self.on_add(object, cause);
        }
    }

    fn changes_ahead(&self, states: [&Object; 2], cause: Cause) {
        let [old, new] = states;
        if self.progress.has_told_ahead(old) {
            return self.on_update(old, new, cause);
        }
        let succeeds = self.progress.succeeds();
        if cause.reason == Reason::Initial && !succeeds {
            return;
        }
        let known = self.progress.knows(old);
        let judged = self.judge(states);
        if old.is_metadata_only() && !new.is_metadata_only() {
            self.progress.note_told(new);
            return self.becomes_whole_ahead(states, known, judged, cause);
        }
        let [was_in, is_in] = judged.is_in;
        let stays = was_in == is_in && self.progress.knows(new) == known;
        // The deletion of a known object outside the view carries the known state.
        let has_ended = known && !was_in;
        if stays && !has_ended && !self.tells_of(judged) {
            return;
        }
        let is_nothing = !known && !is_in && self.hears_of_all();
        if succeeds || !is_nothing {
            self.progress.note_told(new);
        }
        if is_nothing {
            return;
        }
        let replayed = Cause { reason: Reason::Initial, ..cause };
        self.tell_present(old, known, was_in, replayed, QueuePlace::Live);
        self.tell_update(states, judged, cause);
    }

    /// An object changes, and is there as metadata alone before. That state is not delivered to a plugin that gets
    /// whole objects, and the bytes of the view's fields are not there.
    fn becomes_whole_ahead(&self, states: [&Object; 2], known: bool, judged: Judged, cause: Cause) {
        let ([old, new], [_, is_in]) = (states, judged.is_in);
        // Without `added` events the plugin counts as knowing all objects of the view.
        let telling = match (known || !self.types.added, is_in) {
            (true, true) => Some(Telling::updated(states)).filter(|_| judged.is_concerned),
            (false, true) => Some(Telling::added(new)),
            (_, false) => Some(Telling::deleted(old, Gone::LeftView)).filter(|_| known),
        };
        if let Some(telling) = telling {
            self.enqueue(telling, cause, QueuePlace::Live);
        }
    }

    fn goes_ahead(&self, known_as: &Object, telling: Telling<'_>, cause: Cause) {
        let knows_view = cause.reason != Reason::Initial && !self.hears_of_all();
        let is_told = match self.progress.has_told_ahead(known_as) {
            true => self.contains(known_as, self.types.deleted),
            false => self.progress.knows(known_as) || (knows_view && self.view.contains(known_as)),
        };
        self.progress.forget(known_as);
        if is_told {
            self.enqueue(telling, cause, QueuePlace::Live);
        }
    }

    /// Whether the plugin knows exactly the objects that were delivered to it. Without `added` events the plugin
    /// counts as knowing all objects of the view, and a plugin with `enqueue` rules reads the view itself.
    fn hears_of_all(&self) -> bool {
        self.types.added && self.rules.is_none()
    }

    /// Whether an update is queued, for a plugin that knows the state before.
    fn tells_of(&self, judged: Judged) -> bool {
        match judged.is_in {
            [true, true] => judged.is_concerned && self.types.updated,
            [was_in, is_in] => was_in != is_in,
        }
    }
}
