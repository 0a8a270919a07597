//! The progress of an informer, which its tasks note here.

use super::part_states::{self, StateOfPart, worst};
use super::{InformerState, InformerStats};
use crate::list_watch::{Change, ListWatchError, Part};
use crate::object::Object;
use crate::pulse::Flow;
use crate::relist_cause::RelistCause;
use crate::scope::Scope;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, watch};

/// The progress of one informer, over all its parts.
#[derive(Debug)]
pub(crate) struct Progress {
    state: watch::Sender<InformerState>,
    parts: Mutex<BTreeMap<Part, StateOfPart>>,
    /// Wakes whenever a part has synced or failed: a waiter for a scope checks again.
    coverage: Notify,
    /// Whether the API server refuses the part with all namespaces.
    is_refused_whole: AtomicBool,
    /// Wakes the informer's task whenever that changes.
    refusals: Notify,
    created: Instant,
    /// Milliseconds after `created`, plus one; 0 is never.
    heard: AtomicU64,
    changes: [AtomicU64; 3],
    bookmarks: AtomicU64,
    listed: AtomicU64,
    errors: AtomicU64,
    malformed: AtomicU64,
    transform_failures: AtomicU64,
    handler_panics: AtomicU64,
    relists: [AtomicU64; RelistCause::ALL.len()],
    epoch: AtomicU64,
    /// How often any part has found the API server set back: each counts once for each time.
    rewinds: AtomicU64,
    /// 1 once the first list is in the store; never 0 again.
    synced: AtomicU64,
    /// The flow of deltas through the informer's task.
    flow: Arc<Flow>,
}

impl Progress {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            state: watch::Sender::new(InformerState::Created),
            parts: Mutex::default(),
            coverage: Notify::new(),
            is_refused_whole: AtomicBool::new(false),
            refusals: Notify::new(),
            created: now,
            heard: AtomicU64::new(0),
            changes: Default::default(),
            bookmarks: AtomicU64::new(0),
            listed: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            transform_failures: AtomicU64::new(0),
            handler_panics: AtomicU64::new(0),
            relists: Default::default(),
            epoch: AtomicU64::new(0),
            rewinds: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            flow: Arc::default(),
        }
    }

    pub(crate) fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    pub(crate) fn state(&self) -> InformerState {
        self.state.borrow().clone()
    }

    /// The state of a scope: of its namespaces if each is listed individually, else of all at once; syncing if that is
    /// not listed yet. Parts that select less do not count, nor do parts in their first list where others cover the scope.
    pub(crate) fn state_in(&self, scope: &Scope) -> InformerState {
        let parts = self.parts.lock();
        let state = self.state();
        if parts.is_empty() || matches!(state, InformerState::Stopped { .. }) {
            return state;
        }
        part_states::worst_in(&parts, scope).unwrap_or(InformerState::Syncing { message: None })
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<InformerState> {
        self.state.subscribe()
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire) == 1
    }

    pub(crate) fn started(&self) {
        self.set(InformerState::Syncing { message: None });
    }

    /// Notes that everything requested so far is in the store.
    pub(crate) fn synced(&self) {
        self.synced.store(1, Ordering::Release);
        self.coverage.notify_waiters();
    }

    /// Wakes waiters: the requested scopes have changed.
    pub(crate) fn look_again(&self) {
        self.coverage.notify_waiters();
    }

    /// Whether the parts that have synced cover the scope.
    pub(crate) fn covers(&self, scope: &Scope) -> bool {
        let parts = self.parts.lock();
        scope.is_covered_by(parts.values().filter(|part| part.synced).map(|part| &*part.selection))
    }

    /// Whether a part selects the object.
    pub(crate) fn selects(&self, object: &Object) -> bool {
        self.parts.lock().values().any(|part| part.selection.selects(object))
    }

    /// The parts that are listed and watched.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.parts.lock().keys().cloned().collect()
    }

    /// The next time at which [`Progress::covers`] or [`Progress::has_synced`] may change to `true`, or the end.
    pub(crate) fn coverage(&self) -> Notified<'_> {
        self.coverage.notified()
    }

    /// Whether the API server refuses the part with all namespaces; single namespaces may still be allowed.
    pub(crate) fn is_refused_whole(&self) -> bool {
        self.is_refused_whole.load(Ordering::Acquire)
    }

    /// Ends when this answer has changed since the caller's last read.
    pub(crate) fn refusals(&self) -> Notified<'_> {
        self.refusals.notified()
    }

    fn change_part(&self, part: &Part, change: impl FnOnce(&mut StateOfPart)) {
        let mut parts = self.parts.lock();
        if let Some(state) = parts.get_mut(part) {
            change(state);
        }
        self.note_refusal(&parts);
        self.sum_up(&parts);
        drop(parts);
        self.coverage.notify_waiters();
    }

    fn note_refusal(&self, parts: &BTreeMap<Part, StateOfPart>) {
        let is_refused = parts.iter().any(|(part, it)| part.namespace.is_none() && it.is_refused);
        if self.is_refused_whole.swap(is_refused, Ordering::AcqRel) != is_refused {
            self.refusals.notify_one();
        }
    }

    /// The state of the worst part becomes that of the informer.
    fn sum_up(&self, parts: &BTreeMap<Part, StateOfPart>) {
        if let Some(worst) = worst(parts.iter()) {
            self.set(worst);
        }
    }

    pub(crate) fn stopped(&self, message: Option<String>) {
        self.set(InformerState::Stopped { message });
        self.coverage.notify_waiters();
    }

    fn set(&self, state: InformerState) {
        self.state.send_if_modified(|current| {
            let stopped = matches!(current, InformerState::Stopped { .. });
            let changes = *current != state && !stopped;
            if changes {
                *current = state;
            }
            changes
        });
    }

    fn heard(&self, now: Instant) {
        let millis = now.saturating_duration_since(self.created).as_millis() as u64;
        self.heard.store(millis + 1, Ordering::Relaxed);
    }

    pub(crate) fn change(&self, change: Change) {
        self.changes[change as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn bookmark(&self) {
        self.bookmarks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn listed(&self) {
        self.listed.fetch_add(1, Ordering::Relaxed);
    }

    fn malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether this is the first time.
    pub(crate) fn transform_failed(&self) -> bool {
        self.transform_failures.fetch_add(1, Ordering::Relaxed) == 0
    }

    pub(crate) fn handler_panicked(&self) {
        self.handler_panics.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the API server was found to be set back.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Rises whenever a part finds the API server set back, for each part.
    pub(crate) fn rewinds(&self) -> u64 {
        self.rewinds.load(Ordering::Acquire)
    }

    fn relist(&self, cause: RelistCause) {
        self.relists[cause as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, without those of the store and of the handlers.
    pub(crate) fn stats(&self, now: Instant) -> InformerStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let heard = load(&self.heard).checked_sub(1).map(Duration::from_millis);
        let age = |heard| now.saturating_duration_since(self.created + heard);
        let relists = RelistCause::ALL.into_iter().map(|c| (c, load(&self.relists[c as usize])));
        InformerStats {
            added: load(&self.changes[Change::Added as usize]),
            modified: load(&self.changes[Change::Modified as usize]),
            deleted: load(&self.changes[Change::Deleted as usize]),
            bookmarks: load(&self.bookmarks),
            listed: load(&self.listed),
            errors: load(&self.errors),
            malformed: load(&self.malformed),
            transform_failures: load(&self.transform_failures),
            handler_panics: load(&self.handler_panics),
            relists: relists.collect(),
            epoch: self.epoch(),
            last_event_age: heard.map(age),
            ..InformerStats::default()
        }
    }
}

/// The progress of one part, for its reflector and the informer's task.
#[derive(Clone, Debug)]
pub(crate) struct PartProgress {
    progress: Arc<Progress>,
    part: Part,
    selection: Arc<Scope>,
    /// How often this part has found the API server set back, counted from the informer's epoch at its start.
    epoch: Arc<AtomicU64>,
    /// Whether a list has shown an object that is older than the stored one. The reflector then announces the
    /// set-back.
    set_back: Arc<AtomicBool>,
}

impl PartProgress {
    /// A part in its first list.
    pub(crate) fn started(progress: &Arc<Progress>, part: Part) -> Self {
        let (state, synced, is_refused) = (InformerState::Syncing { message: None }, false, false);
        let selection = Arc::new(Scope::of_part(&part));
        let of_part = StateOfPart { state, selection: selection.clone(), synced, is_refused };
        let mut parts = progress.parts.lock();
        parts.insert(part.clone(), of_part);
        progress.note_refusal(&parts);
        progress.sum_up(&parts);
        drop(parts);
        let epoch = Arc::new(AtomicU64::new(progress.epoch()));
        Self { progress: progress.clone(), part, selection, epoch, set_back: Arc::default() }
    }

    /// The scope of the part's lists and watches.
    pub(crate) fn selection(&self) -> &Arc<Scope> {
        &self.selection
    }

    /// The part.
    pub(crate) fn part(&self) -> &Part {
        &self.part
    }

    /// The part is not listed or watched any more.
    pub(crate) fn stopped(&self) {
        let mut parts = self.progress.parts.lock();
        parts.remove(&self.part);
        self.progress.note_refusal(&parts);
        self.progress.sum_up(&parts);
    }

    /// Whether the API server forbade the part, and has not allowed it since.
    pub(crate) fn is_refused(&self) -> bool {
        self.progress.parts.lock().get(&self.part).is_some_and(|part| part.is_refused)
    }

    /// The part's list is in the store.
    pub(crate) fn synced(&self) {
        self.synced_in(self.selection.clone());
    }

    /// As [`PartProgress::synced`], but some of its objects may be there as metadata alone again.
    pub(crate) fn synced_as_metadata(&self) {
        self.synced_in(self.metadata_selection());
    }

    fn synced_in(&self, selection: Arc<Scope>) {
        self.progress.change_part(&self.part, |part| {
            (part.synced, part.is_refused) = (true, false);
            (part.state, part.selection) = (InformerState::Synced, selection);
        });
    }

    /// From here on some objects of the part may be in the store as metadata alone.
    pub(crate) fn promises_metadata_only(&self) {
        let selection = self.metadata_selection();
        self.progress.change_part(&self.part, |part| part.selection = selection);
    }

    fn metadata_selection(&self) -> Arc<Scope> {
        Arc::new((*self.selection).clone().metadata_only())
    }

    /// A watch was accepted.
    pub(crate) fn watching(&self) {
        self.progress.change_part(&self.part, |part| {
            part.is_refused = false;
            if part.synced {
                part.state = InformerState::Synced;
            }
        });
    }

    /// A list or watch failed. An error about invalid credentials says nothing about their permissions.
    pub(crate) fn failed(&self, error: &ListWatchError) {
        self.progress.errors.fetch_add(1, Ordering::Relaxed);
        self.progress.change_part(&self.part, |part| {
            part.is_refused |= matches!(error, ListWatchError::Forbidden { .. });
            part.state = match InformerState::after(error) {
                InformerState::Stale { message } if !part.synced => {
                    InformerState::Syncing { message: Some(message) }
                }
                state => state,
            };
        });
    }

    pub(crate) fn heard(&self, now: Instant) {
        self.progress.heard(now);
    }

    pub(crate) fn malformed(&self) {
        self.progress.malformed();
    }

    pub(crate) fn relist(&self, cause: RelistCause) {
        self.progress.relist(cause);
    }

    /// The API server was set back. Every part finds that by itself; the informer counts it once.
    pub(crate) fn rewound(&self) {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.progress.epoch.fetch_max(epoch, Ordering::AcqRel);
        self.progress.rewinds.fetch_add(1, Ordering::AcqRel);
    }

    /// The store has shown a set-back, which counts at once.
    pub(crate) fn note_set_back(&self) {
        self.rewound();
        self.set_back.store(true, Ordering::Release);
    }

    /// Whether the store has shown a set-back since the last call.
    pub(crate) fn take_set_back(&self) -> bool {
        self.set_back.swap(false, Ordering::AcqRel)
    }

    /// The watch-error hook panicked.
    pub(crate) fn handler_panicked(&self) {
        self.progress.handler_panicked();
    }

    /// How often this part has found the API server set back.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restored_etcd_is_one_epoch_however_many_parts_find_out() {
        let progress = Arc::new(Progress::new(Instant::now()));
        let part = |name: &str| PartProgress::started(&progress, Part::namespace(name));
        let (a, b) = (part("a"), part("b"));
        a.rewound();
        b.note_set_back();
        assert_eq!((progress.epoch(), progress.rewinds()), (1, 2));
        let c = part("c");
        c.rewound();
        assert_eq!((progress.epoch(), a.epoch(), c.epoch()), (2, 1, 2));
    }
}
