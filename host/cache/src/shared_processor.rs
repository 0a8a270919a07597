//! The handlers of one informer and what each still has to be told.
//!
//! Answers to client-go's `sharedProcessor` and `processorListener` (`tools/cache/shared_informer.go`), without their
//! goroutines and unbounded buffers: a handler only notes or enqueues, so it is called in the informer's task.
//! A late handler walks the store by key in short steps while live notifications go on: those for keys
//! before its cursor are told, those after it are found by the walk. So nothing is missed or told twice.

use crate::indexer::Indexer;
use crate::informer_state::Progress;
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::{Cause, FinalState, Reason, ResourceEventHandler};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Objects told in one step of a walk: some hundred microseconds, after which live notifications get their turn.
const WALK_STEP_OBJECTS: usize = 256;
/// A shorter resync period is raised to this one (client-go's `minimumResyncPeriod`).
const RESYNC_PERIOD_MIN: Duration = Duration::from_secs(1);

/// A change as handlers are told of it.
#[derive(Clone, Debug)]
pub(crate) enum Notification {
    Added { new: Object },
    Updated { old: Object, new: Object },
    Deleted { last: Object, final_state: FinalState },
}

impl Notification {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Added { new } | Self::Updated { new, .. } => new.key(),
            Self::Deleted { last, .. } => last.key(),
        }
    }
}

/// One handler's place in an informer. Dropping it removes the handler.
#[derive(Debug)]
pub struct Registration {
    listener: Arc<Listener>,
    /// Not owned: the inbox may itself hold a registration that is to be replaced.
    inbox: Weak<Inbox>,
}

impl Registration {
    /// Whether every object that was there when the handler was added has been told to it, and the
    /// informer's first list was complete.
    pub fn has_synced(&self) -> bool {
        self.listener.synced.load(Ordering::Acquire)
    }

    /// No call begins after this returns, but for one that is just being made; idempotent. A handler may
    /// remove itself.
    pub fn remove(&self) {
        if !self.listener.removed.swap(true, Ordering::AcqRel) {
            // The informer's task lets go of the handler, even where nothing happens for long.
            if let Some(inbox) = self.inbox.upgrade() {
                inbox.woken.notify_one();
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.remove();
    }
}

struct Listener {
    handler: Arc<dyn ResourceEventHandler>,
    resync_period: Option<Duration>,
    /// It continues another handler's story: deletions concern it even before its replay came by.
    succeeds: bool,
    /// It is told of what is there already.
    replay: bool,
    removed: AtomicBool,
    synced: AtomicBool,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("synced", &self.synced).finish_non_exhaustive()
    }
}

/// Where handlers wait for the informer's task to take them in.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    arrived: Mutex<Vec<Arrival>>,
    woken: Notify,
}

/// How a handler begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// Every object is told again in this period.
    pub(crate) resync_period: Option<Duration>,
    /// The handler whose place it takes.
    pub(crate) replaces: Option<Registration>,
    /// It is told of what is there already.
    pub(crate) replay: bool,
}

impl Default for Beginning {
    fn default() -> Self {
        Self { resync_period: None, replaces: None, replay: true }
    }
}

/// A new handler, and the one whose place it takes.
#[derive(Debug)]
struct Arrival {
    listener: Arc<Listener>,
    replaces: Option<Registration>,
}

impl Inbox {
    pub(crate) fn add(
        self: &Arc<Self>,
        handler: Arc<dyn ResourceEventHandler>,
        beginning: Beginning,
    ) -> Registration {
        let Beginning { resync_period, replaces, replay } = beginning;
        let listener = Arc::new(Listener {
            handler,
            resync_period: resync_period.map(|period| period.max(RESYNC_PERIOD_MIN)),
            succeeds: replaces.is_some(),
            replay,
            removed: AtomicBool::new(false),
            synced: AtomicBool::new(false),
        });
        self.arrived.lock().push(Arrival { listener: listener.clone(), replaces });
        self.woken.notify_one();
        Registration { listener, inbox: Arc::downgrade(self) }
    }

    /// Something arrived since the last call.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }
}

/// A way through the store in progress; `after` is the last key that was told.
#[derive(Debug)]
enum Walk {
    Replay { after: Option<ObjectKey> },
    Resync { after: Option<ObjectKey> },
}

#[derive(Debug)]
struct Active {
    listener: Arc<Listener>,
    walk: Option<Walk>,
    resync_due: Option<Instant>,
}

impl Active {
    /// Whether a live notification is this handler's: else its replay comes to the object, or never needs to.
    fn concerns(&self, notification: &Notification) -> bool {
        match (&self.walk, notification) {
            (Some(Walk::Replay { .. }), Notification::Deleted { .. }) if self.listener.succeeds => {
                true
            }
            (Some(Walk::Replay { after }), _) => {
                after.as_ref().is_some_and(|after| notification.key() <= after)
            }
            (Some(Walk::Resync { .. }) | None, _) => true,
        }
    }

    /// Calls the handler, whose panic harms nobody else.
    fn call(&self, progress: &Progress, call: impl FnOnce(&dyn ResourceEventHandler)) {
        if self.listener.removed.load(Ordering::Acquire) {
            return;
        }
        let called = catch_unwind(AssertUnwindSafe(|| call(&*self.listener.handler)));
        if called.is_err() {
            progress.handler_panicked();
            tracing::error!("event handler panicked; it goes on with its next notification");
        }
    }
}

/// The handlers, owned by the informer's task.
#[derive(Debug)]
pub(crate) struct SharedProcessor {
    inbox: Arc<Inbox>,
    progress: Arc<Progress>,
    active: Vec<Active>,
}

impl SharedProcessor {
    pub(crate) fn new(inbox: Arc<Inbox>, progress: Arc<Progress>) -> Self {
        Self { inbox, progress, active: Vec::new() }
    }

    /// Takes in handlers that were added and lets go of those that were removed.
    pub(crate) fn admit(&mut self, now: Instant) {
        let arrived = std::mem::take(&mut *self.inbox.arrived.lock());
        self.active.extend(arrived.into_iter().map(|Arrival { listener, replaces }| {
            // Here no notification can come between the one's end and the other's beginning.
            drop(replaces);
            Active {
                walk: listener.replay.then_some(Walk::Replay { after: None }),
                resync_due: listener.resync_period.map(|period| now + period),
                listener,
            }
        }));
        self.active.retain(|active| !active.listener.removed.load(Ordering::Acquire));
    }

    /// Tells every handler, in the order in which they were added.
    pub(crate) fn distribute(&self, notification: &Notification, cause: Cause) {
        for active in &self.active {
            if !active.concerns(notification) {
                continue;
            }
            active.call(&self.progress, |handler| match notification {
                Notification::Added { new } => handler.on_add(new, cause),
                Notification::Updated { old, new } => handler.on_update(old, new, cause),
                Notification::Deleted { last, final_state } => {
                    handler.on_delete(last, *final_state, cause);
                }
            });
        }
    }

    /// One step of every walk, and the resyncs that are due. Answers whether any walk goes on.
    pub(crate) fn walk(&mut self, indexer: &Indexer, now: Instant) -> bool {
        let informer_synced = self.progress.has_synced();
        for active in &mut self.active {
            if active.walk.is_none() && active.resync_due.is_some_and(|due| due <= now) {
                active.walk = Some(Walk::Resync { after: None });
                active.resync_due = active.listener.resync_period.map(|period| now + period);
            }
            step(active, indexer, &self.progress, now);
            let replaying = matches!(active.walk, Some(Walk::Replay { .. }));
            if informer_synced && !replaying && !active.listener.synced.load(Ordering::Acquire) {
                active.call(&self.progress, |handler| handler.on_synced());
                active.listener.synced.store(true, Ordering::Release);
            }
        }
        self.active.iter().any(|active| active.walk.is_some())
    }

    /// When the next resync is due.
    pub(crate) fn resync_due(&self) -> Option<Instant> {
        self.active.iter().filter_map(|active| active.resync_due).min()
    }
}

/// The next objects of a handler's walk.
fn step(active: &mut Active, indexer: &Indexer, progress: &Progress, now: Instant) {
    let (replay, after) = match active.walk.take() {
        Some(Walk::Replay { after }) => (true, after),
        Some(Walk::Resync { after }) => (false, after),
        None => return,
    };
    let objects = indexer.chunk(after.as_ref(), WALK_STEP_OBJECTS);
    for object in &objects {
        let cause = |reason| Cause { reason, received: now };
        active.call(progress, |handler| {
            if replay {
                handler.on_add(object, cause(Reason::Initial));
            } else {
                handler.on_update(object, object, cause(Reason::Resync));
            }
        });
    }
    if objects.len() == WALK_STEP_OBJECTS {
        let after = objects.last().map(|object| object.key().clone());
        active.walk = Some(if replay { Walk::Replay { after } } else { Walk::Resync { after } });
    }
}
