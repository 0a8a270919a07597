//! The waiting events of one shard, and the order in which they come out. Synchronous; time is a parameter. The
//! mailboxes of all shards are in `delivery/mailboxes.rs`.
//!
//! Events come out in the order in which they came. Up to the mark every event is kept. Above it a newer event is
//! merged into the last waiting one of its object and subscription, so the number of objects bounds the memory. A
//! failed event waits for its retry at the head of its object's lane. Later events of that object wait behind it;
//! other objects do not wait. While a retry and another event are due, they take turns.
//!
//! Each part counts its own events: the [`Backlog`] first attempts, [`Replays`] replayed events, [`HeldObjects`] the
//! objects with an attempted event, [`WithheldEvents`] the events that may not be delivered now.

mod backlog;
mod drain;
mod held;
mod initials;
mod lane;
mod load;
mod queued;
mod regroup;
mod replays;
mod restored;
mod waiting;
mod withheld;

use crate::contract::limits::Limits;
use crate::delivery::sync_calls::{SyncCall, SyncCalls};
use crate::event::merge::{Merged, merge};
use crate::event::{Event, SubscriptionId};
use backlog::Backlog;
use hashbrown::HashSet;
use held::HeldObjects;
pub(crate) use initials::Initials;
use lane::Lane;
pub(crate) use load::QueueLoad;
pub(crate) use queued::{Again, Attempts, Queued, Settled};
use replays::Replays;
pub(super) use replays::{ROOM, ROOM_OF_ALL};
use std::time::{Duration, Instant};
pub(crate) use waiting::WaitingEvent;
use withheld::WithheldEvents;

/// Once the waiting events take this many bytes, new events wait without the unpacked text of their objects: the text
/// is unpacked when their turn comes. The bound is four hundred updates of 5 KB objects for each plugin.
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

    /// Half the marks: merging goes on until the mailbox is below them.
    fn half(self) -> Self {
        Self { events: self.events / 2, bytes: self.bytes / 2 }
    }
}

#[derive(Debug)]
pub(crate) struct Mailbox {
    marks: Marks,
    /// The load of the plugin's other mailboxes. It counts towards the marks.
    beside: QueueLoad,
    /// How long an event waits for later events of its object, which are merged into it.
    debounce: Duration,
    backlog: Backlog,
    replays: Replays,
    held: HeldObjects,
    withheld: WithheldEvents,
    in_flight: Option<Queued>,
    /// When the last event was popped: about the begin of its call.
    popped: Option<Instant>,
    /// Events that came since the mailbox closed. `None` while it is open.
    aside: Option<Box<Mailbox>>,
    /// The subscriptions whose initial objects were all delivered.
    pub(crate) initials: Initials,
    /// The `synced` calls that the instance is to get.
    pub(super) syncs: SyncCalls,
    /// The load whose filters decide about new events during the present work, as the actor said when it took the work.
    /// `None`: no work, or they do not decide.
    pub(super) filters_of: Option<u64>,
    /// Events that were taken since the last key, as far as that decides the next turn.
    pub(super) events_since_key: u32,
    /// Whether the last event that came out was a retry.
    retry_had_turn: bool,
    /// Whether the last first attempt that came out was a replayed event.
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
            popped: None,
            aside: None,
            initials: Initials::default(),
            syncs: SyncCalls::default(),
            filters_of: None,
            events_since_key: 0,
            retry_had_turn: false,
            replay_had_turn: false,
            seq: 0,
            coalesced: 0,
        }
    }

    /// Sets the marks for new events.
    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.marks = marks;
    }

    /// Sets how long new events wait for later events of their object.
    pub(crate) fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// Sets the load of the plugin's other mailboxes, and of the events put aside there.
    pub(super) fn set_beside(&mut self, beside: QueueLoad, aside: QueueLoad) {
        self.beside = beside;
        if let Some(put) = &mut self.aside {
            put.beside = aside;
        }
    }

    /// The waiting events. The event in flight, replays and withheld events do not count.
    pub(crate) fn load(&self) -> QueueLoad {
        self.backlog.load() + self.held.load()
    }

    /// The load of the events that are put aside.
    pub(super) fn load_aside(&self) -> QueueLoad {
        self.aside.as_ref().map_or_else(QueueLoad::default, |aside| aside.load())
    }

    /// How many events were merged into others or cancelled out so far.
    pub(crate) fn coalesced(&self) -> u64 {
        self.coalesced
    }

    pub(super) fn has_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The event in flight, and when it was popped.
    pub(super) fn call(&self) -> Option<(Instant, &Event)> {
        self.popped.zip(self.in_flight.as_ref().map(|queued| &*queued.event))
    }

    /// When the bytes of the oldest waiting event were read.
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

    /// The number of objects whose first event has failed and is tried again.
    pub(crate) fn failed(&self) -> usize {
        self.held.failed() + usize::from(self.retried().is_some())
    }

    /// The number of events that wait only for their turn, and when the oldest of them was read. The other events
    /// are retries, or wait behind a retry of their object.
    pub(crate) fn ready(&self) -> (usize, Option<Instant>) {
        let (behind, head) = self.held.behind_retries(self.retried().as_ref());
        (self.load().events - behind, head.into_iter().chain(self.oldest_untried()).min())
    }

    /// No failed event comes out before `from`. With `None`, each comes at its own time.
    pub(crate) fn hold_retries(&mut self, from: Option<Instant>) {
        self.held.hold_retries(from);
    }

    /// Appends an event. Above the mark, the event is merged into the last waiting event of its object.
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
        if self.replays.is_empty() && !self.held.has_restored() {
            return self.push_live(event);
        }
        let lane = Lane::of(&event);
        self.bring_along(&lane);
        if let Some(event) = self.unless_superseded(&lane, event) {
            self.push_live(event);
        }
    }

    /// Puts an event behind all events of its object.
    fn push_live(&mut self, event: Event) {
        if !self.is_over_mark(QueueLoad::default()) && self.debounce.is_zero() {
            return self.backlog.append(event);
        }
        let debounces = !self.debounce.is_zero();
        let (initials, coalesced) = (&mut self.initials, &mut self.coalesced);
        self.backlog.merge(event, |older, newer| {
            let since = older.received;
            match merge_counted(older, newer, initials, coalesced) {
                // The merged event waits no longer than the first event would have.
                Merged::One(event) if debounces => Merged::One(Event { received: since, ..event }),
                merged => merged,
            }
        });
    }

    /// Whether the mark is reached with this additional load.
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
        // The debounce also uses this index.
        if is_low && self.debounce.is_zero() {
            self.backlog.forget_last();
        }
        self.in_flight = Some(queued.clone());
        self.popped = Some(now);
        Some(queued)
    }

    /// The next event of all: retries and first attempts take turns.
    fn pop_next(&mut self, now: Instant) -> Option<Queued> {
        match self.retry_had_turn {
            true => self.pop_untried(now).or_else(|| self.held.pop_retry(now)),
            false => self.held.pop_retry(now).or_else(|| self.pop_untried(now)),
        }
    }

    /// The next first attempt. Live events and replayed events take turns. Invariant 18.
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

    /// Returns an event whose turn has come, unless it has to wait behind a retry of its object. Invariant 18.
    fn unless_held(&mut self, event: Event) -> Option<Queued> {
        let lane = (!self.held.is_empty()).then(|| Lane::of(&event));
        let Some(lane) = lane.filter(|lane| self.held.has(lane)) else {
            return Some(Queued::untried(event));
        };
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

    /// The next `synced` call.
    pub(super) fn next_sync(&self, now: Instant) -> Option<SyncCall> {
        self.syncs.next(&self.initials, now)
    }

    /// Notes the end of the delivery of the event in flight.
    pub(crate) fn settle(&mut self, settled: Settled, now: Instant) {
        self.filters_of = None;
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

    /// Puts back the event in flight when its caller ended without a result, as if the event had ended the instance.
    pub(crate) fn recover(&mut self, now: Instant) {
        self.settle(Settled::CrashedRetryAt(now), now);
    }

    /// When an event can be popped. A time in the past means now; `None` means that no event waits.
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

    /// Drops the waiting events of all other subscriptions, and returns their number.
    pub(crate) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        self.initials.retain(keep);
        if let Some(aside) = &mut self.aside {
            aside.retain(keep);
        }
        let waiting = self.backlog.retain(keep) + self.held.retain(keep);
        waiting + self.replays.retain(keep) + self.withheld.retain(keep)
    }

    /// Whether a subscription's initial objects were delivered since this load changed it, and no event waits that
    /// another load's version queued. The search visits all waiting events.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        let is_old = |event: &Event| event.subscription == id && event.asked_by != asked_by;
        let in_flight = self.in_flight.iter().map(|queued| &*queued.event);
        let mut waiting = self.backlog.events().chain(self.held.events()).chain(in_flight);
        self.aside.is_none()
            && self.initials.are_through(id)
            && !waiting.any(is_old)
            && !self.withheld.events().any(is_old)
    }
}

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
