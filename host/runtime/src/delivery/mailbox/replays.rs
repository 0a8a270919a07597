//! The line of replayed events, beside the line of live events.
//!
//! The line is short, because a replay pauses while enough of its events wait here. So a replay of any length takes
//! a cursor and this line. While events wait in both lines, the lines take turns, one event each: neither gets less
//! than half of the plugin's time. An object's events keep their order. A live event takes its object's replayed
//! events along, and a replayed event goes behind the object's live events.

use super::{Lane, Mailbox, Queued};
use crate::event::{Event, Reason, SubscriptionId};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// A replay pauses while so many of its events wait. One step of a replay adds about as many, so the plugin has
/// work while the next step is made. With that step, at most twice as many events of a subscription wait.
pub(in crate::delivery) const ROOM: usize = 256;

/// All replays of a plugin pause while so many of their events wait together, however many subscriptions it has. Each
/// further shard adds [`ROOM`]. At most one step of each informer comes on top.
pub(in crate::delivery) const ROOM_OF_ALL: usize = 4 * ROOM;

/// Once so many events wait in the line, new events wait without the unpacked text of their objects.
const TEXTS_MAX: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Replays {
    /// By number, in the order in which they came.
    waiting: BTreeMap<u64, Replayed>,
    /// The number of the next event.
    next: u64,
    /// The waiting events of each object: the numbers of the first and the last one. So a live event finds them without
    /// a look at the others, of which a plugin with many subscriptions has thousands.
    lanes: HashMap<Lane, [u64; 2]>,
    /// How many events of each subscription wait.
    counts: HashMap<SubscriptionId, usize>,
}

#[derive(Debug)]
struct Replayed {
    event: Event,
    /// The number of the next event of the same object.
    next_of_object: Option<u64>,
}

impl Replays {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The waiting events, in order.
    pub(super) fn into_events(self) -> impl Iterator<Item = Event> {
        self.waiting.into_values().map(|replayed| replayed.event)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.waiting.values().map(|replayed| &replayed.event)
    }

    pub(super) fn push(&mut self, lane: Lane, event: Event) {
        *self.counts.entry(event.subscription).or_default() += 1;
        let number = self.next;
        self.next += 1;
        let [_, last] = self.lanes.entry(lane).or_insert([number; 2]);
        let before = std::mem::replace(last, number);
        // A first event finds nothing at its own number.
        if let Some(before) = self.waiting.get_mut(&before) {
            before.next_of_object = Some(number);
        }
        self.waiting.insert(number, Replayed { event, next_of_object: None });
    }

    /// The number of waiting events of a subscription.
    fn of(&self, id: SubscriptionId) -> usize {
        self.counts.get(&id).copied().unwrap_or_default()
    }

    fn pop(&mut self) -> Option<Event> {
        let (_, Replayed { event, next_of_object }) = self.waiting.pop_first()?;
        let lane = Lane::of(&event);
        match (next_of_object, self.lanes.get_mut(&lane)) {
            (Some(next), Some([first, _])) => *first = next,
            _ => _ = self.lanes.remove(&lane),
        }
        self.leave(event.subscription, 1);
        Some(event)
    }

    /// Takes all events of one object, in order.
    fn take(&mut self, lane: &Lane) -> Vec<Event> {
        // Nearly always there are none, and no key has to be hashed.
        if self.is_empty() {
            return Vec::new();
        }
        let Some([first, _]) = self.lanes.remove(lane) else { return Vec::new() };
        let mut number = Some(first);
        let take_next = || {
            let Replayed { event, next_of_object } = self.waiting.remove(&number?)?;
            number = next_of_object;
            Some(event)
        };
        let taken: Vec<Event> = std::iter::from_fn(take_next).collect();
        self.leave(lane.subscription, taken.len());
        taken
    }

    pub(super) fn has(&self, lane: &Lane) -> bool {
        self.lanes.contains_key(lane)
    }

    fn leave(&mut self, id: SubscriptionId, count: usize) {
        let Some(left) = self.counts.get_mut(&id) else { return };
        *left -= count;
        if *left == 0 {
            self.counts.remove(&id);
        }
        self.give_back();
    }

    /// Gives the memory of an empty line back. A plugin has few replays: kept capacity would take the room of some hundred events in
    /// each idle plugin, and an emptied tree keeps a node of eleven.
    fn give_back(&mut self) {
        if self.waiting.is_empty() {
            *self = Self::default();
        }
    }

    /// Takes all events of one subscription, in order.
    pub(super) fn take_all(&mut self, id: SubscriptionId) -> Vec<Event> {
        if self.counts.remove(&id).is_none() {
            return Vec::new();
        }
        self.lanes.retain(|lane, _| lane.subscription != id);
        let taken = self.waiting.extract_if(.., |_, replayed| replayed.event.subscription == id);
        let taken = taken.map(|(_, replayed)| replayed.event).collect();
        self.give_back();
        taken
    }

    /// Drops the events of all other subscriptions, and returns their number.
    pub(super) fn retain(&mut self, keep: &HashSet<SubscriptionId>) -> usize {
        let before = self.waiting.len();
        self.waiting.retain(|_, replayed| keep.contains(&replayed.event.subscription));
        self.lanes.retain(|lane, _| keep.contains(&lane.subscription));
        self.counts.retain(|id, _| keep.contains(id));
        let dropped = before - self.waiting.len();
        self.give_back();
        dropped
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let mut lanes: HashMap<Lane, Vec<u64>> = HashMap::new();
        let mut counts: HashMap<SubscriptionId, usize> = HashMap::new();
        for (number, replayed) in &self.waiting {
            *counts.entry(replayed.event.subscription).or_default() += 1;
            lanes.entry(Lane::of(&replayed.event)).or_default().push(*number);
        }
        assert_eq!(self.counts, counts, "all that wait are counted");
        assert_eq!(self.lanes.len(), lanes.len(), "each object that waits has a lane");
        for (lane, numbers) in &lanes {
            assert_eq!(self.lanes.get(lane), Some(&[numbers[0], numbers[numbers.len() - 1]]));
            let next = numbers.iter().map(|it| self.waiting[it].next_of_object);
            assert!(next.eq(numbers[1..].iter().copied().map(Some).chain([None])), "{numbers:?}");
        }
    }
}

impl Mailbox {
    /// The number of replayed events of a subscription that wait.
    pub(crate) fn replays_waiting(&self, id: SubscriptionId) -> usize {
        self.replays.of(id)
    }

    /// The number of all replayed events that wait.
    pub(in crate::delivery) fn all_replays_waiting(&self) -> usize {
        self.replays.waiting.len()
    }

    /// Appends a replayed event. The event waits in the line of replays, unless it follows other events of its
    /// object. A closed mailbox still takes replayed events.
    pub(crate) fn push_replayed(&mut self, event: Event) {
        let lane = Lane::of(&event);
        if event.reason == Reason::Resync && self.leaves_out_resync(&lane) {
            return;
        }
        if let Some(aside) = &mut self.aside
            && aside.backlog.has(&lane)
        {
            return aside.push_replayed(event);
        }
        let Some(mut event) = self.unless_withheld(event) else { return };
        if self.replays.waiting.len() >= TEXTS_MAX {
            event.object = event.object.at_rest();
        }
        self.initials.came(&event);
        let Some(event) = self.unless_superseded(&lane, event) else { return };
        match self.backlog.has(&lane) {
            true => self.push_live(event),
            false => self.replays.push(lane, event),
        }
    }

    /// Whether to leave out a resync. A resync has no new content. It is left out if an event of its object waits
    /// anyway, or if its subscription gets no events now. A periodic event must not pile up behind other events,
    /// nor keep a mailbox from its end.
    fn leaves_out_resync(&mut self, lane: &Lane) -> bool {
        self.aside.is_some()
            || self.withheld.get_mut(lane.subscription).is_some()
            || self.held.has(lane)
            || self.backlog.has(lane)
    }

    /// The replayed events without the resyncs, which are left out.
    pub(super) fn without_resyncs(&mut self, mut events: Vec<Event>) -> Vec<Event> {
        for resync in events.extract_if(.., |event| event.reason == Reason::Resync) {
            self.leave_out(&resync);
        }
        events
    }

    fn leave_out(&mut self, resync: &Event) {
        self.initials.ended(resync.subscription, resync.before_sync.into());
    }

    /// Moves the replayed events of an object before its live event. Invariant 18.
    pub(super) fn bring_along(&mut self, lane: &Lane) {
        let taken = self.replays.take(lane);
        for event in self.without_resyncs(taken) {
            self.push_live(event);
        }
    }

    pub(super) fn pop_replayed(&mut self) -> Option<Queued> {
        while let Some(event) = self.replays.pop() {
            if event.reason == Reason::Resync && self.held.has(&Lane::of(&event)) {
                self.leave_out(&event);
                continue;
            }
            if let Some(queued) = self.unless_held(event) {
                return Some(queued);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::mailbox::tests::{SUBSCRIPTION, parse, show};
    use crate::delivery::mailbox::{Marks, QueueLoad, Settled};
    use std::time::{Duration, Instant};

    fn queue() -> Mailbox {
        Mailbox::new(Marks { events: usize::MAX, bytes: usize::MAX })
    }

    fn replayed(text: &str) -> Event {
        Event { reason: Reason::Initial, before_sync: true, ..parse(text) }
    }

    fn object(number: usize) -> Event {
        let name = format!("{number:05}");
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"1"}}}}"#
        );
        let object = informant_cache::Object::decode(json.as_bytes(), None).expect("an object");
        Event { object, ..replayed("+a1") }
    }

    #[test]
    fn what_is_through_leaves_no_room_behind() {
        let (mut queue, now) = (queue(), Instant::now());
        (0..100).for_each(|number| queue.push_replayed(object(number)));
        let room = |queue: &Mailbox| queue.replays.lanes.capacity();
        assert!(room(&queue) >= 100);
        while queue.pop(now).is_some() {
            queue.settle(Settled::Finished, now);
        }
        assert_eq!(room(&queue), 0);
        queue.push_replayed(object(1));
        assert!(queue.pop(now).is_some(), "it goes on");
    }

    /// Pushes events, `(+a1)` as a replay and `[~a1]` as a resync, then takes all events out. A `!` lets the first
    /// attempt of the next event fail.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (mut queue, now) = (queue(), Instant::now());
        let later = now + Duration::from_secs(1);
        queue.initials.begin(SUBSCRIPTION, 1);
        let mut popped = Vec::new();
        for step in steps.split(' ') {
            match step.chars().next() {
                Some('(') => queue.push_replayed(replayed(step.trim_matches(['(', ')']))),
                Some('[') => {
                    let event = parse(step.trim_matches(['[', ']']));
                    let reason = Reason::Resync;
                    queue.push_replayed(Event { reason, before_sync: true, old: None, ..event });
                }
                Some('!') => {
                    popped.push(show(&queue.pop(now).expect("something waits")));
                    queue.settle(Settled::RetryAt(later), now);
                }
                _ => queue.push(parse(step)),
            }
            queue.check_invariants();
        }
        for at in [now, later] {
            while let Some(queued) = queue.pop(at) {
                popped.push(show(&queued));
                queue.settle(Settled::Finished, at);
                queue.check_invariants();
            }
        }
        assert_eq!(queue.initials.left(SUBSCRIPTION), 0, "{steps}");
        assert_eq!(popped.join(" "), expect, "{steps}");
    }

    /// Invariant 18.
    #[test]
    fn while_both_wait_they_take_turns() {
        check("(+a1) (+b1) (+c1) ~d2 ~d3", "+a1 ~d2 +b1 ~d3 +c1");
        check("~d2 ~d3 ~d4 (+a1)", "+a1 ~d2 ~d3 ~d4");
    }

    /// Invariant 18.
    #[test]
    fn what_happens_takes_its_objects_replay_along() {
        check("(+a1) (+b1) ~b2 ~b3", "+a1 +b1 ~b2 ~b3");
        check("(+b1) ~x2 ~b2 (+c1)", "+c1 ~x2 +b1 ~b2");
        check("(+a1) -a2 (+b1)", "+b1 +a1 -a2");
    }

    #[test]
    fn a_replay_goes_behind_what_has_happened() {
        check("~a2 (+b1) (+a2)", "+b1 ~a2 +a2");
        check("~a2 ! (+a2) (+b1)", "~a2 +b1 ~a2#2 +a2");
        check("(+a1) (+a1) ~a2", "+a1 +a1 ~a2");
    }

    #[test]
    fn the_events_of_an_object_are_found_among_all_others() {
        check("(+a1) (+b1) (+a2) (+c1) (+a3) (+b2) ~a4 ~b3", "+c1 +a1 +a2 +a3 ~a4 +b1 +b2 ~b3");
        check("(+a1) (+b1) (+a2) ~b2 (+c1) (+a3) ~a4", "+c1 +b1 ~b2 +a1 +a2 +a3 ~a4");
    }

    /// The waiting event can no longer be merged into, and still waits.
    #[test]
    fn a_replay_goes_behind_what_was_left_by_events_that_cancelled_out() {
        let (mut queue, now) =
            (Mailbox::new(Marks { events: 3, bytes: usize::MAX }), Instant::now());
        queue.initials.begin(SUBSCRIPTION, 1);
        for event in ["-x2", "+X3", "+b4", "-X5"] {
            queue.push(parse(event));
            queue.check_invariants();
        }
        queue.push_replayed(replayed("+X5"));
        queue.check_invariants();
        let mut popped = Vec::new();
        while let Some(queued) = queue.pop(now) {
            popped.push(show(&queued));
            queue.settle(Settled::Finished, now);
            queue.check_invariants();
        }
        assert_eq!(popped, ["-x2", "+b4", "+X5"]);
    }

    #[test]
    fn a_resync_is_left_out_where_something_of_its_object_waits() {
        check("[~a1] [~b1]", "~a1 ~b1");
        check("~a2 [~a2] [~b1]", "~b1 ~a2");
        check("[~a1] ~a2 [~b1]", "~b1 ~a2");
        check("(+a1) [~a1] ~a2", "+a1 ~a2");
        // The first attempt fails and comes again. No other resync comes meanwhile.
        check("[~a1] ! [~a1] [~a1] ~a2", "~a1 ~a1#2 ~a2");
        check("~a2 [~b1] ! [~a2] [~a2]", "~b1 ~a2 ~b1#2");
        check("(+a1) [~a1] !", "+a1 +a1#2");
    }

    #[test]
    fn what_waits_for_its_object_gives_its_turn_away() {
        check("~a2 ! (+a2) (+b1) ~c2", "~a2 +b1 ~c2 ~a2#2 +a2");
        check("(+a1) ! ~a2 ~b2 (+c1)", "+a1 ~b2 +c1 +a1#2 ~a2");
    }

    #[test]
    fn a_replay_waits_beside_what_the_depth_counts() {
        let mut queue = queue();
        queue.initials.begin(SUBSCRIPTION, 1);
        queue.push_replayed(replayed("+a1"));
        let now = Instant::now();
        assert_eq!((queue.load(), queue.oldest()), (QueueLoad::default(), None));
        assert_eq!(queue.next_due(now), Some(now));
        queue.pop(now).expect("it waits");
        queue.settle(Settled::RetryAt(now), now);
        assert_eq!(queue.load().events, 1, "a retry counts");
        queue.push_replayed(replayed("+b1"));
        assert_eq!(queue.retain(&HashSet::new()), 2, "and all that is dropped");
        assert_eq!(queue.next_due(now), None);
    }
}
