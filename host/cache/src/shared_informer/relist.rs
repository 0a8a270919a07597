//! The end of a list: objects that it did not show are gone, and readers see all changes of a relist in one step.
//!
//! As client-go's `processReplacedAll` (`tools/cache/controller.go`): the store goes from the old state to the new one
//! at once. Then the handlers are notified, of deletions first. The store's resourceVersion moves in the same step. So
//! a handler that gets a deletion also sees that the store has come further than the object. Each step of the work is
//! short, so that other tasks have their turn in between.

use super::awaited::AwaitedChange;
use super::part_state::Listing;
use super::process_deltas::{BATCH_DELTAS, Deltas, deleted};
use super::staged::Staged;
use crate::delta_fifo::{Delta, PartId};
use crate::indexer::IndexerWrite;
use crate::list_watch::Change;
use crate::object::{Object, compare_resource_versions};
use crate::resource_event_handler::{Cause, FinalState, Reason};
use crate::shared_processor::SharedProcessor;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

impl Deltas {
    /// Whether a delta waits for the end of its list, because readers would see its write. A stored version does not
    /// wait, because it changes nothing. If its bytes differ, as in rare cases after a set-back of the API server, the
    /// change is seen at once.
    pub(super) fn is_staged(&self, id: PartId, delta: &Delta, write: &IndexerWrite<'_>) -> bool {
        let listing = self.parts.get(id).and_then(|part| part.listing.as_ref());
        if !listing.is_some_and(|listing| listing.staged.holds()) {
            return false;
        }
        match delta {
            Delta::Listed(object, _)
            | Delta::Changed(Change::Added | Change::Modified, object, _) => write.is_other(object),
            Delta::Changed(Change::Deleted, ..) => true,
            Delta::Begin | Delta::End { .. } | Delta::Gone | Delta::Bookmark { .. } => false,
        }
    }

    /// The list of a part is complete: objects of the part that it did not show are gone, unless an item was
    /// unreadable. Its changes are written now.
    pub(super) async fn end(
        &mut self,
        id: PartId,
        resource_version: &str,
        whole: bool,
        processor: &mut SharedProcessor,
    ) -> bool {
        let Some(mut listing) = self.parts.get_mut(id).and_then(|part| part.listing.take()) else {
            return false;
        };
        // Invariants 5 and 14.
        if whole {
            self.see_staged(&listing);
            self.sweep(id, &mut listing, Some(resource_version)).await;
        }
        if let Some(part) = self.parts.get_mut(id) {
            part.listing = Some(listing);
        }
        while self.write_staged(id, |write| write.leave_unseen()) {
            tokio::task::yield_now().await;
        }
        self.parts.list_is_complete(id, resource_version);
        self.show(processor).await;
        self.parts.say_synced(id);
        true
    }

    /// The resource is not served any more: all objects of the part are gone.
    pub(super) async fn gone(&mut self, id: PartId, processor: &mut SharedProcessor) -> bool {
        let mark = self.indexer.write().begin_list();
        let Some(part) = self.parts.get_mut(id) else { return false };
        part.is_gone();
        let mut nothing = Listing { consistent: true, mark, staged: Staged::none() };
        self.sweep(id, &mut nothing, None).await;
        self.show(processor).await;
        false
    }

    /// The list exceeds the bound of staged changes: these are shown, and the rest of the list as it comes.
    pub(super) async fn show_staged(
        &mut self,
        id: PartId,
        processor: &mut SharedProcessor,
    ) -> bool {
        while self.write_staged(id, |write| write.publish()) {
            self.tell(processor);
            tokio::task::yield_now().await;
        }
        self.tell(processor);
        false
    }

    /// Publishes the unseen writes, then notifies the handlers. Invariants 4 and 6.
    async fn show(&mut self, processor: &mut SharedProcessor) {
        let indexer = self.indexer.clone();
        self.publish(indexer.write());
        let mut to_tell = std::mem::take(&mut self.to_tell).into_iter();
        loop {
            self.to_tell.extend(to_tell.by_ref().take(BATCH_DELTAS));
            self.tell(processor);
            if to_tell.len() == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Staged objects count as shown: another part may have written an object that the list adds.
    fn see_staged(&self, listing: &Listing) {
        let mut write = self.indexer.write();
        for key in listing.staged.keys() {
            write.see(key, &listing.mark);
        }
        write.leave_unseen();
    }

    /// Writes some of the staged changes, and ends the write. Returns whether there are more.
    fn write_staged(&mut self, id: PartId, end: fn(IndexerWrite<'_>)) -> bool {
        let listing = self.parts.get_mut(id).and_then(|part| part.listing.as_mut());
        let deltas = listing.map_or_else(Vec::new, |listing| listing.staged.next(BATCH_DELTAS));
        let is_last = deltas.len() < BATCH_DELTAS;
        let indexer = self.indexer.clone();
        let mut write = indexer.write();
        for delta in deltas {
            self.write(id, delta, &mut write);
        }
        end(write);
        !is_last
    }

    /// Removes objects of a part that a list did not show, in steps: it may be the whole store. No reader sees this
    /// before it is published.
    async fn sweep(&mut self, id: PartId, listing: &mut Listing, resource_version: Option<&str>) {
        while !self.sweep_step(id, listing, resource_version) {
            tokio::task::yield_now().await;
        }
    }

    /// Returns whether no such object is left.
    fn sweep_step(
        &mut self,
        id: PartId,
        listing: &mut Listing,
        resource_version: Option<&str>,
    ) -> bool {
        let cause = Cause { reason: Reason::Relist, received: super::now() };
        let Some(part) = self.parts.get(id) else { return true };
        let is_first = !part.was_listed;
        let (newer, moved) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let consistent = listing.consistent;
        // Another part that is ahead of this list may know more.
        let is_newer = |object: &Object| {
            let of_list = resource_version.unwrap_or_default();
            let order = compare_resource_versions(object.resource_version(), of_list);
            let is_newer = !consistent && order == Some(Ordering::Greater);
            if is_newer {
                newer.borrow_mut().push(object.clone());
            }
            is_newer
        };
        // An object that left the selectors is in a part without any, which shows its end; else this part lists again.
        let is_elsewhere = |object: &Object| {
            let is_listed = resource_version.is_some() && part.selects();
            let is_elsewhere = is_listed && self.parts.is_shown_whole(id, object);
            if is_elsewhere {
                moved.borrow_mut().push(object.key().clone());
            }
            is_elsewhere
        };
        let gave_way = Cell::new(false);
        let of_part = |object: &Object| {
            let gives_way = part.contains(object) && self.parts.leaves(id, object, || Some(object));
            gave_way.set(gave_way.get() | gives_way);
            part.contains(object) && !gives_way && !is_newer(object) && !is_elsewhere(object)
        };
        let mut write = self.indexer.write();
        let gone = write.sweep(&mut listing.mark, of_part, BATCH_DELTAS);
        write.leave_unseen();
        if gave_way.get() {
            self.parts.gave_way(id);
        }
        for object in newer.take() {
            let change = AwaitedChange::At(object.resource_version().into());
            self.parts.will_show(id, object.key(), change);
        }
        for key in moved.take() {
            let change = AwaitedChange::After(resource_version.unwrap_or_default().into());
            self.parts.will_show(id, &key, change);
        }
        let is_last = gone.len() < BATCH_DELTAS;
        for last in gone {
            self.parts.note_change(id, &last, AwaitedChange::After, last.resource_version());
            if let Some(resource_version) = resource_version {
                self.parts.note_deleted(id, last.key(), resource_version);
            }
            self.to_tell.push(deleted(last, None, FinalState::Unknown, cause, is_first));
        }
        is_last
    }
}
