//! One resource's informer: what the reflector queues is written to the indexer, then told to the handlers.
//!
//! Answers to client-go's `SharedIndexInformer` (`tools/cache/shared_informer.go`, `processDeltas` in
//! `controller.go`). The store decides what a delta means. It differs on purpose: nothing unchanged is told, another UID
//! under the same key is a deletion and an addition, and the handlers are called in the informer's own task.

use crate::delta_fifo::{Delta, DeltaFifo};
use crate::indexer::{Indexer, Put, Removed, Write};
use crate::informer_state::{InformerState, InformerStats, Progress};
use crate::list_watch::{Change, ListTweaks, ListerWatcher};
use crate::object::{Object, ObjectKey};
use crate::reflector::{Reflector, WatchErrorHandler};
use crate::resource_event_handler::{Cause, FinalState, Reason, ResourceEventHandler};
use crate::shared_processor::{Beginning, Inbox, Notification, Registration, SharedProcessor};
use informant_apimachinery::GroupVersionResource;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Keys swept between two looks at the store's lock.
const SWEEP_KEYS: usize = 512;

/// What an informer needs beside its resource.
#[derive(Clone)]
pub struct InformerOptions {
    /// Lists that may run at once, shared by all informers of a process.
    pub lists: Arc<Semaphore>,
    /// Told of each failed list or watch.
    pub watch_error_handler: Option<Arc<WatchErrorHandler>>,
    /// How lists and watches are made.
    pub tweaks: ListTweaks,
    /// Makes backoff and timeouts repeatable; random by default.
    pub seed: u64,
}

impl Default for InformerOptions {
    fn default() -> Self {
        Self {
            lists: Arc::new(Semaphore::new(crate::informer_factory::CONCURRENT_LISTS_MAX)),
            watch_error_handler: None,
            tweaks: ListTweaks::default(),
            seed: fastrand::u64(..),
        }
    }
}

/// A handle to one resource's informer. Cheap to clone; a clone is the same informer.
#[derive(Clone)]
pub struct SharedIndexInformer {
    shared: Arc<Shared>,
}

struct Shared {
    resource: GroupVersionResource,
    lister_watcher: Arc<dyn ListerWatcher>,
    options: InformerOptions,
    indexer: Indexer,
    inbox: Arc<Inbox>,
    progress: Arc<Progress>,
    started: AtomicBool,
}

impl std::fmt::Debug for SharedIndexInformer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedIndexInformer({}, {:?})", self.shared.resource, self.state())
    }
}

impl SharedIndexInformer {
    /// An informer that does nothing until [`SharedIndexInformer::run`]; a factory does that by itself.
    pub fn new(
        resource: GroupVersionResource,
        lister_watcher: Arc<dyn ListerWatcher>,
        options: InformerOptions,
    ) -> Self {
        let shared = Shared {
            resource,
            lister_watcher,
            options,
            indexer: Indexer::default(),
            inbox: Arc::default(),
            progress: Arc::new(Progress::new(Instant::now())),
            started: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.shared.resource
    }

    /// Adds a handler, before or after the start, from anywhere, a handler included. It is told of every object that
    /// is there (`Reason::Initial`), then of every change: no gap, no duplicate. A stopped informer
    /// tells nobody anything.
    pub fn add_event_handler(&self, handler: Arc<dyn ResourceEventHandler>) -> Registration {
        self.shared.inbox.add(handler, Beginning::default())
    }

    /// As [`SharedIndexInformer::add_event_handler`], and every object is told again (`Reason::Resync`) each
    /// period, which is at least a second.
    pub fn add_event_handler_with_resync_period(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        resync_period: Duration,
    ) -> Registration {
        let resync_period = Some(resync_period);
        self.shared.inbox.add(handler, Beginning { resync_period, ..Beginning::default() })
    }

    /// Adds a handler that is told only of what changes from now on: an update or deletion may concern an object that it was
    /// never told of. Until the informer's first list is complete everything is a change to it.
    pub fn add_event_handler_without_replay(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
    ) -> Registration {
        self.shared.inbox.add(handler, Beginning { replay: false, ..Beginning::default() })
    }

    /// Puts a handler in another's place, with no notification lost between the two: up to one moment `old`
    /// is told, from then on `handler`, which gets every object that is there (`Reason::Initial`) as a late handler
    /// does. But what is deleted before its replay came by is told to it as well, for `old` may
    /// have been told of the object. For handlers that share a memory of what was told.
    pub fn replace_event_handler(
        &self,
        old: Registration,
        handler: Arc<dyn ResourceEventHandler>,
    ) -> Registration {
        let replaces = Some(old);
        self.shared.inbox.add(handler, Beginning { replaces, ..Beginning::default() })
    }

    /// Reads the cache.
    pub fn indexer(&self) -> Indexer {
        self.shared.indexer.clone()
    }

    /// Whether the first list is in the cache. Never false again.
    pub fn has_synced(&self) -> bool {
        self.shared.progress.has_synced()
    }

    /// The resourceVersion up to which the cache is complete; none before the first list is.
    pub fn last_sync_resource_version(&self) -> Option<Box<str>> {
        self.shared.indexer.resource_version()
    }

    /// What it is doing.
    pub fn state(&self) -> InformerState {
        self.shared.progress.state()
    }

    /// Every change of the state.
    pub fn subscribe(&self) -> watch::Receiver<InformerState> {
        self.shared.progress.subscribe()
    }

    /// What it has done.
    pub fn stats(&self) -> InformerStats {
        let indexer = &self.shared.indexer;
        self.shared.progress.stats(indexer.count(None), indexer.bytes(), Instant::now())
    }

    /// Runs until `shutdown` is ready; both of its tasks have ended when this returns. Only the first call
    /// runs anything: an informer that was stopped stays stopped.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        if self.mark_started() {
            self.run_started(shutdown).await;
        } else {
            tracing::warn!(resource = %self.shared.resource, "informer was started before; ignored");
        }
    }

    /// Whether it is the caller who starts it.
    pub(crate) fn mark_started(&self) -> bool {
        !self.shared.started.swap(true, Ordering::AcqRel)
    }

    /// As `run`, for the one to whom `mark_started` said yes.
    pub(crate) async fn run_started(&self, shutdown: impl Future<Output = ()>) {
        let shared = &self.shared;
        shared.progress.started();
        let fifo = Arc::new(DeltaFifo::default());
        let mut reflector = JoinSet::new();
        reflector.spawn(self.reflector(fifo.clone()).run());
        let informer = Informer {
            indexer: shared.indexer.clone(),
            progress: shared.progress.clone(),
            processor: SharedProcessor::new(shared.inbox.clone(), shared.progress.clone()),
            listing: None,
            written: None,
        };
        let failure = tokio::select! {
            () = shutdown => None,
            () = informer.run(&fifo, &shared.inbox) => None,
            ended = reflector.join_next() => Some(match ended {
                Some(Err(error)) => format!("reflector failed: {error}"),
                Some(Ok(())) | None => "reflector ended".to_owned(),
            }),
        };
        reflector.shutdown().await;
        if let Some(message) = &failure {
            tracing::error!(resource = %shared.resource, message, "informer stopped");
        }
        shared.progress.stopped(failure);
    }

    fn reflector(&self, fifo: Arc<DeltaFifo>) -> Reflector {
        let shared = &self.shared;
        Reflector {
            resource: shared.resource.clone(),
            lister_watcher: shared.lister_watcher.clone(),
            fifo,
            progress: shared.progress.clone(),
            lists: shared.options.lists.clone(),
            watch_error_handler: shared.options.watch_error_handler.clone(),
            tweaks: shared.options.tweaks.clone(),
            seed: shared.options.seed,
        }
    }
}

/// The informer's task.
struct Informer {
    indexer: Indexer,
    progress: Arc<Progress>,
    processor: SharedProcessor,
    /// A list is in progress, and whether it is a consistent read.
    listing: Option<bool>,
    /// The resourceVersion up to which the indexer was written, told to it once a batch.
    written: Option<Box<str>>,
}

impl Informer {
    async fn run(mut self, fifo: &DeltaFifo, inbox: &Inbox) {
        loop {
            let now = tokio::time::Instant::now().into_std();
            self.processor.admit(now);
            let walking = self.processor.walk(&self.indexer, now);
            let deltas = if walking {
                tokio::task::yield_now().await;
                fifo.try_pop_all()
            } else {
                tokio::select! {
                    deltas = fifo.pop_all() => deltas,
                    () = inbox.woken() => continue,
                    () = sleep_until(self.processor.resync_due()) => continue,
                }
            };
            for delta in deltas {
                self.apply(delta);
            }
            if let Some(resource_version) = self.written.take() {
                self.indexer.set_resource_version(resource_version);
            }
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
            Delta::End { resource_version } => {
                self.sweep();
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

    fn put(&self, object: Object, received: Instant) {
        let write = match self.listing {
            Some(consistent) => Write::Listed { consistent },
            None => Write::Watched,
        };
        let cause = Cause { reason: self.reason(), received };
        match self.indexer.put(object.clone(), write) {
            Put::Added => self.processor.distribute(&Notification::Added { new: object }, cause),
            Put::Updated { old } => {
                self.processor.distribute(&Notification::Updated { old, new: object }, cause);
            }
            Put::Replaced { old } => {
                let final_state = FinalState::Unknown;
                let gone = Notification::Deleted { last: old, final_state };
                self.processor.distribute(&gone, cause);
                self.processor.distribute(&Notification::Added { new: object }, cause);
            }
            Put::Unchanged | Put::Stale => {}
        }
    }

    fn delete(&self, object: Object, received: Instant) {
        let cause = Cause { reason: self.reason(), received };
        if let Removed::Gone { last } = self.indexer.delete(&object) {
            // Another one was deleted than the one that is known: its end was missed.
            let known = last.uid() == object.uid();
            let final_state = if known { FinalState::Known } else { FinalState::Unknown };
            let last = if known { object } else { last };
            self.processor.distribute(&Notification::Deleted { last, final_state }, cause);
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
    fn sweep(&self) {
        let cause = Cause { reason: Reason::Relist, received: Instant::now() };
        let mut after: Option<ObjectKey> = None;
        loop {
            let keys = self.indexer.not_listed(after.as_ref(), SWEEP_KEYS);
            for key in &keys {
                if let Removed::Gone { last } = self.indexer.remove(key) {
                    let final_state = FinalState::Unknown;
                    self.processor.distribute(&Notification::Deleted { last, final_state }, cause);
                }
            }
            after = keys.into_iter().last();
            if after.is_none() {
                return;
            }
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
