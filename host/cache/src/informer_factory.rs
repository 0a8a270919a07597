//! One informer for each resource, and the owner of all their tasks. Answers to client-go's
//! `SharedInformerFactory`. Unlike that one, it can stop a single informer.

mod lease;

pub use lease::InformerLease;

use crate::apiserver::TypedResource;
use crate::informer_state::InformerState;
use crate::list_watch::{ListTweaks, ListerWatcherSource};
use crate::reflector::WatchErrorHandler;
use crate::resource_definitions::ResourceDefinitions;
use crate::scope::{Scope, ScopeError};
use crate::shared_informer::{
    AskedScope, CONCURRENT_LISTS_MAX, InformerOptions, LINGER, RELIST_BYTES_MAX,
    SharedIndexInformer,
};
use crate::transform::Transform;
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The options that all informers of a factory share.
#[derive(Clone)]
pub struct FactoryOptions {
    /// The most lists that run at once, of all informers of the factory: a process needs one factory.
    pub concurrent_lists_max: usize,
    /// Called for each failed list or watch.
    pub watch_error_handler: Option<Arc<WatchErrorHandler>>,
    /// How lists and watches are made.
    pub tweaks: ListTweaks,
    /// The largest scope: a request without a scope gets this one, and no request gets more.
    /// Everything by default. client-go's `WithNamespace` and `WithTweakListOptions`.
    pub scope: Scope,
    /// The period of resyncs for handlers that choose none; none by default: never.
    pub resync_period: Option<Duration>,
    /// The same for single resources: client-go's `WithCustomResyncConfig`. A period of zero: never.
    pub resync_periods: BTreeMap<GroupVersionResource, Duration>,
    /// Changes the objects of every resource without its own transform, as [`InformerOptions::transform`] describes.
    pub transform: Option<Transform>,
    /// The same for single resources.
    pub transforms: BTreeMap<GroupVersionResource, Transform>,
    /// The bytes that a relist holds, as [`InformerOptions::relist_bytes_max`] describes.
    pub relist_bytes_max: usize,
    /// How long an informer runs after its last lease, and how long a scope is covered after its
    /// last request. So a plugin that is replaced, or a reader that comes back, finds its cache
    /// warm.
    pub linger: Duration,
    /// Makes backoff and timeouts repeatable; random by default.
    pub seed: u64,
}

impl Default for FactoryOptions {
    fn default() -> Self {
        Self {
            concurrent_lists_max: CONCURRENT_LISTS_MAX,
            watch_error_handler: None,
            tweaks: ListTweaks::default(),
            scope: Scope::all(),
            resync_period: None,
            resync_periods: BTreeMap::new(),
            transform: None,
            transforms: BTreeMap::new(),
            relist_bytes_max: RELIST_BYTES_MAX,
            linger: LINGER,
            seed: fastrand::u64(..),
        }
    }
}

/// These informers had not synced when the time was over.
#[derive(Debug, thiserror::Error)]
#[error("not synced in time: {}", missing.iter().map(describe).collect::<Vec<_>>().join(", "))]
pub struct NotSynced {
    /// Each with its state.
    pub missing: Vec<(GroupVersionResource, InformerState)>,
}

fn describe((resource, state): &(GroupVersionResource, InformerState)) -> String {
    match state.message() {
        Some(message) => format!("{resource} ({}: {message})", state.as_str()),
        None => format!("{resource} ({})", state.as_str()),
    }
}

/// Makes, starts and stops the informers of a process. Dropping it aborts them; `shutdown` ends them.
pub struct SharedInformerFactory {
    source: Arc<dyn ListerWatcherSource>,
    options: InformerOptions,
    resync_periods: BTreeMap<GroupVersionResource, Duration>,
    transforms: BTreeMap<GroupVersionResource, Transform>,
    scope: Arc<Scope>,
    linger: Duration,
    shutdown: CancellationToken,
    running: Arc<Mutex<Running>>,
    /// Notified when a last lease has ended.
    idle: Arc<Notify>,
}

struct Running {
    informers: BTreeMap<GroupVersionResource, FactoryEntry>,
    /// One task for each started informer, and one that stops informers without a lease.
    tasks: JoinSet<()>,
    /// Whether that second task runs.
    started: bool,
    /// The number of informers that were made: each has its own seed.
    made: u64,
}

struct FactoryEntry {
    informer: SharedIndexInformer,
    stop: CancellationToken,
    /// Set if a caller requested it without a lease: then it runs to the end.
    pinned: Option<AskedScope>,
    leases: usize,
    /// The instant at which its last lease ended.
    idle_since: Option<Instant>,
}

impl SharedInformerFactory {
    /// Lists and watches through `source`.
    pub fn new(source: Arc<dyn ListerWatcherSource>, options: FactoryOptions) -> Self {
        let FactoryOptions { scope, resync_period, resync_periods, transforms, linger, .. } =
            options;
        let lists = Arc::new(Semaphore::new(options.concurrent_lists_max.max(1)));
        let definitions = ResourceDefinitions::new(source.clone(), lists.clone(), options.seed);
        let options = InformerOptions {
            lists,
            definitions: Some(definitions),
            watch_error_handler: options.watch_error_handler,
            tweaks: options.tweaks,
            transform: options.transform,
            resync_period,
            relist_bytes_max: options.relist_bytes_max,
            scope_linger: linger,
            seed: options.seed,
        };
        let (informers, tasks) = (BTreeMap::new(), JoinSet::new());
        let running = Running { informers, tasks, started: false, made: 0 };
        let running = Arc::new(Mutex::new(running));
        let (shutdown, idle, scope) = (CancellationToken::new(), Arc::default(), Arc::new(scope));
        Self { source, options, resync_periods, transforms, scope, linger, shutdown, running, idle }
    }

    /// The resource's informer, made on first demand; the resource need not exist. It covers the factory's scope and
    /// runs from the next [`SharedInformerFactory::start`] until `shutdown`.
    pub fn for_resource(&self, resource: &GroupVersionResource) -> SharedIndexInformer {
        let mut running = self.running.lock();
        let entry = self.entry(&mut running, resource);
        if entry.pinned.is_none() {
            entry.pinned = Some(entry.informer.ask(self.scope.clone()));
        }
        entry.informer.asking(self.scope.clone())
    }

    /// As [`SharedInformerFactory::for_resource`], for a type of k8s-openapi, or one that kube's `CustomResource`
    /// derives.
    pub fn informer_for<K: TypedResource>(&self) -> SharedIndexInformer {
        self.for_resource(&K::resource())
    }

    /// As [`SharedInformerFactory::for_resource`], for as long as the lease is kept. After its last
    /// lease the informer lingers, then stops and frees its memory, unless a caller requested it
    /// without a lease. The next request gets a new informer.
    pub fn lease(&self, resource: &GroupVersionResource) -> InformerLease {
        self.lease_scoped(resource, self.scope.clone())
    }

    /// As [`SharedInformerFactory::lease`], for a scope: the informer covers it beside the scopes of other callers,
    /// and `has_synced` of the lease's handle concerns it alone. Handlers and reads see everything that the informer
    /// covers; [`SharedInformerFactory::view`] is limited to the scope.
    pub fn lease_of(
        &self,
        resource: &GroupVersionResource,
        scope: Scope,
    ) -> Result<InformerLease, ScopeError> {
        self.check_scope(&scope)?;
        Ok(self.lease_scoped(resource, Arc::new(scope)))
    }

    pub(crate) fn check_scope(&self, scope: &Scope) -> Result<(), ScopeError> {
        if self.scope.covers(scope) {
            return Ok(());
        }
        let (asked, allowed) = (scope.to_string(), self.scope.to_string());
        Err(ScopeError::BeyondFactory { asked, allowed })
    }

    pub(crate) fn lease_scoped(
        &self,
        resource: &GroupVersionResource,
        scope: Arc<Scope>,
    ) -> InformerLease {
        let mut running = self.running.lock();
        let entry = self.entry(&mut running, resource);
        entry.leases += 1;
        entry.idle_since = None;
        let informer = entry.informer.asking(scope.clone());
        let asked = entry.informer.ask(scope);
        let (running, idle) = (Arc::downgrade(&self.running), self.idle.clone());
        InformerLease::new(informer, asked, running, idle)
    }

    fn entry<'a>(
        &self,
        running: &'a mut Running,
        resource: &GroupVersionResource,
    ) -> &'a mut FactoryEntry {
        let Running { informers, made, .. } = running;
        // A failed informer serves no caller any more.
        let failed =
            |entry: &FactoryEntry| entry.informer.is_stopped() && !self.shutdown.is_cancelled();
        if informers.get(resource).is_some_and(failed) {
            informers.remove(resource);
        }
        informers.entry(resource.clone()).or_insert_with(|| {
            *made += 1;
            let seed = self.options.seed.wrapping_add(*made);
            let custom = self.resync_periods.get(resource).copied();
            let resync_period = custom.or(self.options.resync_period).filter(|p| !p.is_zero());
            let transform = self.transforms.get(resource).or(self.options.transform.as_ref());
            let transform = transform.cloned();
            let options =
                InformerOptions { seed, resync_period, transform, ..self.options.clone() };
            let (resource, source) = (resource.clone(), self.source.clone());
            let informer = SharedIndexInformer::with_source(resource, source, options);
            if self.shutdown.is_cancelled() && informer.mark_started() {
                informer.never_run();
            }
            FactoryEntry {
                informer,
                stop: self.shutdown.child_token(),
                pinned: None,
                leases: 0,
                idle_since: None,
            }
        })
    }

    /// Starts informers that were not started; call it again after further requests. Starts none after `shutdown`.
    /// Must be called within a tokio runtime.
    pub fn start(&self) {
        let mut running = self.running.lock();
        if self.shutdown.is_cancelled() {
            return;
        }
        let Running { informers, tasks, started, .. } = &mut *running;
        for entry in informers.values().filter(|entry| entry.informer.mark_started()) {
            let (informer, stop) = (entry.informer.clone(), entry.stop.clone());
            tasks.spawn(async move { informer.run_started(stop.cancelled_owned()).await });
        }
        if !std::mem::replace(started, true) {
            let running = Arc::downgrade(&self.running);
            let reaper = lease::stop_idle(running, self.idle.clone(), self.linger);
            let shutdown = self.shutdown.clone();
            tasks.spawn(async move { shutdown.run_until_cancelled(reaper).await.unwrap_or(()) });
            let shutdown = self.shutdown.clone();
            let definitions = self.options.definitions.clone();
            let follow = async move {
                if let Some(definitions) = definitions {
                    definitions.run().await;
                }
            };
            tasks.spawn(async move { shutdown.run_until_cancelled(follow).await.unwrap_or(()) });
        }
    }

    /// All informers, in the order of their resources. Such a handle makes no request. Where metadata are enough for all
    /// requests, its handlers get no object, because they may need whole ones: a handler needs a view or a lease.
    pub fn informers(&self) -> Vec<SharedIndexInformer> {
        let running = self.running.lock();
        running.informers.values().map(|entry| entry.informer.clone()).collect()
    }

    /// Waits until all informers have synced, or returns those that have not. These include informers that were never
    /// started or have stopped.
    pub async fn wait_for_cache_sync(&self, deadline: Duration) -> Result<(), NotSynced> {
        let informers = self.informers();
        let all = async {
            for informer in &informers {
                informer.synced().await;
            }
        };
        // The result depends on the informers, not on the timeout.
        tokio::time::timeout(deadline, all).await.unwrap_or(());
        let missing = informers.iter().filter(|informer| !informer.has_synced());
        let missing: Vec<_> =
            missing.map(|informer| (informer.resource().clone(), informer.state())).collect();
        if missing.is_empty() { Ok(()) } else { Err(NotSynced { missing }) }
    }

    /// Stops one informer, also if it is in use, and waits until its tasks have ended; the others go on. Its leases
    /// and views get no more notifications. The next request for the resource gets a new one. Returns whether there
    /// was one.
    pub async fn stop(&self, resource: &GroupVersionResource) -> bool {
        let entry = self.running.lock().informers.remove(resource);
        let Some(entry) = entry else { return false };
        entry.stop.cancel();
        if entry.informer.mark_started() {
            entry.informer.never_run();
        } else {
            entry.informer.stopped().await;
        }
        true
    }

    /// Stops all informers and waits until their tasks have ended.
    pub async fn shutdown(&self) {
        let mut tasks = {
            let mut running = self.running.lock();
            self.shutdown.cancel();
            let informers = running.informers.values().map(|entry| &entry.informer);
            for informer in informers.filter(|informer| informer.mark_started()) {
                informer.never_run();
            }
            std::mem::take(&mut running.tasks)
        };
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "informer's task failed");
            }
        }
    }
}

#[cfg(test)]
mod tests;
