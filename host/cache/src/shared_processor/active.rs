//! One handler at work: its walk through the store, and its part of each change.

use super::ToTell;
use super::form::{Postponed, share_by_form};
use super::listener::{Listener, ListenerPlace};
use super::share::restrict;
use crate::indexer::Indexer;
use crate::informer_state::Progress;
use crate::object::{Object, ObjectKey};
use crate::resource_event_handler::{Cause, Interest, Notification, Reason};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// A walk through the store; `after` is the last delivered key.
#[derive(Debug)]
pub(super) enum Walk {
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
pub(super) struct Active {
    place: ListenerPlace,
    /// The objects whose changes concern it.
    pub(super) interest: Interest,
    walk: Option<Walk>,
    /// Whether the walk waits until its handler has taken its notifications.
    parked: bool,
    /// Whether the handler's own walk goes on.
    walks_itself: bool,
    pub(super) resync_due: Option<Instant>,
    /// Whether its requested scope was listed completely once.
    covered: bool,
    /// Whether it has got `Synced`.
    told_synced: bool,
    /// Whether it was called since the end of its last batch.
    pub(super) in_batch: bool,
    /// Whether the routes count it as settled.
    pub(super) is_routed_as_settled: bool,
    /// Changes until their objects are whole, for a handler that replaces another.
    pub(super) postponed: Postponed,
}

impl Active {
    pub(super) fn new(place: ListenerPlace, now: Instant) -> Self {
        let listener = place.listener();
        Self {
            interest: listener.interest(),
            walk: listener.replay.then_some(Walk::begin()),
            parked: false,
            walks_itself: false,
            resync_due: listener.resync_period.and_then(|period| now.checked_add(period)),
            covered: false,
            told_synced: false,
            in_batch: false,
            is_routed_as_settled: false,
            postponed: Postponed::default(),
            place,
        }
    }

    pub(super) fn listener(&self) -> &Arc<Listener> {
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
    pub(super) fn tell(&mut self, to_tell: &ToTell, progress: &Progress, now: Instant) {
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
        let is_next = cause.reason == Reason::Initial
            && matches!(self.walk, Some(Walk::Replay { is_at_end: true, .. }))
            && self.listener().has_room();
        let Some(Walk::Replay { after, is_at_end, .. }) = &mut self.walk else { return };
        // An object that is left to the replay is behind the end that it has seen.
        *is_at_end = is_next;
        if is_next {
            *after = Some(object.key().clone());
            self.listener().tell(notification, progress, now, true);
        }
    }

    /// Ends the batch of notifications, if there is one. Returns whether the handler passed any on to another thread.
    pub(super) fn end_batch(&mut self, progress: &Progress) -> bool {
        std::mem::take(&mut self.in_batch) && self.listener().batch_told(progress)
    }

    /// Whether the handler has got all that existed, so that only changes, calls and resyncs concern it.
    pub(super) fn is_settled(&self) -> bool {
        self.told_synced && self.walk.is_none() && !self.walks_itself
    }

    /// Whether its state differs from that in the routes.
    pub(super) fn is_routed_otherwise(&self) -> bool {
        self.is_settled() != self.is_routed_as_settled
    }

    /// Whether its walks can go on at once.
    pub(super) fn goes_on(&self) -> bool {
        self.walks_itself || (self.walk.is_some() && !self.parked)
    }

    /// Looks whether its scope was listed, and begins the due resync.
    pub(super) fn look(&mut self, progress: &Progress, now: Instant) {
        self.covered = self.covered
            || match &self.listener().asked {
                None => progress.has_synced(),
                Some(scope) => progress.covers(scope),
            };
        if self.covered {
            self.postponed.clear();
        }
        self.begin_resync(now);
    }

    /// Says that it has got all that existed, if it has, and ends the batch.
    pub(super) fn end_step(&mut self, progress: &Progress, now: Instant) {
        let replaying = matches!(self.walk, Some(Walk::Replay { .. }));
        if self.covered && !replaying && !self.told_synced {
            (self.told_synced, self.in_batch) = (true, true);
            self.listener().tell(&Notification::Synced, progress, now, false);
        }
        self.end_batch(progress);
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
    pub(super) fn step_both(
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
