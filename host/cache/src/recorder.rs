//! A handler that records its notifications, for the tests.

use crate::object::Object;
use crate::resource_event_handler::{Cause, FinalState, ResourceEventHandler};
use parking_lot::Mutex;
use std::sync::Arc;

/// Notes its notifications: `add a@1 Initial`, with `metadata` behind it if no more is known of the object.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    pub(crate) fn note(&self, text: String) {
        self.told.lock().push(text);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock())
    }
}

pub(crate) fn at(object: &Object) -> String {
    format!("{}@{}", object.key(), object.resource_version())
}

fn form(object: &Object) -> &'static str {
    if object.is_metadata_only() { " metadata" } else { "" }
}

impl ResourceEventHandler for Recorder {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.note(format!("add {} {:?}{}", at(object), cause.reason, form(object)));
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        let from = old.resource_version();
        let forms = [form(new), form(old)].concat();
        self.note(format!("update {} from {from} {:?}{forms}", at(new), cause.reason));
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        self.note(format!("delete {} {final_state:?} {:?}{}", at(last), cause.reason, form(last)));
    }

    fn on_synced(&self) {
        self.note("synced".to_owned());
    }
}
