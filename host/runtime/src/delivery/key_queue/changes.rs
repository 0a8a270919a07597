//! The changes that added the keys that wait, for the links of calls' spans. A host without traces has none here.

use super::HashedKey;
use crate::trace::TraceId;
use hashbrown::HashMap;

/// The changes of one key, the newest ones.
const CHANGES_MAX: usize = 16;
/// The keys with changes: 16 bytes for each change, so at most 1 MiB beside the table. Where more keys wait, further ones
/// have no links.
const KEYS_MAX: usize = 4_096;

/// The changes of each key, oldest first.
#[derive(Debug, Default)]
pub(super) struct KeyChanges(HashMap<HashedKey, Vec<TraceId>>);

impl KeyChanges {
    /// Notes a change that added the key. Several subscriptions may add the key for one change.
    pub(super) fn note(&mut self, key: &HashedKey, change: TraceId) {
        if self.0.len() >= KEYS_MAX && !self.0.contains_key(key) {
            return;
        }
        let changes = self.0.entry(key.clone()).or_default();
        if changes.contains(&change) {
            return;
        }
        if changes.len() == CHANGES_MAX {
            changes.remove(0);
        }
        changes.push(change);
    }

    /// The changes of a key that is worked on now, or that is no longer known.
    pub(super) fn take(&mut self, key: &HashedKey) -> Vec<TraceId> {
        self.0.remove(key).unwrap_or_default()
    }

    /// Takes back the changes of a key that failed. Newer ones may have come meanwhile.
    pub(super) fn put_back(&mut self, key: &HashedKey, older: Vec<TraceId>) {
        let newer = self.take(key);
        older.into_iter().chain(newer).for_each(|change| self.note(key, change));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(number: usize) -> TraceId {
        TraceId((number as u128).to_be_bytes())
    }

    #[track_caller]
    fn check(changes: &mut KeyChanges, key: &str, expect: impl IntoIterator<Item = usize>) {
        let expect: Vec<TraceId> = expect.into_iter().map(change).collect();
        assert_eq!(changes.take(&key.into()), expect);
    }

    #[test]
    fn a_key_has_its_newest_changes_once() {
        let mut changes = KeyChanges::default();
        check(&mut changes, "a", []);
        (0..CHANGES_MAX + 3).for_each(|number| changes.note(&"a".into(), change(number)));
        changes.note(&"a".into(), change(5));
        changes.note(&"b".into(), change(1));
        check(&mut changes, "a", 3..CHANGES_MAX + 3);
        check(&mut changes, "a", []);
        changes.put_back(&"b".into(), vec![change(0), change(1)]);
        check(&mut changes, "b", [0, 1]);
    }

    #[test]
    fn changes_of_a_failed_key_come_before_newer_ones() {
        let mut changes = KeyChanges::default();
        changes.note(&"a".into(), change(20));
        changes.put_back(&"a".into(), (0..CHANGES_MAX).map(change).collect());
        check(&mut changes, "a", (1..CHANGES_MAX).chain([20]));
    }

    #[test]
    fn keys_above_the_bound_have_no_changes() {
        let mut changes = KeyChanges::default();
        (0..=KEYS_MAX).for_each(|key| changes.note(&key.to_string().as_str().into(), change(1)));
        changes.note(&"0".into(), change(2));
        check(&mut changes, &KEYS_MAX.to_string(), []);
        check(&mut changes, "0", [1, 2]);
        changes.note(&"new".into(), change(3));
        check(&mut changes, "new", [3]);
    }
}
