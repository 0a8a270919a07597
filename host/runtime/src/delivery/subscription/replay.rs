//! How far the replay of one subscription has come, what of the objects ahead of it was told already, and what the plugin knows of the
//! others. Synchronous.
//!
//! A subscription in the place of another begins its replay anew. Of an object that this has not come to, the plugin knows what it was told
//! by the one before: what that one's view has, if its own replay had come to the object, and else what it knew itself.

use crate::delivery::view::View;
use hashbrown::HashMap;
use informant_cache::{Object, ObjectKey};
use parking_lot::Mutex;
use std::sync::Arc;

/// Replays that were interrupted by others one after the other, each of which is remembered until the last one is through: as many as a plugin
/// that is replaced every other second begins in two minutes. With more, whoever begins next may know every object: it hears of the end
/// of each that its view lacks.
const INTERRUPTED_MAX: usize = 64;

/// The replay of one subscription.
#[derive(Debug)]
pub(crate) struct Replay {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Everything was told, and `before` and `ahead` say nothing any more.
    is_through: bool,
    /// The last object it has come to; it goes by key.
    passed: Option<ObjectKey>,
    /// Objects that it has come to.
    count: usize,
    /// By UID, objects that it has yet to come to and of which something is to be remembered: at most as many as come or change meanwhile.
    ahead: HashMap<Box<str>, Ahead>,
    /// The subscription whose place it took.
    before: Option<Before>,
    /// Nobody remembers what the plugin knew before: it may be everything.
    may_know_all: bool,
}

/// What happened to an object before the replay came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ahead {
    /// It was told, or there was nothing to tell: the replay leaves it out.
    Told,
    /// It is new, and left to the replay.
    New,
}

#[derive(Debug)]
struct Before {
    view: View,
    /// It has ended: nothing more is told by it.
    replay: Arc<Replay>,
    /// How many replays, this one included, were interrupted.
    interrupted: usize,
}

/// What is to become of an object that the replay comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It was told ahead.
    Past,
    /// It is told, to a plugin that knows it or does not.
    Tell { known: bool },
}

impl Replay {
    /// One that begins with nothing told.
    pub(super) fn new() -> Self {
        Self { state: Mutex::default() }
    }

    /// One of a subscription to which nothing is replayed.
    pub(super) fn none() -> Self {
        let state = State { is_through: true, ..State::default() };
        Self { state: Mutex::new(state) }
    }

    /// One of a subscription in the place of another, which had this view.
    pub(super) fn after(view: View, replay: Arc<Self>) -> Self {
        let of_before = replay.state.lock().before.as_ref().map_or(0, |before| before.interrupted);
        let may_know_all = of_before >= INTERRUPTED_MAX;
        let before = Before { view, replay, interrupted: of_before + 1 };
        let before = (!may_know_all).then_some(before);
        Self { state: Mutex::new(State { before, may_know_all, ..State::default() }) }
    }

    /// It has come to an object.
    pub(super) fn come_to(&self, object: &Object) -> Turn {
        let mut state = self.state.lock();
        state.count += 1;
        state.passed = Some(object.key().clone());
        match state.ahead.remove(object.uid()) {
            Some(Ahead::Told) => Turn::Past,
            Some(Ahead::New) => Turn::Tell { known: false },
            None => Turn::Tell { known: state.knew(object) },
        }
    }

    /// An object that it has yet to come to has been told, or need not be.
    pub(super) fn is_told(&self, object: &Object) {
        self.state.lock().ahead.insert(object.uid().into(), Ahead::Told);
    }

    /// An object has come that nobody told the plugin of. Nothing has to be remembered of it where the plugin knows nothing else either.
    pub(super) fn is_new(&self, object: &Object) {
        let mut state = self.state.lock();
        if state.succeeds() {
            state.ahead.insert(object.uid().into(), Ahead::New);
        }
    }

    /// An object's present state has been told past the subscription. Where the replay has yet to come to it, that leaves it out.
    pub(crate) fn was_told_past(&self, object: &Object) {
        let mut state = self.state.lock();
        if !state.has_told(object) {
            state.ahead.insert(object.uid().into(), Ahead::Told);
        }
    }

    /// An object is gone.
    pub(super) fn forget(&self, object: &Object) {
        self.state.lock().ahead.remove(object.uid());
    }

    /// Whether an object that it has yet to come to was told ahead.
    pub(super) fn has_told_ahead(&self, object: &Object) -> bool {
        self.state.lock().ahead.get(object.uid()) == Some(&Ahead::Told)
    }

    /// Whether the plugin knows an object, in this state of it, that it has yet to come to and that was not told ahead.
    pub(crate) fn knows(&self, object: &Object) -> bool {
        let state = self.state.lock();
        !state.ahead.contains_key(object.uid()) && state.knew(object)
    }

    /// Whether it has come to an object, or a change ahead of it has told of the object.
    pub(crate) fn has_come_to(&self, object: &Object) -> bool {
        self.state.lock().has_told(object)
    }

    /// Whether it took the place of another and is not through.
    pub(super) fn succeeds(&self) -> bool {
        self.state.lock().succeeds()
    }

    /// Everything was told.
    pub(super) fn end(&self) {
        *self.state.lock() = State { is_through: true, ..State::default() };
    }

    /// How many objects it has come to; none once it is through.
    pub(crate) fn count(&self) -> Option<usize> {
        let state = self.state.lock();
        (!state.is_through).then_some(state.count)
    }

    /// What a plugin knows of an object after this replay, as far as it had come, with this view.
    fn knows_after(&self, object: &Object, view: &View) -> bool {
        let state = self.state.lock();
        match state.ahead.get(object.uid()) {
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

    /// Whether it, or a change ahead of it, has told what there is to tell of an object.
    fn has_told(&self, object: &Object) -> bool {
        self.is_through
            || self.passed.as_ref().is_some_and(|passed| object.key() <= passed)
            || self.ahead.get(object.uid()) == Some(&Ahead::Told)
    }

    /// Whether the plugin was told of this state of an object by the one before.
    fn knew(&self, object: &Object) -> bool {
        let knew = |before: &Before| before.replay.knows_after(object, &before.view);
        self.may_know_all || self.before.as_ref().is_some_and(knew)
    }
}
