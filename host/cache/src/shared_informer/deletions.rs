//! The deletions while parts overlapped: a part that is behind must not restore a deleted object. Synchronous.

use crate::object::{Object, ObjectKey, compare_resource_versions};
use crate::scope::Scope;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// More than the deletions in the seconds of a list. Beyond it the first is forgotten, and an object may come back for
/// a moment, until the part that is behind sees its deletion.
const DELETIONS_MAX: usize = 10_000;

/// The deletions by object.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    gone: BTreeMap<ObjectKey, Deletion>,
}

#[derive(Debug)]
struct Deletion {
    resource_version: Box<str>,
    /// `None`: the object is gone. Else it may only have left these selectors: states within them are outdated.
    left: Option<Arc<Scope>>,
}

impl Deletions {
    /// Notes a deletion as of this resourceVersion. Of several the last counts, and of several at one version that of
    /// an object that is gone.
    pub(super) fn note(
        &mut self,
        key: &ObjectKey,
        resource_version: &str,
        left: Option<Arc<Scope>>,
    ) {
        let known = self.gone.get(key);
        let order = known
            .and_then(|known| compare_resource_versions(resource_version, &known.resource_version));
        let is_gone = known.is_some_and(|known| known.left.is_none());
        if order == Some(Ordering::Less) || order == Some(Ordering::Equal) && is_gone {
            return;
        }
        if known.is_none() && self.gone.len() >= DELETIONS_MAX {
            self.gone.pop_first();
        }
        let resource_version = resource_version.into();
        self.gone.insert(key.clone(), Deletion { resource_version, left });
    }

    /// The resourceVersion as of which this state of an object was deleted. A later state belongs to a new object, or
    /// to one that came back into the selectors.
    pub(super) fn of(&mut self, object: &Object) -> Option<Box<str>> {
        let Deletion { resource_version: deleted, left } = self.gone.get(object.key())?;
        match compare_resource_versions(object.resource_version(), deleted) {
            Some(Ordering::Less | Ordering::Equal) => {
                let is_outdated = left.as_ref().is_none_or(|left| left.selects(object));
                is_outdated.then(|| deleted.clone())
            }
            Some(Ordering::Greater) | None => {
                self.gone.remove(object.key());
                None
            }
        }
    }

    /// Keeps the deletions that some part has not passed.
    pub(super) fn retain(&mut self, is_ahead: impl Fn(&str) -> bool) {
        self.gone.retain(|_, deletion| is_ahead(&deletion.resource_version));
    }

    pub(super) fn clear(&mut self) {
        self.gone.clear();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty()
    }
}
