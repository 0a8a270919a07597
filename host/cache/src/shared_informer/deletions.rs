//! The deletions while parts overlapped: a part that is behind must not restore a deleted object. Synchronous.

use crate::object::{Object, ObjectKey, compare_resource_versions};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// More than the deletions in the seconds of a list. Beyond it the first is forgotten, and an object may come back for
/// a moment, until the part that is behind sees its deletion.
const DELETIONS_MAX: usize = 10_000;

/// The resourceVersion up to which each object is gone.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    gone: BTreeMap<ObjectKey, Box<str>>,
}

impl Deletions {
    /// Notes a deletion as of this resourceVersion; of several the last counts.
    pub(super) fn note(&mut self, key: &ObjectKey, resource_version: &str) {
        if self.gone.len() >= DELETIONS_MAX {
            self.gone.pop_first();
        }
        let known = self.gone.get(key);
        let order = known.and_then(|known| compare_resource_versions(resource_version, known));
        if order != Some(Ordering::Less) {
            self.gone.insert(key.clone(), resource_version.into());
        }
    }

    /// The resourceVersion as of which this state of an object was deleted. A later state belongs to a new object.
    pub(super) fn of(&mut self, object: &Object) -> Option<Box<str>> {
        let deleted = self.gone.get(object.key())?;
        match compare_resource_versions(object.resource_version(), deleted) {
            Some(Ordering::Less | Ordering::Equal) => Some(deleted.clone()),
            Some(Ordering::Greater) | None => {
                self.gone.remove(object.key());
                None
            }
        }
    }

    /// Keeps the deletions that some part has not passed.
    pub(super) fn retain(&mut self, is_ahead: impl Fn(&str) -> bool) {
        self.gone.retain(|_, deleted| is_ahead(deleted));
    }

    pub(super) fn clear(&mut self) {
        self.gone.clear();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty()
    }
}
