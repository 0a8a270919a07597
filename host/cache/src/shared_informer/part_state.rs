//! One part of an informer's scope, as the informer's task knows it: what its lists and watches have shown so far.

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
    /// It is right even where the store has something newer: the API server was set back. Not so where another part may just be
    /// ahead of it.
    pub(super) consistent: bool,
    pub(super) mark: ListMark,
    /// What it has shown and is not written.
    pub(super) staged: Staged,
}

/// One part, listed and watched by one reflector.
#[derive(Debug)]
pub(super) struct PartState {
    pub(super) progress: PartProgress,
    selection: Arc<Scope>,
    pub(super) wanted: bool,
    /// Its first list is complete.
    pub(super) synced: bool,
    pub(super) listing: Option<Listing>,
    /// A list of it was complete: what comes later was not there before whoever waits for the other parts.
    pub(super) was_listed: bool,
    /// Everything up to here has been written.
    pub(super) resource_version: Option<Box<str>>,
    /// Its epoch as of its last list.
    pub(super) epoch: u64,
    /// What others have written since its list began, and it has not shown.
    pub(super) awaited: Awaited,
    /// Since its last list began it left something to a part that was wanted when it was not.
    pub(super) gave_way: bool,
}

impl PartState {
    pub(super) fn new(progress: PartProgress) -> Self {
        let selection = Arc::new(Scope::of_part(progress.part()));
        let (wanted, synced, epoch) = (true, false, progress.epoch());
        let (listing, resource_version) = (None, None);
        let (awaited, gave_way, was_listed) = (Awaited::default(), false, false);
        Self {
            progress,
            selection,
            wanted,
            synced,
            listing,
            was_listed,
            resource_version,
            epoch,
            awaited,
            gave_way,
        }
    }

    pub(super) fn part(&self) -> &Part {
        self.progress.part()
    }

    /// The objects that its lists and watches show, for the store.
    pub(super) fn selection(&self) -> &Arc<Scope> {
        &self.selection
    }

    /// The objects that its lists and watches show. The API server decides; this is the same decision, taken on the host.
    pub(super) fn contains(&self, object: &Object) -> bool {
        self.selection.contains(object)
    }

    /// It shows a state of an object, or its end.
    pub(super) fn shows(&mut self, object: &Object) {
        self.awaited.shown(object.key(), object.resource_version());
    }

    /// What it shows now was there before it was asked for.
    pub(super) fn is_first_list(&self) -> bool {
        self.listing.is_some() && !self.was_listed
    }

    /// Its list met a later state of an object, which its watch will show.
    pub(super) fn will_show(&mut self, key: &ObjectKey, change: AwaitedChange) {
        self.awaited.note(key, change);
    }

    /// Nothing of it is there any more.
    pub(super) fn is_gone(&mut self) {
        (self.listing, self.resource_version) = (None, None);
        self.awaited.clear();
    }

    /// Its reflector has found the API server set back, and no list since was complete.
    pub(super) fn is_set_back(&self) -> bool {
        self.epoch != self.progress.epoch()
    }

    /// Whether a deletion may as well be an object's leaving the selectors: the API server reports both alike.
    pub(super) fn selects(&self) -> bool {
        !self.part().label_selector.is_empty() || !self.part().field_selector.is_empty()
    }
}
