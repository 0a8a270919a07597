//! The parts of an informer's scope: the listed and watched ones, the synced ones, and the rules for an object that
//! several parts show. Synchronous: it decides, and the informer's task carries out.
//!
//! client-go has one reflector for one informer and no change of scope. Here a change starts the new parts first.
//! Unwanted parts go on until all new ones have synced, so that no known object is lost on the way. While parts
//! overlap, the part that is behind must not restore an object that the other saw deleted: deletions are remembered
//! until all parts have passed them. And the other parts must show a part's writes before it is stopped
//! (`awaited.rs`). Parts that do not are listed again once they are alone.

mod whole;

use super::awaited::AwaitedChange;
use super::deletions::Deletions;
use super::part_state::{Listing, PartState};
use super::staged::Staged;
use crate::delta_fifo::PartId;
use crate::indexer::ListMark;
use crate::informer_state::{PartProgress, Progress};
use crate::list_watch::Part;
use crate::object::{Object, ObjectKey, compare_resource_versions};
use crate::scope::Scope;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(super) use whole::PartsHave;
use whole::meet;

/// The longest time that an unwanted part goes on until the wanted ones have shown its writes: a replica that lags
/// further is rare, and costs a list.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

/// A step of the informer's task.
#[derive(Debug)]
pub(super) enum PartsStep {
    /// List and watch this part.
    Start(PartId, PartProgress),
    /// Stop listing and watching it; objects that no part covers any more leave the store.
    Stop(PartId, PartProgress),
    /// Begin again, under a new number: later deltas of the old one are dropped.
    Restart(PartId, PartId, PartProgress),
}

/// All parts of one informer.
#[derive(Debug)]
pub(super) struct Parts {
    progress: Arc<Progress>,
    relist_bytes_max: usize,
    /// Boxed: a map reserves room for eleven entries, and most informers have one.
    parts: BTreeMap<PartId, Box<PartState>>,
    last: PartId,
    /// The deletions while parts overlapped, with their resourceVersions.
    deletions: Deletions,
    /// The rewinds when the deletions were last dropped.
    rewinds: u64,
    /// Whether a part has come further since the last check of the deletions.
    passed: bool,
    /// Whether an object may come from more than one part: not all parts are of one change, or one is wider than
    /// another.
    overlap: bool,
    /// Until when unwanted parts go on although all wanted ones have synced.
    goes_on_until: Option<Instant>,
    /// Whether there may be a part whose waiters do not know that its list is complete.
    has_sync_withheld: bool,
}

impl Parts {
    /// `relist_bytes_max`: see [`InformerOptions`](super::InformerOptions).
    pub(super) fn new(progress: Arc<Progress>, relist_bytes_max: usize) -> Self {
        let rewinds = progress.rewinds();
        Self {
            progress,
            relist_bytes_max,
            parts: BTreeMap::new(),
            last: 0,
            deletions: Deletions::default(),
            rewinds,
            passed: false,
            overlap: false,
            goes_on_until: None,
            has_sync_withheld: false,
        }
    }

    pub(super) fn get(&self, id: PartId) -> Option<&PartState> {
        self.parts.get(&id).map(|state| &**state)
    }

    pub(super) fn get_mut(&mut self, id: PartId) -> Option<&mut PartState> {
        self.parts.get_mut(&id).map(|state| &mut **state)
    }

    /// The numbers of the parts for which this holds.
    fn those(&self, holds: impl Fn(PartId, &PartState) -> bool) -> Vec<PartId> {
        let parts = self.parts.iter().filter(|(id, state)| holds(**id, state));
        parts.map(|(id, _)| *id).collect()
    }

    /// Sets the wanted parts. Returns the steps towards them.
    pub(super) fn want(&mut self, wanted: &BTreeSet<Part>, now: Instant) -> Vec<PartsStep> {
        for state in self.parts.values_mut() {
            state.wanted = wanted.contains(state.part());
        }
        let mut steps: Vec<_> = wanted.iter().filter_map(|part| self.start(part)).collect();
        self.promise_less();
        self.overlap = self.parts_overlap();
        if self.overlap {
            self.doubt_lists();
        }
        steps.extend(self.settle(now));
        steps
    }

    /// Starts a wanted part, unless it exists. A part that left an object to others before it was wanted again begins
    /// again. Its shown objects are still right, because of the other parts, which go on until it was listed.
    /// Invariant 11.
    fn start(&mut self, part: &Part) -> Option<PartsStep> {
        let there = self.parts.iter().find(|(_, state)| state.part() == part);
        if there.is_some_and(|(_, state)| !state.gave_way) {
            return None;
        }
        let before = there.map(|(id, state)| (*id, state.progress.clone(), state.epoch));
        let was_listed = there.is_some_and(|(_, state)| state.was_listed);
        self.last += 1;
        let Some((before, progress, epoch)) = before else {
            let progress = PartProgress::started(&self.progress, part.clone());
            self.parts.insert(self.last, Box::new(PartState::new(progress.clone())));
            return Some(PartsStep::Start(self.last, progress));
        };
        self.parts.remove(&before);
        // A server that was found to be set back counts so until a list has taken that in.
        let mut state = Box::new(PartState::new(progress.clone()));
        (state.epoch, state.was_listed) = (epoch, was_listed);
        self.parts.insert(self.last, state);
        Some(PartsStep::Restart(before, self.last, progress))
    }

    /// When [`Parts::settle`] stops the remaining parts.
    pub(super) fn due(&self) -> Option<Instant> {
        self.goes_on_until
    }

    /// Stops unwanted parts, once all wanted ones have synced and have shown the other parts' writes. Before that,
    /// stops those on which no missing part depends.
    pub(super) fn settle(&mut self, now: Instant) -> Vec<PartsStep> {
        if !self.are_synced() {
            return self.settle_without_the_missing(now);
        }
        if !self.progress.has_synced() {
            // The missing part is not wanted any more, or there never was one.
            self.progress.synced();
        }
        let unwanted = self.those(|_, state| !state.wanted);
        let awaits = self.those(|_, state| state.wanted && !state.awaited.is_empty());
        // Invariant 11.
        if !unwanted.is_empty() && !awaits.is_empty() {
            let until = *self.goes_on_until.get_or_insert(now + SHOWN_WITHIN);
            if now < until {
                return Vec::new();
            }
        }
        self.goes_on_until = None;
        let mut steps: Vec<_> = unwanted.into_iter().filter_map(|id| self.stop(id)).collect();
        steps.extend(self.after_stops(!steps.is_empty()));
        steps
    }

    /// A wanted part is missing, for good if the API server refuses it. Stops the unwanted parts that were refused and
    /// never listed, and those whose objects other wanted parts show by now, or nobody wants. Invariant 11.
    fn settle_without_the_missing(&mut self, now: Instant) -> Vec<PartsStep> {
        let refused = self
            .those(|_, state| !state.wanted && !state.was_listed && state.progress.is_refused());
        let mut steps: Vec<_> = refused.into_iter().filter_map(|id| self.stop(id)).collect();
        let replaced = self.those(|_, state| self.is_replaced_by(state, |other| other.synced));
        let has_shown = |other: &PartState| other.synced && other.awaited.is_empty();
        let shown = self.those(|_, state| self.is_replaced_by(state, has_shown));
        let until = (shown.len() < replaced.len())
            .then(|| self.goes_on_until.unwrap_or(now + SHOWN_WITHIN));
        self.goes_on_until = until.filter(|until| now < *until);
        let stopped = if self.goes_on_until.is_some() { shown } else { replaced };
        steps.extend(stopped.into_iter().filter_map(|id| self.stop(id)));
        steps.extend(self.after_stops(!steps.is_empty()));
        steps
    }

    /// Whether a part is unwanted, and this holds for all wanted ones that show some of its objects.
    fn is_replaced_by(&self, state: &PartState, holds: impl Fn(&PartState) -> bool) -> bool {
        let mut wanted = self.parts.values().filter(|other| other.wanted);
        !state.wanted && wanted.all(|other| !meet(state.part(), other.part()) || holds(other))
    }

    /// If the remaining parts do not overlap, they have shown the deletions, or are listed again.
    fn after_stops(&mut self, have_stopped: bool) -> Vec<PartsStep> {
        self.passed |= have_stopped;
        self.overlap = self.parts_overlap();
        if self.overlap {
            return Vec::new();
        }
        self.deletions.clear();
        self.list_again()
    }

    fn stop(&mut self, id: PartId) -> Option<PartsStep> {
        self.parts.remove(&id).map(|state| PartsStep::Stop(id, state.progress))
    }

    /// Lists parts again that have not shown all writes of others. Invariant 11.
    fn list_again(&mut self) -> Vec<PartsStep> {
        let again = self.those(|_, state| !state.awaited.is_empty());
        let restart = |id| {
            let mut state = self.parts.remove(&id)?;
            self.last += 1;
            state.awaited.clear();
            (state.listing, state.is_sync_withheld) = (None, false);
            let progress = state.progress.clone();
            self.parts.insert(self.last, state);
            Some(PartsStep::Restart(id, self.last, progress))
        };
        again.into_iter().filter_map(restart).collect()
    }

    /// The lists in progress began as the only source of their objects, which they no longer are.
    fn doubt_lists(&mut self) {
        for state in self.parts.values_mut() {
            let set_back = state.is_set_back();
            if let Some(listing) = &mut state.listing {
                listing.consistent = set_back;
            }
        }
    }

    /// A list of this part begins; the shown objects of an interrupted list are dropped.
    pub(super) fn begin(&mut self, id: PartId, mark: ListMark) {
        let is_replaced = self.get(id).is_some_and(|state| self.is_replaced(state));
        let (is_staged_at_first, bytes_max) = (self.is_staged_at_first(id), self.relist_bytes_max);
        if let Some(state) = self.parts.get_mut(&id) {
            let consistent = !self.overlap || state.is_set_back();
            // Before the end of the first list there is no old state: readers then check whether the informer has
            // synced.
            let is_staged = state.was_listed || is_staged_at_first;
            let staged = if is_staged { Staged::up_to(bytes_max) } else { Staged::none() };
            state.listing = Some(Listing { consistent, mark, staged });
            state.awaited.clear();
            (state.gave_way, state.is_sync_withheld) = (is_replaced, false);
        }
    }

    /// The store changed by one part's delta; every other part with the object will show the change too.
    pub(super) fn note_change(
        &mut self,
        by: PartId,
        object: &Object,
        change: fn(Box<str>) -> AwaitedChange,
        resource_version: &str,
    ) {
        if !self.overlap {
            return;
        }
        for (_, state) in self.parts.iter_mut().filter(|(id, _)| **id != by) {
            if (state.synced || state.listing.is_some()) && state.contains(object) {
                state.awaited.note(object.key(), change(resource_version.into()));
            }
        }
    }

    /// A list put an object over one with a higher resourceVersion: the API server was set back, which its reflector
    /// reports once.
    pub(super) fn note_put(&mut self, id: PartId, old: &Object, new: &Object) {
        let Some(state) = self.parts.get(&id).filter(|state| state.listing.is_some()) else {
            return;
        };
        let order = compare_resource_versions(new.resource_version(), old.resource_version());
        if order == Some(Ordering::Less) && !state.is_set_back() {
            state.progress.note_set_back();
        }
    }

    /// A change that a part leaves to others to show.
    pub(super) fn will_show(&mut self, id: PartId, key: &ObjectKey, change: AwaitedChange) {
        if let Some(state) = self.parts.get_mut(&id) {
            state.will_show(key, change);
        }
    }

    /// Whether another part shows the object with any labels and fields. Then an object that left this part's
    /// selectors need not be gone.
    pub(super) fn is_shown_whole(&self, id: PartId, object: &Object) -> bool {
        let others = self.parts.iter().filter(|(other, _)| **other != id);
        others.map(|(_, state)| state).any(|state| {
            state.wanted
                && (state.synced || state.listing.is_some())
                && !state.selects()
                && state.contains(object)
        })
    }

    /// Whether a part is unwanted and a wanted part shows this object already, with all its changes. Invariant 9.
    fn gives_way(&self, id: PartId, object: &Object) -> bool {
        self.parts.get(&id).is_some_and(|state| !state.wanted)
            && self.parts.values().any(|one| one.wanted && one.synced && one.contains(object))
    }

    /// The part left an object to a wanted one: if it is wanted again, it is listed again.
    pub(super) fn gave_way(&mut self, id: PartId) {
        if let Some(state) = self.parts.get_mut(&id) {
            state.gave_way = true;
        }
    }

    /// A part has come further: deletions may be dropped.
    pub(super) fn has_passed(&mut self) {
        self.passed = true;
    }

    /// A list of this part is complete, up to here.
    pub(super) fn list_is_complete(&mut self, id: PartId, resource_version: &str) {
        if let Some(state) = self.parts.get_mut(&id) {
            (state.synced, state.was_listed, state.listing) = (true, true, None);
            state.resource_version = Some(resource_version.into());
            state.epoch = state.progress.epoch();
        }
        self.passed = true;
    }

    /// Whether all wanted parts have synced.
    pub(super) fn are_synced(&self) -> bool {
        self.parts.values().all(|state| state.synced || !state.wanted)
    }

    /// The resourceVersion up to which all wanted parts are written: that of the part furthest behind.
    pub(super) fn resource_version(&self) -> Option<&str> {
        if !self.are_synced() {
            return None;
        }
        let mut wanted = self.parts.values().filter(|state| state.wanted);
        let first = wanted.next()?.resource_version.as_deref()?;
        wanted.try_fold(first, |least, state| {
            let other = state.resource_version.as_deref()?;
            let less = compare_resource_versions(other, least) == Some(Ordering::Less);
            Some(if less { other } else { least })
        })
    }

    /// The progress of each wanted part, if there are several: its number, its scope, its resourceVersion.
    pub(super) fn reached(
        &self,
    ) -> impl Iterator<Item = (PartId, &Arc<Scope>, Option<&str>)> + Clone {
        let are_several = self.parts.values().filter(|state| state.wanted).count() > 1;
        let wanted = self.parts.iter().filter(move |(_, state)| are_several && state.wanted);
        wanted.map(|(id, state)| (*id, state.selection(), state.resource_version.as_deref()))
    }

    fn parts_overlap(&self) -> bool {
        let namespaces: BTreeSet<_> =
            self.parts.values().map(|state| state.part().namespace.as_deref()).collect();
        namespaces.len() < self.parts.len() || (self.parts.len() > 1 && namespaces.contains(&None))
    }

    /// A part has shown an object's deletion as of this resourceVersion. With selectors the object may only have left
    /// them, which is the same for parts with the same selectors.
    pub(super) fn note_deleted(&mut self, by: PartId, key: &ObjectKey, resource_version: &str) {
        let Some(part) = self.parts.get(&by).filter(|_| self.overlap) else { return };
        let same = |one: &Part, other: &Part| {
            one.label_selector == other.label_selector && one.field_selector == other.field_selector
        };
        let is_end_for_all =
            !part.selects() || self.parts.values().all(|other| same(other.part(), part.part()));
        let left = (!is_end_for_all).then(|| part.selection().clone());
        self.deletions.note(key, resource_version, left);
    }

    /// The resourceVersion of another part's deletion of this object.
    pub(super) fn was_deleted(&mut self, object: &Object) -> Option<Box<str>> {
        if self.rewinds != self.progress.rewinds() {
            // Numbers of another epoch say nothing about those of this one.
            self.rewinds = self.progress.rewinds();
            self.deletions.clear();
        }
        self.deletions.of(object)
    }

    /// Drops the deletions that every part has passed.
    pub(super) fn forget_deletions(&mut self) {
        if !std::mem::take(&mut self.passed) {
            return;
        }
        let Self { parts, deletions, .. } = self;
        deletions.retain(|deleted| {
            parts.values().any(|state| match &state.resource_version {
                Some(passed) if state.listing.is_none() => {
                    compare_resource_versions(passed, deleted) == Some(Ordering::Less)
                }
                Some(_) | None => true,
            })
        });
    }
}

#[cfg(test)]
mod tests;
