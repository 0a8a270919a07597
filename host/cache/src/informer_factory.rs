//! One informer for each resource, and the owner of all their tasks. Answers to client-go's
//! `SharedInformerFactory`, and can stop a single informer, which that one cannot.

mod lease;

pub use lease::InformerLease;

use crate::informer_state::InformerState;
use crate::list_watch::{ListTweaks, ListerWatcherSource, Part};
use crate::reflector::WatchErrorHandler;
use crate::resource_definitions::ResourceDefinitions;
use crate::shared_informer::{InformerOptions, SharedIndexInformer};
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Lists at once, of the whole process: enough to keep two cores busy, few enough that after an outage the
/// API server is not asked for everything by everybody in the same moment.
pub(crate) const CONCURRENT_LISTS_MAX: usize = 8;

/// What all informers of a factory share.
#[derive(Clone)]
pub struct FactoryOptions {
    /// Lists that may run at once.
    pub concurrent_lists_max: usize,
    /// Told of each failed list or watch.
    pub watch_error_handler: Option<Arc<WatchErrorHandler>>,
    /// How lists and watches are made.
    pub tweaks: ListTweaks,
    /// How long an informer whose last lease is gone still runs: a plugin that is replaced, or a reader that
    /// comes back, finds its cache warm.
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
            linger: Duration::from_secs(60),
            seed: fastrand::u64(..),
        }
    }
}

/// These informers had not synced when the time was up.
#[derive(Debug, thiserror::Error)]
#[error("not synced in time: {}", missing.iter().map(describe).collect::<Vec<_>>().join(", "))]
pub struct NotSynced {
    /// Each with what it was doing.
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
    linger: Duration,
    shutdown: CancellationToken,
    running: Arc<Mutex<Running>>,
    /// A last lease has gone.
    idle: Arc<Notify>,
}

struct Running {
    informers: BTreeMap<GroupVersionResource, Entry>,
    /// One task for each started informer, and the one that stops those nobody leases.
    tasks: JoinSet<()>,
    /// The latter runs.
    started: bool,
    /// How many informers were made: each has a seed of its own.
    made: u64,
}

struct Entry {
    informer: SharedIndexInformer,
    stop: CancellationToken,
    /// It was asked for without a lease and runs to the end.
    pinned: bool,
    leases: usize,
    /// Since when nobody needs it.
    idle_since: Option<Instant>,
}

impl SharedInformerFactory {
    /// Lists and watches through `source`.
    pub fn new(source: Arc<dyn ListerWatcherSource>, options: FactoryOptions) -> Self {
        let linger = options.linger;
        let lists = Arc::new(Semaphore::new(options.concurrent_lists_max.max(1)));
        let definitions = ResourceDefinitions::new(source.clone(), lists.clone(), options.seed);
        let options = InformerOptions {
            lists,
            definitions: Some(definitions),
            watch_error_handler: options.watch_error_handler,
            tweaks: options.tweaks,
            seed: options.seed,
        };
        let (informers, tasks) = (BTreeMap::new(), JoinSet::new());
        let running = Running { informers, tasks, started: false, made: 0 };
        let running = Arc::new(Mutex::new(running));
        let shutdown = CancellationToken::new();
        Self { source, options, linger, shutdown, running, idle: Arc::default() }
    }

    /// The resource's informer, made on first demand; the resource need not exist. It runs from the next
    /// [`SharedInformerFactory::start`] until `shutdown`.
    pub fn for_resource(&self, resource: &GroupVersionResource) -> SharedIndexInformer {
        let mut running = self.running.lock();
        let entry = self.entry(&mut running, resource);
        entry.pinned = true;
        entry.informer.clone()
    }

    /// As [`SharedInformerFactory::for_resource`], for as long as the lease is kept. When the last one is gone and nobody
    /// asked without a lease, the informer lingers, then stops and frees its memory; the next to ask gets a
    /// new one.
    pub fn lease(&self, resource: &GroupVersionResource) -> InformerLease {
        let mut running = self.running.lock();
        let entry = self.entry(&mut running, resource);
        entry.leases += 1;
        entry.idle_since = None;
        let (running, idle) = (Arc::downgrade(&self.running), self.idle.clone());
        InformerLease::new(entry.informer.clone(), running, idle)
    }

    fn entry<'a>(
        &self,
        running: &'a mut Running,
        resource: &GroupVersionResource,
    ) -> &'a mut Entry {
        let Running { informers, made, .. } = running;
        informers.entry(resource.clone()).or_insert_with(|| {
            *made += 1;
            let seed = self.options.seed.wrapping_add(*made);
            let options = InformerOptions { seed, ..self.options.clone() };
            let lister_watcher = self.source.lister_watcher(resource, &Part::all());
            Entry {
                informer: SharedIndexInformer::new(resource.clone(), lister_watcher, options),
                stop: self.shutdown.child_token(),
                pinned: false,
                leases: 0,
                idle_since: None,
            }
        })
    }

    /// Starts what is not started; call it again after asking for more. Nothing starts after `shutdown`. Must be called
    /// within a tokio runtime.
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

    /// All informers, in the order of their resources.
    pub fn informers(&self) -> Vec<SharedIndexInformer> {
        let running = self.running.lock();
        running.informers.values().map(|entry| entry.informer.clone()).collect()
    }

    /// Waits until all informers have synced, or says which have not.
    pub async fn wait_for_cache_sync(&self, deadline: Duration) -> Result<(), NotSynced> {
        let informers = self.informers();
        let all = async {
            for informer in &informers {
                let mut states = informer.subscribe();
                while !informer.has_synced() && states.changed().await.is_ok() {}
            }
        };
        if tokio::time::timeout(deadline, all).await.is_ok() {
            return Ok(());
        }
        let missing = informers.iter().filter(|informer| !informer.has_synced());
        let missing: Vec<_> =
            missing.map(|informer| (informer.resource().clone(), informer.state())).collect();
        if missing.is_empty() { Ok(()) } else { Err(NotSynced { missing }) }
    }

    /// Stops all informers and waits until their tasks have ended.
    pub async fn shutdown(&self) {
        let mut tasks = {
            let mut running = self.running.lock();
            self.shutdown.cancel();
            std::mem::take(&mut running.tasks)
        };
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "informer's task failed");
            }
        }
    }
}
