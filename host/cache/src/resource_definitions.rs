//! Tells the reflectors that wait for a resource when it may be there: CustomResourceDefinitions and APIServices are watched, not
//! polled.
//!
//! client-go has no equal; its users restart, or poll discovery. While a reflector waits, the metadata of both kinds of definition
//! are listed and watched with the same reflectors as everything else, and whatever happens to the definition of a waited-for
//! resource wakes who waits for it: the next request tells whether it is served by now. Nothing is cached here. Where
//! the definitions may not be listed, or their watch has not begun or is broken, the reflectors' own pauses are short (5 s,
//! after five minutes 30 s); else they are those of the backoff, as a second net.

use crate::delta_fifo::{Delta, DeltaFifo, DeltaSink};
use crate::informer_state::{InformerState, PartProgress, Progress};
use crate::list_watch::{ListTweaks, ListerWatcherSource, Part};
use crate::object::Object;
use crate::reflector::Reflector;
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// How long the definitions are followed after the last one stopped waiting: a resource that has just been defined is
/// often removed, or joined by others, soon.
const LINGER: Duration = Duration::from_secs(60);

/// Follows the definitions while anybody waits. Cheap to clone; a clone is the same. A factory has one; informers that are
/// made by hand share one through their options, and somebody runs it.
#[derive(Clone)]
pub struct ResourceDefinitions {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn ListerWatcherSource>,
    lists: Arc<Semaphore>,
    seed: u64,
    /// Who is to be woken, by the name of a definition. Those whose reflectors are gone are dropped when others come: never more
    /// than twice the reflectors that are there.
    names: Mutex<BTreeMap<String, watch::Sender<()>>>,
    /// How many reflectors wait.
    waiting: watch::Sender<usize>,
    /// Both kinds of definition are followed.
    told: watch::Sender<bool>,
}

impl ResourceDefinitions {
    /// Lists and watches definitions through `source`, as one of those that share `lists`, when they are waited for.
    pub fn new(source: Arc<dyn ListerWatcherSource>, lists: Arc<Semaphore>, seed: u64) -> Self {
        let shared = Shared {
            source,
            lists,
            seed,
            names: Mutex::default(),
            waiting: watch::Sender::new(0),
            told: watch::Sender::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// For the reflector of `resource`; none for resources that every API server has.
    pub(crate) fn signal(&self, resource: &GroupVersionResource) -> Option<DefinitionSignal> {
        if resource.group.is_empty() {
            return None;
        }
        let custom_resource = format!("{}.{}", resource.resource, resource.group);
        let api_service = format!("{}.{}", resource.version, resource.group);
        let mut names = self.shared.names.lock();
        names.retain(|_, sender| sender.receiver_count() > 0);
        let changes = [custom_resource, api_service].map(|name| {
            let sender = names.entry(name).or_insert_with(|| watch::Sender::new(()));
            sender.subscribe()
        });
        Some(DefinitionSignal { shared: self.shared.clone(), changes })
    }

    /// Runs until the future is dropped. Until it runs, reflectors wait with short pauses.
    pub async fn run(self) {
        let mut waiting = self.shared.waiting.subscribe();
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
            // Definitions first, so that what they tell counts before the decision to stop; in this order always.
            tokio::select! {
                biased;
                () = first.run(&self.shared) => {}
                () = second.run(&self.shared) => {}
                () = self.say_whether_told(&states) => {}
                () = nobody_waits(&mut waiting) => {}
            }
            self.shared.told.send_replace(false);
        }
    }

    async fn say_whether_told(&self, states: &[Arc<Progress>; 2]) {
        let [mut first, mut second] = [states[0].subscribe(), states[1].subscribe()];
        loop {
            let synced = |state: &mut watch::Receiver<InformerState>| {
                *state.borrow_and_update() == InformerState::Synced
            };
            let told = synced(&mut first) & synced(&mut second);
            self.shared.told.send_if_modified(|was| std::mem::replace(was, told) != told);
            // Either may be first: both are looked at again.
            tokio::select! {
                biased;
                changed = first.changed() => if changed.is_err() { return },
                changed = second.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Ends when nobody has waited for some time.
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
    fn new(shared: &Shared, resource: GroupVersionResource, number: u64) -> Self {
        let fifo = Arc::new(DeltaFifo::default());
        let progress = Arc::new(Progress::new(Instant::now().into_std()));
        let part = PartProgress::started(&progress, Part::all());
        let reflector = Reflector {
            lister_watcher: shared.source.lister_watcher(&resource, &Part::all()),
            resource,
            fifo: DeltaSink::new(fifo.clone(), 0),
            progress: part.clone(),
            lists: shared.lists.clone(),
            watch_error_handler: None,
            definition: None,
            tweaks: ListTweaks::default().metadata_only(true),
            seed: shared.seed.wrapping_add(number),
        };
        Self { reflector, fifo, progress, part }
    }

    async fn run(self, shared: &Shared) {
        let Self { reflector, fifo, part, .. } = self;
        let tell = async {
            loop {
                for (_, delta) in fifo.pop_all().await {
                    match delta {
                        Delta::Listed(object, _) | Delta::Changed(_, object, _) => {
                            shared.tell(&object);
                        }
                        Delta::End { .. } => part.synced(),
                        Delta::Begin | Delta::Gone | Delta::Bookmark { .. } => {}
                    }
                }
            }
        };
        // Neither ends. Told first: what is queued is older than what is read.
        tokio::select! {
            biased;
            () = tell => {}
            () = reflector.run() => {}
        }
    }
}

impl Shared {
    fn tell(&self, definition: &Object) {
        if let Some(sender) = self.names.lock().get(definition.key().name()) {
            sender.send_replace(());
        }
    }
}

/// One reflector's ear.
pub(crate) struct DefinitionSignal {
    shared: Arc<Shared>,
    /// Its CustomResourceDefinition and its APIService.
    changes: [watch::Receiver<()>; 2],
}

impl DefinitionSignal {
    /// What was told up to now is known.
    pub(crate) fn mark(&mut self) {
        for change in &mut self.changes {
            change.mark_unchanged();
        }
    }

    /// Until a definition has changed since the mark, at most `told` while both kinds are followed, else at most `untold`.
    pub(crate) async fn wait(&mut self, told: Duration, untold: Duration) {
        let waiting = Waiting::new(&self.shared);
        let begun = Instant::now();
        let [custom_resource, api_service] = &mut self.changes;
        let mut followed = self.shared.told.subscribe();
        loop {
            let wait = if *followed.borrow_and_update() { told } else { untold };
            // The news first. An error means that nobody can tell any more, which the shared half rules out.
            tokio::select! {
                biased;
                _ = custom_resource.changed() => break,
                _ = api_service.changed() => break,
                _ = followed.changed() => {}
                () = tokio::time::sleep_until(begun + wait) => break,
            }
        }
        drop(waiting);
    }
}

/// Somebody waits while it lives.
struct Waiting<'a> {
    shared: &'a Shared,
}

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.waiting.send_modify(|waiting| *waiting += 1);
        Self { shared }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.waiting.send_modify(|waiting| *waiting -= 1);
    }
}

#[cfg(test)]
mod tests;
