//! The informer's task: writes the reflectors' deltas to the indexer, then notifies the handlers.
//!
//! As client-go's `processDeltas` and `processDeltasInBatch` (`tools/cache/controller.go`). The store decides the
//! meaning of a delta. A batch is written before its notifications, so a handler may find the indexer ahead by up to
//! one batch, never behind. `relist.rs` has the end of a list.

use super::awaited::AwaitedChange;
use super::gathering::gather_until;
use super::part_state::{Listing, PartState};
use super::parts::{Parts, PartsHave};
use crate::delta_fifo::{Delta, PartId};
use crate::indexer::{Indexer, IndexerWrite, Put, Removed, Write};
use crate::informer_state::Progress;
use crate::list_watch::Change;
use crate::object::Object;
use crate::resource_event_handler::{Cause, FinalState, Notification, Reason};
use crate::shared_processor::{SharedProcessor, ToTell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Deltas that are written before their notifications: with objects of 5 KiB about a megabyte that waits, and one
/// check of the handlers.
pub(super) const BATCH_DELTAS: usize = 256;

/// The store's one writer.
pub(super) struct Deltas {
    pub(super) indexer: Indexer,
    pub(super) progress: Arc<Progress>,
    pub(super) parts: Parts,
    /// The written changes without notifications yet.
    pub(super) to_tell: Vec<ToTell>,
    /// The number of handlers that passed the last changes on to another thread.
    passed_on: usize,
    /// Panics of index functions that were reported.
    index_panics: u64,
}

/// The cause of a batch's early end.
enum BatchEnd {
    /// The list of a part is complete.
    List { resource_version: Box<str>, whole: bool },
    /// The resource is not served any more.
    Gone,
    /// The staged part of a relist has reached its bound.
    Full,
}

impl Deltas {
    pub(super) fn new(indexer: Indexer, progress: Arc<Progress>, relist_bytes_max: usize) -> Self {
        let parts = Parts::new(progress.clone(), relist_bytes_max);
        Self { indexer, progress, parts, to_tell: Vec::new(), passed_on: 0, index_panics: 0 }
    }

    /// Writes the next batch, shows it to readers, then notifies the handlers. The end of a list ends the batch;
    /// returns whether there was one.
    pub(super) async fn process(
        &mut self,
        deltas: &mut VecDeque<(PartId, Delta)>,
        processor: &mut SharedProcessor,
    ) -> bool {
        match self.write_batch(deltas, processor) {
            Some((id, BatchEnd::List { resource_version, whole })) => {
                self.end(id, &resource_version, whole, processor).await
            }
            Some((id, BatchEnd::Gone)) => self.gone(id, processor).await,
            Some((id, BatchEnd::Full)) => self.show_staged(id, processor).await,
            None => false,
        }
    }

    /// Writes, publishes and notifies; returns the cause of the batch's early end.
    fn write_batch(
        &mut self,
        deltas: &mut VecDeque<(PartId, Delta)>,
        processor: &mut SharedProcessor,
    ) -> Option<(PartId, BatchEnd)> {
        let indexer = self.indexer.clone();
        let mut write = indexer.write();
        let mut ended = None;
        let batch = deltas.len().min(BATCH_DELTAS);
        for _ in 0..batch {
            let Some((id, delta)) = deltas.pop_front() else { break };
            ended = self.apply(id, delta, &mut write).map(|ended| (id, ended));
            if ended.is_some() {
                break;
            }
        }
        // Invariant 4.
        self.publish(write);
        self.tell(processor);
        ended
    }

    /// Removes objects that no part shows any more, and notifies the handlers that still request them. Of objects that
    /// are shown as metadata only, no more is kept.
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
            // It may be the whole store: other tasks have their turn in between.
            tokio::task::yield_now().await;
        }
    }

    fn remove_uncovered(&mut self, chunk: &[Object], cause: Cause) {
        let indexer = self.indexer.clone();
        let mut write = indexer.write();
        for object in chunk {
            match self.parts.have(object) {
                PartsHave::Whole => {}
                PartsHave::Metadata => write.cut(object.key()),
                PartsHave::Nothing => {
                    if let Removed::Gone { last } = write.remove(object.key()) {
                        self.to_tell.push(deleted(last, None, FinalState::LeftScope, cause, false));
                    }
                }
            }
        }
    }

    pub(super) fn publish(&mut self, mut write: IndexerWrite<'_>) {
        write.set_reached(self.parts.reached());
        if let Some(resource_version) = self.parts.resource_version() {
            write.set_resource_version(resource_version);
        }
        write.publish();
        self.parts.forget_deletions();
        self.parts.say_withheld_syncs();
        let panics = self.indexer.index_panics();
        if panics > self.index_panics {
            tracing::error!(
                panics,
                "an index function panicked; it files nothing for such an object"
            );
            self.index_panics = panics;
        }
    }

    pub(super) fn tell(&mut self, processor: &mut SharedProcessor) {
        let now = super::now();
        self.passed_on = self.passed_on.max(processor.distribute_all(&self.to_tell, now));
        self.to_tell.clear();
    }

    /// When the next batch may begin, after the changes since the last call.
    pub(super) fn gather_until(&mut self, now: Instant) -> Option<Instant> {
        gather_until(std::mem::take(&mut self.passed_on), now)
    }

    /// Deltas of a part that was stopped meanwhile are dropped. Returns the cause of the batch's end.
    fn apply(
        &mut self,
        id: PartId,
        delta: Delta,
        write: &mut IndexerWrite<'_>,
    ) -> Option<BatchEnd> {
        let part = self.parts.get_mut(id)?;
        match &delta {
            Delta::Begin => {
                self.parts.begin(id, write.begin_list());
                return None;
            }
            Delta::Listed(..) => self.progress.listed(),
            Delta::Changed(..) if part.listing.is_some() => self.progress.listed(),
            Delta::Changed(change, object, _) => {
                self.progress.change(*change);
                part.resource_version = Some(object.resource_version().into());
            }
            Delta::Bookmark { resource_version } => {
                part.resource_version = Some(resource_version.clone());
                self.parts.has_passed();
                self.progress.bookmark();
                return None;
            }
            Delta::End { resource_version, whole } => {
                let resource_version = resource_version.clone();
                return Some(BatchEnd::List { resource_version, whole: *whole });
            }
            Delta::Gone => return Some(BatchEnd::Gone),
        }
        if !self.is_staged(id, &delta, write) {
            self.write(id, delta, write);
            return None;
        }
        let staged = &mut self.parts.get_mut(id)?.listing.as_mut()?.staged;
        staged.push(delta).then_some(BatchEnd::Full)
    }

    /// Writes an object that a list or a watch has shown.
    pub(super) fn write(&mut self, id: PartId, delta: Delta, write: &mut IndexerWrite<'_>) {
        match delta {
            Delta::Listed(object, received)
            | Delta::Changed(Change::Added | Change::Modified, object, received) => {
                self.put(id, object, received, write);
            }
            Delta::Changed(Change::Deleted, object, received) => {
                self.delete(id, object, received, write);
            }
            Delta::Begin | Delta::End { .. } | Delta::Gone | Delta::Bookmark { .. } => {}
        }
    }

    fn put(&mut self, id: PartId, object: Object, received: Instant, write: &mut IndexerWrite<'_>) {
        let Some(part) = self.parts.get_mut(id) else { return };
        part.shows(&object);
        if self.parts.leaves(id, &object, || write.get(object.key())) {
            if let Some(listing) = self.parts.get(id).and_then(|part| part.listing.as_ref()) {
                // This list has shown it, whichever other part stops meanwhile.
                write.see(object.key(), &listing.mark);
            }
            return self.parts.gave_way(id);
        }
        let deleted = self.parts.was_deleted(&object);
        let Some(part) = self.parts.get_mut(id) else { return };
        let (listing, cause) = (part.is_first_list(), cause(part, received));
        let is_listed = part.listing.is_some();
        if let Some(deleted) = deleted {
            part.will_show(object.key(), AwaitedChange::At(deleted));
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
                part.will_show(object.key(), AwaitedChange::At(newer.unwrap_or_default()));
            }
            Put::Unchanged | Put::Completed { .. } | Put::Stale => {}
            Put::Added { .. } | Put::Updated { .. } | Put::Replaced { .. } => {
                self.parts.note_change(id, &object, AwaitedChange::At, object.resource_version());
            }
        }
        let is_completed = matches!(put, Put::Completed { .. });
        let mut tell =
            |notification| self.to_tell.push(ToTell { notification, listing, is_completed });
        match put {
            Put::Added { new } => tell(Notification::Added { object: new, cause, coalesced: 0 }),
            Put::Updated { old, new } => {
                self.parts.note_put(id, &old, &new);
                tell(Notification::Updated { old, new, cause, coalesced: 0 });
            }
            Put::Completed { old, new } => {
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
        let is_left = |stored: &Object| self.parts.leaves(id, stored, || Some(stored));
        if write.get(object.key()).is_some_and(is_left) {
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
                // That part shows whether it still exists. If it never does, this part is listed again.
                let change = AwaitedChange::After(object.resource_version().into());
                self.parts.will_show(id, object.key(), change);
                return;
            }
        }
        self.parts.note_deleted(id, object.key(), object.resource_version());
        if let Removed::Gone { last } = write.delete(&object) {
            self.parts.note_change(id, &last, AwaitedChange::At, object.resource_version());
            // The deleted object is another one than the known one: the known one's deletion was missed.
            let known = last.has_uid_of(&object);
            let (told, known_as) = if known { (object, Some(last)) } else { (last, None) };
            let final_state =
                if known && !selects { FinalState::Known } else { FinalState::Unknown };
            self.to_tell.push(deleted(told, known_as, final_state, cause, listing));
        }
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

pub(super) fn deleted(
    last: Object,
    known_as: Option<Object>,
    final_state: FinalState,
    cause: Cause,
    listing: bool,
) -> ToTell {
    let notification = removal(last, known_as, final_state, cause);
    ToTell { notification, listing, is_completed: false }
}
