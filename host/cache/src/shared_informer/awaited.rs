//! The changes that one part has yet to show, because another part that overlaps it has already written them.
//! Synchronous.
//!
//! Two parts with the same history show the same changes, one a little later than the other. If one never shows the
//! other's writes, their histories differ: the API server was set back between them. Then only a new list gives the
//! true state.

use crate::object::{ObjectKey, compare_resource_versions};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// More than the changes in the seconds of a list. Beyond it nothing is remembered, and the part is listed again.
const CHANGES_MAX: usize = 10_000;

/// The resourceVersion from which a part has shown another part's write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AwaitedChange {
    /// The change has this number.
    At(Box<str>),
    /// A list no longer showed the object, which had this number last.
    After(Box<str>),
}

impl AwaitedChange {
    /// Numbers without an order give no answer.
    fn is_shown_by(&self, resource_version: &str) -> bool {
        let (Self::At(known) | Self::After(known)) = self;
        match compare_resource_versions(resource_version, known) {
            Some(Ordering::Greater) | None => true,
            Some(Ordering::Equal) => matches!(self, Self::At(_)),
            Some(Ordering::Less) => false,
        }
    }
}

/// The changes that one part has yet to show.
#[derive(Clone, Debug, Default)]
pub(super) struct Awaited {
    changes: BTreeMap<ObjectKey, AwaitedChange>,
    /// Whether there were too many changes.
    lost: bool,
}

impl Awaited {
    /// Another part wrote this change.
    pub(super) fn note(&mut self, key: &ObjectKey, change: AwaitedChange) {
        if self.changes.len() >= CHANGES_MAX {
            self.lost = true;
            self.changes.clear();
        }
        if !self.lost {
            self.changes.insert(key.clone(), change);
        }
    }

    /// The part itself has shown a change of this object.
    pub(super) fn shown(&mut self, key: &ObjectKey, resource_version: &str) {
        if self.changes.get(key).is_some_and(|change| change.is_shown_by(resource_version)) {
            self.changes.remove(key);
        }
    }

    /// Everything is shown again, or everything is gone.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: AwaitedChange, shown: &str, is_shown: bool) {
        let mut awaited = Awaited::default();
        let key = ObjectKey::new("a", "x");
        awaited.note(&key, change.clone());
        awaited.shown(&ObjectKey::new("a", "y"), shown);
        assert!(!awaited.is_empty(), "another object says nothing");
        awaited.shown(&key, shown);
        assert_eq!(awaited.is_empty(), is_shown, "{change:?}, then {shown}");
    }

    #[test]
    fn a_change_is_shown_by_itself_and_by_any_later_one() {
        check(AwaitedChange::At("9".into()), "8", false);
        check(AwaitedChange::At("9".into()), "9", true);
        check(AwaitedChange::At("9".into()), "10", true);
    }

    #[test]
    fn an_end_is_shown_only_by_what_comes_after_the_last_state() {
        check(AwaitedChange::After("9".into()), "9", false);
        check(AwaitedChange::After("9".into()), "10", true);
    }

    #[test]
    fn too_many_changes_are_as_good_as_one_that_is_never_shown() {
        let mut awaited = Awaited::default();
        for number in 0..=CHANGES_MAX {
            awaited.note(&ObjectKey::new("a", number.to_string()), AwaitedChange::At("1".into()));
        }
        assert!(awaited.changes.is_empty() && !awaited.is_empty());
        awaited.clear();
        assert!(awaited.is_empty());
    }
}
