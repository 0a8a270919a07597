//! Parts of whole objects beside parts of their metadata: the rules while one replaces the other. Synchronous.
//!
//! Some views need whole objects, and for others metadata are enough. An object that was whole for a view must not become
//! its metadata again, and a view has synced when all of its objects are whole.

use super::Parts;
use crate::delta_fifo::PartId;
use crate::list_watch::Part;
use crate::object::Object;
use crate::shared_informer::part_state::PartState;
use std::collections::BTreeSet;

impl Parts {
    /// A part of whole objects is replaced by one of their metadata, which writes over whole objects from here on.
    pub(super) fn promise_less(&mut self, wanted: &BTreeSet<Part>) {
        let is_replaced =
            |part: &Part| wanted.iter().any(|one| one.metadata_only && meet(one, part));
        for state in self.parts.values_mut() {
            if !state.wanted && !state.is_metadata_only() && is_replaced(state.part()) {
                state.gave_way = true;
                state.progress.promises_metadata_only();
            }
        }
    }

    /// Whether a part leaves this state of an object, or its end, to another part.
    pub(in super::super) fn leaves(
        &self,
        id: PartId,
        object: &Object,
        stored: Option<&Object>,
    ) -> bool {
        let is_whole = |stored| self.leaves_whole(id, stored);
        self.gives_way(id, object) || stored.is_some_and(is_whole)
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
        self.overlap && !stored.is_metadata_only() && self.parts.values().any(|one| leaves_to(one))
    }

    /// Whether a part shows the object whole.
    pub(in super::super) fn have_whole(&self, object: &Object) -> bool {
        self.parts.values().any(|state| !state.is_metadata_only() && state.contains(object))
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
        if let Some(state) = self.parts.get_mut(&id) {
            state.is_unsaid = may_lack && !is_metadata_only(state) && !state.awaited.is_empty();
            self.has_unsaid |= state.is_unsaid;
            if !state.is_unsaid {
                state.progress.synced();
            }
        }
    }

    /// Notifies waiters of parts that have shown all changes since, after the publication.
    pub(in super::super) fn say_late(&mut self) {
        if !self.has_unsaid {
            return;
        }
        for state in self.parts.values_mut().filter(|state| state.is_unsaid) {
            if state.awaited.is_empty() {
                state.is_unsaid = false;
                state.progress.synced();
            }
        }
        self.has_unsaid = self.parts.values().any(|state| state.is_unsaid);
    }
}

/// Whether an object can be in both parts by its namespace.
pub(super) fn meet(one: &Part, other: &Part) -> bool {
    one.namespace.is_none() || other.namespace.is_none() || one.namespace == other.namespace
}
