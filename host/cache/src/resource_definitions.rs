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
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, Semaphore, watch};
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
    /// Who is to be woken, by the name of a definition, in the order in which they began to wait. Those whose reflectors are gone are
    /// dropped when others come: never more than twice the reflectors that are there.
    names: Mutex<BTreeMap<String, Arc<Notify>>>,
    /// How many reflectors wait.
    waiting: watch::Sender<usize>,
    /// Both kinds of definition are followed.
    told: AtomicBool,
    told_changes: Notify,
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
            told: AtomicBool::new(false),
            told_changes: Notify::new(),
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
        names.retain(|_, changes| Arc::strong_count(changes) > 1);
        let definitions =
            [custom_resource, api_service].map(|name| names.entry(name).or_default().clone());
        drop(names);
        Some(DefinitionSignal::new(self.shared.clone(), definitions))
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
            self.shared.say_told(false);
        }
    }

    async fn say_whether_told(&self, states: &[Arc<Progress>; 2]) {
        let [mut first, mut second] = [states[0].subscribe(), states[1].subscribe()];
        loop {
            let synced = |state: &mut watch::Receiver<InformerState>| {
                *state.borrow_and_update() == InformerState::Synced
            };
            let told = synced(&mut first) & synced(&mut second);
            self.shared.say_told(told);
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
            again: false,
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
        if let Some(changes) = self.names.lock().get(definition.key().name()) {
            changes.notify_waiters();
        }
    }

    fn say_told(&self, told: bool) {
        if self.told.swap(told, Ordering::AcqRel) != told {
            self.told_changes.notify_waiters();
        }
    }
}

/// One reflector's ear.
pub(crate) struct DefinitionSignal {
    shared: Arc<Shared>,
    /// Its CustomResourceDefinition and its APIService.
    definitions: [Arc<Notify>; 2],
    /// The next change of each after the mark.
    changes: [Pin<Box<OwnedNotified>>; 2],
}

impl DefinitionSignal {
    fn new(shared: Arc<Shared>, definitions: [Arc<Notify>; 2]) -> Self {
        let changes = definitions.each_ref().map(next_change);
        Self { shared, definitions, changes }
    }

    /// What was told up to now is known.
    pub(crate) fn mark(&mut self) {
        self.changes = self.definitions.each_ref().map(next_change);
    }

    /// Until a definition has changed since the mark, at most `told` while both kinds are followed, else at most `untold`.
    /// What has changed meanwhile is known.
    pub(crate) async fn wait(&mut self, told: Duration, untold: Duration) {
        let waiting = Waiting::new(&self.shared);
        let begun = Instant::now();
        let [custom_resource, api_service] = &mut self.changes;
        loop {
            let followed = self.shared.told_changes.notified();
            let wait = if self.shared.told.load(Ordering::Acquire) { told } else { untold };
            // The news first.
            tokio::select! {
                biased;
                () = custom_resource.as_mut() => break,
                () = api_service.as_mut() => break,
                () = followed => {}
                () = tokio::time::sleep_until(begun + wait) => break,
            }
        }
        drop(waiting);
        self.mark();
    }
}

/// From now on, whether or not it is waited for yet.
fn next_change(definition: &Arc<Notify>) -> Pin<Box<OwnedNotified>> {
    Box::pin(definition.clone().notified_owned())
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
