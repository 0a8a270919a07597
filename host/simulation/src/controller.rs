//! A controller: a handler that adds keys to a work queue, and workers that fail, take time, and record the state of
//! each key's object. At rest these records are correct, however the keys were added.

use crate::around::Around;
use crate::door::Door;
use crate::history::same_content;
use informant_apimachinery::GroupVersionResource;
use informant_cache::workqueue::{AddOptions, WorkQueue, WorkQueueOptions};
use informant_cache::{
    Cause, FinalState, HandlerOptions, Object, ObjectKey, Registration, ResourceEventHandler,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The largest time of one work.
const WORK_MAX: Duration = Duration::from_secs(3);
/// Draining waits for the queued and current work: every key of a run, by one worker, with every failure.
const DRAINED_WITHIN: Duration = Duration::from_secs(3600);

pub(crate) struct Controller {
    gvr: GroupVersionResource,
    queue: WorkQueue<ObjectKey>,
    registration: Registration,
    workers: Vec<JoinHandle<()>>,
    desk: Arc<Desk>,
}

/// The state that the workers share.
struct Desk {
    number: u64,
    around: Around,
    door: Door,
    state: Mutex<ControllerState>,
}

#[derive(Default)]
struct ControllerState {
    busy: BTreeSet<ObjectKey>,
    /// The state of each key's object at its last work.
    found: BTreeMap<ObjectKey, Option<Object>>,
}

/// A handler that only adds keys.
struct Feeder {
    queue: WorkQueue<ObjectKey>,
}

impl Feeder {
    fn add(&self, object: &Object, cause: Cause) {
        let options = AddOptions { lane: cause.reason.into(), ..AddOptions::default() };
        self.queue.add_with(object.key().clone(), options);
    }
}

impl ResourceEventHandler for Feeder {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.add(object, cause);
    }

    fn on_update(&self, _: &Object, new: &Object, cause: Cause) {
        self.add(new, cause);
    }

    fn on_delete(&self, last: &Object, _: FinalState, cause: Cause) {
        self.add(last, cause);
    }
}

impl Controller {
    pub(crate) fn start(
        number: u64,
        gvr: &GroupVersionResource,
        door: &Door,
        around: &Around,
        random: &mut fastrand::Rng,
    ) -> Self {
        let queue = WorkQueue::new("simulated", WorkQueueOptions::default());
        let feeder = Arc::new(Feeder { queue: queue.clone() });
        let options = HandlerOptions::default();
        let registration = if random.bool() {
            door.add_inline(feeder, options)
        } else {
            door.add_queued(feeder, options)
        };
        let desk = Arc::new(Desk {
            number,
            around: around.clone(),
            door: door.clone(),
            state: Mutex::default(),
        });
        let count = random.usize(1..4);
        let worker = |_| tokio::spawn(work(desk.clone(), queue.clone(), random.fork()));
        let workers = (0..count).map(worker).collect();
        Self { gvr: gvr.clone(), queue, registration, workers, desk }
    }

    /// The difference between the server and the workers' last records. `None` if there is none.
    pub(crate) fn difference(&self) -> Option<String> {
        let number = self.desk.number;
        let state = self.desk.state.lock();
        let scope = self.desk.door.scope();
        self.desk.around.server.with_history(&self.gvr, |history| {
            let mut found: BTreeMap<String, &Object> = BTreeMap::new();
            for (key, object) in &state.found {
                found.extend(object.as_ref().map(|object| (key.to_string(), object)));
            }
            for (key, version) in history.within(&scope) {
                let right =
                    found.remove(key).is_some_and(|found| same_content(found, version.shown()));
                if !right {
                    return Some(format!("controller {number} has not seen {key} as it is"));
                }
            }
            let (key, _) = found.first_key_value()?;
            Some(format!("controller {number} has not seen the end of {key}"))
        })
    }

    /// Removes the handler and leaves the queued keys.
    pub(crate) fn abandon(self) {
        self.registration.remove();
        self.queue.shut_down();
        self.queue.take_leftovers();
    }

    /// Works on all queued keys, then ends.
    pub(crate) async fn drain(self) {
        let journal = self.desk.around.journal.clone();
        let number = self.desk.number;
        let drained = tokio::time::timeout(DRAINED_WITHIN, self.queue.shut_down_with_drain()).await;
        journal.check(drained.is_ok(), "a queue drains", || format!("controller {number}"));
        for worker in self.workers {
            let ended = tokio::time::timeout(Duration::from_secs(60), worker).await;
            journal.check(matches!(ended, Ok(Ok(()))), "workers end with their queue", || {
                format!("controller {number}: {ended:?}")
            });
        }
    }
}

/// One worker: gets a key, works, and reports the result, until the queue ends.
async fn work(desk: Arc<Desk>, queue: WorkQueue<ObjectKey>, mut random: fastrand::Rng) {
    while let Some(item) = queue.get().await {
        let key = item.key().clone();
        let alone = desk.state.lock().busy.insert(key.clone());
        desk.check(alone, "no key is worked on twice at once", &key);
        let seen = desk.door.get(&key);
        if random.bool() {
            let millis = random.u64(0..WORK_MAX.as_millis() as u64);
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
        desk.state.lock().busy.remove(&key);
        match random.u32(..10) {
            0..=1 => queue.add_rate_limited(key.clone()),
            2 => queue.add_after(key.clone(), Duration::from_millis(random.u64(1..5_000))),
            _ => {
                queue.forget(&key);
                desk.settle(&key, seen);
            }
        }
        if random.bool() {
            item.done();
        }
    }
}

impl Desk {
    fn check(&self, holds: bool, invariant: &str, key: &ObjectKey) {
        let number = self.number;
        self.around.journal.check(holds, invariant, || format!("controller {number}: {key}"));
    }

    fn settle(&self, key: &ObjectKey, seen: Option<Object>) {
        let version = seen.as_ref().map(|object| object.resource_version().to_owned());
        self.around
            .journal
            .note(format_args!("controller {}: {key} is settled at {version:?}", self.number));
        self.state.lock().found.insert(key.clone(), seen);
    }
}
