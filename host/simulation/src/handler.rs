//! An event handler that keeps what it was told and checks each notification against that, against the store
//! that it can read, and against everything that the server ever had.

use crate::door::Door;
use crate::faults::{Fault, Faults};
use crate::history::{History, same_version};
use crate::journal::Journal;
use crate::manner::Manner;
use crate::one_step::OneStep;
use crate::server::Server;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{
    Cause, FinalState, HighWaterMark, Notification, Object, QueueStats, Reason,
    ResourceEventHandler, Scope,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The largest object of a run twice: a notification of a change keeps the state before alive.
const NOTIFICATION_BYTES_MAX: usize = 2 * 2048;

/// What a handler does out of itself, from within a notification.
pub(crate) type Mischief = dyn Fn(u64) + Send + Sync;

/// One handler of one informer.
pub(crate) struct Told {
    pub(crate) number: u64,
    gvr: GroupVersionResource,
    door: Door,
    scope: Scope,
    server: Server,
    journal: Journal,
    faults: Faults,
    views: bool,
    selectors: bool,
    /// How often it panics after it has taken note.
    panics: f64,
    /// How often it does something to the informer.
    mischief: (f64, Option<Arc<Mischief>>),
    /// It is told what is there already.
    replay: bool,
    /// What was there when it was added and is not told: it hears of the end of that all the same.
    untold: BTreeSet<String>,
    /// Where the history was when it was added, if its informer had not begun to list then.
    began: Option<u64>,
    /// Called in the informer's task, so that the store is at the very notification.
    inline: bool,
    state: Mutex<HandlerState>,
}

struct HandlerState {
    known: BTreeMap<String, Object>,
    /// The last states of those that were deleted.
    gone: BTreeMap<String, Object>,
    /// Told of as there, and not found in the store at that moment: a deletion must be on its way.
    doomed: BTreeSet<String>,
    relist: OneStep,
    synced: u32,
    removed: bool,
    random: fastrand::Rng,
}

/// What every handler of a run shares.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) server: Server,
    pub(crate) journal: Journal,
    pub(crate) faults: Faults,
    /// Some see only a part of a resource.
    pub(crate) views: bool,
    /// Some of these see only what selectors select.
    pub(crate) selectors: bool,
}

impl Told {
    pub(crate) fn new(
        number: u64,
        gvr: GroupVersionResource,
        door: Door,
        around: &Around,
        manner: &Manner,
        mischief: Option<Arc<Mischief>>,
        random: fastrand::Rng,
    ) -> Self {
        let Around { server, journal, faults, views, selectors } = around.clone();
        let began = (!manner.late).then(|| server.with_history(&gvr, History::now));
        let untold = if manner.replay { BTreeSet::new() } else { door.keys().collect() };
        let state = HandlerState {
            known: BTreeMap::new(),
            gone: BTreeMap::new(),
            doomed: BTreeSet::new(),
            relist: OneStep::default(),
            synced: 0,
            removed: false,
            random,
        };
        Self {
            number,
            gvr,
            scope: door.scope(),
            door,
            server,
            journal,
            faults,
            views,
            selectors,
            panics: manner.panics,
            mischief: (manner.mischief, mischief),
            replay: manner.replay,
            untold,
            began,
            inline: manner.inline,
            state: Mutex::new(state),
        }
    }

    /// From now on it must not be called.
    pub(crate) fn removed(&self) {
        self.state.lock().removed = true;
    }

    fn check(&self, holds: bool, invariant: &str, found: impl FnOnce() -> String) {
        self.journal.check(holds, invariant, || {
            format!("handler {} of {}: {}", self.number, self.gvr, found())
        });
    }

    fn note(&self, what: &str, object: &Object, cause: Cause) {
        let (number, reason) = (self.number, cause.reason);
        let (key, version) = (object.key(), object.resource_version());
        self.journal.note(format_args!(
            "handler {number}: {what} {} {key}@{version} ({reason:?})",
            self.gvr
        ));
        self.check(!self.state.lock().removed, "no call begins after a removal", || {
            key.to_string()
        });
    }

    /// A queue tells later. The first list of a part is seen as it comes, and without views there is one part.
    fn check_one_step(&self, object: &Object, is_deletion: bool, cause: Cause) {
        if self.inline && cause.reason == Reason::Relist && !self.views {
            let stored = self.door.everything();
            let wrong = self.state.lock().relist.told(object, is_deletion, stored);
            self.check(wrong.is_none(), "a relist is one step", || {
                format!("{} at {}", wrong.unwrap_or_default(), object.key())
            });
        }
    }

    /// The object is one that the server showed, and no older than what was known.
    fn check_real(&self, earlier: Option<&Object>, object: &Object) {
        let (known, back) = self.server.with_history(&self.gvr, |history| {
            let back = earlier.is_some_and(|earlier| history.goes_back(earlier, object));
            // Of two watches that overlap one may notice later than the other that the server was set back.
            let unsure = self.views && history.was_restored();
            (history.knows(object), back && !unsure)
        });
        self.check(known, "handlers are told only what the server had", || {
            format!("{} {:?}", text(object), object.json())
        });
        self.check(!back, "no object goes back to an older state", || {
            format!("{} after {}", text(object), earlier.map_or(String::new(), text))
        });
    }

    /// What the store shows is at least as new as what is told.
    fn check_store(&self, state: &mut HandlerState, told: &Object) {
        let key = told.key().to_string();
        state.doomed.remove(&key);
        match self.door.get(told.key()) {
            Some(stored) => {
                let back =
                    self.server.with_history(&self.gvr, |history| history.goes_back(told, &stored));
                self.check(!back, "reads are at least as new as the notification", || {
                    format!("{} is told and {} is read", text(told), text(&stored))
                });
            }
            None => {
                state.doomed.insert(key);
            }
        }
    }

    fn after(&self) {
        let mut state = self.state.lock();
        let (rate, mischief) = &self.mischief;
        let does = state.random.f64() < *rate;
        let panics = state.random.f64() < self.panics;
        drop(state);
        if does && let Some(mischief) = mischief {
            mischief(self.number);
        }
        if panics {
            self.faults.meet(Fault::HandlerPanics);
            std::panic::panic_any(crate::Planned);
        }
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.state.lock().removed
    }

    /// As an event handler is called.
    pub(crate) fn pulled(&self, notification: &Notification) {
        match notification {
            Notification::Added { object, cause, .. } => self.on_add(object, *cause),
            Notification::Updated { old, new, cause, .. } => self.on_update(old, new, *cause),
            Notification::Deleted { last, final_state, cause, .. } => {
                self.on_delete(last, *final_state, *cause);
            }
            Notification::Synced => self.on_synced(),
        }
    }

    /// A queue that is over its mark holds at most two notifications for each object that lives, that was told of or that was
    /// there before, that it synced, and two for the object that is just being told.
    pub(crate) fn check_depth(&self, queue: QueueStats, mark: HighWaterMark) {
        let QueueStats { depth, bytes, .. } = queue;
        if depth <= mark.notifications && bytes <= mark.bytes {
            return;
        }
        let mut objects = self.untold.clone();
        objects.extend(self.door.keys());
        objects.extend(self.state.lock().known.keys().cloned());
        let more = 2 * objects.len() + 3;
        let bound = mark.notifications.saturating_add(more);
        self.check(depth <= bound, "queues are bounded", || {
            format!("{depth} notifications wait, {mark:?}, bound {bound}")
        });
        let bound = mark.bytes.saturating_add(more * NOTIFICATION_BYTES_MAX);
        self.check(bytes <= bound, "what queues keep alive is bounded", || {
            format!("{bytes} bytes wait, {mark:?}, bound {bound}")
        });
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.state.lock().synced > 0
    }

    /// What it does not know as it is.
    pub(crate) fn lacks(&self) -> Option<String> {
        let state = self.state.lock();
        let lacks = || Some(format!("handler {}: {}", self.number, self.difference(&state)?));
        if self.replay && !state.removed { lacks() } else { None }
    }

    fn difference(&self, state: &HandlerState) -> Option<String> {
        self.server.with_history(&self.gvr, |history| history.difference(&self.scope, &state.known))
    }

    /// Called when everything that was on its way has arrived, without any time in between.
    pub(crate) fn check_quiet(&self) {
        let state = self.state.lock();
        if state.removed || !self.inline {
            return;
        }
        self.check(
            state.doomed.is_empty(),
            "the store is written before handlers are told",
            || format!("{:?} were told of and are not in the store", state.doomed),
        );
    }

    /// At rest: it was told exactly what is there, once all of it if its informer ever got that far.
    pub(crate) fn check_at_rest(&self, synced: bool) {
        let state = self.state.lock();
        if state.removed {
            return;
        }
        let right = state.synced == u32::from(synced);
        self.check(right, "handlers sync once", || format!("{} times", state.synced));
        if !self.replay {
            return;
        }
        let difference = self.difference(&state);
        self.check(difference.is_none(), "the last word is the truth", || {
            format!("{difference:?}")
        });
    }
}

/// For people.
fn text(object: &Object) -> String {
    format!("{}@{} uid {}", object.key(), object.resource_version(), object.uid())
}

impl ResourceEventHandler for Told {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.note("added", object, cause);
        self.check_one_step(object, false, cause);
        let mut state = self.state.lock();
        self.check_real(state.gone.remove(&object.key().to_string()).as_ref(), object);
        let before = state.known.insert(object.key().to_string(), object.clone());
        self.check(before.is_none(), "only unknown objects are added", || text(object));
        self.check_store(&mut state, object);
        drop(state);
        self.after();
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        self.note("updated", new, cause);
        // After a rewind the same version may have other content, which is seen at once.
        if old.resource_version() != new.resource_version() {
            self.check_one_step(new, false, cause);
        }
        let mut state = self.state.lock();
        let known = state.known.insert(new.key().to_string(), new.clone());
        self.check_real(known.as_ref(), new);
        if self.replay || known.is_some() {
            let right = known.as_ref().is_some_and(|known| same_version(known, old));
            self.check(right, "an update's old state is the one told before", || {
                let known = known.as_ref().map_or("nothing".to_owned(), text);
                format!("{} instead of {known}", text(old))
            });
        }
        self.check(old.uid() == new.uid(), "another UID is another object", || text(new));
        let same = old.resource_version() == new.resource_version() && old.json() == new.json();
        let resync = cause.reason == Reason::Resync;
        // There and back again over a rewind, merged by a queue, is no change.
        let merged = !self.inline && self.server.with_history(&self.gvr, History::was_restored);
        self.check(
            same == resync || (same && merged),
            "nothing unchanged is told, but by a resync",
            || text(new),
        );
        self.check_store(&mut state, new);
        drop(state);
        self.after();
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        self.note("deleted", last, cause);
        self.check_one_step(last, true, cause);
        let mut state = self.state.lock();
        let key = last.key().to_string();
        state.doomed.remove(&key);
        let known = state.known.remove(&key);
        if self.replay || known.is_some() {
            let right = known.as_ref().is_some_and(|known| known.uid() == last.uid());
            self.check(right, "only what is known is deleted", || text(last));
        }
        // Before it has synced a handler may hear from a watch that is narrower than what it asked for.
        let narrower = state.synced == 0 && final_state == FinalState::Unknown;
        if final_state != FinalState::LeftScope && !narrower {
            let there = self.server.with_history(&self.gvr, |history| {
                let known = known.as_ref().unwrap_or(last);
                history.is_live(last) && history.stayed(known, &self.scope)
            });
            self.check(!there, "only what is gone, or out of scope, is deleted", || text(last));
        }
        // Where a server evaluates selectors, the end of an object that leaves them looks like any other, and shows a state that
        // never was.
        let exact = !(self.views && self.selectors);
        // A queue may have merged the deletion with what came before it.
        if self.inline
            && exact
            && final_state == FinalState::Unknown
            && let Some(known) = &known
        {
            self.check(
                same_version(known, last),
                "an unknown end shows the last known state",
                || text(last),
            );
        }
        if exact {
            self.check_real(known.as_ref(), last);
        }
        state.gone.insert(key, last.clone());
        drop(state);
        self.after();
    }

    fn on_synced(&self) {
        self.journal.note(format_args!("handler {}: synced", self.number));
        let mut state = self.state.lock();
        state.synced += 1;
        let Some(began) = self.began.filter(|_| self.replay) else { return };
        // The list came after it was added, and showed all that was there.
        let missing = self.server.with_history(&self.gvr, |history| {
            let mut lasting = history.lasting_since(began, &self.scope);
            lasting.find(|key| !state.known.contains_key(*key)).map(str::to_owned)
        });
        self.check(missing.is_none(), "a handler syncs after it was told what was there", || {
            format!("{missing:?} is missing")
        });
    }
}
