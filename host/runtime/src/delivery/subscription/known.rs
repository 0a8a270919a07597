//! Objects that a plugin was told of before this host was there, until the first list has shown what became of them.

use crate::delivery::view::View;
use hashbrown::HashMap;
use informant_cache::{Object, ObjectKey};
use parking_lot::Mutex;

/// What the cache has of an object.
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

    /// Something is told of an object of this name: the one that was known, which may be another.
    pub(super) fn take(&self, object: &Object) -> Option<Object> {
        self.objects.lock().remove(object.key())
    }

    /// The list is complete: those of which nothing was told and that are not in the view any more.
    pub(super) fn gone(&self, view: &View) -> Vec<Object> {
        let known = std::mem::take(&mut *self.objects.lock());
        let is_gone = |known: &Object| {
            let present = (self.present)(known.key());
            !present.is_some_and(|object| object.uid() == known.uid() && view.contains(&object))
        };
        let mut gone: Vec<Object> = known.into_values().filter(is_gone).collect();
        gone.sort_by(|a, b| a.key().cmp(b.key()));
        gone
    }
}
