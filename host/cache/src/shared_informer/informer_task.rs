//! The informer's task: handles the requested scopes, new handlers, and the reflectors' deltas, in turn.
//!
//! As client-go's `Run` of a shared informer with its controller's `processLoop`. It owns the reflectors' tasks and,
//! by the processor, the handlers': they have ended when it has.

use super::InformerShared;
use super::parts::PartsStep;
use super::process_deltas::Deltas;
use super::training::TURNS;
use crate::delta_fifo::{DeltaFifo, DeltaSink, Intake, PartId};
use crate::informer_state::PartProgress;
use crate::list_watch::ListWatchError;
use crate::reflector::{Reflector, WatchFailure};
use crate::shared_processor::SharedProcessor;
use crate::transform::TransformError;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::{AbortHandle, JoinError, JoinSet};

/// One informer at work.
pub(super) struct InformerTask {
    shared: Arc<InformerShared>,
    fifo: Arc<DeltaFifo>,
    deltas: Deltas,
    processor: SharedProcessor,
    reflectors: JoinSet<()>,
    running: BTreeMap<PartId, AbortHandle>,
}

impl InformerTask {
    pub(super) fn new(shared: Arc<InformerShared>) -> Self {
        let processor = SharedProcessor::new(shared.inbox.clone(), shared.progress.clone());
        let bytes_max = shared.options.relist_bytes_max;
        let deltas = Deltas::new(shared.indexer.clone(), shared.progress.clone(), bytes_max);
        let fifo = Arc::new(DeltaFifo::watched(shared.progress.flow().clone()));
        let (reflectors, running) = (JoinSet::new(), BTreeMap::new());
        Self { shared, fifo, deltas, processor, reflectors, running }
    }

    /// Runs until a reflector fails, and returns the failure.
    pub(super) async fn run(&mut self) -> String {
        let (inbox, fifo) = (self.shared.inbox.clone(), self.fifo.clone());
        let progress = self.shared.progress.clone();
        let mut popped = VecDeque::new();
        let mut gathers_until = None;
        loop {
            let now = super::now();
            self.look_at_demand(now).await;
            self.processor.admit(now);
            let walking = self.processor.walk(&self.shared.indexer, now);
            let tidying = self.shared.indexer.tidy();
            if tidying.trains
                && let Some(turn) = TURNS.now()
            {
                turn.train(&self.shared.indexer).await;
            } else if walking || tidying.has_more || !popped.is_empty() {
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    // In this order: nothing here is starved, because each is checked again after every batch.
                    biased;
                    () = inbox.woken() => {}
                    () = progress.refusals() => {}
                    () = sleep_until(self.due()) => {}
                    Some(ended) = self.reflectors.join_next() => {
                        if let Some(failure) = failure(ended) {
                            return failure;
                        }
                    }
                    turn = TURNS.wait(), if tidying.trains => {
                        turn.train(&self.shared.indexer).await;
                    }
                    deltas = fifo.pop_gathered(gathers_until) => popped = deltas,
                }
            }
            if popped.is_empty() && gathers_until.is_none_or(|until| until <= super::now()) {
                popped = fifo.try_pop_all();
            }
            // A handler that was added before a change gets the change: later deltas wait until new handlers are
            // admitted.
            self.processor.admit(super::now());
            let ended = self.deltas.process(&mut popped, &mut self.processor).await;
            gathers_until = self.deltas.gather_until(super::now()).or(gathers_until);
            if ended || self.deltas.parts.due().is_some() {
                let steps = self.deltas.parts.settle(super::now());
                self.carry_out(steps).await;
            }
        }
    }

    /// Ends the source first, then the handlers.
    pub(super) async fn stop(&mut self) {
        self.reflectors.shutdown().await;
        self.processor.stop().await;
    }

    fn due(&self) -> Option<Instant> {
        let dues = [self.processor.resync_due(), self.shared.demand.due(), self.deltas.parts.due()];
        dues.into_iter().flatten().min()
    }

    /// Follows the present requests. Without any, the present parts go on: the informer's owner stops it.
    async fn look_at_demand(&mut self, now: Instant) {
        let is_refused_whole = self.shared.progress.is_refused_whole();
        if let Some(Some(wanted)) = self.shared.demand.changed(now, is_refused_whole) {
            let steps = self.deltas.parts.want(&wanted, now);
            self.carry_out(steps).await;
            self.shared.progress.look_again();
        }
    }

    async fn carry_out(&mut self, steps: Vec<PartsStep>) {
        let mut left = false;
        for step in steps {
            match step {
                PartsStep::Start(id, progress) => {
                    self.start(id, progress, false);
                }
                PartsStep::Stop(id, progress) => {
                    progress.stopped();
                    if let Some(reflector) = self.running.remove(&id) {
                        reflector.abort();
                    }
                    left = true;
                }
                PartsStep::Restart(old, id, progress) => {
                    if let Some(reflector) = self.running.remove(&old) {
                        reflector.abort();
                    }
                    self.start(id, progress, true);
                }
            }
        }
        if left {
            self.deltas.leave(&mut self.processor).await;
        }
    }

    /// `again`: the store may hold objects of the part.
    fn start(&mut self, id: PartId, progress: PartProgress, again: bool) {
        let InformerShared { resource, source, options, .. } = &*self.shared;
        let reflector = Reflector {
            resource: resource.clone(),
            lister_watcher: source.lister_watcher(resource, progress.part()),
            fifo: DeltaSink::new(self.fifo.clone(), id)
                .with_metadata_only(progress.part().metadata_only)
                .with_intake(self.intake()),
            progress,
            lists: options.lists.clone(),
            watch_error_handler: options.watch_error_handler.clone(),
            definition: options.definitions.as_ref().and_then(|d| d.signal(resource)),
            tweaks: options.tweaks.clone(),
            seed: options.seed.wrapping_add(id),
            again,
        };
        self.running.insert(id, self.reflectors.spawn(reflector.run()));
    }
}

impl InformerTask {
    /// The transform, with all receivers of its failures.
    fn intake(&self) -> Option<Intake> {
        let transform = self.shared.options.transform.clone()?;
        let progress = self.shared.progress.clone();
        let resource = self.shared.resource.clone();
        let handler = self.shared.options.watch_error_handler.clone();
        let failed = move |error: &TransformError| {
            let first = progress.transform_failed();
            let message = error.to_string();
            if first {
                tracing::warn!(%resource, message, "transform failed; further failures are only counted");
            }
            let (error, next) = (ListWatchError::unreadable(&message), "going on".to_owned());
            let failure = WatchFailure { resource: &resource, error: &error, next };
            if !failure.tell(handler.as_ref()) {
                progress.handler_panicked();
            }
        };
        Some(Intake { transform, failed: Arc::new(failed) })
    }
}

impl Drop for InformerTask {
    /// Without effect after a regular end, which has set the state already.
    fn drop(&mut self) {
        self.shared.progress.stopped(Some("its task was aborted".to_owned()));
    }
}

/// The failure of a reflector's task; `None` if it was stopped.
fn failure(ended: Result<(), JoinError>) -> Option<String> {
    match ended {
        Ok(()) => Some("reflector ended".to_owned()),
        Err(error) if error.is_cancelled() => None,
        Err(error) => Some(format!("reflector failed: {error}")),
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
