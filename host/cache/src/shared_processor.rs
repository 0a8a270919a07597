//! The handlers of one informer and what each still has to be told.
//!
//! Answers to client-go's `sharedProcessor` and `processorListener` (`tools/cache/shared_informer.go`), without their
//! unbounded buffers: a handler has a bounded queue and a task of its own, or is called inline, in the informer's task.
//! A late handler walks the store by key in short steps while live notifications go on: those for keys
//! before its cursor are told, those after it are found by the walk. So nothing is missed or told twice, and a
//! handler that is slow to take its replay costs a cursor and no copy of the store.

mod inbox;
mod listener;

pub(crate) use inbox::{Beginning, Inbox};
pub use listener::Registration;

use crate::indexer::Indexer;
use crate::informer_state::Progress;
use crate::notifications::Notification;
use crate::object::ObjectKey;
use crate::resource_event_handler::{Cause, Reason};
use listener::{Listener, Place};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// Objects told in one step of a walk: some hundred microseconds, after which live notifications get their turn.
const WALK_STEP_OBJECTS: usize = 256;

/// A way through the store in progress; `after` is the last key that was told.
#[derive(Debug)]
enum Walk {
    Replay { after: Option<ObjectKey> },
    Resync { after: Option<ObjectKey> },
}

#[derive(Debug)]
struct Active {
    place: Place,
    walk: Option<Walk>,
    /// The walk waits until its handler has taken what it was told.
    parked: bool,
    resync_due: Option<Instant>,
    /// It was told that it has heard of everything.
    told_synced: bool,
}

impl Active {
    fn new(place: Place, now: Instant) -> Self {
        let listener = place.listener();
        Self {
            walk: listener.replay.then_some(Walk::Replay { after: None }),
            parked: false,
            resync_due: listener.resync_period.map(|period| now + period),
            told_synced: false,
            place,
        }
    }

    fn listener(&self) -> &Arc<Listener> {
        self.place.listener()
    }

    /// Whether a live notification is this handler's: else its replay comes to the object, or never needs to.
    fn concerns(&self, notification: &Notification) -> bool {
        let Some(Walk::Replay { after }) = &self.walk else { return true };
        if matches!(notification, Notification::Deleted { .. }) && self.listener().succeeds {
            return true;
        }
        let key = notification.object().map(|object| object.key());
        after.as_ref().is_some_and(|after| key.is_some_and(|key| key <= after))
    }

    /// Begins the resync that is due. One that comes round while a walk is under way, or while the last one still waits to be told,
    /// is left out: a slow handler's resyncs do not pile up.
    fn begin_resync(&mut self, now: Instant) {
        if self.resync_due.is_none_or(|due| due > now) {
            return;
        }
        self.resync_due = self.listener().resync_period.map(|period| now + period);
        if self.walk.is_none() && !self.listener().is_resyncing() {
            self.walk = Some(Walk::Resync { after: None });
        }
    }

    /// The next objects of the walk.
    fn step(&mut self, indexer: &Indexer, progress: &Progress, now: Instant) {
        self.parked = self.walk.is_some() && !self.listener().has_room();
        if self.parked {
            return;
        }
        let (replay, after) = match self.walk.take() {
            Some(Walk::Replay { after }) => (true, after),
            Some(Walk::Resync { after }) => (false, after),
            None => return,
        };
        let objects = indexer.chunk(after.as_ref(), WALK_STEP_OBJECTS);
        let after = objects.last().map(|object| object.key().clone());
        let goes_on = objects.len() == WALK_STEP_OBJECTS;
        for object in objects {
            let cause = |reason| Cause { reason, received: now };
            let notification = if replay {
                Notification::Added { object, cause: cause(Reason::Initial), coalesced: 0 }
            } else {
                let (old, cause) = (object.clone(), cause(Reason::Resync));
                Notification::Updated { old, new: object, cause, coalesced: 0 }
            };
            self.listener().tell(&notification, progress, now);
        }
        if goes_on {
            self.walk = Some(if replay { Walk::Replay { after } } else { Walk::Resync { after } });
        }
    }
}

/// The handlers, owned by the informer's task.
#[derive(Debug)]
pub(crate) struct SharedProcessor {
    inbox: Arc<Inbox>,
    progress: Arc<Progress>,
    active: Vec<Active>,
    /// One for each handler that has a queue and is called.
    tasks: JoinSet<()>,
}

impl SharedProcessor {
    pub(crate) fn new(inbox: Arc<Inbox>, progress: Arc<Progress>) -> Self {
        Self { inbox, progress, active: Vec::new(), tasks: JoinSet::new() }
    }

    /// Takes in handlers that were added and lets go of those that were removed.
    pub(crate) fn admit(&mut self, now: Instant) {
        for arrival in self.inbox.take() {
            // Here no notification can come between the one's end and the other's beginning.
            drop(arrival.replaces);
            let mut place = arrival.place;
            if let Some(run) = place.task(self.progress.clone()) {
                self.tasks.spawn(run);
            }
            self.active.push(Active::new(place, now));
        }
        self.active.retain(|active| !active.listener().is_removed());
        while let Some(ended) = self.tasks.try_join_next() {
            note_ended(ended);
        }
    }

    /// Tells every handler, in the order in which they were added.
    pub(crate) fn distribute(&self, notification: &Notification, now: Instant) {
        for active in self.active.iter().filter(|active| active.concerns(notification)) {
            active.listener().tell(notification, &self.progress, now);
        }
    }

    /// One step of every walk, and the resyncs that are due. Answers whether any walk can go on at once.
    pub(crate) fn walk(&mut self, indexer: &Indexer, now: Instant) -> bool {
        let informer_synced = self.progress.has_synced();
        for active in &mut self.active {
            active.begin_resync(now);
            active.step(indexer, &self.progress, now);
            let replaying = matches!(active.walk, Some(Walk::Replay { .. }));
            if informer_synced && !replaying && !active.told_synced {
                active.told_synced = true;
                active.listener().tell(&Notification::Synced, &self.progress, now);
            }
        }
        self.active.iter().any(|active| active.walk.is_some() && !active.parked)
    }

    /// When the next resync is due.
    pub(crate) fn resync_due(&self) -> Option<Instant> {
        self.active.iter().filter_map(|active| active.resync_due).min()
    }

    /// Ends it for good: what waits is dropped, the calls that are being made finish, and all tasks have ended when this returns.
    pub(crate) async fn stop(&mut self) {
        self.inbox.close();
        self.active.clear();
        while let Some(ended) = self.tasks.join_next().await {
            note_ended(ended);
        }
    }
}

impl Drop for SharedProcessor {
    /// An informer that is aborted tells nobody anything either.
    fn drop(&mut self) {
        self.inbox.close();
    }
}

fn note_ended(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "event handler's task failed");
    }
}
