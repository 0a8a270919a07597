//! The mailboxes of several shards against a model of one, and their shared parts.

use super::*;
use crate::delivery::mailbox::tests::{
    Known, NO_MARK, SUBSCRIPTION, change, event, parse, show, tell,
};
use crate::delivery::mailbox::{ROOM, ROOM_OF_ALL};
use crate::event::{Change, Reason};
use crate::shard;
use std::collections::BTreeMap;

/// Two object names that are in different shards of so many.
fn apart(shards: usize) -> [char; 2] {
    let of = |name: char| shard::of_object(parse(&format!("+{name}1")).object.key(), shards);
    let other = ('b'..='z').find(|name| of(*name) != of('a'));
    ['a', other.expect("not all are in one")]
}

fn reshard(queue: &mut Mailboxes, shards: usize, now: Instant) {
    let Some(former) = queue.reshard(shards, now) else { return };
    let mut keys = former.into_keys(now);
    while queue.regroup_keys(&mut keys, now) {}
}

fn sharded(marks: Marks, shards: usize) -> Mailboxes {
    let mut queue = Mailboxes::new(marks);
    reshard(&mut queue, shards, Instant::now());
    queue
}

/// The model of a plugin with several shards, which are called at random.
struct Model {
    queue: Mailboxes,
    now: Instant,
    truth: Known,
    known: Known,
    /// Each shard's event in flight, and whether its call fails.
    at_work: BTreeMap<usize, (Queued, bool)>,
    /// The attempt that must come next for an object whose last event failed.
    attempts: BTreeMap<String, u32>,
    /// The number that each shard was given last, since the number of shards changed.
    numbers: BTreeMap<usize, u64>,
    /// The highest number that was given.
    last: u64,
}

impl Model {
    fn new(mark: usize) -> Self {
        Self {
            queue: Mailboxes::new(Marks { events: mark, bytes: usize::MAX }),
            now: Instant::now(),
            truth: Known::new(),
            known: Known::new(),
            at_work: BTreeMap::new(),
            attempts: BTreeMap::new(),
            numbers: BTreeMap::new(),
            last: 0,
        }
    }

    fn replay(&mut self, random: &mut fastrand::Rng) {
        if let Some((name, (uid, version))) = random.choice(&self.truth) {
            let event = event(Change::Added, name, uid, *version);
            self.queue.push_replayed(Event { reason: Reason::Reload, knew: true, ..event });
        }
    }

    /// A free shard takes its next event.
    fn begin(&mut self, shard: usize, fails: bool) {
        if self.at_work.contains_key(&shard) {
            return;
        }
        let Some(queued) = self.queue.pop(shard, self.now) else { return };
        let key = queued.event.object.key();
        assert_eq!(shard::of_object(key, self.queue.shards()), shard, "it is another shard's");
        let is_at_work = |(other, _): &(Queued, bool)| other.event.object.key() == key;
        assert!(!self.at_work.values().any(is_at_work), "{key} is at work twice");
        assert_eq!(queued.tried.number, self.attempts.remove(key.name()).unwrap_or(1), "{key}");
        if queued.tried.number == 1 {
            let before = self.numbers.insert(shard, queued.seq).unwrap_or(0);
            assert!(queued.seq > before, "numbers rise in a shard");
            self.last = self.last.max(queued.seq);
        }
        self.at_work.insert(shard, (queued, fails));
    }

    fn end(&mut self, shard: usize, wait: Duration) {
        let Some((queued, fails)) = self.at_work.remove(&shard) else { return };
        if !fails {
            tell(&mut self.known, &queued.event);
            self.queue.settle_event(shard, Settled::Finished, self.now);
            return;
        }
        self.attempts.insert(queued.event.object.key().name().to_owned(), queued.tried.number + 1);
        self.queue.settle_event(shard, Settled::RetryAt(self.now + wait), self.now);
    }

    fn reshard(&mut self, shards: usize) {
        for shard in 0..self.queue.shards() {
            self.end(shard, Duration::from_millis(3));
        }
        let load = self.queue.load();
        if shards == self.queue.shards() {
            return reshard(&mut self.queue, shards, self.now);
        }
        reshard(&mut self.queue, shards, self.now);
        assert_eq!(self.queue.load(), load);
        self.numbers = (0..shards).map(|shard| (shard, self.last)).collect();
    }

    /// Takes all events; each succeeds.
    fn finish(&mut self) {
        loop {
            let shards = 0..self.queue.shards();
            for shard in shards.clone() {
                self.begin(shard, false);
                self.end(shard, Duration::ZERO);
                self.queue.check_invariants();
            }
            let now = self.now;
            let due = shards.filter_map(|shard| self.queue.next_due(shard, now)).min();
            let Some(due) = due else { return };
            self.now = due.max(now);
        }
    }
}

/// Random histories and replays, overlapping calls of several shards that sometimes fail, and changing numbers of
/// shards. Each object's shard gets its events in order, and each attempt counts. In the end the plugin knows the
/// exact state.
#[test]
fn over_all_shards_the_last_word_on_every_object_is_the_truth() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut model = Model::new(random.usize(0..20));
        let mut version = 0;
        for step in 0..800 {
            model.now += Duration::from_millis(random.u64(0..3));
            let shard = random.usize(0..model.queue.shards());
            match random.u8(0..100) {
                0..35 if step < 600 => {
                    version += 1;
                    let event = change(&mut random, &mut model.truth, version);
                    model.queue.push(event);
                }
                35..45 if step < 600 => model.replay(&mut random),
                45..75 => model.begin(shard, step < 700 && random.u8(0..4) == 0),
                75..98 => model.end(shard, Duration::from_millis(random.u64(0..10))),
                98..100 => model.reshard(random.usize(1..6)),
                _ => {}
            }
            model.queue.check_invariants();
        }
        for shard in 0..model.queue.shards() {
            model.end(shard, Duration::ZERO);
        }
        model.finish();
        assert_eq!(model.known, model.truth, "seed {seed}");
        assert!(model.queue.is_drained(model.now));
    }
}

#[test]
fn one_shards_event_holds_up_no_other() {
    let mut queue = sharded(NO_MARK, 2);
    let [one, other] = apart(2);
    let now = Instant::now();
    for text in [format!("+{one}1"), format!("~{one}2"), format!("+{other}1")] {
        queue.push(parse(&text));
    }
    let of = shard::of_object(parse(&format!("+{one}1")).object.key(), 2);
    assert_eq!(queue.pop(of, now).as_ref().map(show), Some(format!("+{one}1")));
    assert_eq!(queue.pop(1 - of, now).as_ref().map(show), Some(format!("+{other}1")));
    assert_eq!(queue.depths()[of], 1, "the first one's next waits for it");
    assert_eq!(
        (queue.load().events, queue.snapshot(now).in_flight),
        (1, 2),
        "what is in flight does not wait"
    );
    assert!(!queue.is_drained(now));
    queue.settle_event(1 - of, Settled::Finished, now);
    assert_eq!((queue.load().events, queue.snapshot(now).in_flight), (1, 1));
}

#[test]
fn the_marks_count_what_waits_in_all_lines() {
    for shards in 1..6 {
        let mut queue = sharded(Marks { events: 2, bytes: usize::MAX }, shards);
        for text in ["+a1", "+b2", "~a3", "~b4", "~c5", "-c6"] {
            queue.push(parse(text));
            queue.check_invariants();
        }
        let (mut told, now) = (Vec::new(), Instant::now());
        for shard in 0..shards {
            while let Some(queued) = queue.pop(shard, now) {
                told.push(show(&queued));
                queue.settle_event(shard, Settled::Finished, now);
            }
        }
        told.sort();
        assert_eq!(told, ["+a3*1", "+b4*1", "-c6*1"], "{shards} shards");
    }
}

#[test]
fn the_marks_count_what_is_put_aside_in_all_lines() {
    for shards in 1..6 {
        let mut queue = sharded(Marks { events: 2, bytes: usize::MAX }, shards);
        queue.push(parse("+z1"));
        queue.close();
        for text in ["+a1", "+b2", "~a3", "~b4", "~c5", "-c6"] {
            queue.push(parse(text));
            queue.check_invariants();
        }
        assert_eq!(queue.load().events, 1, "what is put aside does not wait");
        queue.reopen();
        assert_eq!(queue.snapshot(Instant::now()).coalesced, 3, "{shards} shards");
    }
}

#[test]
fn the_rate_is_that_of_all_shards_together() {
    let mut queue = sharded(NO_MARK, 2);
    let now = Instant::now();
    let rate = RateLimit { events_per_second: 1, burst: 1 };
    queue.set_pauses(Duration::ZERO, Some(rate), now);
    let [one, other] = apart(2);
    for name in [one, other] {
        queue.push(parse(&format!("+{name}1")));
    }
    assert!(queue.pop(0, now).is_some());
    assert!(queue.pop(1, now).is_none(), "the one call that may be made is spent");
    queue.take_woken();
    queue.settle_event(0, Settled::PassedOver, now);
    assert_eq!(queue.take_woken(), Woken::All, "it was not made: another may be");
    assert!(queue.pop(1, now).is_some());
    queue.settle_event(1, Settled::Finished, now);
    assert_eq!(queue.take_woken(), Woken::None);
    queue.push(parse(&format!("~{one}2")));
    let shard = queue.depths().iter().position(|depth| *depth == 1).expect("it waits");
    let due = queue.next_due(shard, now).expect("it waits");
    assert_eq!((due - now).as_millis(), 1_000);
}

#[test]
fn what_is_withheld_comes_out_of_no_line_and_goes_on_in_all() {
    let (mut queue, now) = (sharded(NO_MARK, 2), Instant::now());
    let texts = apart(2).map(|name| format!("+{name}1"));
    texts.iter().for_each(|text| queue.push(parse(text)));
    let bytes = queue.load().bytes;
    queue.withhold(SUBSCRIPTION);
    assert_eq!((queue.depths(), queue.load().bytes), (vec![0, 0], 0));
    assert!([0, 1].iter().all(|shard| queue.pop(*shard, now).is_none()));
    queue.check_invariants();
    queue.release_withheld(SUBSCRIPTION, now);
    assert_eq!((queue.depths(), queue.load().bytes), (vec![1, 1], bytes));
    queue.check_invariants();
    let mut told = [0, 1].map(|shard| queue.pop(shard, now).as_ref().map(show));
    told.sort();
    assert_eq!(told, texts.map(Some));
}

#[test]
fn what_is_withheld_stays_so_in_another_number_of_shards() {
    let (mut queue, now) = (sharded(NO_MARK, 2), Instant::now());
    queue.change_initials(|initials| initials.begin(SUBSCRIPTION, 1));
    for text in ["+a1", "~a2"] {
        queue.push(Event { before_sync: true, ..parse(text) });
    }
    queue.withhold(SUBSCRIPTION);
    for shards in [5, 1, 3] {
        reshard(&mut queue, shards, now);
        queue.check_invariants();
    }
    // Late events, also for mailboxes that had no event of the subscription.
    let late: Vec<String> = ('b'..='i').map(|name| format!("+{name}1")).collect();
    late.iter().for_each(|text| queue.push(parse(text)));
    assert!((0..3).all(|shard| queue.pop(shard, now).is_none()));
    assert_eq!(queue.load(), QueueLoad::default());
    queue.release_withheld(SUBSCRIPTION, now);
    assert_eq!(queue.load().events, 2 + late.len());
    let mut told = Vec::new();
    for shard in 0..3 {
        while let Some(queued) = queue.pop(shard, now) {
            assert_eq!(shard::of_object(queued.event.object.key(), 3), shard);
            told.push(show(&queued));
            queue.settle_event(shard, Settled::Finished, now);
            queue.check_invariants();
        }
    }
    let of_a: Vec<&String> = told.iter().filter(|text| text.contains('a')).collect();
    assert_eq!(of_a, ["+a1", "~a2"]);
    assert_eq!(told.len(), 2 + late.len());
    assert!(queue.is_drained(now));
}

#[test]
fn what_a_shard_puts_by_is_not_called_and_comes_out_of_no_other_line() {
    let (mut queue, now) = (sharded(NO_MARK, 2), Instant::now());
    let rate = RateLimit { events_per_second: 1, burst: 1 };
    queue.set_pauses(Duration::ZERO, Some(rate), now);
    let [one, other] = apart(2).map(|name| parse(&format!("+{name}1")));
    let of = shard::of_object(one.object.key(), 2);
    queue.push(one);
    queue.push(other.clone());
    queue.push(Event { subscription: SubscriptionId(2), ..other });
    assert!(queue.pop(of, now).is_some());
    assert!(queue.pop(1 - of, now).is_none(), "the one call that may be made is spent");
    queue.put_by(of, SUBSCRIPTION);
    let queued = queue.pop(1 - of, now).expect("the call was not made, so another may be");
    assert_eq!(queued.event.subscription, SubscriptionId(2));
    queue.put_by(1 - of, SUBSCRIPTION);
    queue.settle_event(1 - of, Settled::Finished, now);
    queue.check_invariants();
    assert!(queue.is_drained(now));
    queue.release_withheld(SUBSCRIPTION, now);
    for (shard, seconds) in [(0, 60), (1, 120)] {
        let later = now + Duration::from_secs(seconds);
        let queued = queue.pop(shard, later).expect("it comes again");
        assert_eq!((queued.tried.number, queued.tried.crashes), (1, 0));
        queue.settle_event(shard, Settled::Finished, later);
    }
}

fn replayed(number: usize) -> Event {
    let name = format!("{number:05}");
    let event = event(Change::Added, &name, &name, 1);
    Event { reason: Reason::Initial, before_sync: true, ..event }
}

/// Checks the room of a replay over the objects of so many shards, whichever shard takes no event.
#[track_caller]
fn check_room(shards: usize) {
    let mut queue = sharded(NO_MARK, shards);
    let now = Instant::now();
    queue.change_initials(|initials| initials.begin(SUBSCRIPTION, 1));
    let room = ROOM * shards;
    for number in 0..room {
        assert!(queue.ask_for_replay_room(SUBSCRIPTION));
        queue.push_replayed(replayed(number));
    }
    assert!(!queue.ask_for_replay_room(SUBSCRIPTION));
    assert!(queue.ask_for_replay_room(SubscriptionId(2)), "each has its own");
    assert!(queue.take_roomy().is_empty());
    for roomy in [vec![SUBSCRIPTION], vec![]] {
        queue.pop(0, now).expect("it waits");
        queue.settle_event(0, Settled::Finished, now);
        assert_eq!(queue.take_roomy(), roomy);
    }
    assert!(queue.ask_for_replay_room(SUBSCRIPTION));
    queue.check_replays();
}

#[test]
fn a_walk_has_room_until_enough_waits_and_hears_when_it_has_again() {
    check_room(1);
    check_room(4);
}

#[test]
fn the_replays_of_a_plugin_have_room_until_enough_waits_in_all() {
    for (shards, room) in [(1, ROOM_OF_ALL), (4, ROOM_OF_ALL + 3 * ROOM)] {
        let (mut queue, now) = (sharded(NO_MARK, shards), Instant::now());
        let subscriptions = (1..=16).map(SubscriptionId).cycle();
        for (number, subscription) in (0..room).zip(subscriptions) {
            assert!(queue.ask_for_replay_room(subscription));
            queue.push_replayed(Event { subscription, before_sync: false, ..replayed(number) });
        }
        let others = [SubscriptionId(1), SubscriptionId(17)];
        assert!(others.iter().all(|id| !queue.ask_for_replay_room(*id)));
        for left in (0..room).rev() {
            let is_waiting = |shard: &usize| queue.shards[*shard].all_replays_waiting() > 0;
            let shard = (0..shards).find(is_waiting).expect("some wait");
            queue.pop(shard, now).expect("it waits");
            queue.settle_event(shard, Settled::Finished, now);
            let roomy = queue.take_roomy();
            assert_eq!(!roomy.is_empty(), left == room / 4 * 3 - 1, "{left} of {room} wait");
            assert!(roomy.is_empty() || roomy == others, "all hear of it");
        }
    }
}

#[test]
fn initial_objects_are_through_for_a_shard_when_its_own_are() {
    let mut queue = sharded(NO_MARK, 2);
    let [one, other] = apart(2);
    let now = Instant::now();
    queue.change_initials(|initials| initials.begin(SUBSCRIPTION, 1));
    for name in [one, other] {
        queue.push(Event { before_sync: true, ..parse(&format!("+{name}1")) });
    }
    queue.change_initials(|initials| initials.queued(SUBSCRIPTION, 1));
    queue.change_initials(|initials| initials.put_in_place(1));
    let told = |queue: &Mailboxes| {
        queue.shards.iter().map(|it| it.initials.are_told(SUBSCRIPTION, 1)).collect::<Vec<_>>()
    };
    queue.pop(1, now).expect("it waits");
    queue.settle_event(1, Settled::Finished, now);
    assert_eq!(told(&queue), [false, true]);
    reshard(&mut queue, 1, now);
    assert_eq!(told(&queue), [false]);
    reshard(&mut queue, 3, now);
    let left = told(&queue).into_iter().filter(|told| !told);
    assert_eq!(left.count(), 1, "that of the object that waits");
}

#[test]
fn what_was_put_aside_comes_in_other_lines_once_they_are_open() {
    let mut queue = sharded(NO_MARK, 1);
    queue.push(parse("+a1"));
    queue.close();
    queue.push(parse("~a2"));
    let now = Instant::now();
    reshard(&mut queue, 4, now);
    assert!(queue.is_closed());
    let shard = shard::of_object(parse("+a1").object.key(), 4);
    for (text, is_last) in [("+a1", true), ("~a2", false)] {
        let queued = queue.pop(shard, now).expect("it waits");
        assert_eq!(show(&queued), text);
        queue.settle_event(shard, Settled::Finished, now);
        if is_last {
            assert!(queue.is_drained(now));
            queue.reopen();
        }
    }
}

#[test]
fn what_waits_stays_in_the_order_in_which_it_came() {
    let (mut queue, now) = (sharded(NO_MARK, 4), Instant::now());
    let came = |ms: u64| now + Duration::from_millis(ms);
    let texts: Vec<String> =
        ('a'..='z').zip(1..).map(|(name, at)| format!("+{name}{at}")).collect();
    for (text, ms) in texts.iter().zip(0..) {
        queue.push(Event { received: came(ms), ..parse(text) });
    }
    // An event that was read first may come last, if its object has an earlier event.
    queue.push(Event { received: now, ..parse("~z30") });
    for shards in [3, 1] {
        reshard(&mut queue, shards, now);
        assert_eq!(queue.snapshot(now).oldest, Some(now));
        queue.check_invariants();
    }
    let mut told = Vec::new();
    while let Some(queued) = queue.pop(0, now) {
        told.push(show(&queued));
        queue.settle_event(0, Settled::Finished, now);
    }
    assert_eq!(told, texts.into_iter().chain(["~z30".to_owned()]).collect::<Vec<_>>());
}
