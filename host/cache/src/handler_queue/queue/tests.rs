//! The queue against a consumer that remembers every notification.

use super::*;
use crate::resource_event_handler::FinalState;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

const NAMES: usize = 6;

fn object(name: usize, uid: u32, version: u32) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{name}","uid":"u{uid}","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

fn cause(reason: Reason) -> Cause {
    Cause { reason, received: Instant::now() }
}

fn added(object: Object) -> Notification {
    Notification::Added { object, cause: cause(Reason::Watch), coalesced: 0 }
}

fn updated(old: Object, new: Object) -> Notification {
    Notification::Updated { old, new, cause: cause(Reason::Watch), coalesced: 0 }
}

fn resynced(object: Object) -> Notification {
    let cause = cause(Reason::Resync);
    Notification::Updated { old: object.clone(), new: object, cause, coalesced: 0 }
}

fn deleted(last: Object) -> Notification {
    let cause = cause(Reason::Watch);
    Notification::Deleted {
        last,
        known_as: None,
        final_state: FinalState::Known,
        cause,
        coalesced: 0,
    }
}

fn mark(notifications: usize) -> HighWaterMark {
    HighWaterMark { notifications, bytes: usize::MAX }
}

fn shown(notification: &Notification) -> String {
    let at = |object: &Object| {
        format!("{}/{}@{}", object.key(), object.uid(), object.resource_version())
    };
    let (what, count) = (notification, notification.coalesced());
    let count = if count == 0 { String::new() } else { format!(" +{count}") };
    match what {
        Notification::Added { object, .. } => format!("add {}{count}", at(object)),
        Notification::Updated { old, new, cause, .. } => {
            let from = old.resource_version();
            let why = if cause.reason == Reason::Resync { " resync" } else { "" };
            format!("update {} from {from}{why}{count}", at(new))
        }
        Notification::Deleted { last, .. } => format!("delete {}{count}", at(last)),
        Notification::Synced => "synced".to_owned(),
    }
}

/// The output of a queue that merges from the mark on.
#[track_caller]
fn check(notifications: usize, pushed: Vec<Notification>, expect: &[&str]) {
    let mut queue = NotificationQueue::new(mark(notifications));
    for notification in pushed {
        queue.push(notification, Instant::now(), false);
        queue.check_invariants();
    }
    let told: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|told| shown(&told)).collect();
    assert_eq!(told, expect);
    queue.check_invariants();
}

#[test]
fn up_to_the_mark_every_notification_is_kept() {
    let versions = |n| object(0, 0, n);
    let pushed = vec![added(versions(1)), updated(versions(1), versions(2)), deleted(versions(3))];
    check(10, pushed, &["add p0/u0@1", "update p0/u0@2 from 1", "delete p0/u0@3"]);
}

#[test]
fn above_the_mark_an_object_has_one_merged_notification() {
    let v = |n| object(0, 0, n);
    check(1, vec![added(v(1)), updated(v(1), v(2)), updated(v(2), v(3))], &["add p0/u0@3 +2"]);
    check(1, vec![updated(v(1), v(2)), updated(v(2), v(3))], &["update p0/u0@3 from 1 +1"]);
    check(1, vec![updated(v(1), v(2)), deleted(v(3))], &["delete p0/u0@3 +1"]);
    check(1, vec![added(v(1)), deleted(v(2))], &[]);
    let new = |n| object(0, 1, n);
    check(1, vec![deleted(v(1)), added(new(2))], &["delete p0/u0@1", "add p0/u1@2"]);
    check(1, vec![deleted(v(1)), added(new(2)), deleted(new(3))], &["delete p0/u0@1"]);
    check(1, vec![updated(v(1), v(2)), added(new(3))], &["update p0/u0@2 from 1", "add p0/u1@3"]);
}

#[test]
fn a_merged_deletion_says_how_the_object_was_known() {
    let v = |n| object(0, 0, n);
    let mut queue = NotificationQueue::new(mark(1));
    queue.push(updated(v(1), v(2)), Instant::now(), false);
    queue.push(deleted(v(3)), Instant::now(), false);
    let Some(Notification::Deleted { last, known_as: Some(known_as), .. }) = queue.pop() else {
        panic!("a deletion with the state that was told");
    };
    assert_eq!((last.resource_version(), known_as.resource_version()), ("3", "1"));
}

#[test]
fn there_and_back_again_is_nothing() {
    let v = |n| object(0, 0, n);
    check(1, vec![updated(v(9), v(4)), updated(v(4), v(9))], &[]);
}

#[test]
fn a_merged_notification_keeps_its_place() {
    let (a, b) = (|n| object(0, 0, n), object(1, 1, 2));
    let pushed = vec![added(a(1)), added(b), updated(a(1), a(3))];
    check(1, pushed, &["add p0/u0@3 +1", "add p1/u1@2"]);
}

#[test]
fn the_bytes_kept_alive_are_a_mark_too() {
    let v = |n| object(0, 0, n);
    let mark = HighWaterMark { notifications: usize::MAX, bytes: v(1).size() };
    let mut queue = NotificationQueue::new(mark);
    for version in 1..10 {
        queue.push(updated(v(version), v(version + 1)), Instant::now(), false);
    }
    assert_eq!((queue.depth, queue.stats(Instant::now()).coalesced), (1, 8));
}

#[test]
fn a_resync_says_nothing_while_anything_of_its_object_waits() {
    let v = |n| object(0, 0, n);
    check(10, vec![resynced(v(1)), resynced(v(1))], &["update p0/u0@1 from 1 resync"]);
    check(10, vec![updated(v(1), v(2)), resynced(v(2))], &["update p0/u0@2 from 1"]);
    let mut queue = NotificationQueue::new(mark(10));
    queue.push(resynced(v(1)), Instant::now(), false);
    assert_eq!(queue.resyncs(), 1);
    queue.pop();
    assert_eq!(queue.resyncs(), 0);
}

#[test]
fn an_update_that_absorbs_a_resync_is_an_update() {
    let v = |n| object(0, 0, n);
    check(1, vec![resynced(v(1)), updated(v(1), v(2))], &["update p0/u0@2 from 1 +1"]);
}

#[test]
fn the_age_is_that_of_the_oldest_that_was_merged() {
    let (v, start) = (|n| object(0, 0, n), Instant::now());
    let mut queue = NotificationQueue::new(mark(1));
    assert_eq!(queue.stats(start).oldest_age, None);
    queue.push(updated(v(1), v(2)), start, false);
    queue.push(updated(v(2), v(3)), start + Duration::from_secs(5), false);
    let stats = queue.stats(start + Duration::from_secs(6));
    assert_eq!(stats.oldest_age, Some(Duration::from_secs(6)));
}

#[test]
fn objects_that_come_and_go_above_the_mark_do_not_make_it_grow() {
    let mut queue = NotificationQueue::new(mark(10));
    for name in 0..10 {
        queue.push(added(object(name, name as u32, 1)), Instant::now(), false);
    }
    for uid in 100..20_000 {
        queue.push(added(object(50, uid, uid)), Instant::now(), false);
        queue.push(deleted(object(50, uid, uid + 1)), Instant::now(), false);
    }
    assert_eq!(queue.depth, 10);
    assert!(queue.waiting.len() <= HOLES_MIN && queue.waiting.capacity() <= 4 * HOLES_MIN);
    queue.check_invariants();
}

#[test]
fn a_queue_that_was_long_gives_its_memory_back() {
    let mut queue = NotificationQueue::new(mark(1_000_000));
    for name in 0..10_000 {
        queue.push(added(object(name, name as u32, 1)), Instant::now(), false);
    }
    while queue.pop().is_some() {}
    assert!(queue.waiting.capacity() <= 4 * HOLES_MIN && queue.last.capacity() <= 4 * HOLES_MIN);
}

/// A change of an object, or a notification that the consumer takes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize),
    Update(usize),
    Delete(usize),
    Replace(usize),
    Resync(usize),
    Pop,
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..NAMES;
    prop_oneof![
        3 => name.clone().prop_map(Step::Add),
        4 => name.clone().prop_map(Step::Update),
        2 => name.clone().prop_map(Step::Delete),
        2 => name.clone().prop_map(Step::Replace),
        1 => name.prop_map(Step::Resync),
        3 => Just(Step::Pop),
    ]
}

/// The true state, and a consumer that believes its notifications.
#[derive(Default)]
struct Oracle {
    truth: BTreeMap<usize, Object>,
    believed: BTreeMap<String, Object>,
    /// The highest version in a notification of each name.
    told: BTreeMap<String, u64>,
    version: u32,
    uid: u32,
}

impl Oracle {
    /// The notifications of one step, as an informer would make them.
    fn step(&mut self, step: Step) -> Vec<Notification> {
        self.version += 1;
        match step {
            Step::Add(name) if !self.truth.contains_key(&name) => vec![self.add(name)],
            Step::Update(name) => match self.truth.get(&name).cloned() {
                Some(old) => {
                    let uid = old.uid()[1..].parse().expect("a number");
                    let new = object(name, uid, self.version);
                    self.truth.insert(name, new.clone());
                    vec![updated(old, new)]
                }
                None => Vec::new(),
            },
            Step::Delete(name) => self.truth.remove(&name).map(deleted).into_iter().collect(),
            Step::Replace(name) if self.truth.contains_key(&name) => {
                let gone = self.truth.remove(&name).map(deleted);
                gone.into_iter().chain([self.add(name)]).collect()
            }
            Step::Resync(name) => {
                self.truth.get(&name).cloned().map(resynced).into_iter().collect()
            }
            Step::Add(_) | Step::Replace(_) | Step::Pop => Vec::new(),
        }
    }

    fn add(&mut self, name: usize) -> Notification {
        self.uid += 1;
        let new = object(name, self.uid, self.version);
        self.truth.insert(name, new.clone());
        added(new)
    }

    /// Checks a notification: an addition of an unknown object, a change from the known state, or the deletion of a
    /// known object.
    fn told(&mut self, notification: &Notification) {
        let object = notification.object().expect("nothing else was pushed").clone();
        let (key, version) = (object.key().to_string(), object.resource_version().parse::<u64>());
        let version = version.expect("a number");
        let last = self.told.insert(key.clone(), version).unwrap_or_default();
        assert!(last <= version, "{} after {last}: out of order", shown(notification));
        match notification {
            Notification::Added { .. } => {
                assert!(self.believed.insert(key, object).is_none(), "{}", shown(notification));
            }
            Notification::Updated { old, .. } => {
                let before = self.believed.insert(key, object).expect("it was told");
                assert_eq!(before.resource_version(), old.resource_version());
                assert_eq!(before.uid(), old.uid());
            }
            Notification::Deleted { last, .. } => {
                let before = self.believed.remove(&key).expect("it was told");
                assert_eq!(before.uid(), last.uid());
            }
            Notification::Synced => unreachable!("never pushed"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_consumer_believes_the_truth_in_the_end_and_the_bound_holds(
        steps in prop::collection::vec(step(), 0..400),
        notifications in 0usize..12,
    ) {
        let mut oracle = Oracle::default();
        let mut queue = NotificationQueue::new(mark(notifications));
        for one in steps {
            if matches!(one, Step::Pop)
                && let Some(notification) = queue.pop()
            {
                oracle.told(&notification);
            }
            for notification in oracle.step(one) {
                queue.push(notification, Instant::now(), false);
                queue.check_invariants();
            }
            // Above the mark each name has at most a deletion and an addition.
            prop_assert!(queue.depth <= notifications + 2 * NAMES);
        }
        while let Some(notification) = queue.pop() {
            oracle.told(&notification);
        }
        let truth: Vec<_> = oracle.truth.values().map(Object::resource_version).collect();
        let believed: Vec<_> = oracle.believed.values().map(Object::resource_version).collect();
        prop_assert_eq!(truth, believed);
    }
}
