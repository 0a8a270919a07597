//! The keys of one event: those that its states give, and what it knows of states that it does not have any more.
//!
//! Whoever works on a key may have looked at an object in any state that it had. So where events merge, or a deletion brings a last state
//! that nobody has seen, the keys of the states in between come along.

use super::Event;
use crate::event::enqueue::{EnqueueRules, FoundKeys};
use informant_cache::Object;
use std::sync::Arc;

/// What an event knows of its keys.
#[derive(Debug, Clone, Default)]
pub struct EventKeys {
    /// None: the event is told.
    rules: Option<Arc<EnqueueRules>>,
    /// Those of states that the event does not have any more.
    before: Option<Box<FoundKeys>>,
}

impl EventKeys {
    /// Of an event whose object was known in another state as well.
    pub(crate) fn new(rules: Option<&Arc<EnqueueRules>>, before: Option<&Object>) -> Self {
        let Some(rules) = rules else { return Self::default() };
        let mut found = FoundKeys::default();
        before.into_iter().for_each(|object| rules.find(object, &mut found));
        Self::with(rules.clone(), found)
    }

    fn with(rules: Arc<EnqueueRules>, found: FoundKeys) -> Self {
        let before = (!found.is_nothing()).then(|| Box::new(found));
        Self { rules: Some(rules), before }
    }

    /// Whether the event becomes keys: nobody is told of it, and its object may have been looked at all the same.
    pub(crate) fn are_made(&self) -> bool {
        self.rules.is_some()
    }

    /// Those of one event that stands for both. It has the newer one's object.
    pub(crate) fn merged(waiting: &Event, newer: &Event) -> Self {
        // What is sent again carries none.
        let Some(rules) = newer.keys.rules.as_ref().or(waiting.keys.rules.as_ref()) else {
            return Self::default();
        };
        let mut found = FoundKeys::default();
        for event in [waiting, newer] {
            found.append(&event.keys.before(rules));
        }
        for object in waiting.old.iter().chain([&waiting.object]) {
            rules.find(object, &mut found);
        }
        // An update's state before is what waited, mostly.
        let is_other = |old: &&Object| old.resource_version() != waiting.object.resource_version();
        newer.old.iter().filter(is_other).for_each(|old| rules.find(old, &mut found));
        Self::with(rules.clone(), found)
    }

    /// Bytes that it takes beside the event.
    pub(crate) fn bytes(&self) -> usize {
        let before = self.before.as_deref();
        before.map_or(0, FoundKeys::bytes)
    }

    /// The keys of states before the event's, if they were made by these rules: another version's may have been others.
    pub(crate) fn before(&self, rules: &EnqueueRules) -> FoundKeys {
        let before = self.before.as_deref().filter(|_| self.rules.as_deref() == Some(rules));
        before.cloned().unwrap_or_default()
    }
}

impl Event {
    /// The keys that these rules give it, those of states before it included. Where a rule finds no name, or not the namespace that it looks
    /// for, there is none.
    pub(crate) fn enqueued(&self, rules: &EnqueueRules) -> FoundKeys {
        let mut found = self.keys.before(rules);
        for object in [&self.object].into_iter().chain(&self.old) {
            rules.find(object, &mut found);
        }
        found
    }
}
