//! The keys of one event: the keys of its states, and those of earlier states that the event no longer has.
//!
//! A plugin may have read an object in any of its states. So a merged event keeps the keys of the states in between.
//! So does a deletion with a last state that no reader has seen.

use super::Event;
use crate::event::enqueue::{EnqueueRules, FoundKeys};
use informant_cache::Object;
use std::sync::Arc;

/// The key data of an event.
#[derive(Debug, Clone, Default)]
pub struct EventKeys {
    /// `None`: the event is delivered.
    rules: Option<Arc<EnqueueRules>>,
    /// The keys of states that the event no longer has.
    before: Option<Box<FoundKeys>>,
}

impl EventKeys {
    /// For an event of an object that was known in another state too.
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

    /// Whether the event becomes keys. No event is then delivered, but the plugin may have read the object.
    pub(crate) fn are_made(&self) -> bool {
        self.rules.is_some()
    }

    /// The keys of one event that stands for both. It has the newer event's object.
    pub(crate) fn merged(waiting: &Event, newer: &Event) -> Self {
        // A redriven event has no keys.
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
        // An update's state before is usually the waiting event's.
        let is_other = |old: &&Object| old.resource_version() != waiting.object.resource_version();
        newer.old.iter().filter(is_other).for_each(|old| rules.find(old, &mut found));
        Self::with(rules.clone(), found)
    }

    /// The bytes of the keys, beside the event.
    pub(crate) fn bytes(&self) -> usize {
        let before = self.before.as_deref();
        before.map_or(0, FoundKeys::bytes)
    }

    /// The keys of earlier states, if these rules made them: another version may have had other rules.
    pub(crate) fn before(&self, rules: &EnqueueRules) -> FoundKeys {
        let before = self.before.as_deref().filter(|_| self.rules.as_deref() == Some(rules));
        before.cloned().unwrap_or_default()
    }
}

impl Event {
    /// The keys by these rules, with those of earlier states. A rule gives no key without a name, or without the
    /// namespace that it looks for.
    pub(crate) fn enqueued(&self, rules: &EnqueueRules) -> FoundKeys {
        let mut found = self.keys.before(rules);
        for object in [&self.object].into_iter().chain(&self.old) {
            rules.find(object, &mut found);
        }
        found
    }
}
