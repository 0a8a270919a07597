//! An event handler that records its notifications. It checks each notification against the earlier ones, against the
//! store that it can read, and against the server's history.

use crate::around::Around;
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

/// Twice the largest object of a run: the notification of a change also holds the previous state.
const NOTIFICATION_BYTES_MAX: usize = 2 * 2048;

/// An action that a handler carries out during a notification.
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
    /// The probability of a panic after it has recorded a notification.
    panics: f64,
    /// The probability of an action on the informer.
    mischief: (f64, Option<Arc<Mischief>>),
    /// Whether it gets a replay of the existing objects.
    replay: bool,
    /// The objects that existed when it was added without a replay. It still gets their deletions.
    untold: BTreeSet<String>,
    /// The history's time when it was added, if its informer had not begun to list.
    began: Option<u64>,
    /// Whether it is called in the informer's task, so that the store has exactly the notification's state.
    inline: bool,
    state: Mutex<HandlerState>,
}

struct HandlerState {
    known: BTreeMap<String, Object>,
    /// The last states of the deleted objects.
    gone: BTreeMap<String, Object>,
    /// Keys that were notified as existing and were not in the store at that moment. A deletion must follow.
    doomed: BTreeSet<String>,
    relist: OneStep,
    synced: u32,
    removed: bool,
    random: fastrand::Rng,
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
        let Around { server, journal, faults, views, selectors, .. } = around.clone();
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
            scope: manner
                .narrow
                .as_ref()
                .map_or_else(|| door.scope(), |narrow| narrow.scope.clone()),
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

    /// From now on, the handler must not be called.
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
        self.check(self.scope.takes(object), "objects are whole if needed", || text(object));
        self.journal.note(format_args!(
            "handler {number}: {what} {} {key}@{version} ({reason:?})",
            self.gvr
        ));
        self.check(!self.state.lock().removed, "no call begins after a removal", || {
            key.to_string()
        });
    }

    /// A queue delivers later. The first list of a part is visible as it comes; without views there is one part.
    fn check_one_step(&self, object: &Object, is_deletion: bool, cause: Cause) {
        if self.inline && cause.reason == Reason::Relist && !self.views {
            let stored = self.door.everything();
            let wrong = self.state.lock().relist.told(object, is_deletion, stored);
            self.check(wrong.is_none(), "a relist is one step", || {
                format!("{} at {}", wrong.unwrap_or_default(), object.key())
            });
        }
    }

    /// Checks that the server had this object, and that it is not older than the known one.
    fn check_real(&self, earlier: Option<&Object>, object: &Object) {
        let (known, back) = self.server.with_history(&self.gvr, |history| {
            let back = earlier.is_some_and(|earlier| history.goes_back(earlier, object));
            // Of two overlapping watches, one may notice a set-back server later than the other.
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

    /// Checks that the store is at least as new as the notification.
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

    /// Calls the method of an event handler for this notification.
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

    /// Checks the size of a queue above its mark. It holds at most two notifications for each object that exists, that
    /// was notified, or that existed when it synced. It may hold two more for the object of the present notification.
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

    /// The difference between its known objects and the server's. `None` if there is none.
    pub(crate) fn lacks(&self) -> Option<String> {
        let state = self.state.lock();
        let lacks = || Some(format!("handler {}: {}", self.number, self.difference(&state)?));
        if self.replay && !state.removed { lacks() } else { None }
    }

    fn difference(&self, state: &HandlerState) -> Option<String> {
        self.server.with_history(&self.gvr, |history| history.difference(&self.scope, &state.known))
    }

    /// Called when all notifications have arrived without any time in between.
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

    /// Checks that at rest it knows exactly the existing objects. If its informer synced, `on_synced` was called
    /// exactly once.
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

fn number(object: &Object) -> u64 {
    object.resource_version().parse().unwrap_or_default()
}

/// The object as text for people.
fn text(object: &Object) -> String {
    format!("{}@{} uid {}", object.key(), object.resource_version(), object.uid())
}

impl ResourceEventHandler for Told {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.note("added", object, cause);
        self.check_one_step(object, false, cause);
        let mut state = self.state.lock();
        let gone = state.gone.remove(&object.key().to_string());
        self.check_real(gone.as_ref(), object);
        // A state without a history, of an object that left selectors, can be compared by its number alone.
        let back = gone.is_some_and(|gone| number(object) < number(&gone));
        let sure = state.synced > 0 && !self.server.with_history(&self.gvr, History::was_restored);
        self.check(!back || !sure, "no object comes back older than its end", || text(object));
        let before = state.known.insert(object.key().to_string(), object.clone());
        self.check(before.is_none(), "only unknown objects are added", || text(object));
        self.check_store(&mut state, object);
        drop(state);
        self.after();
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        self.note("updated", new, cause);
        // After a rewind, the same version may have another content. That is visible at once.
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
        self.check(old.has_uid_of(new), "another UID is another object", || text(new));
        let same = same_version(old, new);
        let resync = cause.reason == Reason::Resync;
        // A queue may merge a change and its reversal by a rewind. The result is no change.
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
            let right = known.as_ref().is_some_and(|known| known.has_uid_of(last));
            self.check(right, "only what is known is deleted", || text(last));
        }
        // Before it has synced, a handler may get events of a watch with a narrower scope than its own.
        let narrower = state.synced == 0 && final_state == FinalState::Unknown;
        if !narrower {
            let there = self.server.with_history(&self.gvr, |history| {
                let known = known.as_ref().unwrap_or(last);
                history.is_live(last) && history.stayed(known, &self.scope)
            });
            self.check(!there, "only what is gone, or out of scope, is deleted", || text(last));
        }
        // If a server evaluates selectors, an object that leaves them looks deleted, with a state that never existed.
        let exact = !(self.views && self.selectors);
        // A queue may have merged the deletion with earlier notifications.
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
        // The list came after the handler was added, and contained all objects.
        let missing = self.server.with_history(&self.gvr, |history| {
            let mut lasting = history.lasting_since(began, &self.scope);
            lasting.find(|key| !state.known.contains_key(*key)).map(str::to_owned)
        });
        self.check(missing.is_none(), "a handler syncs after it was told what was there", || {
            format!("{missing:?} is missing")
        });
    }
}
