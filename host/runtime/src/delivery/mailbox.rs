//! What waits for one shard of a plugin: its events and the order in which they come out. Synchronous; time is a parameter. The mailboxes of all shards are in
//! `delivery/mailboxes.rs`.
//!
//! Events come out in the order they went in. Up to the mark every one is kept; above it a newer event is
//! merged into the last waiting one of the same object and subscription, so memory is bounded by the
//! number of objects. A failed event waits for its retry at the head of its object's lane; later events
//! of that object wait behind it, other objects do not: while a retry and another event are due they take turns.
//!
//! Each part keeps its own account of what waits in it: the [`Backlog`] has what comes for the first time, [`Replays`] what walks through the store have come
//! to, [`HeldObjects`] the objects of which an event was attempted, [`WithheldEvents`] what may not be told for now.

mod backlog;
mod drain;
mod held;
mod initials;
mod lane;
mod load;
mod queued;
mod regroup;
mod replays;
mod waiting;
mod withheld;

use crate::contract::limits::Limits;
use crate::delivery::sync_calls::{SyncCall, SyncCalls};
use crate::event::merge::{Merged, merge};
use crate::event::{Event, Reason, SubscriptionId};
use backlog::Backlog;
use hashbrown::HashSet;
use held::HeldObjects;
pub(crate) use initials::Initials;
use lane::Lane;
pub(crate) use load::QueueLoad;
pub(crate) use queued::{Again, Attempts, Queued, Settled};
pub(super) use replays::ROOM;
use replays::Replays;
use std::time::{Duration, Instant};
pub(crate) use waiting::WaitingEvent;
use withheld::WithheldEvents;

/// Once the waiting events take this many bytes, those that come wait without the text that their objects carry for whoever reads them soon:
/// a plugin that is behind has it unpacked when its turn comes. Four hundred updates of 5 KB objects, of each plugin that is behind.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// Where merging begins. Invariant 19.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl From<&Limits> for Marks {
    fn from(limits: &Limits) -> Self {
        Self { events: limits.queue_events_mark, bytes: limits.queue_bytes_mark }
    }
}

impl Marks {
    fn are_reached_by(self, load: QueueLoad) -> bool {
        load.events >= self.events || load.bytes >= self.bytes
    }

    /// Half of them: above it merging goes on.
    fn half(self) -> Self {
        Self { events: self.events / 2, bytes: self.bytes / 2 }
    }
}

#[derive(Debug)]
pub(crate) struct Mailbox {
    marks: Marks,
    /// What waits in the other mailboxes of the plugin: it counts towards the marks.
    beside: QueueLoad,
    /// An event waits so long for others of its object, which are merged into it.
    debounce: Duration,
    backlog: Backlog,
    replays: Replays,
    held: HeldObjects,
    withheld: WithheldEvents,
    in_flight: Option<Queued>,
    /// What came since nothing new is taken in; none while everything is.
    aside: Option<Box<Mailbox>>,
    /// Of which subscriptions all initial objects were told.
    pub(crate) initials: Initials,
    /// Which of them the instance is to be told of.
    pub(super) syncs: SyncCalls,
    /// Events that were taken since a key was, as far as that matters to whose turn it is.
    pub(super) events_since_key: u32,
    /// The event that came out last was a retry.
    retry_had_turn: bool,
    /// Of those that wait for their first turn, the one that came out last was one of a replay.
    replay_had_turn: bool,
    seq: u64,
    coalesced: u64,
}

impl Mailbox {
    pub(crate) fn new(marks: Marks) -> Self {
        Self {
            marks,
            beside: QueueLoad::default(),
            debounce: Duration::ZERO,
            backlog: Backlog::default(),
            replays: Replays::default(),
            held: HeldObjects::default(),
            withheld: WithheldEvents::default(),
            in_flight: None,
            aside: None,
            initials: Initials::default(),
            syncs: SyncCalls::default(),
            events_since_key: 0,
            retry_had_turn: false,
            replay_had_turn: false,
            seq: 0,
            coalesced: 0,
        }
    }

    /// Merging begins elsewhere for what comes from here on.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.marks = marks;
    }

    /// How long events wait for others of their object from here on.
    pub(crate) fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// So much waits in the plugin's other mailboxes, and so much is put aside there.
    pub(super) fn set_beside(&mut self, beside: QueueLoad, aside: QueueLoad) {
        self.beside = beside;
        if let Some(put) = &mut self.aside {
            put.beside = aside;
        }
    }

    /// What waits, the event in flight, the line of replays and what is withheld not counted.
    pub(crate) fn load(&self) -> QueueLoad {
        self.backlog.load() + self.held.load()
    }

    /// The same of what is put aside.
    pub(super) fn load_aside(&self) -> QueueLoad {
        self.aside.as_ref().map_or_else(QueueLoad::default, |aside| aside.load())
    }

    /// How many events were merged into others or cancelled so far.
    pub(crate) fn coalesced(&self) -> u64 {
        self.coalesced
    }

    pub(super) fn has_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// When the oldest waiting event's bytes were read.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.oldest_untried().into_iter().chain(self.held.oldest()).min()
    }

    fn oldest_untried(&self) -> Option<Instant> {
        self.backlog.events().next().map(|event| event.received)
    }

    /// The lane of the retry in flight.
    fn retried(&self) -> Option<Lane> {
        let retried = self.in_flight.as_ref().filter(|queued| queued.is_retry());
        retried.map(|queued| Lane::of(&queued.event))
    }

    /// Objects whose first event has failed and is tried again.
    pub(crate) fn failed(&self) -> usize {
        self.held.failed() + usize::from(self.retried().is_some())
    }

    /// Events that wait for their turn alone, and when the first of them was read: others wait for a retry of their object, or are one.
    pub(crate) fn ready(&self) -> (usize, Option<Instant>) {
        let (behind, head) = self.held.behind_retries(self.retried().as_ref());
        (self.load().events - behind, head.into_iter().chain(self.oldest_untried()).min())
    }

    /// No event that has failed comes out before this; none: each comes at its own time.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>) {
        self.held.hold_retries(from);
    }

    /// Appends an event, merging it into its object's last waiting one above the mark.
    pub(crate) fn push(&mut self, event: Event) {
        if let Some(aside) = &mut self.aside {
            return aside.push(event);
        }
        let Some(mut event) = self.unless_withheld(event) else { return };
        if (self.load() + self.beside).bytes >= TEXT_BYTES_MAX {
            event.object = event.object.at_rest();
            event.old = event.old.map(|old| old.at_rest());
        }
        self.initials.came(&event);
        let lane = Lane::of(&event);
        self.bring_along(&lane);
        if let Some(event) = self.unless_superseded(&lane, event) {
            self.push_live(event);
        }
    }

    /// Puts in what a host before this one has attempted, with the number of its next attempt. It comes before its object's other
    /// events, which wait for it from now on.
    pub(crate) fn restore(&mut self, mut queued: Queued, due: Instant) {
        self.number(&mut queued);
        self.held.restore(queued, due);
    }

    /// What the first list tells of an object takes the place of what a host before had attempted and nobody has since, by the rule that
    /// merges events.
    fn unless_superseded(&mut self, lane: &Lane, event: Event) -> Option<Event> {
        if !self.held.take_restored(lane) || event.reason != Reason::Initial {
            return Some(event);
        }
        let left = self.held.supersede(lane, event, |older, newer| merge(older, newer, true));
        self.coalesced += u64::from(left.is_none());
        left
    }

    /// Puts an event behind everything of its object.
    fn push_live(&mut self, event: Event) {
        if !self.is_over_mark(QueueLoad::default()) && self.debounce.is_zero() {
            return self.backlog.append(event);
        }
        let debounces = !self.debounce.is_zero();
        let (initials, coalesced) = (&mut self.initials, &mut self.coalesced);
        self.backlog.merge(event, |older, newer| {
            let since = older.received;
            match merge_counted(older, newer, initials, coalesced) {
                // Whatever comes, it waits no longer than the first one would have.
                Merged::One(event) if debounces => Merged::One(Event { received: since, ..event }),
                merged => merged,
            }
        });
    }

    /// Whether the mark is reached once this waits as well.
    fn is_over_mark(&self, more: QueueLoad) -> bool {
        self.marks.are_reached_by(self.load() + self.beside + more)
    }

    /// The next event to deliver at `now`. It is in flight until [`settle`](Self::settle).
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Queued> {
        assert!(self.in_flight.is_none(), "one event is delivered at a time");
        let mut queued = self.pop_next(now)?;
        self.number(&mut queued);
        self.retry_had_turn = queued.is_retry();
        let is_low = !self.marks.half().are_reached_by(self.load() + self.beside);
        // A debounce asks for it as well.
        if is_low && self.debounce.is_zero() {
            self.backlog.forget_last();
        }
        self.in_flight = Some(queued.clone());
        Some(queued)
    }

    /// The next event of all: a retry and one that was never tried by turns.
    fn pop_next(&mut self, now: Instant) -> Option<Queued> {
        match self.retry_had_turn {
            true => self.pop_untried(now).or_else(|| self.held.pop_retry(now)),
            false => self.held.pop_retry(now).or_else(|| self.pop_untried(now)),
        }
    }

    /// An event whose first attempt this is. What happens and what walks have come to take turns. Invariant 18.
    fn pop_untried(&mut self, now: Instant) -> Option<Queued> {
        if let Some(head) = self.held.pop_untried(now) {
            return Some(head);
        }
        if self.replay_had_turn {
            let live = self.pop_live(now);
            self.replay_had_turn = live.is_none();
            live.or_else(|| self.pop_replayed())
        } else {
            let replayed = self.pop_replayed();
            self.replay_had_turn = replayed.is_some();
            replayed.or_else(|| self.pop_live(now))
        }
    }

    fn pop_live(&mut self, now: Instant) -> Option<Queued> {
        let debounce = self.debounce();
        let is_due = |event: &Event| debounce.is_zero() || event.received + debounce <= now;
        while let Some(event) = self.backlog.pop_if(is_due) {
            if let Some(queued) = self.unless_held(event) {
                return Some(queued);
            }
        }
        None
    }

    /// An event that has its turn, unless it waits behind one of its object's that comes again. Invariant 18.
    fn unless_held(&mut self, event: Event) -> Option<Queued> {
        let lane = Lane::of(&event);
        if !self.held.has(&lane) {
            return Some(Queued::untried(event));
        }
        let merges = self.is_over_mark(QueueLoad::of(&event));
        let (initials, coalesced) = (&mut self.initials, &mut self.coalesced);
        let merge = |older, newer| merge_counted(older, newer, initials, coalesced);
        self.held.push(&lane, event, merges.then_some(merge));
        None
    }

    fn number(&mut self, queued: &mut Queued) {
        if queued.seq == 0 {
            self.seq += 1;
            queued.seq = self.seq;
        }
    }

    /// The next call that says that a subscription has synced.
    pub(super) fn next_sync(&self, now: Instant) -> Option<SyncCall> {
        self.syncs.next(&self.initials, now)
    }

    /// Says what became of the event in flight.
    pub(crate) fn settle(&mut self, settled: Settled, now: Instant) {
        let Some(queued) = self.in_flight.take() else { return };
        let Some(again) = settled.again() else {
            self.initials.ended(queued.event.subscription, queued.event.before_sync.into());
            if !self.held.is_empty() {
                self.held.release(Lane::of(&queued.event), now);
            }
            return;
        };
        let queued = queued.after(&again);
        match self.withheld.get_mut(queued.event.subscription) {
            Some(events) => events.push_front(queued),
            None => self.held.come_again(queued, again.at),
        }
    }

    /// Puts back what was in flight when whoever had it went without a word: as if it had ended the instance.
    pub(crate) fn recover(&mut self, now: Instant) {
        self.settle(Settled::CrashedRetryAt(now), now);
    }

    /// When something can be popped: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        if !self.replays.is_empty() {
            return Some(now);
        }
        let debounce = self.debounce();
        let first = self.backlog.events().next().map(|event| match debounce.is_zero() {
            true => now,
            false => event.received + debounce,
        });
        first.into_iter().chain(self.held.next_due()).min()
    }

    /// Drops the waiting events of all other subscriptions and says how many those were.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.initials.retain(keep);
        if let Some(aside) = &mut self.aside {
            aside.retain(keep);
        }
        let waiting = self.backlog.retain(keep) + self.held.retain(keep);
        waiting + self.replays.retain(keep) + self.withheld.retain(keep)
    }

    /// Whether a subscription's objects were told since it is as this load has it, and nothing waits that was queued for it as another had it. It
    /// looks at everything that waits.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        let is_old = |event: &Event| event.subscription == id && event.asked_by != asked_by;
        let in_flight = self.in_flight.iter().map(|queued| &queued.event);
        let mut waiting = self.backlog.events().chain(self.held.events()).chain(in_flight);
        self.aside.is_none()
            && self.initials.are_through(id)
            && !waiting.any(is_old)
            && !self.withheld.events().any(is_old)
    }
}

/// What is left of two waiting events, counted.
fn merge_counted(
    older: Event,
    newer: Event,
    initials: &mut Initials,
    coalesced: &mut u64,
) -> Merged {
    let initial = |event: &Event| usize::from(event.before_sync);
    let (id, before) = (older.subscription, initial(&older) + initial(&newer));
    let merged = merge(older, newer, false);
    let (gone, after) = match &merged {
        Merged::One(event) => (1, initial(event)),
        Merged::Nothing => (2, 0),
        Merged::Both(older, newer) => (0, initial(older) + initial(newer)),
    };
    *coalesced += gone;
    initials.ended(id, before - after);
    merged
}

#[cfg(test)]
pub(crate) mod tests;
