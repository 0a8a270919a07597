//! Objects with an attempted event. The later events of such an object wait behind it, in order.
//!
//! Failed heads stand apart from heads that were never tried: an open breaker holds only failed ones.

use super::load::QueueLoad;
use super::queued::Queued;
use super::{Event, Lane};
use crate::event::SubscriptionId;
use crate::event::merge::Merged;
use hashbrown::{HashMap, HashSet};
use informant_cache::ObjectKey;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Lanes in the order in which their heads may be tried.
#[derive(Debug, Default)]
struct Places(BTreeSet<(Instant, u64, Lane)>);

impl Places {
    fn pop(&mut self, now: Instant) -> Option<Lane> {
        if self.0.first()?.0 > now {
            return None;
        }
        self.0.pop_first().map(|(_, _, lane)| lane)
    }

    fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _, _)| *at)
    }

    fn retain(&mut self, keep: impl Fn(&Lane) -> bool) {
        self.0.retain(|(_, _, lane)| keep(lane));
    }
}

#[derive(Debug, Default)]
pub(super) struct HeldObjects {
    /// A lane stays while its head is in flight, with the events behind the head.
    lanes: HashMap<Lane, VecDeque<Queued>>,
    /// Lanes whose head was attempted before. Each lane has one place, unless its head is in flight.
    retries: Places,
    /// Lanes whose head was never attempted: the event before it has ended.
    untried: Places,
    /// No retry comes out before this time.
    retries_from: Option<Instant>,
    /// Lanes whose head was attempted by an earlier host, and not yet by this one.
    restored: HashSet<Lane>,
    load: QueueLoad,
}

impl HeldObjects {
    pub(super) fn load(&self) -> QueueLoad {
        self.load
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    pub(super) fn has(&self, lane: &Lane) -> bool {
        self.lanes.contains_key(lane)
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.lanes.values().flatten().map(|queued| &*queued.event)
    }

    /// Calls `each` with every event of an object. The time is that of the event's next attempt, if the event is
    /// the next one.
    pub(super) fn each_of(&self, key: &ObjectKey, mut each: impl FnMut(&Queued, Option<Instant>)) {
        for (lane, events) in self.lanes.iter().filter(|(lane, _)| lane.key() == key) {
            let at = |places: &Places| {
                places.0.iter().find(|(_, _, placed)| placed == lane).map(|(at, ..)| *at)
            };
            let retry = at(&self.retries).map(|at| self.retries_from.map_or(at, |it| it.max(at)));
            let mut head = retry.or_else(|| at(&self.untried));
            events.iter().for_each(|queued| each(queued, head.take()));
        }
    }

    /// When the bytes of the oldest head were read.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let heads = self.lanes.values().filter_map(|lane| lane.front());
        heads.map(|queued| queued.event.received).min()
    }

    /// No retry comes out before `from`. With `None`, each comes at its own time.
    pub(super) fn hold_retries(&mut self, from: Option<Instant>) {
        self.retries_from = from;
    }

    /// The number of objects whose head has failed.
    pub(super) fn failed(&self) -> usize {
        self.retries.0.len()
    }

    /// When the first head may be tried.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let retry = self.retries.first();
        let retry = retry.map(|at| self.retries_from.map_or(at, |from| from.max(at)));
        retry.into_iter().chain(self.untried.first()).min()
    }

    /// Notes when the head of a lane may be tried.
    fn place(&mut self, (is_retry, seq): (bool, u64), at: Instant, lane: Lane) {
        let places = if is_retry { &mut self.retries } else { &mut self.untried };
        places.0.insert((at, seq, lane));
    }

    /// The next head that was attempted before.
    pub(super) fn pop_retry(&mut self, now: Instant) -> Option<Queued> {
        if self.retries_from.is_some_and(|from| from > now) {
            return None;
        }
        while let Some(lane) = self.retries.pop(now) {
            if let Some(head) = self.pop_head(&lane) {
                return Some(head);
            }
        }
        None
    }

    /// The next head that was never attempted.
    pub(super) fn pop_untried(&mut self, now: Instant) -> Option<Queued> {
        while let Some(lane) = self.untried.pop(now) {
            if let Some(head) = self.pop_head(&lane) {
                return Some(head);
            }
        }
        None
    }

    /// Returns `None` if the events of the lane have cancelled out; the lane is then removed.
    fn pop_head(&mut self, lane: &Lane) -> Option<Queued> {
        self.restored.remove(lane);
        let Some(head) = self.lanes.get_mut(lane).and_then(VecDeque::pop_front) else {
            self.lanes.remove(lane);
            return None;
        };
        self.load -= QueueLoad::of(&head.event);
        Some(head)
    }

    /// Puts an event behind the others of its object. With `merge`, the event may be merged into the last event
    /// that was never attempted.
    pub(super) fn push(
        &mut self,
        lane: &Lane,
        newer: Event,
        merge: Option<impl FnOnce(Event, Event) -> Merged>,
    ) {
        let Some(waiting) = self.lanes.get_mut(lane) else { return };
        let older = match &merge {
            Some(_) => waiting.pop_back_if(|last| last.seq == 0),
            None => None,
        };
        let events = match (older, merge) {
            (Some(older), Some(merge)) => {
                self.load -= QueueLoad::of(&older.event);
                match merge(Arc::unwrap_or_clone(older.event), newer) {
                    Merged::One(event) => [Some(event), None],
                    Merged::Nothing => [None, None],
                    Merged::Both(older, newer) => [Some(older), Some(newer)],
                }
            }
            _ => [Some(newer), None],
        };
        for event in events.into_iter().flatten() {
            self.load += QueueLoad::of(&event);
            waiting.push_back(Queued::untried(event));
        }
    }

    /// A delivered event comes again at this time, before the others of its object.
    pub(super) fn come_again(&mut self, queued: Queued, at: Instant) {
        let lane = Lane::of(&queued.event);
        self.place(queued.place(), at, lane.clone());
        self.load += QueueLoad::of(&queued.event);
        self.lanes.entry(lane).or_default().push_front(queued);
    }

    /// The same for an event that an earlier host attempted.
    pub(super) fn restore(&mut self, queued: Queued, due: Instant) {
        self.restored.insert(Lane::of(&queued.event));
        self.come_again(queued, due);
    }

    /// Puts an event behind the others of its object. If there are none, the event is next, unless an event of the
    /// object is in flight: that one ends first.
    pub(super) fn put_back(&mut self, queued: Queued, in_flight: Option<&Lane>, now: Instant) {
        let lane = Lane::of(&queued.event);
        if !self.has(&lane) && in_flight != Some(&lane) {
            self.place(queued.place(), now, lane.clone());
        }
        self.load += QueueLoad::of(&queued.event);
        self.lanes.entry(lane).or_default().push_back(queued);
    }

    /// Ends the event in flight of a lane: the next event may be tried, or the lane is removed.
    pub(super) fn release(&mut self, lane: Lane, now: Instant) {
        let Some(waiting) = self.lanes.get(&lane) else { return };
        match waiting.front().map(Queued::place) {
            Some(place) => self.place(place, now, lane),
            None => _ = self.lanes.remove(&lane),
        }
    }

    /// Merges an event into a head that an earlier host attempted, as `merge` says. Returns `None` if the head has
    /// taken it in. The count of attempts continues: an object that always fails is not tried for ever because
    /// hosts restart.
    pub(super) fn supersede(
        &mut self,
        lane: &Lane,
        event: Event,
        merge: impl FnOnce(Event, Event) -> Merged,
    ) -> Option<Event> {
        let Some(head) = self.lanes.get_mut(lane).and_then(VecDeque::front_mut) else {
            return Some(event);
        };
        let before = QueueLoad::of(&head.event);
        match merge(Event::clone(&head.event), event) {
            Merged::One(merged) => {
                self.load -= before;
                self.load += QueueLoad::of(&merged);
                head.event = Arc::new(merged);
                None
            }
            Merged::Both(_, event) => Some(event),
            Merged::Nothing => unreachable!("what the plugin was told of has an end worth telling"),
        }
    }

    /// Whether there is an event that only an earlier host attempted.
    pub(super) fn has_restored(&self) -> bool {
        !self.restored.is_empty()
    }

    /// Whether only an earlier host attempted an object's head. A second call answers `false`.
    pub(super) fn take_restored(&mut self, lane: &Lane) -> bool {
        // Nearly always there is none.
        !self.restored.is_empty() && self.restored.remove(lane)
    }

    /// The number of events that are retries or wait behind one, and when the oldest other head was read. `retried`
    /// is the lane whose retry is in flight.
    pub(super) fn behind_retries(&self, retried: Option<&Lane>) -> (usize, Option<Instant>) {
        let (mut count, mut oldest) = (0, None);
        for (lane, events) in &self.lanes {
            let head = events.front().filter(|head| !head.is_retry());
            match head.filter(|_| retried != Some(lane)) {
                Some(head) => oldest = oldest.into_iter().chain([head.event.received]).min(),
                None => count += events.len(),
            }
        }
        (count, oldest)
    }

    /// Takes all events of a subscription: lanes in the order of their heads' numbers, and each lane's events in
    /// order.
    pub(super) fn take_all(&mut self, id: SubscriptionId) -> VecDeque<Queued> {
        let lanes = self.lanes.extract_if(|lane, _| lane.subscription == id);
        let mut lanes: Vec<VecDeque<Queued>> = lanes.map(|(_, events)| events).collect();
        lanes.sort_by_key(|lane| lane.front().map(|queued| queued.seq));
        let events: VecDeque<Queued> = lanes.into_iter().flatten().collect();
        self.load -= events.iter().map(|queued| &*queued.event).sum();
        self.forget_lanes(|lane| lane.subscription == id);
        events
    }

    /// Drops the events of all other subscriptions, and returns their number.
    pub(super) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        let gone = self.lanes.extract_if(|lane, _| !keep.contains(&lane.subscription));
        let gone: QueueLoad = gone
            .map(|(_, events)| events.iter().map(|queued| &*queued.event).sum::<QueueLoad>())
            .sum();
        self.load -= gone;
        self.forget_lanes(|lane| !keep.contains(&lane.subscription));
        gone.events
    }

    fn forget_lanes(&mut self, is_gone: impl Fn(&Lane) -> bool) {
        self.retries.retain(|lane| !is_gone(lane));
        self.untried.retain(|lane| !is_gone(lane));
        self.restored.retain(|lane| !is_gone(lane));
    }

    /// Splits the lanes into so many parts. `of` gives the part of each lane.
    pub(super) fn split(self, parts: usize, of: impl Fn(&Lane) -> usize) -> Vec<Self> {
        let mut split: Vec<Self> = std::iter::repeat_with(Self::default).take(parts).collect();
        for (lane, events) in self.lanes {
            let part = &mut split[of(&lane)];
            part.load += events.iter().map(|queued| &*queued.event).sum();
            part.lanes.insert(lane, events);
        }
        for place in self.retries.0 {
            split[of(&place.2)].retries.0.insert(place);
        }
        for place in self.untried.0 {
            split[of(&place.2)].untried.0.insert(place);
        }
        for lane in self.restored {
            split[of(&lane)].restored.insert(lane);
        }
        split
    }

    /// Takes in the lanes of another part. No lane may be in both.
    pub(super) fn absorb(&mut self, mut other: Self) {
        self.lanes.extend(other.lanes);
        self.retries.0.append(&mut other.retries.0);
        self.untried.0.append(&mut other.untried.0);
        self.restored.extend(other.restored);
        self.load += other.load;
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        assert_eq!(self.load, self.events().sum(), "the load is that of what waits");
        let places = self.retries.0.len() + self.untried.0.len();
        assert!(self.lanes.len() <= places + 1, "a held lane has a place or its head is in flight");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NO_MARK, parse, show};
    use super::super::{Mailbox, Settled};
    use super::*;
    use std::time::Duration;

    /// `p` takes the next event and shows it, `s` settles it, `f` fails it, and `l` brings it again later without
    /// an attempt. `h` holds failed events for a second, `r` releases them, and `.` lets a second pass. Every other
    /// step is an event.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (mut queue, mut now) = (Mailbox::new(NO_MARK), Instant::now());
        let second = Duration::from_secs(1);
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            match step {
                "p" => {
                    let is_due = queue.next_due(now).is_some_and(|due| due <= now);
                    let popped = queue.pop(now);
                    assert!(is_due || popped.is_none(), "whoever waits would not have looked");
                    shown.push(popped.map_or("-".to_owned(), |queued| show(&queued)));
                }
                "s" => queue.settle(Settled::Finished, now),
                "f" => queue.settle(Settled::RetryAt(now), now),
                "l" => queue.settle(Settled::NotCalled(now + second), now),
                "h" => queue.hold_retries(Some(now + second)),
                "r" => queue.hold_retries(None),
                "." => now += second,
                _ => queue.push(parse(step)),
            }
            queue.check_invariants();
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn retries_and_other_events_take_turns() {
        check("+a1 +b1 +c1 +d1 p f p f p f p", "+a1 +a1#2 +b1 +a1#3");
        check("+a1 p f p f p f p", "+a1 +a1#2 +a1#3 +a1#4");
    }

    #[test]
    fn what_has_failed_is_held_and_nothing_else() {
        check("+a1 p f h +b1 ~a2 p s p . p s p", "+a1 +b1 - +a1#2 ~a2");
        check("+a1 p f h p r p s p", "+a1 - +a1#2 -");
        check("+a1 p f ~a2 p h s p s p", "+a1 +a1#2 ~a2 -");
    }

    #[test]
    fn an_event_that_was_not_tried_has_not_failed() {
        check("+a1 p l h p . p s p", "+a1 - +a1 -");
    }

    /// A waiting head and a later event may cancel out, although the head already has a place.
    #[test]
    fn a_lane_whose_head_cancels_out_holds_nothing_back() {
        let (mut held, now) = (HeldObjects::default(), Instant::now());
        let [first, next, newest] = ["+a1", "+a2", "-a3"].map(parse);
        let lane = Lane::of(&first);
        let both = |_, _| Merged::Nothing;
        held.come_again(Queued::untried(first), now);
        assert!(held.pop_untried(now).is_some(), "it is in flight");
        held.push(&lane, next, Some(both));
        held.release(lane.clone(), now);
        held.push(&lane, newest, Some(both));
        assert_eq!(held.load(), QueueLoad::default());
        assert!(held.pop_untried(now).is_none() && held.is_empty());
        held.check_invariants();
    }
}
