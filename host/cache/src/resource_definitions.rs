//! Wakes the reflectors that wait for a resource when the API server may serve it: it watches
//! CustomResourceDefinitions and APIServices and does not poll.
//!
//! client-go has no counterpart; its users restart, or poll discovery. While a reflector waits, the metadata of both
//! kinds of definition are listed and watched by the usual reflectors. A change of a resource's definition wakes the
//! reflectors that wait for the resource, and their next request shows whether it is served. Nothing is cached here.
//! The reflectors' own pauses are short (5 s, after five minutes 30 s) in two cases: the definitions may not be
//! listed, or their watch is not running. Otherwise they are those of the backoff, as a second net.

use crate::definition_signal::{DefinitionSignal, DefinitionSignals};
use crate::delta_fifo::{Delta, DeltaFifo, DeltaSink};
use crate::informer_state::{InformerState, PartProgress, Progress};
use crate::list_watch::{ListTweaks, ListerWatcherSource, Part};
use crate::reflector::Reflector;
use informant_apimachinery::GroupVersionResource;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// How long the definitions are followed after the last wait has ended: a resource that has just been defined is often
/// removed, or followed by others, soon.
const LINGER: Duration = Duration::from_secs(60);

/// Follows the definitions while a reflector waits. Cheap to clone; clones share the state. A factory has one.
/// Manually made informers share one through their options, and a caller runs it.
#[derive(Clone)]
pub struct ResourceDefinitions {
    shared: Arc<DefinitionsShared>,
}

struct DefinitionsShared {
    source: Arc<dyn ListerWatcherSource>,
    lists: Arc<Semaphore>,
    seed: u64,
    signals: Arc<DefinitionSignals>,
}

impl ResourceDefinitions {
    /// Lists and watches definitions through `source` when a reflector waits for them. The lists share the permits of
    /// `lists`.
    pub fn new(source: Arc<dyn ListerWatcherSource>, lists: Arc<Semaphore>, seed: u64) -> Self {
        let shared = DefinitionsShared { source, lists, seed, signals: Arc::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The signal for the reflector of `resource`; `None` for resources that every API server has.
    pub(crate) fn signal(&self, resource: &GroupVersionResource) -> Option<DefinitionSignal> {
        DefinitionSignal::of(&self.shared.signals, resource)
    }

    /// Runs until the future is dropped. Until it runs, reflectors wait with short pauses.
    pub async fn run(self) {
        let mut waiting = self.shared.signals.waiting();
        loop {
            if waiting.wait_for(|waiting| *waiting > 0).await.is_err() {
                return;
            }
            let definitions = ["customresourcedefinitions", "apiservices"];
            let groups = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
            let kind = |at: usize| {
                let gvr = GroupVersionResource::new(groups[at], "v1", definitions[at]);
                Followed::new(&self.shared, gvr, at as u64)
            };
            let (first, second) = (kind(0), kind(1));
            let states = [first.progress.clone(), second.progress.clone()];
            // Definitions first, so that their changes count before the decision to stop; always in this order.
            tokio::select! {
                biased;
                () = first.run(&self.shared) => {}
                () = second.run(&self.shared) => {}
                () = self.say_whether_told(&states) => {}
                () = nobody_waits(&mut waiting) => {}
            }
            self.shared.signals.say_told(false);
        }
    }

    async fn say_whether_told(&self, states: &[Arc<Progress>; 2]) {
        let [mut first, mut second] = [states[0].subscribe(), states[1].subscribe()];
        loop {
            let synced = |state: &mut watch::Receiver<InformerState>| {
                *state.borrow_and_update() == InformerState::Synced
            };
            let told = synced(&mut first) & synced(&mut second);
            self.shared.signals.say_told(told);
            // Either may be first: both are checked again.
            tokio::select! {
                biased;
                changed = first.changed() => if changed.is_err() { return },
                changed = second.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Ends when no reflector has waited for some time.
async fn nobody_waits(waiting: &mut watch::Receiver<usize>) {
    loop {
        if waiting.wait_for(|waiting| *waiting == 0).await.is_err() {
            return;
        }
        let again = waiting.wait_for(|waiting| *waiting > 0);
        if tokio::time::timeout(LINGER, again).await.is_err() {
            return;
        }
    }
}

/// One kind of definition.
struct Followed {
    reflector: Reflector,
    fifo: Arc<DeltaFifo>,
    progress: Arc<Progress>,
    part: PartProgress,
}

impl Followed {
    fn new(shared: &DefinitionsShared, resource: GroupVersionResource, number: u64) -> Self {
        let fifo = Arc::new(DeltaFifo::default());
        let progress = Arc::new(Progress::new(Instant::now().into_std()));
        let part = Part { metadata_only: true, ..Part::all() };
        let part = PartProgress::started(&progress, part);
        let reflector = Reflector {
            lister_watcher: shared.source.lister_watcher(&resource, part.part()),
            resource,
            fifo: DeltaSink::new(fifo.clone(), 0),
            progress: part.clone(),
            lists: shared.lists.clone(),
            watch_error_handler: None,
            definition: None,
            tweaks: ListTweaks::default(),
            seed: shared.seed.wrapping_add(number),
            again: false,
        };
        Self { reflector, fifo, progress, part }
    }

    async fn run(self, shared: &DefinitionsShared) {
        let Self { reflector, fifo, part, .. } = self;
        let tell = async {
            loop {
                for (_, delta) in fifo.pop_all().await {
                    match delta {
                        Delta::Listed(object, _) | Delta::Changed(_, object, _) => {
                            shared.signals.tell(&object);
                        }
                        Delta::End { .. } => part.synced(),
                        Delta::Begin | Delta::Gone | Delta::Bookmark { .. } => {}
                    }
                }
            }
        };
        // Neither ends. Signals first: a queued change is older than a read one.
        tokio::select! {
            biased;
            () = tell => {}
            () = reflector.run() => {}
        }
    }
}

#[cfg(test)]
mod tests;
