//! What happens to objects that a subscription's replay has not come to.
//!
//! It is told at once: the object's replay first, as it was before the change, then the change. So nobody waits for a long replay, and no change
//! is lost to who hears of changes alone. What would not be told is left to the replay, and so is all that a first list shows. An object that
//! the plugin does not know and that goes is not told at all, but to who hears of ends alone, and to who works on keys.

use super::{Judged, Line, SubscriptionHandler, Telling, gone};
use crate::contract::descriptor::ReplayOption;
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
            return self.progress.is_new(object);
        }
        // Of what the view has not, nobody knows anything: nothing has to be remembered, but where another might have told of it.
        if self.progress.succeeds() || self.view.contains(object) {
            self.progress.is_told(object);
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
        let judged = self.charged(|| self.judge(states));
        let [was_in, is_in] = judged.is_in;
        let stays = was_in == is_in && self.progress.knows(new) == known;
        // The end of what is known and not in the view is told with the state that is known.
        let has_ended = known && !was_in;
        if stays && !has_ended && !self.tells_of(judged) {
            return;
        }
        let is_nothing = !known && !is_in && self.hears_of_all();
        if succeeds || !is_nothing {
            self.progress.is_told(new);
        }
        if is_nothing {
            return;
        }
        let replayed = Cause { reason: Reason::Initial, ..cause };
        self.tell_present(old, known, was_in, replayed, Line::Live);
        self.tell_update(states, judged, cause);
    }

    fn goes_ahead(&self, known_as: &Object, telling: Telling<'_>, cause: Cause) {
        let knows_view = cause.reason != Reason::Initial && !self.hears_of_all();
        let is_told = match self.progress.has_told_ahead(known_as) {
            true => self.contains(known_as, self.types.deleted),
            false => self.progress.knows(known_as) || (knows_view && self.view.contains(known_as)),
        };
        self.progress.forget(known_as);
        if is_told {
            self.enqueue(telling, cause, Line::Live);
        }
    }

    /// Whether the plugin knows nothing but what it was told. Who does not hear of additions knows what the view has, and who works on keys
    /// looks at it.
    fn hears_of_all(&self) -> bool {
        self.types.added && self.rules.is_none()
    }

    /// Whether an update is told, to a plugin that knows the state before.
    fn tells_of(&self, judged: Judged) -> bool {
        match judged.is_in {
            [true, true] => judged.is_concerned && self.types.updated,
            [was_in, is_in] => was_in != is_in,
        }
    }
}
