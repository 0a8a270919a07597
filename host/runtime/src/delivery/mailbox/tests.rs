//! The mailbox against examples, and against a model that is too simple to be wrong.

use super::*;
use crate::event::{Change, Gone, Reason};
use informant_cache::Object;
use std::collections::BTreeMap;
use std::time::Duration;

impl Mailbox {
    pub(crate) fn check_invariants(&self) {
        self.backlog.check_invariants();
        self.held.check_invariants();
        self.replays.check_invariants();
        let in_flight = self.in_flight.iter().map(|queued| &*queued.event);
        let all = self.backlog.events().chain(self.held.events()).chain(self.replays.iter());
        let all = all.chain(self.withheld.events()).chain(in_flight);
        let initial = all.filter(|event| event.before_sync).count();
        assert_eq!(self.initials.left(SUBSCRIPTION), initial, "initial events are counted");
        let lanes: HashSet<Lane> = self.backlog.events().map(Lane::of).collect();
        let in_both = self.replays.iter().map(Lane::of).find(|lane| lanes.contains(lane));
        assert_eq!(in_both, None, "an object waits in one of the lines");
    }
}

pub(crate) const SUBSCRIPTION: SubscriptionId = SubscriptionId(1);
fn tried(number: u32, crashes: u32) -> Attempts {
    Attempts { number, excused: 0, crashes }
}

pub(crate) const NO_MARK: Marks = Marks { events: usize::MAX, bytes: usize::MAX };

fn object(name: &str, uid: &str, version: u64) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"default","uid":"{uid}","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("the test's object is well formed")
}

pub(crate) fn event(change: Change, name: &str, uid: &str, version: u64) -> Event {
    Event {
        gone: (change == Change::Deleted).then_some(Gone::Deleted),
        old: (change == Change::Updated).then(|| object(name, uid, version - 1)),
        ..Event::new(SUBSCRIPTION, change, object(name, uid, version), Instant::now())
    }
}

/// `+a1` adds version 1 of a, `~a2` updates it, and `-a3` deletes it. A capital letter is another object of the
/// same name.
pub(crate) fn parse(text: &str) -> Event {
    let change = match &text[..1] {
        "+" => Change::Added,
        "~" => Change::Updated,
        "-" => Change::Deleted,
        other => panic!("no such change: {other}"),
    };
    let uid = &text[1..2];
    event(change, &uid.to_lowercase(), uid, text[2..].parse().expect("a version"))
}

pub(crate) fn show(queued: &Queued) -> String {
    let event = &queued.event;
    let sign = match event.change {
        Change::Added => '+',
        Change::Updated => '~',
        Change::Deleted => '-',
    };
    let attempt =
        if queued.tried.number > 1 { format!("#{}", queued.tried.number) } else { String::new() };
    let merged = if event.coalesced > 0 { format!("*{}", event.coalesced) } else { String::new() };
    format!("{sign}{}{}{merged}{attempt}", event.object.uid(), event.object.resource_version())
}

/// Pushes events and takes all events out again.
#[track_caller]
fn check(mark: usize, pushed: &str, expect: &str) {
    let mut queue = Mailbox::new(Marks { events: mark, bytes: usize::MAX });
    for text in pushed.split(' ') {
        queue.push(parse(text));
        queue.check_invariants();
    }
    let now = Instant::now();
    let mut popped = Vec::new();
    while let Some(queued) = queue.pop(now) {
        popped.push(show(&queued));
        queue.settle(Settled::Finished, now);
        queue.check_invariants();
    }
    assert_eq!(popped.join(" "), expect, "{pushed} above {mark}");
}

#[test]
fn below_the_mark_every_event_is_kept_in_order() {
    check(100, "+a1 ~a2 +b3 ~a4 -a5 +A6", "+a1 ~a2 +b3 ~a4 -a5 +A6");
}

/// Invariant 19.
#[test]
fn above_the_mark_events_of_one_object_merge() {
    check(0, "+a1 ~a2", "+a2*1");
    check(0, "~a2 ~a3 ~a4", "~a4*2");
    check(0, "~a2 -a3", "-a3*1");
    check(0, "+a1 -a2", "");
    check(0, "+a1 +b2 ~a3 -b4", "+a3*1");
    check(2, "+a1 +b2 ~a3 ~b4 ~c5 -c6", "+a3*1 +b4*1 -c6*1");
}

#[test]
fn a_burst_gives_its_room_back() {
    let burst: Vec<String> = (1..1_000).map(|version| format!("~a{version}")).collect();
    check(usize::MAX, &burst.join(" "), &burst.join(" "));
}

#[test]
fn an_object_that_was_made_again_is_told_as_gone_and_new() {
    check(0, "-a1 +A2", "-a1 +A2");
    check(0, "-a1 +A2 ~A3", "-a1 +A3*1");
    check(0, "-a1 +A2 -A3", "-a1");
    check(0, "+a1 +A2", "+a1 +A2");
}

#[test]
fn what_an_actor_left_in_flight_comes_again() {
    let (mut queue, now) = (Mailbox::new(NO_MARK), Instant::now());
    queue.push(parse("+a1"));
    queue.push(parse("~a2"));
    assert_eq!(queue.pop(now).as_ref().map(show).as_deref(), Some("+a1"));
    queue.recover(now);
    queue.recover(now);
    let again = queue.pop(now).expect("it is due");
    assert_eq!((show(&again).as_str(), again.tried.crashes), ("+a1#2", 1));
    queue.settle(Settled::Finished, now);
    assert_eq!(queue.pop(now).as_ref().map(show).as_deref(), Some("~a2"));
}

/// Invariant 18.
#[test]
fn a_failed_event_holds_up_only_its_own_object() {
    let mut queue = Mailbox::new(NO_MARK);
    for text in ["+a1", "~a2", "+b3"] {
        queue.push(parse(text));
    }
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    assert_eq!(show(&queue.pop(now).expect("a")), "+a1");
    queue.settle(Settled::RetryAt(later), now);
    queue.check_invariants();
    assert_eq!(show(&queue.pop(now).expect("b goes on")), "+b3");
    queue.settle(Settled::Finished, now);
    assert!(queue.pop(now).is_none(), "a2 waits behind a1");
    assert_eq!(queue.next_due(now), Some(later));
    let again = queue.pop(later).expect("a1 again");
    assert_eq!(show(&again), "+a1#2");
    assert_eq!(again.seq, 1, "a retry keeps its number");
    queue.settle(Settled::Finished, later);
    assert_eq!(show(&queue.pop(later).expect("then a2")), "~a2");
    queue.settle(Settled::Finished, later);
    queue.check_invariants();
    assert_eq!(queue.load().events, 0);
}

#[test]
fn an_attempted_event_never_merges() {
    let mut queue = Mailbox::new(Marks { events: 0, bytes: 0 });
    let now = Instant::now();
    queue.push(parse("+a1"));
    queue.pop(now).expect("a1");
    queue.push(parse("~a2"));
    queue.push(parse("-a3"));
    queue.settle(Settled::RetryAt(now), now);
    queue.check_invariants();
    let mut popped = Vec::new();
    while let Some(queued) = queue.pop(now) {
        popped.push(show(&queued));
        queue.settle(Settled::Finished, now);
    }
    assert_eq!(popped, ["+a1#2", "-a3*1"]);
}

/// A long queue drops the unpacked text where it can; the delivered events stay the same.
#[test]
fn events_of_a_long_queue_come_out_as_they_went_in() {
    let mut queue = Mailbox::new(NO_MARK);
    let large = |version: u64| {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","uid":"a","resourceVersion":"{version}"}},"spec":"{}"}}"#,
            "x".repeat(TEXT_BYTES_MAX / 4)
        );
        let object = Object::decode(json.as_bytes(), None).expect("an object");
        Event { object, ..parse("+a1") }
    };
    for version in 0..40 {
        queue.push(large(version));
        queue.check_invariants();
    }
    let now = Instant::now();
    for version in 0..40 {
        let queued = queue.pop(now).expect("it waits");
        assert_eq!(queued.event.object.json(), large(version).object.json());
        queue.settle(Settled::Finished, now);
    }
    assert_eq!(queue.load().bytes, 0);
}

#[test]
fn events_of_lost_subscriptions_are_dropped() {
    let mut queue = Mailbox::new(NO_MARK);
    queue.push(parse("+a1"));
    let mut other = parse("+b2");
    other.subscription = SubscriptionId(2);
    queue.push(other);
    assert_eq!(queue.retain(&HashSet::from([SubscriptionId(2)])), 1);
    queue.check_invariants();
    assert_eq!(show(&queue.pop(Instant::now()).expect("b")), "+b2");
}

/// The knowledge of a guest: the version of each existing object that was delivered to it.
pub(crate) type Known = BTreeMap<String, (String, u64)>;

pub(crate) fn tell(known: &mut Known, event: &Event) {
    let name = event.object.key().name().to_owned();
    let version = event.object.resource_version().parse().expect("the test's versions are numbers");
    let uid = event.object.uid().to_string();
    let told = known.get(&name);
    match event.change {
        Change::Added if event.reason == Reason::Reload => {
            let same = told.is_none_or(|told| told.0 == uid && told.1 <= version);
            assert!(same, "{name} was replayed as something else");
        }
        Change::Added => assert!(told.is_none(), "{name} was added twice"),
        Change::Updated | Change::Deleted => {
            let (told_uid, told_version) = told.expect("only what was told changes or goes");
            assert_eq!(*told_uid, uid, "{name} changed its identity without a word");
            assert!(*told_version <= version, "{name} went back in time");
        }
    }
    match event.change {
        Change::Deleted => known.remove(&name),
        _ => known.insert(name, (uid, version)),
    };
}

/// Random histories and replays, with a guest that sometimes fails. In the end the guest knows the exact state, and
/// no event came out of order.
#[test]
fn the_last_word_on_every_object_is_the_truth() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mark = random.usize(0..20);
        let mut queue = Mailbox::new(Marks { events: mark, bytes: usize::MAX });
        let (mut truth, mut known) = (Known::new(), Known::new());
        let mut now = Instant::now();
        let mut version = 0;
        for step in 0..600 {
            now += Duration::from_millis(random.u64(0..3));
            if step < 400 && random.bool() {
                version += 1;
                queue.push(change(&mut random, &mut truth, version));
            } else if step < 400 && random.u8(0..3) == 0 {
                replay(&mut random, &truth, &mut queue);
            } else if let Some(queued) = queue.pop(now) {
                let fails = step < 500 && random.u8(0..4) == 0;
                if !fails {
                    tell(&mut known, &queued.event);
                }
                let retry = Settled::RetryAt(now + Duration::from_millis(random.u64(0..10)));
                queue.settle(if fails { retry } else { Settled::Finished }, now);
            }
            queue.check_invariants();
        }
        while let Some(due) = queue.next_due(now) {
            now = due.max(now);
            let queued = queue.pop(now).expect("it is due");
            tell(&mut known, &queued.event);
            queue.settle(Settled::Finished, now);
            queue.check_invariants();
        }
        assert_eq!(known, truth, "seed {seed}");
    }
}

/// A replay delivers one of the existing objects.
fn replay(random: &mut fastrand::Rng, truth: &Known, queue: &mut Mailbox) {
    if let Some((name, (uid, version))) = random.choice(truth) {
        let event = event(Change::Added, name, uid, *version);
        queue.push_replayed(Event { reason: Reason::Reload, knew: true, ..event });
    }
}

/// One more change of the true state, as an event.
pub(crate) fn change(random: &mut fastrand::Rng, truth: &mut Known, version: u64) -> Event {
    let name = char::from(random.u8(b'a'..b'f')).to_string();
    match truth.get(&name).cloned() {
        None => {
            let uid = format!("{name}-{version}");
            truth.insert(name.clone(), (uid.clone(), version));
            event(Change::Added, &name, &uid, version)
        }
        Some((uid, _)) if random.u8(0..3) == 0 => {
            truth.remove(&name);
            event(Change::Deleted, &name, &uid, version)
        }
        Some((uid, _)) => {
            truth.insert(name.clone(), (uid.clone(), version));
            event(Change::Updated, &name, &uid, version)
        }
    }
}

/// An earlier host attempted `restored` twice, so that the third attempt is next. This host's list and watch then
/// push events.
#[track_caller]
fn check_restored(restored: &str, pushed: &[(&str, Reason)], expect: &str) {
    let (mut queue, now) = (Mailbox::new(NO_MARK), Instant::now());
    let due = now + Duration::from_secs(1);
    queue.restore(Queued { event: parse(restored).into(), tried: tried(3, 1), seq: 0 }, due);
    for (text, reason) in pushed {
        queue.push(Event { reason: *reason, ..parse(text) });
        queue.check_invariants();
    }
    assert!(queue.pop(now).is_none(), "everything is of one lane, which waits for its head");
    let mut popped = Vec::new();
    while let Some(queued) = queue.pop(due) {
        popped.push(show(&queued));
        queue.settle(Settled::Finished, due);
        queue.check_invariants();
    }
    assert_eq!(popped.join(" "), expect, "{restored}, then {pushed:?}");
}

#[test]
fn what_a_host_before_attempted_comes_first_and_goes_on_counting() {
    use Reason::{Initial, Watch};
    check_restored("~a2", &[], "~a2#3");
    check_restored("~a2", &[("~a3", Watch), ("-a4", Watch)], "~a2#3 ~a3 -a4");
    check_restored("-a2", &[("+a3", Initial)], "-a2#3 +a3");
}

#[test]
fn the_first_list_takes_the_place_of_what_a_host_before_attempted() {
    use Reason::{Initial, Watch};
    check_restored("~a2", &[("+a3", Initial), ("~a4", Watch)], "+a3*1#3 ~a4");
    check_restored("+a2", &[("+a2", Initial)], "+a2*1#3");
    check_restored("+a2", &[("+A3", Initial)], "+a2#3 +A3");
    check_restored("~a2", &[("~a3", Watch), ("+a4", Initial)], "~a2#3 ~a3 +a4");
}

#[test]
fn what_was_attempted_since_is_not_replaced() {
    let (mut queue, now) = (Mailbox::new(NO_MARK), Instant::now());
    queue.restore(Queued { event: parse("+a1").into(), tried: tried(3, 0), seq: 0 }, now);
    assert_eq!(queue.pop(now).as_ref().map(show).as_deref(), Some("+a1#3"));
    queue.push(Event { reason: Reason::Initial, ..parse("+a2") });
    queue.settle(Settled::RetryAt(now), now);
    queue.check_invariants();
    let next = |queue: &mut Mailbox| {
        let queued = queue.pop(now).expect("it waits");
        queue.settle(Settled::Finished, now);
        show(&queued)
    };
    assert_eq!([next(&mut queue), next(&mut queue)], ["+a1#4", "+a2"]);
}
