//! The handlers of one informer and their pending notifications.
//!
//! As client-go's `sharedProcessor` and `processorListener` (`tools/cache/shared_informer.go`), without their
//! unbounded buffers: a handler has a bounded queue and its own task, or is called inline, in the informer's task. A
//! late handler walks the store by key in short steps while live notifications go on. The handlers take turns, so that many
//! walks delay live notifications no more than one. Those for keys in front of its cursor are delivered, and the walk finds
//! the others. So no object is missed or delivered twice. A handler that is slow to take its replay costs a cursor and no copy
//! of the store. A paced inline handler has the same, also for the first list, and gets the changes ahead of the cursor too.

mod form;
mod inbox;
mod listener;
mod share;

pub use inbox::RoomSignal;
pub(crate) use inbox::{Beginning, Inbox};
pub use listener::Registration;

use crate::indexer::Indexer;
use crate::informer_state::Progress;
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::{Cause, Notification, Reason};
use form::{Postponed, share_by_form};
use listener::{Listener, ListenerPlace};
use share::restrict;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// Objects in one step of all walks together, or of all handlers that begin: some hundred microseconds, after which live
/// notifications get their turn.
const WALK_STEP_OBJECTS: usize = 256;

/// A walk through the store; `after` is the last delivered key.
#[derive(Debug)]
enum Walk {
    /// `is_at_end`: at its last step there was no next object; it goes on as long as the first list does. `awaits`: at
    /// its last step it waited for the next object to become whole.
    Replay {
        after: Option<ObjectKey>,
        is_at_end: bool,
        awaits: bool,
    },
    Resync {
        after: Option<ObjectKey>,
    },
}

impl Walk {
    fn begin() -> Self {
        Self::Replay { after: None, is_at_end: false, awaits: false }
    }
}

#[derive(Debug)]
struct Active {
    place: ListenerPlace,
    walk: Option<Walk>,
    /// Whether the walk waits until its handler has taken its notifications.
    parked: bool,
    /// Whether the handler's own walk goes on.
    walks_itself: bool,
    resync_due: Option<Instant>,
    /// Whether its requested scope was listed completely once.
    covered: bool,
    /// Whether it has got `Synced`.
    told_synced: bool,
    /// Whether it was called since the end of its last batch.
    in_batch: bool,
    /// Changes until their objects are whole, for a handler that replaces another.
    postponed: Postponed,
}

/// A written change without notifications yet.
#[derive(Clone, Debug)]
pub(crate) struct ToTell {
    pub(crate) notification: Notification,
    /// Whether a list showed it.
    pub(crate) listing: bool,
    /// Whether it is no change, but an object of which only the metadata were known.
    pub(crate) is_completed: bool,
}

impl Active {
    fn new(place: ListenerPlace, now: Instant) -> Self {
        let listener = place.listener();
        Self {
            walk: listener.replay.then_some(Walk::begin()),
            parked: false,
            walks_itself: false,
            resync_due: listener.resync_period.and_then(|period| now.checked_add(period)),
            covered: false,
            told_synced: false,
            in_batch: false,
            postponed: Postponed::default(),
            place,
        }
    }

    fn listener(&self) -> &Arc<Listener> {
        self.place.listener()
    }

    /// Whether its replay has yet to reach the object of a live notification.
    fn is_ahead(&self, notification: &Notification) -> bool {
        let Some(Walk::Replay { after, .. }) = &self.walk else { return false };
        let key = notification.object().map(|object| object.key());
        after.as_ref().is_none_or(|after| key.is_none_or(|key| key > after))
    }

    /// Delivers this handler's part of a change. The replay handles objects ahead of it, with two exceptions: a
    /// handler that replaces another continues that one's knowledge, and a paced one gets changes ahead.
    fn tell(&mut self, to_tell: &ToTell, progress: &Progress, now: Instant) {
        let is_ahead = self.is_ahead(&to_tell.notification);
        let (succeeds, paced) = (self.listener().succeeds, self.listener().paced);
        if is_ahead && !succeeds && !paced {
            return;
        }
        let Some(notification) = self.share(to_tell, is_ahead) else { return };
        self.in_batch = true;
        match is_ahead && paced {
            true => self.tell_ahead(&notification, progress, now),
            false => self.listener().tell(&notification, progress, now, false),
        }
    }

    /// The part of a change in its scope: an update that moves an object in is an addition, and one that moves it out
    /// a deletion with the state before. Objects of the first list of its scope existed before the handler.
    fn share<'a>(&mut self, to_tell: &'a ToTell, is_ahead: bool) -> Option<Cow<'a, Notification>> {
        let listener = self.place.listener();
        let may_postpone = listener.succeeds && !self.covered;
        let decided = may_postpone.then(|| self.postponed.decide(listener, to_tell)).flatten();
        // A postponed change is no object that existed before the handler.
        let is_change = decided.is_some();
        let by_form = decided.unwrap_or_else(|| share_by_form(listener, to_tell, is_ahead))?;
        let mut share = match by_form {
            notification if listener.scope.is_none() => notification,
            notification => Cow::Owned(restrict(listener, &notification)?),
        };
        let is_first = !is_change && (to_tell.listing || to_tell.is_completed);
        if is_first && !self.covered {
            share.to_mut().set_reason(Reason::Initial);
        }
        Some(share)
    }

    /// Delivers a change ahead of the replay. A replay at the end of the store need not search for the first list's
    /// next object: it is at hand here.
    fn tell_ahead(&mut self, notification: &Notification, progress: &Progress, now: Instant) {
        self.listener().tell_ahead(notification, progress);
        let Notification::Added { object, cause, .. } = notification else { return };
        if cause.reason != Reason::Initial {
            return;
        }
        if !matches!(self.walk, Some(Walk::Replay { is_at_end: true, .. })) {
            return;
        }
        let has_room = self.listener().has_room();
        let Some(Walk::Replay { after, is_at_end, .. }) = &mut self.walk else { return };
        *is_at_end = has_room;
        if has_room {
            *after = Some(object.key().clone());
            self.listener().tell(notification, progress, now, true);
        }
    }

    /// Ends the batch of notifications, if there is one. Returns whether the handler passed any on to another thread.
    fn end_batch(&mut self, progress: &Progress) -> bool {
        std::mem::take(&mut self.in_batch) && self.listener().batch_told(progress)
    }

    /// Begins the due resync. A resync that is due during a walk, or while the last one still waits, is left out: a
    /// slow handler's resyncs do not pile up.
    fn begin_resync(&mut self, now: Instant) {
        if self.resync_due.is_none_or(|due| due > now) {
            return;
        }
        self.resync_due = self.listener().resync_period.and_then(|period| now.checked_add(period));
        if self.walk.is_none() && !self.listener().is_resyncing() {
            self.walk = Some(Walk::Resync { after: None });
        }
    }

    /// Makes a step of the handler's own walk, and of this one: together they look at up to so many objects. Returns
    /// the number of their looks.
    fn step_both(
        &mut self,
        objects_max: usize,
        indexer: &Indexer,
        progress: &Progress,
        now: Instant,
    ) -> usize {
        let own_max = if self.walk.is_some() { objects_max.div_ceil(2) } else { objects_max };
        let own = self.listener().walk(indexer, own_max, progress).min(objects_max);
        self.walks_itself = own > 0;
        self.in_batch |= self.walks_itself;
        own + self.step(objects_max - own, indexer, progress, now)
    }

    /// Delivers the next objects of the walk, up to this number. Returns how many it has passed.
    fn step(
        &mut self,
        objects_max: usize,
        indexer: &Indexer,
        progress: &Progress,
        now: Instant,
    ) -> usize {
        if objects_max == 0 {
            return 0;
        }
        self.parked = self.walk.is_some() && !self.listener().has_room();
        if self.parked {
            return 0;
        }
        let (replay, before, objects_max) = match self.walk.take() {
            // While it waits, a look at the next object is enough.
            Some(Walk::Replay { after, awaits: true, .. }) => (true, after, 1),
            Some(Walk::Replay { after, .. }) => (true, after, objects_max),
            Some(Walk::Resync { after }) => (false, after, objects_max),
            None => return 0,
        };
        let mut objects = indexer.chunk(before.as_ref(), objects_max);
        let is_short = objects.len() < objects_max;
        let listener = self.listener().clone();
        // A replay waits in front of an object that is not whole yet.
        let is_awaited = |object: &Object| {
            replay && !self.covered && !listener.takes(object) && listener.awaits(object)
        };
        let awaited = objects.iter().position(is_awaited);
        objects.truncate(awaited.unwrap_or(objects.len()));
        let (passed, is_at_end) = (objects.len(), is_short && awaited.is_none());
        let after = objects.last().map(|object| object.key().clone()).or(before);
        let belongs = |object: &Object| listener.takes(object) && listener.selects(object);
        for object in objects.into_iter().filter(belongs) {
            self.in_batch = true;
            let cause = |reason| Cause { reason, received: now };
            let notification = if replay {
                Notification::Added { object, cause: cause(Reason::Initial), coalesced: 0 }
            } else {
                let (old, cause) = (object.clone(), cause(Reason::Resync));
                Notification::Updated { old, new: object, cause, coalesced: 0 }
            };
            listener.tell(&notification, progress, now, true);
        }
        let awaits_list = replay && listener.paced && !self.covered;
        if !is_at_end || awaits_list {
            self.parked = is_at_end || awaited.is_some();
            self.walk = Some(match replay {
                true => Walk::Replay { after, is_at_end, awaits: awaited.is_some() },
                false => Walk::Resync { after },
            });
        }
        passed
    }
}

/// The handlers, owned by the informer's task.
#[derive(Debug)]
pub(crate) struct SharedProcessor {
    inbox: Arc<Inbox>,
    progress: Arc<Progress>,
    active: Vec<Active>,
    /// The handler whose walk has the first turn in the next step.
    next_turn: usize,
    /// Whether new handlers may begin in the next step: together they look at a step's objects before they do.
    arrivals_left: bool,
    /// One for each called handler with a queue.
    tasks: JoinSet<()>,
}

impl SharedProcessor {
    pub(crate) fn new(inbox: Arc<Inbox>, progress: Arc<Progress>) -> Self {
        let (active, tasks) = (Vec::new(), JoinSet::new());
        Self { inbox, progress, active, next_turn: 0, arrivals_left: false, tasks }
    }

    /// Admits new handlers, drops removed ones, and makes the requested calls.
    pub(crate) fn admit(&mut self, now: Instant) {
        let (arrivals, are_left) = self.inbox.take_ready(WALK_STEP_OBJECTS);
        self.arrivals_left = are_left;
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
        }
        self.active.retain(|active| !active.listener().is_removed());
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
    /// replace the traces of this one in the caches. Returns the number of handlers that passed changes on to another
    /// thread.
    pub(crate) fn distribute_all(&mut self, to_tell: &[ToTell], now: Instant) -> usize {
        let mut passed_on = 0;
        for active in &mut self.active {
            for change in to_tell {
                active.tell(change, &self.progress, now);
            }
            passed_on += usize::from(active.end_batch(&self.progress));
        }
        passed_on
    }

    /// Makes the next step of the walks, and begins due resyncs. Returns whether any walk can go on at once, or any new
    /// handler may begin.
    pub(crate) fn walk(&mut self, indexer: &Indexer, now: Instant) -> bool {
        for active in &mut self.active {
            active.covered = active.covered
                || match &active.listener().asked {
                    None => self.progress.has_synced(),
                    Some(scope) => self.progress.covers(scope),
                };
            if active.covered {
                active.postponed.clear();
            }
            active.begin_resync(now);
        }
        let left_out = self.step_in_turn(indexer, now);
        for active in &mut self.active {
            let replaying = matches!(active.walk, Some(Walk::Replay { .. }));
            if active.covered && !replaying && !active.told_synced {
                (active.told_synced, active.in_batch) = (true, true);
                active.listener().tell(&Notification::Synced, &self.progress, now, false);
            }
            active.end_batch(&self.progress);
        }
        let goes_on =
            |active: &Active| active.walks_itself || (active.walk.is_some() && !active.parked);
        left_out || self.arrivals_left || self.active.iter().any(goes_on)
    }

    /// Lets the walks look at so many objects together, one handler after the other. Returns whether handlers are left
    /// for the next step, which begins with them.
    fn step_in_turn(&mut self, indexer: &Indexer, now: Instant) -> bool {
        let mut left = WALK_STEP_OBJECTS;
        let handlers = self.active.len();
        let first = self.next_turn;
        for turn in 0..handlers {
            if left == 0 {
                self.next_turn = (first + turn) % handlers;
                return true;
            }
            let active = &mut self.active[(first + turn) % handlers];
            left -= active.step_both(left, indexer, &self.progress, now);
        }
        false
    }

    /// When the next resync is due.
    pub(crate) fn resync_due(&self) -> Option<Instant> {
        self.active.iter().filter_map(|active| active.resync_due).min()
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
