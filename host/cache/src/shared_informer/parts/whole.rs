//! Parts of whole objects beside parts of their metadata: the rules while one replaces the other. Synchronous.
//!
//! Some views need whole objects, and for others metadata are enough. An object that was whole for a view must not become
//! its metadata again, and a view has synced when all of its objects are whole.

use super::Parts;
use crate::delta_fifo::PartId;
use crate::list_watch::Part;
use crate::object::Object;
use crate::shared_informer::part_state::PartState;

/// How much of an object an informer's parts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum PartsHave {
    Nothing,
    Metadata,
    Whole,
}

impl Parts {
    /// Parts of whole objects that are replaced by those of their metadata promise no more than these, which write over
    /// whole objects from here on.
    pub(super) fn promise_less(&mut self) {
        for id in self.those(|_, state| self.is_replaced(state)) {
            let Some(state) = self.get_mut(id) else { continue };
            state.gave_way = true;
            state.progress.promises_metadata_only();
        }
    }

    /// Whether a part of whole objects is not wanted any more, and a wanted one of metadata meets it.
    pub(super) fn is_replaced(&self, state: &PartState) -> bool {
        let replaces = |one: &PartState| {
            one.wanted && one.is_metadata_only() && meet(one.part(), state.part())
        };
        !state.wanted && !state.is_metadata_only() && self.parts.values().any(|one| replaces(one))
    }

    /// Whether a first list is shown in one step at its end. A list that replaces metadata by whole objects may fail
    /// again and again: until its end the part of metadata shows the changes, and leaves no object to this one. Above the
    /// bound of a staged list objects are shown as they come, and the part of metadata leaves these to the list.
    pub(super) fn is_staged_at_first(&self, id: PartId) -> bool {
        let mut others = self.parts.iter().filter(|(other, _)| **other != id);
        self.get(id).filter(|state| !state.is_metadata_only()).is_some_and(|state| {
            others.any(|(_, one)| one.is_metadata_only() && meet(one.part(), state.part()))
        })
    }

    /// Whether a part leaves this state of an object, or its end, to another part.
    pub(in super::super) fn leaves<'a>(
        &self,
        id: PartId,
        object: &Object,
        stored: impl FnOnce() -> Option<&'a Object>,
    ) -> bool {
        let is_whole = |stored| self.leaves_whole(id, stored);
        self.overlap && (self.gives_way(id, object) || stored().is_some_and(is_whole))
    }

    /// Whether a part of metadata leaves a stored object to a part that has it whole and shows its changes too. While the
    /// part of whole objects is replaced by that of metadata, it does not: then no reader needs whole objects.
    /// Invariant 9.
    fn leaves_whole(&self, id: PartId, stored: &Object) -> bool {
        let Some(part) = self.parts.get(&id).filter(|part| part.is_metadata_only()) else {
            return false;
        };
        let leaves_to = |one: &PartState| {
            let is_replaced = part.wanted && !one.wanted;
            !one.is_metadata_only() && !is_replaced && one.contains(stored)
        };
        !stored.is_metadata_only() && self.parts.values().any(|one| leaves_to(one))
    }

    /// How much of the object the parts show.
    pub(in super::super) fn have(&self, object: &Object) -> PartsHave {
        let mut have = PartsHave::Nothing;
        for state in self.parts.values().filter(|state| state.contains(object)) {
            if !state.is_metadata_only() {
                return PartsHave::Whole;
            }
            have = PartsHave::Metadata;
        }
        have
    }

    /// Notifies the waiters, after the publication. If a part of metadata is ahead of one of whole objects, it has
    /// written changes as metadata alone, which the latter part has yet to show: its waiters wait for that.
    pub(in super::super) fn say_synced(&mut self, id: PartId) {
        let is_metadata_only = |state: &PartState| state.is_metadata_only();
        let may_lack = self.overlap && self.parts.values().any(|state| is_metadata_only(state));
        // In this order: a waiter for a change of the state finds the informer synced.
        if self.are_synced() {
            self.progress.synced();
        }
        let is_replaced = self.get(id).is_some_and(|state| self.is_replaced(state));
        if let Some(state) = self.parts.get_mut(&id) {
            let is_withheld = may_lack && !is_metadata_only(state) && !state.awaited.is_empty();
            state.is_sync_withheld = is_withheld;
            self.has_sync_withheld |= is_withheld;
            if !is_withheld {
                say(state, is_replaced);
            }
        }
    }

    /// Notifies waiters of parts that have shown all changes since, after the publication.
    pub(in super::super) fn say_withheld_syncs(&mut self) {
        if !self.has_sync_withheld {
            return;
        }
        let shown = self.those(|_, state| state.is_sync_withheld && state.awaited.is_empty());
        for id in shown {
            let is_replaced = self.get(id).is_some_and(|state| self.is_replaced(state));
            let Some(state) = self.get_mut(id) else { continue };
            state.is_sync_withheld = false;
            say(state, is_replaced);
        }
        self.has_sync_withheld = self.parts.values().any(|state| state.is_sync_withheld);
    }
}

fn say(state: &PartState, is_replaced: bool) {
    match is_replaced {
        true => state.progress.synced_as_metadata(),
        false => state.progress.synced(),
    }
}

/// Whether an object can be in both parts by its namespace.
pub(super) fn meet(one: &Part, other: &Part) -> bool {
    one.namespace.is_none() || other.namespace.is_none() || one.namespace == other.namespace
}
