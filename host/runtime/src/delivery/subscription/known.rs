//! Objects that an earlier host delivered to a plugin, until the first list has shown their state.

use crate::delivery::view::View;
use hashbrown::HashMap;
use informant_cache::{Object, ObjectKey};
use parking_lot::Mutex;

/// The cache's state of an object.
pub(crate) type Present = Box<dyn Fn(&ObjectKey) -> Option<Object> + Send + Sync>;

pub(super) struct Known {
    objects: Mutex<HashMap<ObjectKey, Object>>,
    present: Present,
}

impl Known {
    pub(super) fn new(objects: Vec<Object>, present: Present) -> Self {
        let objects = objects.into_iter().map(|object| (object.key().clone(), object)).collect();
        Self { objects: Mutex::new(objects), present }
    }

    /// Takes the known object of this name before an event for it. The known object may have another UID.
    pub(super) fn take(&self, object: &Object) -> Option<Object> {
        self.objects.lock().remove(object.key())
    }

    /// The list is complete. Returns the known objects that had no event and are no longer in the view.
    pub(super) fn gone(&self, view: &View) -> Vec<Object> {
        let known = std::mem::take(&mut *self.objects.lock());
        let is_gone = |known: &Object| {
            let present = (self.present)(known.key());
            !present.is_some_and(|object| object.has_uid_of(known) && view.contains(&object))
        };
        let mut gone: Vec<Object> = known.into_values().filter(is_gone).collect();
        gone.sort_by(|a, b| a.key().cmp(b.key()));
        gone
    }
}
