//! What a subscription that takes another's place has to remember until its replay is through: which objects the plugin was told of by the
//! one before, and which it has heard of since.

use crate::view::View;
use hashbrown::HashSet;
use informant_cache::Object;
use parking_lot::Mutex;
use std::sync::Arc;

/// The views of the two differ, so what the plugin knows of an object depends on which of the two told it last.
pub(super) struct Succession {
    before: View,
    /// What the one before had to remember itself, where it was replaced before its own replay was through.
    earlier: Option<Arc<Succession>>,
    /// UIDs of the objects told since, at most as many as change while the replay goes through the store; none once it is through.
    heard: Mutex<Option<HashSet<Box<str>>>>,
}

impl Succession {
    pub(super) fn of(before: View, earlier: Option<Arc<Self>>) -> Self {
        let earlier = earlier.filter(|earlier| earlier.heard.lock().is_some());
        Self { before, earlier, heard: Mutex::new(Some(HashSet::new())) }
    }

    /// Whether the plugin was told of this state of the object by the one before; none if that says nothing any more, because the
    /// object was heard of since.
    pub(super) fn was_told(&self, object: &Object) -> Option<bool> {
        let is_heard = self.heard.lock().as_ref().is_none_or(|heard| heard.contains(object.uid()));
        let earlier = || self.earlier.as_ref().and_then(|earlier| earlier.was_told(object));
        (!is_heard).then(|| earlier().unwrap_or_else(|| self.before.contains(object)))
    }

    /// From now on the new view alone says what is known of the object.
    pub(super) fn hear(&self, object: &Object) {
        if let Some(heard) = &mut *self.heard.lock() {
            heard.insert(object.uid().into());
        }
    }

    /// The replay is through: every object was heard of.
    pub(super) fn end(&self) {
        *self.heard.lock() = None;
    }
}
