//! The notifications of one handler, and the objects that follow from them: the oracle of all facts here.

use std::collections::BTreeMap;
use std::sync::Arc;

use informant_cache::{Cause, FinalState, Object, ObjectKey, Reason, ResourceEventHandler};
use parking_lot::Mutex;

/// The kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    Added,
    Updated,
    Deleted,
}

/// One notification.
#[derive(Clone, Debug)]
pub struct Told {
    pub change: Change,
    /// `namespace/name`.
    pub key: String,
    pub resource_version: String,
    pub reason: Reason,
}

/// A handler that records its notifications. Cheap to clone; clones share the record.
#[derive(Clone, Default)]
pub struct Replay {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<ObjectKey, Object>,
    told: Vec<Told>,
    synced: usize,
    /// Notifications that contradict earlier ones.
    contradictions: Vec<String>,
}

impl Replay {
    /// The objects that follow from the notifications.
    pub fn objects(&self) -> BTreeMap<ObjectKey, Object> {
        self.state.lock().objects.clone()
    }

    /// All notifications so far, in order, except resyncs.
    pub fn told(&self) -> Vec<Told> {
        self.state.lock().told.clone()
    }

    /// The notifications for each object, in order.
    pub fn told_of_each(&self) -> BTreeMap<String, Vec<Told>> {
        let mut each: BTreeMap<String, Vec<Told>> = BTreeMap::new();
        for told in self.told() {
            each.entry(told.key.clone()).or_default().push(told);
        }
        each
    }

    /// How often the handler was notified that the initial list is complete.
    pub fn synced(&self) -> usize {
        self.state.lock().synced
    }

    /// Fails the test if notifications contradict each other.
    #[track_caller]
    pub fn check_consistent(&self) {
        let state = self.state.lock();
        assert!(state.contradictions.is_empty(), "{:#?}", state.contradictions);
        assert!(state.synced <= 1, "told {} times that it had synced", state.synced);
    }
}

impl State {
    fn note(&mut self, change: Change, object: &Object, reason: Reason) {
        self.told.push(Told {
            change,
            key: object.key().to_string(),
            resource_version: object.resource_version().to_owned(),
            reason,
        });
    }

    /// `held` says whether the notification agrees with the earlier ones.
    fn expect(&mut self, held: bool, what: &str, object: &Object) {
        if !held {
            let before = self.objects.get(object.key()).map(version);
            let now = version(object);
            let key = object.key();
            self.contradictions.push(format!("{what}: {key} at {now:?}, told before: {before:?}"));
        }
    }
}

fn version(object: &Object) -> (String, String) {
    (object.uid().to_string(), object.resource_version().to_owned())
}

impl ResourceEventHandler for Replay {
    fn on_add(&self, object: &Object, cause: Cause) {
        let mut state = self.state.lock();
        let absent = !state.objects.contains_key(object.key());
        state.expect(absent, "added although it is there", object);
        state.note(Change::Added, object, cause.reason);
        state.objects.insert(object.key().clone(), object.clone());
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        let mut state = self.state.lock();
        let known = state.objects.get(new.key()).map(version);
        state.expect(known == Some(version(old)), "updated from what was not told", new);
        state.expect(old.uid() == new.uid(), "another object in an update", new);
        if cause.reason == Reason::Resync {
            state.expect(version(old) == version(new), "changed by a resync", new);
            return;
        }
        // A server that is set back may give the same version to another content.
        let changed = version(old) != version(new) || old.json() != new.json();
        state.expect(changed, "updated without a change", new);
        state.note(Change::Updated, new, cause.reason);
        state.objects.insert(new.key().clone(), new.clone());
    }

    fn on_delete(&self, last: &Object, _: FinalState, cause: Cause) {
        let mut state = self.state.lock();
        let known = state.objects.get(last.key()).map(|object| object.uid() == last.uid());
        state.expect(known == Some(true), "deleted although it is not there", last);
        state.note(Change::Deleted, last, cause.reason);
        state.objects.remove(last.key());
    }

    fn on_synced(&self) {
        self.state.lock().synced += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(uid: &str, resource_version: u32) -> Object {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","namespace":"n","uid":"{uid}","resourceVersion":"{resource_version}"}}}}"#
        );
        Object::decode(text.as_bytes(), None).expect("it is an object")
    }

    #[track_caller]
    fn check(tell: impl FnOnce(&Replay, Cause), contradictions: usize) {
        let replay = Replay::default();
        let cause = Cause { reason: Reason::Watch, received: std::time::Instant::now() };
        replay.on_add(&object("u", 1), cause);
        tell(&replay, cause);
        assert_eq!(replay.state.lock().contradictions.len(), contradictions);
    }

    #[test]
    fn stories_that_hold_together_are_no_contradictions() {
        check(|replay, cause| replay.on_update(&object("u", 1), &object("u", 2), cause), 0);
        check(|replay, cause| replay.on_delete(&object("u", 9), FinalState::Known, cause), 0);
        let resync = |cause| Cause { reason: Reason::Resync, ..cause };
        check(|replay, cause| replay.on_update(&object("u", 1), &object("u", 1), resync(cause)), 0);
    }

    #[test]
    fn contradictions_are_noticed() {
        check(|replay, cause| replay.on_add(&object("u", 1), cause), 1);
        check(|replay, cause| replay.on_update(&object("u", 1), &object("u", 1), cause), 1);
        check(|replay, cause| replay.on_update(&object("u", 3), &object("u", 4), cause), 1);
        check(|replay, cause| replay.on_update(&object("u", 1), &object("v", 2), cause), 1);
        check(|replay, cause| replay.on_delete(&object("v", 2), FinalState::Unknown, cause), 1);
    }
}
