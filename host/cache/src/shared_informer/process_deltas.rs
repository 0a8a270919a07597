//! The informer's task: writes what the reflector queued to the indexer, then tells the handlers.
//!
//! Answers to client-go's `processDeltas` and `processDeltasInBatch` (`tools/cache/controller.go`). The store decides what a delta
//! means. A batch is written before any of it is told, so a handler may find the indexer ahead by up to one batch, never behind.

use crate::delta_fifo::{Delta, DeltaFifo};
use crate::indexer::{Indexer, IndexerWrite, ListMark, Put, Removed, Write};
use crate::informer_state::Progress;
use crate::list_watch::Change;
use crate::notifications::Notification;
use crate::object::Object;
use crate::resource_event_handler::{Cause, FinalState, Reason};
use crate::shared_processor::{Inbox, SharedProcessor};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Deltas written before they are told: with objects of 5 KiB some megabyte that waits to be told, and one look at the handlers.
const BATCH_DELTAS: usize = 256;

/// The informer's task.
pub(super) struct Informer {
    pub(super) indexer: Indexer,
    pub(super) progress: Arc<Progress>,
    pub(super) processor: SharedProcessor,
    /// The list in progress.
    pub(super) listing: Option<Listing>,
    /// What was written and not yet told.
    pub(super) to_tell: Vec<Notification>,
}

/// A list that is coming in.
pub(super) struct Listing {
    /// It is a consistent read.
    consistent: bool,
    /// What it has shown.
    mark: ListMark,
}

impl Informer {
    pub(super) async fn run(&mut self, fifo: &DeltaFifo, inbox: &Inbox) {
        let mut deltas = VecDeque::new();
        loop {
            let now = super::now();
            self.processor.admit(now);
            let walking = self.processor.walk(&self.indexer, now);
            if walking || !deltas.is_empty() {
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    // In this order: nothing here is starved, for each is looked at again after every batch.
                    biased;
                    () = inbox.woken() => continue,
                    () = sleep_until(self.processor.resync_due()) => continue,
                    popped = fifo.pop_all() => deltas = popped,
                }
            }
            if deltas.is_empty() {
                deltas = fifo.try_pop_all();
            }
            self.process(&mut deltas);
        }
    }

    /// Writes the next batch and shows it to readers, then tells it. The end of a list ends a batch: it tells by itself.
    fn process(&mut self, deltas: &mut VecDeque<Delta>) {
        let indexer = self.indexer.clone();
        let mut write = indexer.write();
        let batch = deltas.len().min(BATCH_DELTAS);
        for delta in deltas.drain(..batch) {
            match delta {
                Delta::End { resource_version, whole } => {
                    write.publish();
                    self.tell();
                    let listing = self.listing.take().filter(|_| whole);
                    if let Some(listing) = listing {
                        self.sweep(listing.mark);
                    }
                    write = indexer.write();
                    write.set_resource_version(&resource_version);
                    write.publish();
                    self.progress.synced();
                    write = indexer.write();
                }
                Delta::Gone => {
                    self.listing = None;
                    let nothing = write.begin_list();
                    write.publish();
                    self.tell();
                    self.sweep(nothing);
                    write = indexer.write();
                }
                Delta::Begin { consistent } => {
                    // An interrupted list's mark goes, and with it what it has shown.
                    self.listing = Some(Listing { consistent, mark: write.begin_list() });
                }
                Delta::Listed(object, received) => {
                    self.progress.listed();
                    self.put(object, received, &mut write);
                }
                Delta::Changed(change, object, received) => {
                    self.change(change, object, received, &mut write);
                }
                Delta::Bookmark { resource_version } => {
                    self.progress.bookmark();
                    write.set_resource_version(&resource_version);
                }
            }
        }
        write.publish();
        self.tell();
    }

    fn tell(&mut self) {
        let now = super::now();
        for notification in self.to_tell.drain(..) {
            self.processor.distribute(&notification, now);
        }
    }

    fn change(
        &mut self,
        change: Change,
        object: Object,
        received: Instant,
        write: &mut IndexerWrite<'_>,
    ) {
        let listing = self.listing.is_some();
        if listing {
            self.progress.listed();
        } else {
            self.progress.change(change);
        }
        let resource_version: Box<str> = object.resource_version().into();
        match change {
            Change::Added | Change::Modified => self.put(object, received, write),
            Change::Deleted => self.delete(object, received, write),
        }
        if !listing {
            write.set_resource_version(&resource_version);
        }
    }

    fn put(&mut self, object: Object, received: Instant, write: &mut IndexerWrite<'_>) {
        let why = match self.listing {
            Some(Listing { consistent, .. }) => Write::Listed { consistent },
            None => Write::Watched,
        };
        let cause = Cause { reason: self.reason(), received };
        match write.put(object.clone(), why) {
            Put::Added => self.to_tell.push(added(object, cause)),
            Put::Updated { old } => {
                self.to_tell.push(Notification::Updated { old, new: object, cause, coalesced: 0 });
            }
            Put::Replaced { old } => {
                self.to_tell.push(deleted(old, FinalState::Unknown, cause));
                self.to_tell.push(added(object, cause));
            }
            Put::Unchanged | Put::Stale => {}
        }
    }

    fn delete(&mut self, object: Object, received: Instant, write: &mut IndexerWrite<'_>) {
        let cause = Cause { reason: self.reason(), received };
        if let Removed::Gone { last } = write.delete(&object) {
            // Another one was deleted than the one that is known: its end was missed.
            let known = last.uid() == object.uid();
            let final_state = if known { FinalState::Known } else { FinalState::Unknown };
            let last = if known { object } else { last };
            self.to_tell.push(deleted(last, final_state, cause));
        }
    }

    /// Until the first list is complete, everything was there before.
    fn reason(&self) -> Reason {
        match (self.progress.has_synced(), &self.listing) {
            (false, _) => Reason::Initial,
            (true, Some(_)) => Reason::Relist,
            (true, None) => Reason::Watch,
        }
    }

    /// The list is complete: what it did not show is gone. That is told in steps too: it may be the whole store.
    fn sweep(&mut self, mut mark: ListMark) {
        let cause = Cause { reason: Reason::Relist, received: super::now() };
        loop {
            let mut write = self.indexer.write();
            let gone = write.sweep(&mut mark, |_| true, BATCH_DELTAS);
            write.publish();
            let is_last = gone.len() < BATCH_DELTAS;
            let gone = gone.into_iter();
            self.to_tell.extend(gone.map(|last| deleted(last, FinalState::Unknown, cause)));
            self.tell();
            if is_last {
                return;
            }
        }
    }
}

fn added(object: Object, cause: Cause) -> Notification {
    Notification::Added { object, cause, coalesced: 0 }
}

fn deleted(last: Object, final_state: FinalState, cause: Cause) -> Notification {
    Notification::Deleted { last, final_state, cause, coalesced: 0 }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
