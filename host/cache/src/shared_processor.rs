//! The handlers of one informer and their pending notifications.
//!
//! As client-go's `sharedProcessor` and `processorListener` (`tools/cache/shared_informer.go`), without their
//! unbounded buffers: a handler has a bounded queue and its own task, or is called inline, in the informer's task. A
//! late handler walks the store by key in short steps while live notifications go on. The handlers take turns, so that many
//! walks delay live notifications no more than one. Those for keys in front of its cursor are delivered, and the walk finds
//! the others. So no object is missed or delivered twice. A handler that is slow to take its replay costs a cursor and no copy
//! of the store. A paced inline handler has the same, also for the first list, and gets the changes ahead of the cursor too.

mod active;
mod form;
mod inbox;
mod listener;
mod routes;
mod share;
mod sifted;

pub use inbox::RoomSignal;
pub(crate) use inbox::{Beginning, Inbox};
pub use listener::Registration;

use crate::indexer::Indexer;
use crate::informer_state::Progress;
use crate::resource_event_handler::Notification;
use active::Active;
use form::Postponed;
use routes::Routes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// Objects in one step of all walks together, or of all handlers that begin: some hundred microseconds, after which live
/// notifications get their turn.
const WALK_STEP_OBJECTS: usize = 256;

/// A written change without notifications yet.
#[derive(Clone, Debug)]
pub(crate) struct ToTell {
    pub(crate) notification: Notification,
    /// Whether a list showed it.
    pub(crate) listing: bool,
    /// Whether it is no change, but an object of which only the metadata were known.
    pub(crate) is_completed: bool,
}

/// The handlers, owned by the informer's task.
#[derive(Debug)]
pub(crate) struct SharedProcessor {
    inbox: Arc<Inbox>,
    progress: Arc<Progress>,
    active: Vec<Active>,
    /// The handler whose walk has the first turn in the next step.
    next_turn: usize,
    /// Whether new handlers wait, and whether some may begin in the next step.
    arrivals: Arrivals,
    /// The handlers that the next step looks at. Nothing but changes concerns the others.
    looks: Looks,
    /// When the next resync is due, as of the last look.
    resync_due: Option<Instant>,
    /// The way of a change to the handlers, until they change. An informer without changes has none.
    routes: Option<Box<Routes>>,
    /// One for each called handler with a queue.
    tasks: JoinSet<()>,
}

/// The handlers that a step looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    None,
    /// Those that have not got all that existed.
    Unsettled,
    /// All, after a signal, or if a resync is due.
    All,
}

/// The new handlers after the last look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// None waits.
    None,
    /// Some cannot begin yet.
    Wait,
    /// Some may begin in the next step.
    Left,
}

impl SharedProcessor {
    pub(crate) fn new(inbox: Arc<Inbox>, progress: Arc<Progress>) -> Self {
        Self {
            inbox,
            progress,
            active: Vec::new(),
            next_turn: 0,
            arrivals: Arrivals::None,
            looks: Looks::None,
            resync_due: None,
            routes: None,
            tasks: JoinSet::new(),
        }
    }

    /// Admits new handlers, drops removed ones, and makes the requested calls, if the inbox was signalled.
    pub(crate) fn admit(&mut self, now: Instant) {
        if self.inbox.take_signal() {
            self.looks = Looks::All;
        } else if self.arrivals == Arrivals::None {
            return;
        }
        let (arrivals, left) = self.inbox.take_ready(WALK_STEP_OBJECTS);
        self.arrivals = left;
        for arrival in arrivals {
            let is_replaced = |active: &&mut Active| {
                arrival.replaces.as_ref().is_some_and(|old| old.is_of(active.listener()))
            };
            let replaced = self.active.iter_mut().find(is_replaced);
            let postponed = replaced.map(|active| std::mem::take(&mut active.postponed));
            // Here no notification can come between the end of one and the beginning of the other.
            drop(arrival.replaces);
            let mut place = arrival.place;
            if let Some(run) = place.task(self.progress.clone()) {
                self.tasks.spawn(run);
            }
            let mut active = Active::new(place, now);
            for to_tell in postponed.into_iter().flat_map(Postponed::into_changes) {
                active.tell(&to_tell, &self.progress, now);
            }
            self.active.push(active);
            (self.looks, self.routes) = (Looks::All, None);
        }
        let handlers = self.active.len();
        self.active.retain(|active| !active.listener().is_removed());
        if self.active.len() < handlers {
            self.routes = None;
        }
        while let Some(ended) = self.tasks.try_join_next() {
            note_ended(ended);
        }
        for call in self.inbox.take_calls() {
            if catch_unwind(AssertUnwindSafe(call.0)).is_err() {
                self.progress.handler_panicked();
            }
        }
    }

    /// Delivers the changes to one handler after the other, in the order in which they were added: the next handler may
    /// replace the traces of this one in the caches. A handler that the changes cannot concern is not touched. Returns the
    /// number of handlers that passed changes on to another thread.
    pub(crate) fn distribute_all(&mut self, to_tell: &[ToTell], now: Instant) -> usize {
        if to_tell.is_empty() {
            return 0;
        }
        let Self { active, progress, .. } = self;
        let routes = self.routes.get_or_insert_with(|| Box::new(Routes::new(active)));
        let mut passed_on = 0;
        routes.visit(to_tell, |handler, changes| {
            let handler = &mut active[handler];
            for change in changes {
                handler.tell(change, progress, now);
            }
            passed_on += usize::from(handler.end_batch(progress));
        });
        passed_on
    }

    /// Makes the next step of the walks, and begins due resyncs. Returns whether any walk can go on at once, or any new
    /// handler may begin.
    pub(crate) fn walk(&mut self, indexer: &Indexer, now: Instant) -> bool {
        if self.resync_due.is_some_and(|due| due <= now) {
            self.looks = Looks::All;
        }
        if self.looks == Looks::None {
            return false;
        }
        let all = self.looks == Looks::All;
        let is_looked_at = |active: &&mut Active| all || !active.is_settled();
        for active in self.active.iter_mut().filter(is_looked_at) {
            active.look(&self.progress, now);
        }
        let left_out = self.step_in_turn(indexer, now, all);
        // The step may have been the last one of a resync.
        let is_open = |active: &&mut Active| is_looked_at(active) || active.in_batch;
        for active in self.active.iter_mut().filter(is_open) {
            active.end_step(&self.progress, now);
        }
        if self.active.iter().any(Active::is_routed_otherwise) {
            self.routes = None;
        }
        if !left_out {
            let are_settled = self.active.iter().all(Active::is_settled);
            self.looks = if are_settled { Looks::None } else { Looks::Unsettled };
        }
        self.resync_due = self.active.iter().filter_map(|active| active.resync_due).min();
        left_out || self.arrivals == Arrivals::Left || self.active.iter().any(Active::goes_on)
    }

    /// Lets the walks look at so many objects together, one handler after the other. Returns whether handlers are left
    /// for the next step, which begins with them. `all`: also of those that have got all that existed.
    fn step_in_turn(&mut self, indexer: &Indexer, now: Instant, all: bool) -> bool {
        let mut left = WALK_STEP_OBJECTS;
        let handlers = self.active.len();
        let first = self.next_turn;
        for turn in 0..handlers {
            if left == 0 {
                self.next_turn = (first + turn) % handlers;
                return true;
            }
            let active = &mut self.active[(first + turn) % handlers];
            if !all && active.is_settled() {
                continue;
            }
            left -= active.step_both(left, indexer, &self.progress, now);
        }
        false
    }

    /// When the next resync is due.
    pub(crate) fn resync_due(&self) -> Option<Instant> {
        self.resync_due
    }

    /// Ends for good: waiting notifications are dropped, calls under way finish, and all tasks have ended when this
    /// returns.
    pub(crate) async fn stop(&mut self) {
        self.inbox.close();
        self.active.clear();
        while let Some(ended) = self.tasks.join_next().await {
            note_ended(ended);
        }
    }
}

impl Drop for SharedProcessor {
    /// An aborted informer makes no more notifications either.
    fn drop(&mut self) {
        self.inbox.close();
    }
}

fn note_ended(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "event handler's task failed");
    }
}

#[cfg(test)]
mod tests;
