//! Events that wait for later events of their object, and events that wait for the call rate.

use super::*;
use crate::contract::configuration::RateLimit;
use crate::delivery::mailbox::tests::{parse, show};
use proptest::prelude::*;
use std::collections::BTreeMap;

const NO_MARK: Marks = Marks { events: usize::MAX, bytes: usize::MAX };
const DEBOUNCE: Duration = Duration::from_millis(500);

fn queue(debounce: Duration, rate: Option<RateLimit>, now: Instant) -> Mailboxes {
    let mut queue = Mailboxes::new(NO_MARK);
    queue.set_pauses(debounce, rate, now);
    queue
}

/// Takes out all events that are due by a time, each when it is due, as the plugin's actor does.
fn deliver(
    queue: &mut Mailboxes,
    (start, mut now): (Instant, Instant),
    until: Instant,
    told: &mut Vec<(u64, Queued)>,
) {
    while let Some(due) = queue.next_due(0, now).map(|due| due.max(now)).filter(|due| *due <= until)
    {
        now = due;
        let queued = queue.pop(0, now).expect("it is due");
        told.push(((now - start).as_millis() as u64, queued));
        queue.settle_event(0, Settled::Finished, now);
    }
}

/// Events with their time in ms, and the events that come out with their time.
#[track_caller]
fn check(debounce: Duration, rate: Option<RateLimit>, pushed: &[(u64, &str)], expect: &str) {
    let start = Instant::now();
    let mut queue = queue(debounce, rate, start);
    let (mut told, mut now) = (Vec::new(), start);
    let after = |ms: u64| start + Duration::from_millis(ms);
    for (ms, text) in pushed {
        deliver(&mut queue, (start, now), after(*ms), &mut told);
        now = after(*ms);
        queue.push(Event { received: after(*ms), ..parse(text) });
        queue.check_invariants();
    }
    deliver(&mut queue, (start, now), after(3_600_000), &mut told);
    let told = told.iter().map(|(ms, queued)| format!("{ms}:{}", show(queued)));
    assert_eq!(told.collect::<Vec<_>>().join(" "), expect, "{pushed:?}");
}

#[test]
fn later_events_of_an_object_are_merged_into_the_first() {
    check(DEBOUNCE, None, &[(0, "+a1")], "500:+a1");
    check(DEBOUNCE, None, &[(0, "~a2"), (100, "~a3"), (499, "~a4")], "500:~a4*2");
    check(DEBOUNCE, None, &[(0, "~a2"), (100, "~b3"), (200, "~a4")], "500:~a4*1 600:~b3");
    check(DEBOUNCE, None, &[(0, "~a2"), (501, "~a3")], "500:~a2 1001:~a3");
    check(Duration::ZERO, None, &[(0, "~a2"), (0, "~a3")], "0:~a2 0:~a3");
}

#[test]
fn a_deletion_is_told_unless_nobody_heard_of_the_object() {
    check(DEBOUNCE, None, &[(0, "~a2"), (100, "-a3")], "500:-a3*1");
    check(DEBOUNCE, None, &[(0, "+a1"), (100, "-a2")], "");
    check(DEBOUNCE, None, &[(0, "-a3"), (100, "+A4")], "500:-a3 600:+A4");
}

#[test]
fn whatever_comes_an_object_waits_no_longer_than_its_first_event() {
    let texts: Vec<String> = (2..42).map(|version| format!("~a{version}")).collect();
    let pushed: Vec<(u64, &str)> =
        texts.iter().zip(0..).map(|(text, n)| (n * 50, text.as_str())).collect();
    check(DEBOUNCE, None, &pushed, "500:~a11*9 1000:~a21*9 1500:~a31*9 2000:~a41*9");
}

#[test]
fn a_rate_holds_back_what_is_above_it() {
    let rate = Some(RateLimit { events_per_second: 10, burst: 2 });
    let pushed = [(0, "+a1"), (0, "+b1"), (0, "+c1"), (0, "+d1"), (5_000, "~a2")];
    check(Duration::ZERO, rate, &pushed, "0:+a1 0:+b1 100:+c1 200:+d1 5000:~a2");
}

#[test]
fn a_retry_counts_for_the_rate() {
    let start = Instant::now();
    let rate = RateLimit { events_per_second: 1, burst: 1 };
    let mut queue = queue(Duration::ZERO, Some(rate), start);
    queue.push(parse("+a1"));
    assert!(!queue.snapshot(start).is_rate_limited);
    queue.pop(0, start).expect("it is due");
    queue.settle_event(0, Settled::RetryAt(start + Duration::from_millis(10)), start);
    let due = queue.next_due(0, start).expect("it waits");
    assert_eq!((due - start).as_millis(), 1_000);
    let later = start + Duration::from_millis(20);
    assert!(queue.pop(0, later).is_none() && queue.snapshot(later).is_rate_limited);
    // An event that is not delivered costs no call.
    queue.pop(0, due).expect("it is due");
    queue.settle_event(0, Settled::PassedOver, due);
    queue.push(parse("+b1"));
    assert!(queue.pop(0, due).is_some());
}

proptest! {
    /// Random changes of three objects at random times. The last event of each shows its true state, and events keep
    /// their order. No event waits for longer than the debounce after the first event that it merges.
    #[test]
    fn debounced_events_end_with_the_truth_in_time(steps in proptest::collection::vec((0..3usize, 0..400u64), 1..60)) {
        let start = Instant::now();
        let mut queue = queue(DEBOUNCE, None, start);
        let (mut now, mut told, mut pushed) = (start, Vec::new(), Vec::new());
        let mut versions = [0u64; 3];
        for (object, wait) in steps {
            let before = now;
            now += Duration::from_millis(wait);
            deliver(&mut queue, (start, before), now, &mut told);
            versions[object] += 1;
            // Every fifth change is a deletion; the next one adds the object again.
            let sign = match versions[object] % 5 {
                0 => '-',
                1 => '+',
                _ => '~',
            };
            let name = ['a', 'b', 'c'][object];
            let text = format!("{sign}{name}{}", versions[object]);
            queue.push(Event { received: now, ..parse(&text) });
            queue.check_invariants();
            pushed.push(((now - start).as_millis() as u64, object, versions[object]));
        }
        deliver(&mut queue, (start, now), now + Duration::from_secs(3_600), &mut told);
        let mut last = BTreeMap::<String, (u64, bool)>::new();
        for (at, queued) in &told {
            let object = queued.event.object.key().name().to_owned();
            let version: u64 = queued.event.object.resource_version().parse().expect("a number");
            let is_gone = queued.event.change == crate::event::Change::Deleted;
            let (before, _) = last.insert(object.clone(), (version, is_gone)).unwrap_or_default();
            prop_assert!(version > before, "in order");
            let index = ["a", "b", "c"].iter().position(|name| **name == object).expect("one of them");
            let first = pushed.iter().find(|(_, of, pushed)| *of == index && *pushed > before);
            let (first, ..) = first.expect("it was pushed");
            // After an object that came and went meanwhile, the debounce begins again.
            let began_anew = (before + 1..version).any(|version| version.is_multiple_of(5));
            let in_time = *at <= first + DEBOUNCE.as_millis() as u64;
            prop_assert!(in_time || began_anew, "at {at}, first at {first}");
        }
        for (object, name) in ["a", "b", "c"].iter().enumerate() {
            let (said, is_gone) = last.get(*name).copied().unwrap_or((0, true));
            // The deletion of an object that the plugin does not know is not delivered.
            let is_settled = versions[object].is_multiple_of(5) && is_gone;
            prop_assert!(said == versions[object] || is_settled, "{name}: {said} of {}", versions[object]);
        }
    }
}
