//! One part of an informer's scope in the informer's task: the objects that its lists and watches have shown so far.

use super::awaited::{Awaited, AwaitedChange};
use super::staged::Staged;
use crate::indexer::ListMark;
use crate::informer_state::PartProgress;
use crate::list_watch::Part;
use crate::object::{Object, ObjectKey};
use crate::scope::Scope;
use std::sync::Arc;

/// A list in progress.
#[derive(Debug)]
pub(super) struct Listing {
    /// Whether it is right even if the store has a newer object, because the API server was set back. `false` if
    /// another part may just be ahead of it.
    pub(super) consistent: bool,
    pub(super) mark: ListMark,
    /// The shown objects that are not written yet.
    pub(super) staged: Staged,
}

/// One part, listed and watched by one reflector.
#[derive(Debug)]
pub(super) struct PartState {
    pub(super) progress: PartProgress,
    pub(super) wanted: bool,
    /// Whether its first list is complete.
    pub(super) synced: bool,
    pub(super) listing: Option<Listing>,
    /// Whether a list of it was ever complete: for callers that wait for the other parts, later objects of this part
    /// are not initial.
    pub(super) was_listed: bool,
    /// Everything up to here has been written.
    pub(super) resource_version: Option<Box<str>>,
    /// Its epoch as of its last list.
    pub(super) epoch: u64,
    /// Changes of other parts since its list began that it has not shown.
    pub(super) awaited: Awaited,
    /// Whether, since its last list began, it left an object to a wanted part while it was not wanted itself.
    pub(super) gave_way: bool,
    /// Whether its list is complete, but readers do not know yet: some of its objects are there as metadata alone.
    pub(super) is_sync_withheld: bool,
}

impl PartState {
    pub(super) fn new(progress: PartProgress) -> Self {
        let (wanted, synced, epoch) = (true, false, progress.epoch());
        let (listing, resource_version) = (None, None);
        let (awaited, gave_way, was_listed) = (Awaited::default(), false, false);
        Self {
            progress,
            wanted,
            synced,
            listing,
            was_listed,
            resource_version,
            epoch,
            awaited,
            gave_way,
            is_sync_withheld: false,
        }
    }

    pub(super) fn part(&self) -> &Part {
        self.progress.part()
    }

    /// The scope of its lists and watches, for the store.
    pub(super) fn selection(&self) -> &Arc<Scope> {
        self.progress.selection()
    }

    /// Whether its lists and watches show the object. The API server decides that; this is the same decision on the
    /// host.
    pub(super) fn contains(&self, object: &Object) -> bool {
        self.selection().selects(object)
    }

    /// Whether its lists and watches show metadata alone.
    pub(super) fn is_metadata_only(&self) -> bool {
        self.part().metadata_only
    }

    /// The part shows a state of an object, or its deletion.
    pub(super) fn shows(&mut self, object: &Object) {
        self.awaited.shown(object.key(), object.resource_version());
    }

    /// Whether the part's present objects existed before the request.
    pub(super) fn is_first_list(&self) -> bool {
        self.listing.is_some() && !self.was_listed
    }

    /// Its list met a later state of an object, which its watch will show.
    pub(super) fn will_show(&mut self, key: &ObjectKey, change: AwaitedChange) {
        self.awaited.note(key, change);
    }

    /// None of its objects exists any more.
    pub(super) fn is_gone(&mut self) {
        (self.listing, self.resource_version) = (None, None);
        self.awaited.clear();
    }

    /// Whether its reflector has found the API server set back, and no later list was complete.
    pub(super) fn is_set_back(&self) -> bool {
        self.epoch != self.progress.epoch()
    }

    /// Whether a deletion may also mean that an object left the selectors: the API server reports both in the same
    /// way.
    pub(super) fn selects(&self) -> bool {
        !self.selection().selects_everything()
    }
}
