//! One resource's informer: it writes the reflector's deltas to the indexer, then notifies the handlers.
//!
//! As client-go's `SharedIndexInformer` (`tools/cache/shared_informer.go`, `processDeltas` in `controller.go`). The
//! store decides the meaning of a delta. Intended differences: an unchanged object causes no notification, another UID
//! under the same key is a deletion and an addition, and a handler's queue is bounded.

mod awaited;
mod companions;
mod deletions;
mod gathering;
mod handlers;
mod informer_task;
mod part_state;
mod parts;
mod process_deltas;
mod relist;
mod staged;
mod training;

use crate::demand::{Demand, GivenBack};
use crate::indexer::Indexer;
use crate::informer_state::{InformerState, InformerStats, Progress};
use crate::json::SharedProjection;
use crate::list_watch::{
    ListEvent, ListOptions, ListTweaks, ListWatchError, ListerWatcher, ListerWatcherSource,
    OneListerWatcher, Part,
};
use crate::object::{Object, ObjectKey};
use crate::pulse::Pulse;
use crate::reflector::WatchErrorHandler;
use crate::resource_definitions::ResourceDefinitions;
use crate::scope::Scope;
use crate::shared_processor::Inbox;
use crate::transform::Transform;
use companions::Companions;
use futures::StreamExt;
use informant_apimachinery::{FieldSelector, GroupVersionResource};
use informer_task::InformerTask;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// The most lists at once in the whole process. They keep two cores busy. And after an outage the API server does not
/// get requests for everything from all informers at once.
pub(crate) const CONCURRENT_LISTS_MAX: usize = 8;

/// The changes of some thousand pods. All informers hold at most eight times that.
pub(crate) const RELIST_BYTES_MAX: usize = 16 << 20;

/// Long enough for a plugin's reload or a user's next read, short enough that memory is freed soon.
pub(crate) const LINGER: Duration = Duration::from_secs(60);

/// The options of an informer beside its resource.
#[derive(Clone)]
pub struct InformerOptions {
    /// The permits for lists that run at once, shared by all informers with the same value; a factory gives its own.
    /// By default no other informer shares it.
    pub lists: Arc<Semaphore>,
    /// Called for each failed list or watch.
    pub watch_error_handler: Option<Arc<WatchErrorHandler>>,
    /// Signals that a resource may be served again; a factory's informers have it.
    pub definitions: Option<ResourceDefinitions>,
    /// How lists and watches are made.
    pub tweaks: ListTweaks,
    /// Changes each object that arrives, once, before it is cached. If it fails, the object is
    /// cached unchanged, counted, and reported to the watch-error handler.
    pub transform: Option<Transform>,
    /// The period of resyncs for handlers that choose none; `None`: never.
    pub resync_period: Option<Duration>,
    /// The bytes of changed objects that a relist holds until its end, so that readers see the list in one step. A
    /// relist with more is shown as it comes. 16 MiB by default.
    pub relist_bytes_max: usize,
    /// How long a scope is covered after its last request, so that a caller that comes back finds
    /// it warm.
    pub scope_linger: Duration,
    /// Makes backoff and timeouts repeatable; random by default.
    pub seed: u64,
}

impl Default for InformerOptions {
    fn default() -> Self {
        Self {
            lists: Arc::new(Semaphore::new(CONCURRENT_LISTS_MAX)),
            watch_error_handler: None,
            definitions: None,
            tweaks: ListTweaks::default(),
            transform: None,
            resync_period: None,
            relist_bytes_max: RELIST_BYTES_MAX,
            scope_linger: LINGER,
            seed: fastrand::u64(..),
        }
    }
}

/// A handle to one resource's informer. Cheap to clone; clones share the informer.
#[derive(Clone)]
pub struct SharedIndexInformer {
    shared: Arc<InformerShared>,
    /// The scope that this handle was requested with; `None`: all scopes of all requests.
    asked: Option<Arc<Scope>>,
    /// Whether that scope was listed completely once.
    synced: Arc<AtomicBool>,
}

struct InformerShared {
    resource: GroupVersionResource,
    source: Arc<dyn ListerWatcherSource>,
    options: InformerOptions,
    indexer: Indexer,
    projection: Arc<SharedProjection>,
    companions: Companions,
    inbox: Arc<Inbox>,
    demand: Demand,
    progress: Arc<Progress>,
    started: AtomicBool,
}

/// A request for a scope, until it is dropped.
pub(crate) struct AskedScope {
    shared: Arc<InformerShared>,
    scope: Arc<Scope>,
}

impl Drop for AskedScope {
    fn drop(&mut self) {
        let given_back = self.shared.demand.give_back(&self.scope, now());
        if given_back != GivenBack::Used {
            // Who waits for all present requests waits no longer for this one.
            self.shared.progress.look_again();
        }
        if given_back == GivenBack::Changes {
            self.shared.inbox.look_again();
        }
    }
}

impl std::fmt::Debug for SharedIndexInformer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedIndexInformer({}, {:?})", self.shared.resource, self.state())
    }
}

impl SharedIndexInformer {
    /// An informer of the objects that `lister_watcher` lists and watches. It does nothing until
    /// [`SharedIndexInformer::run`]; a factory calls that by itself.
    pub fn new(
        resource: GroupVersionResource,
        lister_watcher: Arc<dyn ListerWatcher>,
        options: InformerOptions,
    ) -> Self {
        let source = Arc::new(OneListerWatcher(lister_watcher));
        let informer = Self::with_source(resource, source, options);
        informer.shared.demand.add(Arc::new(Scope::all()));
        informer.asking(Arc::new(Scope::all()))
    }

    /// The same informer, for a request of this scope.
    pub(crate) fn asking(&self, scope: Arc<Scope>) -> Self {
        Self { shared: self.shared.clone(), asked: Some(scope), synced: Arc::default() }
    }

    /// An informer that covers all requested scopes: see [`SharedIndexInformer::ask`].
    pub(crate) fn with_source(
        resource: GroupVersionResource,
        source: Arc<dyn ListerWatcherSource>,
        options: InformerOptions,
    ) -> Self {
        let scope_linger = options.scope_linger;
        let shared = InformerShared {
            resource,
            source,
            options,
            indexer: Indexer::default(),
            projection: Arc::default(),
            companions: Companions::default(),
            inbox: Arc::default(),
            demand: Demand::new(scope_linger),
            progress: Arc::new(Progress::new(now())),
            started: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), asked: None, synced: Arc::default() }
    }

    /// Requests a scope, until the returned value is dropped and for a while after.
    pub(crate) fn ask(&self, scope: Arc<Scope>) -> AskedScope {
        if self.shared.demand.add(scope.clone()) {
            self.shared.inbox.look_again();
        }
        AskedScope { shared: self.shared.clone(), scope }
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.shared.resource
    }

    /// Reads the cache.
    pub fn indexer(&self) -> Indexer {
        self.shared.indexer.clone()
    }

    /// The pointers of all handlers that read values of this resource's objects.
    pub fn projection(&self) -> &Arc<SharedProjection> {
        &self.shared.projection
    }

    /// Whether the first list of the requested scope is in the cache, for each namespace if there are several. Stays
    /// `true`. The handles of [`SharedInformerFactory::informers`](crate::SharedInformerFactory::informers) have no
    /// request; for these it says whether all present requests have synced.
    pub fn has_synced(&self) -> bool {
        let InformerShared { progress, demand, .. } = &*self.shared;
        let Some(asked) = &self.asked else {
            return progress.has_synced() && demand.all(|scope| progress.covers(scope));
        };
        let synced = self.synced.load(Ordering::Acquire) || progress.covers(asked);
        if synced {
            self.synced.store(true, Ordering::Release);
        }
        synced
    }

    /// Waits until the informer has synced. `false` if it stopped before.
    pub async fn synced(&self) -> bool {
        self.wait(|| self.has_synced()).await
    }

    /// Whether the informer has stopped, for good.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state(), InformerState::Stopped { .. })
    }

    /// Waits until the informer has stopped: all its tasks have ended.
    pub async fn stopped(&self) {
        self.wait(|| false).await;
    }

    /// Whether all objects of the scope are in the cache now, whichever request covers them.
    pub fn covers(&self, scope: &Scope) -> bool {
        self.shared.progress.covers(scope)
    }

    /// The parts that are listed and watched now: for each the requirements that all scopes of its namespaces have.
    pub fn parts(&self) -> Vec<Part> {
        self.shared.progress.parts()
    }

    /// Whether a part that is listed and watched now selects the object.
    pub fn selects(&self, object: &Object) -> bool {
        self.shared.progress.selects(object)
    }

    /// The object as the API server has it now, by a list of this one, for objects that no part shows. It is not
    /// cached.
    pub async fn look_up(&self, key: &ObjectKey) -> Result<Option<Object>, ListWatchError> {
        let InformerShared { resource, source, options, .. } = &*self.shared;
        let namespace = Some(key.namespace()).filter(|namespace| !namespace.is_empty());
        let field_selector = FieldSelector::name(key.name()).to_string();
        let namespace = namespace.map(Into::into);
        let part = Part { namespace, field_selector, ..Part::default() };
        let lister = source.lister_watcher(resource, &part);
        let mut listed = lister.list(ListOptions::default()).await?;
        while let Some(event) = listed.next().await {
            if let ListEvent::Object(object, _) = event? {
                return Ok(Some(match &options.transform {
                    Some(transform) => transform.apply(object).0,
                    None => object,
                }));
            }
        }
        Ok(None)
    }

    /// Waits until the condition holds, which the informer's progress changes; `false` if the informer stopped before.
    pub(crate) async fn wait(&self, holds: impl Fn() -> bool) -> bool {
        loop {
            // Before the check, so that no change falls in between.
            let changed = self.shared.progress.coverage();
            if holds() {
                return true;
            }
            if self.is_stopped() {
                return holds();
            }
            changed.await;
        }
    }

    /// The resourceVersion up to which the cache is complete; `None` before the end of the first list. While a wider
    /// scope is being listed, and after the resource was removed, it is the last one.
    pub fn last_sync_resource_version(&self) -> Option<Box<str>> {
        self.shared.indexer.resource_version()
    }

    /// The state of the informer.
    pub fn state(&self) -> InformerState {
        self.shared.progress.state()
    }

    /// The informer's state for a request of this scope. Parts of other requests do not count where the scope's
    /// namespaces have parts of their own, or where parts with a complete list cover it.
    pub fn state_in(&self, scope: &Scope) -> InformerState {
        self.shared.progress.state_in(scope)
    }

    /// Waits until all requested objects are in the cache, or the API server has given a reason why they cannot be for
    /// now. Returns the state for the request.
    pub async fn settled(&self) -> InformerState {
        let state = || match &self.asked {
            Some(asked) => self.state_in(asked),
            None => self.state(),
        };
        self.wait(|| self.has_synced() || state().is_settled()).await;
        state()
    }

    /// Every change of the state.
    pub fn subscribe(&self) -> watch::Receiver<InformerState> {
        self.shared.progress.subscribe()
    }

    /// The counts of the informer.
    pub fn stats(&self) -> InformerStats {
        let indexer = &self.shared.indexer;
        InformerStats {
            objects: indexer.count(None),
            bytes: indexer.bytes(),
            handlers: self.shared.inbox.handlers(),
            ..self.shared.progress.stats(now())
        }
    }

    /// The progress of its task with the reflectors' deltas. A task that ended by itself has work and makes no step.
    pub fn pulse(&self) -> Pulse {
        let pulse = self.shared.progress.flow().pulse();
        let has_work = match self.state() {
            InformerState::Stopped { message } => message.is_some(),
            _ => pulse.has_work,
        };
        Pulse { has_work, ..pulse }
    }

    /// Runs until `shutdown` is ready; both of its tasks have ended when this returns. Only the first call runs
    /// anything: a stopped informer stays stopped.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        if self.mark_started() {
            self.run_started(shutdown).await;
        } else {
            tracing::warn!(resource = %self.shared.resource, "informer was started before; ignored");
        }
    }

    /// Whether both are handles to the same informer.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Ends an informer that was never started, so that no caller waits for it.
    pub(crate) fn never_run(&self) {
        self.shared.inbox.close();
        self.shared.progress.stopped(None);
    }

    /// Whether this call starts the informer.
    pub(crate) fn mark_started(&self) -> bool {
        !self.shared.started.swap(true, Ordering::AcqRel)
    }

    /// As `run`, after `mark_started` has returned true.
    pub(crate) async fn run_started(&self, shutdown: impl Future<Output = ()>) {
        let shared = &self.shared;
        shared.progress.started();
        let mut task = InformerTask::new(shared.clone());
        let failure = tokio::select! {
            // In this order: work does not delay a stop.
            biased;
            () = shutdown => None,
            failure = task.run() => Some(failure),
        };
        task.stop().await;
        if let Some(message) = &failure {
            tracing::error!(resource = %shared.resource, message, "informer stopped");
        }
        shared.progress.stopped(failure);
    }
}

/// The runtime's clock, which a test can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod relist_tests;
#[cfg(test)]
mod tests;
