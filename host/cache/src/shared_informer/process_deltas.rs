//! The informer's task: writes what the reflector queued to the indexer, then tells the handlers.
//!
//! Answers to client-go's `processDeltas` and `processDeltasInBatch` (`tools/cache/controller.go`). The store decides what a delta
//! means. A batch is written before any of it is told, so a handler may find the indexer ahead by up to one batch, never behind.

use crate::delta_fifo::{Delta, DeltaFifo};
use crate::indexer::{Indexer, Put, Removed, Write};
use crate::informer_state::Progress;
use crate::list_watch::Change;
use crate::notifications::Notification;
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::{Cause, FinalState, Reason};
use crate::shared_processor::{Inbox, SharedProcessor};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Keys swept between two looks at the store's lock.
const SWEEP_KEYS: usize = 512;

/// Deltas written before they are told: with objects of 5 KiB some megabyte that waits to be told, and one look at the handlers.
const BATCH_DELTAS: usize = 256;

/// The informer's task.
pub(super) struct Informer {
    pub(super) indexer: Indexer,
    pub(super) progress: Arc<Progress>,
    pub(super) processor: SharedProcessor,
    /// A list is in progress, and whether it is a consistent read.
    pub(super) listing: Option<bool>,
    /// The resourceVersion up to which the indexer was written, told to it once a batch.
    pub(super) written: Option<Box<str>>,
    /// What was written and not yet told.
    pub(super) to_tell: Vec<Notification>,
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

    /// Writes the next batch, then tells it.
    fn process(&mut self, deltas: &mut VecDeque<Delta>) {
        let batch = deltas.len().min(BATCH_DELTAS);
        for delta in deltas.drain(..batch) {
            self.apply(delta);
        }
        if let Some(resource_version) = self.written.take() {
            self.indexer.set_resource_version(resource_version);
        }
        self.tell();
    }

    fn tell(&mut self) {
        let now = super::now();
        for notification in self.to_tell.drain(..) {
            self.processor.distribute(&notification, now);
        }
    }

    fn apply(&mut self, delta: Delta) {
        match delta {
            Delta::Begin { consistent } => {
                self.listing = Some(consistent);
                self.indexer.begin_list();
            }
            Delta::Listed(object, received) => {
                self.progress.listed();
                self.put(object, received);
            }
            Delta::Changed(change, object, received) => {
                if self.listing.is_none() {
                    self.progress.change(change);
                } else {
                    self.progress.listed();
                }
                let resource_version = object.resource_version().into();
                match change {
                    Change::Added | Change::Modified => self.put(object, received),
                    Change::Deleted => self.delete(object, received),
                }
                if self.listing.is_none() {
                    self.written = Some(resource_version);
                }
            }
            Delta::Gone => {
                self.indexer.begin_list();
                self.sweep();
                self.listing = None;
                self.written = None;
            }
            Delta::End { resource_version, whole } => {
                if whole {
                    self.sweep();
                }
                self.listing = None;
                self.indexer.set_resource_version(resource_version);
                self.written = None;
                self.progress.synced();
            }
            Delta::Bookmark { resource_version } => {
                self.progress.bookmark();
                self.written = Some(resource_version);
            }
        }
    }

    fn put(&mut self, object: Object, received: Instant) {
        let write = match self.listing {
            Some(consistent) => Write::Listed { consistent },
            None => Write::Watched,
        };
        let cause = Cause { reason: self.reason(), received };
        match self.indexer.put(object.clone(), write) {
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

    fn delete(&mut self, object: Object, received: Instant) {
        let cause = Cause { reason: self.reason(), received };
        if let Removed::Gone { last } = self.indexer.delete(&object) {
            // Another one was deleted than the one that is known: its end was missed.
            let known = last.uid() == object.uid();
            let final_state = if known { FinalState::Known } else { FinalState::Unknown };
            let last = if known { object } else { last };
            self.to_tell.push(deleted(last, final_state, cause));
        }
    }

    /// Until the first list is complete, everything was there before.
    fn reason(&self) -> Reason {
        match (self.progress.has_synced(), self.listing) {
            (false, _) => Reason::Initial,
            (true, Some(_)) => Reason::Relist,
            (true, None) => Reason::Watch,
        }
    }

    /// The list is complete: what it did not show is gone.
    fn sweep(&mut self) {
        let cause = Cause { reason: Reason::Relist, received: super::now() };
        let mut after: Option<ObjectKey> = None;
        loop {
            let keys = self.indexer.not_listed(after.as_ref(), SWEEP_KEYS);
            for key in &keys {
                if let Removed::Gone { last } = self.indexer.remove(key) {
                    self.to_tell.push(deleted(last, FinalState::Unknown, cause));
                }
            }
            after = keys.into_iter().last();
            // What is gone is told in steps too: it may be the whole store.
            self.tell();
            if after.is_none() {
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
