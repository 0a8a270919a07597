//! The progress of one subscription's replay: the events queued ahead of it, and the plugin's knowledge of the
//! remaining objects. Synchronous.
//!
//! A subscription that replaces another begins its replay again. An object ahead of that replay is known if the old
//! replay had reached it and the old view contains it. If the old replay had not reached it, the object is known if it
//! was known when the old replay began.

use crate::delivery::view::View;
use hashbrown::HashMap;
use informant_cache::{Object, ObjectKey};
use parking_lot::Mutex;
use std::sync::Arc;

/// The most interrupted replays in a row that are remembered until the last one ends. A plugin that is replaced every
/// other second begins as many in two minutes. With more, the next replay assumes that the plugin may know every
/// object. It then delivers a deletion for each object that its view lacks.
const INTERRUPTED_MAX: usize = 64;

/// The replay of one subscription.
#[derive(Debug)]
pub(crate) struct Replay {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the replay has ended. Then `before` and `ahead` are empty.
    is_through: bool,
    /// The last object that the replay reached, in the order of keys.
    passed: Option<ObjectKey>,
    /// The number of objects that the replay reached.
    count: usize,
    /// Objects ahead of the replay that need an entry, by UID. At most as many as come or change meanwhile.
    ahead: HashMap<Box<str>, Ahead>,
    /// The replaced subscription.
    before: Option<Before>,
    /// The plugin's earlier knowledge was forgotten: the plugin may know every object.
    may_know_all: bool,
}

/// The events of an object before the replay reached it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// Its events were queued, or there was no event to queue: the replay skips the object.
    Told,
    /// The object is new, and left to the replay.
    New,
}

#[derive(Debug)]
struct Before {
    view: View,
    /// The replaced replay. It has ended, and queues no more events.
    replay: Arc<Replay>,
    /// The number of interrupted replays, with this one.
    interrupted: usize,
}

/// The replay's decision about an object that it reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplayStep {
    /// The object's events were queued ahead of the replay.
    Past,
    /// The object is queued, for a plugin that knows it or does not.
    Tell { known: bool },
}

impl Replay {
    /// A replay at its beginning.
    pub(super) fn new() -> Self {
        Self { state: Mutex::default() }
    }

    /// A subscription without a replay.
    pub(super) fn none() -> Self {
        let state = State { is_through: true, ..State::default() };
        Self { state: Mutex::new(state) }
    }

    /// A replay of a subscription that replaces another, which had this view.
    pub(super) fn after(view: View, replay: Arc<Self>) -> Self {
        let of_before = replay.state.lock().before.as_ref().map_or(0, |before| before.interrupted);
        let may_know_all = of_before >= INTERRUPTED_MAX;
        let before = Before { view, replay, interrupted: of_before + 1 };
        let before = (!may_know_all).then_some(before);
        Self { state: Mutex::new(State { before, may_know_all, ..State::default() }) }
    }

    /// The replay reaches an object.
    pub(super) fn come_to(&self, object: &Object) -> ReplayStep {
        let mut state = self.state.lock();
        state.count += 1;
        state.passed = Some(object.key().clone());
        match state.ahead.remove(&*object.uid()) {
            Some(Ahead::Told) => ReplayStep::Past,
            Some(Ahead::New) => ReplayStep::Tell { known: false },
            None => ReplayStep::Tell { known: state.knew(object) },
        }
    }

    /// Notes that an object ahead of the replay needs no replay: its events were queued, or need not be.
    pub(super) fn note_told(&self, object: &Object) {
        self.state.lock().ahead.insert(object.uid().into(), Ahead::Told);
    }

    /// Notes a new object that the plugin was not notified of. No entry is needed if the plugin knows no other object
    /// either.
    pub(super) fn note_new(&self, object: &Object) {
        let mut state = self.state.lock();
        if state.succeeds() {
            state.ahead.insert(object.uid().into(), Ahead::New);
        }
    }

    /// Notes that an object's present state was delivered in another way. A replay that has not reached the object
    /// skips it.
    pub(crate) fn was_told_past(&self, object: &Object) {
        let mut state = self.state.lock();
        if !state.has_told(object) {
            state.ahead.insert(object.uid().into(), Ahead::Told);
        }
    }

    /// Notes that an object is gone.
    pub(super) fn forget(&self, object: &Object) {
        self.state.lock().ahead.remove(&*object.uid());
    }

    /// Whether the events of an object ahead of the replay were queued.
    pub(super) fn has_told_ahead(&self, object: &Object) -> bool {
        self.state.lock().ahead.get(&*object.uid()) == Some(&Ahead::Told)
    }

    /// Whether the plugin knows this state of an object that is ahead of the replay and has no queued event.
    pub(crate) fn knows(&self, object: &Object) -> bool {
        let state = self.state.lock();
        !state.ahead.contains_key(&*object.uid()) && state.knew(object)
    }

    /// Whether the replay reached an object, or a change ahead of the replay queued the object.
    pub(crate) fn has_come_to(&self, object: &Object) -> bool {
        self.state.lock().has_told(object)
    }

    /// Whether this replay replaced another and has not ended.
    pub(super) fn succeeds(&self) -> bool {
        self.state.lock().succeeds()
    }

    /// Ends the replay.
    pub(super) fn end(&self) {
        *self.state.lock() = State { is_through: true, ..State::default() };
    }

    /// The number of objects that the replay reached; `None` after its end.
    pub(crate) fn count(&self) -> Option<usize> {
        let state = self.state.lock();
        (!state.is_through).then_some(state.count)
    }

    /// Whether a plugin knows an object after this replay, with this view, up to the replay's progress.
    fn knows_after(&self, object: &Object, view: &View) -> bool {
        let state = self.state.lock();
        match state.ahead.get(&*object.uid()) {
            Some(Ahead::New) => false,
            _ if state.has_told(object) => view.contains(object),
            _ => state.knew(object),
        }
    }
}

impl State {
    fn succeeds(&self) -> bool {
        self.may_know_all || self.before.is_some()
    }

    /// Whether the replay, or a change ahead of it, has queued the object's state.
    fn has_told(&self, object: &Object) -> bool {
        self.is_through
            || self.passed.as_ref().is_some_and(|passed| object.key() <= passed)
            || self.ahead.get(&*object.uid()) == Some(&Ahead::Told)
    }

    /// Whether the replaced subscription delivered this state of an object to the plugin.
    fn knew(&self, object: &Object) -> bool {
        let knew = |before: &Before| before.replay.knows_after(object, &before.view);
        self.may_know_all || self.before.as_ref().is_some_and(knew)
    }
}
