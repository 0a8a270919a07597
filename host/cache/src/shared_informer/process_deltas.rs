//! The informer's task: writes what the reflectors queued to the indexer, then tells the handlers.
//!
//! Answers to client-go's `processDeltas` and `processDeltasInBatch` (`tools/cache/controller.go`). The store decides what a delta
//! means. A batch is written before any of it is told, so a handler may find the indexer ahead by up to one batch, never behind.

use super::awaited::Change as Written;
use super::part_state::{Listing, PartState};
use super::parts::Parts;
use crate::delta_fifo::{Delta, PartId};
use crate::indexer::{Indexer, IndexerWrite, Put, Removed, Write};
use crate::informer_state::Progress;
use crate::list_watch::Change;
use crate::notifications::Notification;
use crate::object::{Object, compare_resource_versions};
use crate::resource_event_handler::{Cause, FinalState, Reason};
use crate::shared_processor::{SharedProcessor, ToTell};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Deltas written before they are told: with objects of 5 KiB some megabyte that waits to be told, and one look at the handlers.
const BATCH_DELTAS: usize = 256;

/// The store's one writer.
pub(super) struct Deltas {
    pub(super) indexer: Indexer,
    pub(super) progress: Arc<Progress>,
    pub(super) parts: Parts,
    /// What is written and not yet told.
    to_tell: Vec<ToTell>,
    /// Panics of index functions that were reported.
    index_panics: u64,
}

impl Deltas {
    pub(super) fn new(indexer: Indexer, progress: Arc<Progress>) -> Self {
        let parts = Parts::new(progress.clone());
        Self { indexer, progress, parts, to_tell: Vec::new(), index_panics: 0 }
    }

    /// Writes the next batch, shows it to readers, then tells it. The end of a list ends the batch; answers whether there was one.
    pub(super) async fn process(
        &mut self,
        deltas: &mut VecDeque<(PartId, Delta)>,
        processor: &mut SharedProcessor,
    ) -> bool {
        match self.write_batch(deltas, processor) {
            Some((id, Delta::End { resource_version, whole })) => {
                self.end(id, &resource_version, whole, processor).await
            }
            Some((id, _)) => self.gone(id, processor).await,
            None => false,
        }
    }

    /// Writes, publishes and tells; answers what ended the batch before its time.
    fn write_batch(
        &mut self,
        deltas: &mut VecDeque<(PartId, Delta)>,
        processor: &mut SharedProcessor,
    ) -> Option<(PartId, Delta)> {
        let indexer = self.indexer.clone();
        let mut write = indexer.write();
        let mut ended = None;
        let batch = deltas.len().min(BATCH_DELTAS);
        for _ in 0..batch {
            let Some((id, delta)) = deltas.pop_front() else { break };
            if matches!(delta, Delta::End { .. } | Delta::Gone) {
                ended = Some((id, delta));
                break;
            }
            self.apply(id, delta, &mut write);
        }
        self.publish(write);
        self.tell(processor);
        ended
    }

    /// Removes what no part shows any more, and says so to those who ask for it all the same.
    pub(super) async fn leave(&mut self, processor: &mut SharedProcessor) {
        let cause = Cause { reason: Reason::Relist, received: super::now() };
        let indexer = self.indexer.clone();
        let mut after = None;
        loop {
            let chunk = indexer.chunk(after.as_ref(), BATCH_DELTAS);
            after = chunk.last().map(|object| object.key().clone());
            self.remove_uncovered(&chunk, cause);
            self.tell(processor);
            if after.is_none() {
                return;
            }
            // It may be the whole store: others have their turn in between.
            tokio::task::yield_now().await;
        }
    }

    fn remove_uncovered(&mut self, chunk: &[Object], cause: Cause) {
        let indexer = self.indexer.clone();
        let mut write = indexer.write();
        for object in chunk.iter().filter(|object| !self.parts.contain(object)) {
            if let Removed::Gone { last } = write.remove(object.key()) {
                self.to_tell.push(deleted(last, None, FinalState::LeftScope, cause, false));
            }
        }
    }

    fn publish(&mut self, mut write: IndexerWrite<'_>) {
        if let Some(resource_version) = self.parts.resource_version() {
            write.set_resource_version(resource_version);
        }
        write.publish();
        self.parts.forget_deletions();
        let panics = self.indexer.index_panics();
        if panics > self.index_panics {
            tracing::error!(
                panics,
                "an index function panicked; it files nothing for such an object"
            );
            self.index_panics = panics;
        }
    }

    fn tell(&mut self, processor: &mut SharedProcessor) {
        let now = super::now();
        processor.distribute_all(self.to_tell.drain(..), now);
    }

    /// Deltas of a part that was stopped meanwhile are dropped.
    fn apply(&mut self, id: PartId, delta: Delta, write: &mut IndexerWrite<'_>) {
        let Some(part) = self.parts.get_mut(id) else { return };
        match delta {
            Delta::Begin => self.parts.begin(id, write.begin_list()),
            Delta::Listed(object, received) => {
                self.progress.listed();
                self.put(id, object, received, write);
            }
            Delta::Changed(change, object, received) => {
                let listing = part.listing.is_some();
                if listing {
                    self.progress.listed();
                } else {
                    self.progress.change(change);
                    part.resource_version = Some(object.resource_version().into());
                }
                match change {
                    Change::Added | Change::Modified => self.put(id, object, received, write),
                    Change::Deleted => self.delete(id, object, received, write),
                }
            }
            Delta::Bookmark { resource_version } => {
                part.resource_version = Some(resource_version);
                self.parts.has_passed();
                self.progress.bookmark();
            }
            Delta::End { .. } | Delta::Gone => unreachable!("ends a batch"),
        }
    }

    fn put(&mut self, id: PartId, object: Object, received: Instant, write: &mut IndexerWrite<'_>) {
        let Some(part) = self.parts.get_mut(id) else { return };
        part.shows(&object);
        if self.parts.gives_way(id, &object) {
            if let Some(listing) = self.parts.get(id).and_then(|part| part.listing.as_ref()) {
                // Whoever else goes meanwhile: this list has shown it.
                write.see(object.key(), &listing.mark);
            }
            return self.parts.gave_way(id);
        }
        let deleted = self.parts.was_deleted(&object);
        let Some(part) = self.parts.get_mut(id) else { return };
        let (listing, cause) = (part.is_first_list(), cause(part, received));
        let is_listed = part.listing.is_some();
        if let Some(deleted) = deleted {
            part.will_show(object.key(), Written::At(deleted));
            return;
        }
        let why = match part.listing {
            Some(Listing { consistent, .. }) => Write::Listed { consistent },
            None => Write::Watched,
        };
        let mark = part.listing.as_ref().map(|listing| &listing.mark);
        let put = write.put_seen(object.clone(), why, mark);
        match &put {
            Put::Stale if is_listed => {
                let newer = write.get(object.key()).map(|stored| stored.resource_version().into());
                part.will_show(object.key(), Written::At(newer.unwrap_or_default()));
            }
            Put::Unchanged | Put::Stale => {}
            Put::Added { .. } | Put::Updated { .. } | Put::Replaced { .. } => {
                self.parts.note_change(id, &object, Written::At, object.resource_version());
            }
        }
        let mut tell = |notification| self.to_tell.push(ToTell { notification, listing });
        match put {
            Put::Added { new } => tell(Notification::Added { object: new, cause, coalesced: 0 }),
            Put::Updated { old, new } => {
                self.parts.note_put(id, &old, &new);
                tell(Notification::Updated { old, new, cause, coalesced: 0 });
            }
            Put::Replaced { old, new } => {
                self.parts.note_put(id, &old, &new);
                let final_state = FinalState::Unknown;
                tell(removal(old, None, final_state, cause));
                tell(Notification::Added { object: new, cause, coalesced: 0 });
            }
            Put::Unchanged | Put::Stale => {}
        }
    }

    fn delete(
        &mut self,
        id: PartId,
        object: Object,
        received: Instant,
        write: &mut IndexerWrite<'_>,
    ) {
        let Some(part) = self.parts.get_mut(id) else { return };
        part.shows(&object);
        if write.get(object.key()).is_some_and(|stored| self.parts.gives_way(id, stored)) {
            return self.parts.gave_way(id);
        }
        let Some(part) = self.parts.get_mut(id) else { return };
        let (listing, cause, selects) =
            (part.is_first_list(), cause(part, received), part.selects());
        if selects {
            // It may have left the selectors, which another part knows already.
            let stored = write.get(object.key());
            let same = |s: &&Object| s.resource_version() == object.resource_version();
            if stored.filter(same).is_some_and(|stored| !part.contains(stored)) {
                return;
            }
            if stored.is_some_and(|stored| self.parts.is_shown_whole(id, stored)) {
                // That part says whether it lives on. Should it never, this one is listed anew.
                let change = Written::After(object.resource_version().into());
                self.parts.will_show(id, object.key(), change);
                return;
            }
        }
        self.parts.note_deleted(id, object.key(), object.resource_version());
        if let Removed::Gone { last } = write.delete(&object) {
            self.parts.note_change(id, &last, Written::At, object.resource_version());
            // Another one was deleted than the one that is known: its end was missed.
            let known = last.uid() == object.uid();
            let (told, known_as) = if known { (object, Some(last)) } else { (last, None) };
            let final_state =
                if known && !selects { FinalState::Known } else { FinalState::Unknown };
            self.to_tell.push(deleted(told, known_as, final_state, cause, listing));
        }
    }

    /// The list of a part is complete: what of the part it did not show is gone, unless something in it could not be read.
    async fn end(
        &mut self,
        id: PartId,
        resource_version: &str,
        whole: bool,
        processor: &mut SharedProcessor,
    ) -> bool {
        let Some(listing) = self.parts.get_mut(id).and_then(|part| part.listing.take()) else {
            return false;
        };
        if whole {
            self.sweep(id, listing, Some(resource_version), processor).await;
        }
        self.parts.list_is_complete(id, resource_version);
        let indexer = self.indexer.clone();
        self.publish(indexer.write());
        self.parts.say_synced(id);
        true
    }

    /// The resource is not served any more: everything of the part is gone.
    async fn gone(&mut self, id: PartId, processor: &mut SharedProcessor) -> bool {
        let mark = self.indexer.write().begin_list();
        let Some(part) = self.parts.get_mut(id) else { return false };
        part.is_gone();
        let nothing = Listing { consistent: true, mark };
        self.sweep(id, nothing, None, processor).await;
        false
    }

    /// Removes what of a part a list did not show, in steps: it may be the whole store.
    async fn sweep(
        &mut self,
        id: PartId,
        mut listing: Listing,
        resource_version: Option<&str>,
        processor: &mut SharedProcessor,
    ) {
        loop {
            let is_last = self.sweep_step(id, &mut listing, resource_version);
            self.tell(processor);
            if is_last {
                return;
            }
            // It may be the whole store: others have their turn in between.
            tokio::task::yield_now().await;
        }
    }

    /// Answers whether nothing is left.
    fn sweep_step(
        &mut self,
        id: PartId,
        listing: &mut Listing,
        resource_version: Option<&str>,
    ) -> bool {
        let cause = Cause { reason: Reason::Relist, received: super::now() };
        let Some(part) = self.parts.get(id) else { return true };
        let is_first = !part.was_listed;
        let newer = RefCell::new(Vec::new());
        let consistent = listing.consistent;
        // Where another part may be ahead of this list it may know of more.
        let is_newer = |object: &Object| {
            let of_list = resource_version.unwrap_or_default();
            let order = compare_resource_versions(object.resource_version(), of_list);
            let is_newer = !consistent && order == Some(Ordering::Greater);
            if is_newer {
                newer.borrow_mut().push(object.clone());
            }
            is_newer
        };
        let gave_way = Cell::new(false);
        let of_part = |object: &Object| {
            let gives_way = part.contains(object) && self.parts.gives_way(id, object);
            gave_way.set(gave_way.get() | gives_way);
            part.contains(object) && !gives_way && !is_newer(object)
        };
        let mut write = self.indexer.write();
        let gone = write.sweep(&mut listing.mark, of_part, BATCH_DELTAS);
        write.publish();
        if gave_way.get() {
            self.parts.gave_way(id);
        }
        for object in newer.take() {
            let change = Written::At(object.resource_version().into());
            self.parts.will_show(id, object.key(), change);
        }
        let is_last = gone.len() < BATCH_DELTAS;
        for last in gone {
            self.parts.note_change(id, &last, Written::After, last.resource_version());
            if let Some(resource_version) = resource_version {
                self.parts.note_deleted(id, last.key(), resource_version);
            }
            self.to_tell.push(deleted(last, None, FinalState::Unknown, cause, is_first));
        }
        is_last
    }
}

fn cause(part: &PartState, received: Instant) -> Cause {
    let reason = if part.listing.is_some() { Reason::Relist } else { Reason::Watch };
    Cause { reason, received }
}

fn removal(
    last: Object,
    known_as: Option<Object>,
    final_state: FinalState,
    cause: Cause,
) -> Notification {
    Notification::Deleted { last, known_as, final_state, cause, coalesced: 0 }
}

fn deleted(
    last: Object,
    known_as: Option<Object>,
    final_state: FinalState,
    cause: Cause,
    listing: bool,
) -> ToTell {
    ToTell { notification: removal(last, known_as, final_state, cause), listing }
}
