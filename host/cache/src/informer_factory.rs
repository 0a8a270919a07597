//! One informer for each resource, and the owner of all their tasks. Answers to client-go's
//! `SharedInformerFactory`.

use crate::informer_state::InformerState;
use crate::list_watch::ListerWatcherSource;
use crate::reflector::WatchErrorHandler;
use crate::shared_informer::{InformerOptions, SharedIndexInformer};
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
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
    /// Makes backoff and timeouts repeatable; random by default.
    pub seed: u64,
}

impl Default for FactoryOptions {
    fn default() -> Self {
        Self {
            concurrent_lists_max: CONCURRENT_LISTS_MAX,
            watch_error_handler: None,
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
    shutdown: CancellationToken,
    running: Mutex<Running>,
}

struct Running {
    informers: BTreeMap<GroupVersionResource, SharedIndexInformer>,
    /// One task for each started informer.
    tasks: JoinSet<()>,
}

impl SharedInformerFactory {
    /// Lists and watches through `source`.
    pub fn new(source: Arc<dyn ListerWatcherSource>, options: FactoryOptions) -> Self {
        let options = InformerOptions {
            lists: Arc::new(Semaphore::new(options.concurrent_lists_max.max(1))),
            watch_error_handler: options.watch_error_handler,
            seed: options.seed,
        };
        let running = Running { informers: BTreeMap::new(), tasks: JoinSet::new() };
        let shutdown = CancellationToken::new();
        Self { source, options, shutdown, running: Mutex::new(running) }
    }

    /// The resource's informer, made on first demand; the resource need not exist. It runs after the next
    /// [`SharedInformerFactory::start`].
    pub fn for_resource(&self, resource: &GroupVersionResource) -> SharedIndexInformer {
        let mut running = self.running.lock();
        let seed = self.options.seed.wrapping_add(running.informers.len() as u64);
        let informer = running.informers.entry(resource.clone()).or_insert_with(|| {
            let lister_watcher = self.source.lister_watcher(resource);
            let options = InformerOptions { seed, ..self.options.clone() };
            SharedIndexInformer::new(resource.clone(), lister_watcher, options)
        });
        informer.clone()
    }

    /// Starts what is not started; call it again after asking for more. Nothing starts after `shutdown`. Must be called
    /// within a tokio runtime.
    pub fn start(&self) {
        if self.shutdown.is_cancelled() {
            return;
        }
        let mut running = self.running.lock();
        let Running { informers, tasks } = &mut *running;
        for informer in informers.values().filter(|informer| informer.mark_started()) {
            let (informer, shutdown) = (informer.clone(), self.shutdown.clone());
            tasks.spawn(async move { informer.run_started(shutdown.cancelled_owned()).await });
        }
    }

    /// All informers, in the order of their resources.
    pub fn informers(&self) -> Vec<SharedIndexInformer> {
        self.running.lock().informers.values().cloned().collect()
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
        self.shutdown.cancel();
        let mut tasks = std::mem::take(&mut self.running.lock().tasks);
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "informer's task failed");
            }
        }
    }
}
