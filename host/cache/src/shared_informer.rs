//! One resource's informer: what the reflector queues is written to the indexer, then told to the handlers.
//!
//! Answers to client-go's `SharedIndexInformer` (`tools/cache/shared_informer.go`, `processDeltas` in
//! `controller.go`). The store decides what a delta means. It differs on purpose: nothing unchanged is told, another UID
//! under the same key is a deletion and an addition, and a handler's queue is bounded.

mod process_deltas;

use crate::delta_fifo::DeltaFifo;
use crate::indexer::Indexer;
use crate::informer_state::{InformerState, InformerStats, Progress};
use crate::list_watch::{ListTweaks, ListerWatcher};
use crate::notifications::{HandlerOptions, Notifications};
use crate::reflector::{Reflector, WatchErrorHandler};
use crate::resource_definitions::ResourceDefinitions;
use crate::resource_event_handler::ResourceEventHandler;
use crate::shared_processor::{Beginning, Inbox, Registration, SharedProcessor};
use informant_apimachinery::GroupVersionResource;
use process_deltas::Informer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// What an informer needs beside its resource.
#[derive(Clone)]
pub struct InformerOptions {
    /// Lists that may run at once, shared by all informers of a process.
    pub lists: Arc<Semaphore>,
    /// Told of each failed list or watch.
    pub watch_error_handler: Option<Arc<WatchErrorHandler>>,
    /// Tells when a resource that is not served may be; a factory's informers have it.
    pub definitions: Option<ResourceDefinitions>,
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
            definitions: None,
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
            progress: Arc::new(Progress::new(now())),
            started: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.shared.resource
    }

    /// Adds a handler, before or after the start, from anywhere, a handler included. It is told of every object that
    /// is there (`Reason::Initial`), then of every change: no gap, no duplicate. It has a bounded queue and a task of its own, which the
    /// informer joins when it stops; however slow it is, it holds nobody else up. A stopped informer tells nobody anything.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler(&self, handler: Arc<dyn ResourceEventHandler>) -> Registration {
        self.add_event_handler_with_options(handler, HandlerOptions::default())
    }

    /// As [`SharedIndexInformer::add_event_handler`], and every object is told again (`Reason::Resync`) each
    /// period, which is at least a second. A resync that comes round before the last one was told is left out.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler_with_resync_period(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        resync_period: Duration,
    ) -> Registration {
        let resync_period = Some(resync_period);
        let options = HandlerOptions { resync_period, ..HandlerOptions::default() };
        self.add_event_handler_with_options(handler, options)
    }

    /// As [`SharedIndexInformer::add_event_handler`], with a choice of replay, resync and queue.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler_with_options(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        self.shared.inbox.add(handler, Beginning { options, replaces: None })
    }

    /// The same as a queue to pull from, for who wants to await between two notifications.
    pub fn notifications(&self, options: HandlerOptions) -> Notifications {
        self.shared.inbox.add_notifications(Beginning { options, replaces: None })
    }

    /// Adds a handler that is called in the informer's own task: no queue and no other task. It must not block and should only note or enqueue: everybody waits for it.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_inline_handler(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        self.shared.inbox.add_inline(handler, Beginning { options, replaces: None })
    }

    /// Puts an inline handler in another's place, with no notification lost between the two: up to one moment `old`
    /// is told, from then on `handler`, which gets every object that is there (`Reason::Initial`) as a late handler
    /// does. But what is deleted before its replay came by is told to it as well, for `old` may
    /// have been told of the object. For handlers that share a memory of what was told.
    #[must_use = "dropping the registration removes the handler"]
    pub fn replace_inline_handler(
        &self,
        old: Registration,
        handler: Arc<dyn ResourceEventHandler>,
    ) -> Registration {
        let options = HandlerOptions::default();
        self.shared.inbox.add_inline(handler, Beginning { options, replaces: Some(old) })
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
        self.shared.progress.stats(indexer.count(None), indexer.bytes(), now())
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
        let mut informer = Informer {
            indexer: shared.indexer.clone(),
            progress: shared.progress.clone(),
            processor: SharedProcessor::new(shared.inbox.clone(), shared.progress.clone()),
            listing: None,
            to_tell: Vec::new(),
        };
        let failure = tokio::select! {
            // In this order: a stop is not put off by work, nor a failure.
            biased;
            () = shutdown => None,
            ended = reflector.join_next() => Some(match ended {
                Some(Err(error)) => format!("reflector failed: {error}"),
                Some(Ok(())) | None => "reflector ended".to_owned(),
            }),
            () = informer.run(&fifo, &shared.inbox) => None,
        };
        // The source stops first, those who are told strictly after it.
        reflector.shutdown().await;
        informer.processor.stop().await;
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
            definition: shared
                .options
                .definitions
                .as_ref()
                .and_then(|d| d.signal(&shared.resource)),
            tweaks: shared.options.tweaks.clone(),
            seed: shared.options.seed,
        }
    }
}

/// The runtime's time: it stands still where a test says so.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
