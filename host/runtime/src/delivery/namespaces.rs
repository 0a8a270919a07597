//! The namespaces of a subscription with `namespaceSelector`, as far as the subscription has followed their labels.
//! Synchronous.
//!
//! The labels of a namespace decide whether its objects are in the view. The informer of the namespaces notes each
//! namespace whose labels change. The informer of the subscription's resource compares the labels of that moment with the
//! view. If they differ, it walks the objects of this namespace by key, between two batches of changes. The objects up to
//! the walk's cursor have entered or left the view, the others have not. So each object moves in one moment, between two
//! of its events. A walk ends before its namespace can turn round, so labels that change all the time cost one walk after
//! the other, at the pace at which the plugin takes the events.

use crate::account::{Ledger, Weighed};
use crate::contract::coverage;
use crate::namespace_labels::{NamespaceLabels, namespaces, namespaces_scope};
use informant_apimachinery::LabelSelector;
use informant_cache::{
    Cause, FinalState, HandlerOptions, InformerLease, Object, ObjectKey, Registration,
    ResourceEventHandler, RoomSignal, SharedInformerFactory,
};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Noted namespaces in one look: each costs a look-up in the cache and a comparison of its labels.
const LOOKS_MAX: usize = 256;

/// The namespaces that one subscription's handler has in its view.
#[derive(Debug)]
pub(crate) struct FollowedNamespaces {
    labels: NamespaceLabels,
    /// Whether the first list of the namespaces is complete. Later changes are noted.
    are_listed: AtomicBool,
    state: Mutex<Followed>,
}

#[derive(Debug, Default)]
struct Followed {
    has_begun: bool,
    /// The namespaces whose objects are in the view. At most all namespaces.
    selected: HashSet<Box<str>>,
    /// The namespaces whose labels changed since the last look at them. At most all that exist or existed.
    changed: BTreeSet<Box<str>>,
    moving: Option<MovingNamespace>,
}

/// A namespace whose objects enter or leave the view, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovingNamespace {
    pub(crate) namespace: Box<str>,
    pub(crate) enters: bool,
    /// The last object that has entered or left.
    pub(crate) passed: Option<ObjectKey>,
}

impl MovingNamespace {
    fn has(&self, key: &ObjectKey) -> bool {
        let has_moved = self.passed.as_ref().is_some_and(|passed| key <= passed);
        has_moved == self.enters
    }
}

impl FollowedNamespaces {
    pub(crate) fn new(labels: NamespaceLabels) -> Self {
        Self { labels, are_listed: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Notes that the first list of the namespaces is complete, and that all later changes come by [`Self::note`].
    pub(crate) fn note_listed(&self) {
        self.are_listed.store(true, Ordering::Release);
    }

    /// Selects the namespaces by their labels of this moment, in the first call after the end of their first list for
    /// which looks at namespaces are left. Returns whether that has happened.
    pub(crate) fn begin(&self, looks_left: &mut usize) -> bool {
        let mut state = self.state.lock();
        if state.has_begun || *looks_left == 0 || !self.are_listed.load(Ordering::Acquire) {
            return state.has_begun;
        }
        (state.has_begun, state.selected) = (true, self.labels.selected());
        *looks_left = looks_left.saturating_sub(self.labels.count().max(1));
        true
    }

    /// Notes a namespace whose labels have changed, or that came or went. The beginning reads the labels from the cache,
    /// which has every change before its note (Invariant 4).
    pub(crate) fn note(&self, namespace: &str) {
        let mut state = self.state.lock();
        if state.has_begun {
            state.changed.insert(namespace.into());
        }
    }

    /// Whether the view has the namespace of the object with this key.
    pub(crate) fn contain(&self, key: &ObjectKey) -> bool {
        let state = self.state.lock();
        match &state.moving {
            Some(moving) if *moving.namespace == *key.namespace() => moving.has(key),
            _ => state.selected.contains(key.namespace()),
        }
    }

    /// Whether there is a namespace to look at.
    pub(crate) fn has_work(&self) -> bool {
        let state = self.state.lock();
        state.has_begun && (state.moving.is_some() || !state.changed.is_empty())
    }

    /// The namespace that moves now; and the number of looks at noted ones.
    pub(crate) fn moving(&self) -> (usize, Option<MovingNamespace>) {
        let mut state = self.state.lock();
        let mut looks = 0;
        while state.moving.is_none() && looks < LOOKS_MAX {
            let Some(namespace) = state.changed.pop_first() else { break };
            looks += 1;
            let enters = self.labels.select(&namespace);
            if enters != state.selected.contains(&namespace) {
                state.moving = Some(MovingNamespace { namespace, enters, passed: None });
            }
        }
        (looks, state.moving.clone())
    }

    /// The object of this key has moved.
    pub(crate) fn pass(&self, key: &ObjectKey) {
        if let Some(moving) = &mut self.state.lock().moving {
            moving.passed = Some(key.clone());
        }
    }

    /// All objects of the moving namespace have moved.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        match state.moving.take() {
            Some(moving) if moving.enters => _ = state.selected.insert(moving.namespace),
            Some(moving) => _ = state.selected.remove(&moving.namespace),
            None => {}
        }
    }

    /// The reason for which the view does not have a namespace: its labels, if they have not changed just now. `shows`: with
    /// the label.
    pub(crate) fn refusal(&self, namespace: &str, shows: bool) -> String {
        let selector = self.labels.selector();
        if !self.have_begun() {
            let why = "the first list of v1/namespaces is not complete";
            return format!("namespaceSelector {selector}: {why}");
        }
        self.labels.refusal(namespace, shows).unwrap_or_else(|| {
            let why = format!("namespace {namespace} has the labels now, and its objects follow");
            format!("namespaceSelector {selector}: {why}")
        })
    }

    /// Whether the namespaces were listed, and the subscription has begun.
    pub(crate) fn have_begun(&self) -> bool {
        self.state.lock().has_begun
    }
}

/// The host's memory for the name of a namespace.
const NAME_BYTES: usize = 64;

impl Weighed for FollowedNamespaces {
    fn part(&self) -> &'static str {
        "watches"
    }

    fn bytes(&self) -> u64 {
        let state = self.state.lock();
        ((state.selected.len() + state.changed.len()) * NAME_BYTES) as u64
    }
}

/// The handler of the namespaces' informer for one subscription. It only notes.
struct NamespaceHandler {
    followed: Arc<FollowedNamespaces>,
    /// Wakes the informer of the subscription's resource.
    room: RoomSignal,
}

impl NamespaceHandler {
    fn note(&self, namespace: &Object) {
        self.followed.note(namespace.key().name());
        self.room.send();
    }
}

impl ResourceEventHandler for NamespaceHandler {
    fn on_add(&self, namespace: &Object, _: Cause) {
        self.note(namespace);
    }

    fn on_update(&self, old: &Object, new: &Object, _: Cause) {
        let is_met = |it| self.followed.labels.are_met_by(it);
        if is_met(old) != is_met(new) {
            self.note(new);
        }
    }

    fn on_delete(&self, last: &Object, _: FinalState, _: Cause) {
        self.note(last);
    }

    fn on_synced(&self) {
        self.followed.note_listed();
        self.room.send();
    }
}

/// A subscription's place at the informer of the namespaces. Dropping it ends the notes.
pub(crate) struct NamespaceFollower {
    _registration: Registration,
    _informer: InformerLease,
}

impl NamespaceFollower {
    /// Follows the labels of all namespaces. `room` wakes the informer of the subscription's resource. `payer` has the
    /// account of the plugin.
    pub(crate) fn begin(
        selector: &LabelSelector,
        informers: &SharedInformerFactory,
        room: RoomSignal,
        payer: &Ledger,
    ) -> (Arc<FollowedNamespaces>, Self) {
        let informer = coverage::lease(informers, &namespaces(), namespaces_scope());
        let labels = NamespaceLabels::new(selector, informer.informer().indexer());
        let followed = Arc::new(FollowedNamespaces::new(labels));
        let weighed: Weak<FollowedNamespaces> = Arc::downgrade(&followed);
        payer.weighs(weighed);
        let handler = Arc::new(NamespaceHandler { followed: followed.clone(), room });
        // The existing namespaces are read when the subscription begins.
        let options = HandlerOptions { replay: false, ..HandlerOptions::default() };
        let _registration = informer.informer().add_inline_handler(handler, options);
        (followed, Self { _registration, _informer: informer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace_labels::tests::namespace;
    use informant_cache::{Indexer, Store};

    /// Follows `team=shop` in the namespaces `a` and `b`, each with two objects, `1` and `2`. `b` is selected at the
    /// beginning. `+a` and `-a` set and remove the label, `xa` deletes the namespace, `>` moves the next object. Shows
    /// the objects in the view after each step.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let store = Store::default();
        let team = r#""team":"shop""#;
        store.put(namespace("a", ""));
        store.put(namespace("b", team));
        let selector = "team=shop".parse().expect("a selector");
        let labels = NamespaceLabels::new(&selector, store.indexer().clone());
        let followed = FollowedNamespaces::new(labels);
        assert!(!followed.begin(&mut 1), "the namespaces are not listed");
        followed.note_listed();
        assert!(!followed.begin(&mut 0), "no looks are left");
        assert!(followed.begin(&mut 1));
        let keys = ["a/1", "a/2", "b/1", "b/2"];
        let key = |text: &str| ObjectKey::new(&text[..1], &text[2..]);
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let (sign, name) = step.split_at(1);
            match sign {
                "+" => _ = store.put(namespace(name, team)),
                "-" => _ = store.put(namespace(name, "")),
                "x" => _ = store.remove(&ObjectKey::new("", name)),
                _ => {}
            }
            match (sign, followed.has_work()) {
                (">", true) => {
                    let moving = followed.moving().1;
                    let next = moving.as_ref().and_then(|it| {
                        let passed = |it: &MovingNamespace, key: &ObjectKey| {
                            it.passed.as_ref().is_none_or(|passed| key > passed)
                        };
                        let of =
                            |it: &&&str| it.starts_with(&*moving.as_ref().expect("one").namespace);
                        keys.iter().filter(of).map(|it| key(it)).find(|key| passed(it, key))
                    });
                    match (moving, next) {
                        (Some(_), Some(next)) => followed.pass(&next),
                        (Some(_), None) => followed.end(),
                        (None, _) => {}
                    }
                }
                (">", false) => {}
                _ => followed.note(name),
            }
            let inside = keys.iter().filter(|it| followed.contain(&key(it)));
            shown.push(inside.copied().collect::<Vec<_>>().join(","));
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn objects_enter_and_leave_one_after_the_other() {
        check("+a > > >", "b/1,b/2 a/1,b/1,b/2 a/1,a/2,b/1,b/2 a/1,a/2,b/1,b/2");
        check("-b > > >", "b/1,b/2 b/2  ");
        check("xb > > > +b > >", "b/1,b/2 b/2    b/1 b/1,b/2");
    }

    #[test]
    fn a_namespace_ends_its_way_before_it_turns_round() {
        check("-b > +b > > > >", "b/1,b/2 b/2 b/2   b/1 b/1,b/2");
        // Labels that are as before when they are looked at move nothing.
        check("-b +b > > -a >", "b/1,b/2 b/1,b/2 b/1,b/2 b/1,b/2 b/1,b/2 b/1,b/2");
    }

    #[test]
    fn the_names_of_selected_namespaces_are_charged() {
        let store = Store::default();
        (0..3).for_each(|number| _ = store.put(namespace(&format!("n{number}"), "")));
        let labels = NamespaceLabels::new(&"!none".parse().expect("one"), store.indexer().clone());
        let followed = FollowedNamespaces::new(labels);
        followed.note("n0");
        followed.note("n1");
        assert_eq!(followed.bytes(), 0, "it reads the labels when it begins");
        followed.note_listed();
        let mut looks_left = 4;
        assert!(followed.begin(&mut looks_left));
        assert_eq!((looks_left, followed.has_work()), (1, false));
        followed.note("n0");
        assert_eq!(followed.bytes(), 4 * NAME_BYTES as u64);
    }

    #[test]
    fn an_unknown_namespace_is_not_selected() {
        check("+c xc > >", "b/1,b/2 b/1,b/2 b/1,b/2 b/1,b/2");
        let everything = NamespaceLabels::new(&LabelSelector::default(), Indexer::default());
        assert!(!everything.select("a"));
    }
}
