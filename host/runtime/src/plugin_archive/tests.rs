//! What the file says after every step, against what waits: the host may end at any of them.

use super::*;
use crate::dead_letters::{self, DeadLetters, Selection};
use crate::event::{Change, Reason};
use crate::queue::{EventQueue, Marks, Settled};
use informant_cache::Object;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SUBSCRIPTION: SubscriptionId = SubscriptionId(1);

fn event(name: u8, version: u32) -> Event {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#
    );
    Event {
        subscription: SUBSCRIPTION,
        asked_by: 0,
        change: Change::Updated,
        reason: Reason::Watch,
        gone: None,
        object: Object::decode(json.as_bytes(), None).expect("an object"),
        old: None,
        coalesced: 0,
        received: Instant::now(),
        before_sync: false,
    }
}

#[derive(Debug, Clone)]
enum Step {
    Push(u8),
    /// The next event that is due is told, and this becomes of it.
    Tell(Became),
    Redrive,
    Purge,
    Restart,
}

#[derive(Debug, Clone, Copy)]
enum Became {
    Done,
    Again,
    Crashed,
    Dead,
}

/// A host's part of one plugin, and the file, which has what was put until now.
struct Bench {
    file: BTreeMap<(PluginName, Place), Content>,
    archive: Archive,
    kept: PluginArchive,
    queue: EventQueue,
    letters: DeadLetters,
    /// Attempted events that wait: object and next attempt. What the file must say.
    waits: BTreeMap<String, u32>,
    /// Letters that the plugin must hear of: those that lie, and those that were sent again and not told.
    owed: BTreeSet<u64>,
    sent: BTreeMap<String, Vec<u64>>,
    now: Instant,
    version: u32,
}

fn parts() -> (Archive, PluginArchive, EventQueue, DeadLetters) {
    let marks = Marks { events: usize::MAX, bytes: usize::MAX };
    let bounds = dead_letters::Bounds { letters: 3, bytes: 1 << 20 };
    let kept = PluginArchive::new("p".parse().expect("a name"), 1 << 20);
    (Archive::unwritten(), kept, EventQueue::new(marks), DeadLetters::new(bounds))
}

impl Bench {
    fn new() -> Self {
        let (archive, kept, queue, letters) = parts();
        kept.open(archive.clone(), &Kept::default());
        Self {
            file: BTreeMap::new(),
            archive,
            kept,
            queue,
            letters,
            waits: BTreeMap::new(),
            owed: BTreeSet::new(),
            sent: BTreeMap::new(),
            now: Instant::now(),
            version: 0,
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Push(name) => {
                self.version += 1;
                self.queue.push(event(*name, self.version));
            }
            Step::Tell(became) => self.tell(*became),
            Step::Redrive => self.redrive(),
            Step::Purge => {
                let taken = self.letters.take(&Selection::All);
                self.kept.threw_away(&taken);
                for letter in taken {
                    self.owed.remove(&letter.id);
                }
            }
            Step::Restart => self.restart(),
        }
        for (place, content) in self.archive.take_unwritten() {
            match content {
                Some(content) => _ = self.file.insert(place, content),
                None => _ = self.file.remove(&place),
            }
        }
    }

    fn tell(&mut self, became: Became) {
        self.now += Duration::from_secs(10);
        let (now, due) = (self.now, self.now + Duration::from_secs(5));
        let Some(queued) = self.queue.pop(now) else { return };
        let name = queued.event.object.key().name().to_owned();
        let resource: Arc<str> = "v1/pods".into();
        self.waits.remove(&name);
        let settled = match became {
            Became::Done => Settled::Finished,
            Became::Again => Settled::RetryAt(due),
            Became::Crashed => Settled::CrashedRetryAt(due),
            Became::Dead => Settled::Finished,
        };
        for id in self.sent.remove(&name).unwrap_or_default() {
            self.owed.remove(&id);
        }
        match became {
            Became::Done => self.kept.finished(&queued.event, StateChanges::new()),
            Became::Again | Became::Crashed => {
                let crashed = matches!(became, Became::Crashed);
                self.kept.waits(("s", &resource), &queued, crashed, due);
                self.waits.insert(name, queued.attempt + 1);
            }
            Became::Dead => {
                let pushed = self.letters.push(DeadLetter {
                    id: 0,
                    subscription: "s".to_owned(),
                    resource: resource.to_string(),
                    event: queued.event.clone(),
                    attempts: queued.attempt,
                    parked: false,
                    error: String::new(),
                    at: Timestamp::UNIX_EPOCH,
                });
                self.kept.gave_up(&queued.event, &pushed);
                self.owed.insert(pushed.letter.id);
                for id in &pushed.dropped {
                    self.owed.remove(id);
                }
            }
        }
        self.queue.settle(settled, now);
    }

    fn redrive(&mut self) {
        for letter in self.letters.take(&Selection::All) {
            let event = Event { reason: Reason::Redrive, ..letter.event.clone() };
            self.kept.sent_again(&event, vec![letter.id]);
            let name = event.object.key().name().to_owned();
            self.sent.entry(name).or_default().push(letter.id);
            self.queue.push(event);
        }
    }

    /// The host ends without a word, and another begins with what the file says.
    fn restart(&mut self) {
        (self.archive, self.kept, self.queue, self.letters) = parts();
        let mut kept = Kept::default();
        for ((_, place), content) in &self.file {
            match (place, content.clone()) {
                (_, Content::Head(head)) => kept.head = Some(head),
                (_, Content::Letter(letter)) => kept.letters.push(*letter),
                (Place::Retry { subscription, .. }, Content::Retry(waiting)) => {
                    kept.retries.push((subscription.clone(), *waiting));
                }
                other => panic!("nobody put {other:?}"),
            }
        }
        self.kept.open(self.archive.clone(), &kept);
        let last = kept.head.unwrap_or_default().letters;
        self.letters.restore(kept.letters, last);
        for (subscription, waiting) in kept.retries {
            self.kept.restored(SUBSCRIPTION, &subscription, &waiting);
            let Waiting { event, attempt, crashes, .. } = waiting;
            let event = Event { subscription: SUBSCRIPTION, ..event };
            self.queue.restore(Queued { event, attempt, crashes, seq: 0 }, self.now);
        }
        self.sent.clear();
    }

    /// The file has what waits and what is owed, and nothing else.
    fn check(&self) {
        let (mut waits, mut owed) = (BTreeMap::new(), BTreeSet::new());
        for ((_, place), content) in &self.file {
            match (place, content) {
                (Place::Retry { key, .. }, Content::Retry(waiting)) => {
                    waits.insert(key.name().to_owned(), waiting.attempt);
                }
                (Place::Letter(id), _) => _ = owed.insert(*id),
                _ => {}
            }
        }
        assert_eq!(waits, self.waits, "retries");
        assert_eq!(owed, self.owed, "dead letters");
        let snapshot = self.kept.snapshot().expect("it is open");
        assert_eq!(snapshot.retries, waits.len());
        assert_eq!(snapshot.retries == 0, snapshot.retries_bytes == 0);
    }
}

fn step() -> impl Strategy<Value = Step> {
    let became = prop_oneof![
        3 => Just(Became::Done),
        3 => Just(Became::Again),
        1 => Just(Became::Crashed),
        2 => Just(Became::Dead),
    ];
    prop_oneof![
        5 => (0..4u8).prop_map(Step::Push),
        8 => became.prop_map(Step::Tell),
        1 => Just(Step::Redrive),
        1 => Just(Step::Purge),
        2 => Just(Step::Restart),
    ]
}

proptest! {
    #[test]
    fn the_file_always_says_what_waits(steps in proptest::collection::vec(step(), 1..60)) {
        let mut bench = Bench::new();
        for step in &steps {
            bench.step(step);
            bench.check();
        }
    }
}

#[test]
fn what_is_above_the_bound_is_not_kept_and_counted() {
    let (archive, _, mut queue, _) = parts();
    let kept = PluginArchive::new("p".parse().expect("a name"), 1_000);
    kept.open(archive.clone(), &Kept::default());
    let (now, resource) = (Instant::now(), "v1/pods".into());
    for name in 0..4 {
        queue.push(event(name, 1));
        let queued = queue.pop(now).expect("it waits");
        kept.waits(("s", &resource), &queued, false, now);
        queue.settle(Settled::RetryAt(now + Duration::from_secs(1)), now);
    }
    let snapshot = kept.snapshot().expect("it is open");
    assert!(snapshot.retries_bytes <= 1_000 && snapshot.retries > 0, "{snapshot:?}");
    assert_eq!(snapshot.retries as u64 + snapshot.unkept, 4);
    let in_file = archive.take_unwritten().into_values().flatten();
    let retries = in_file.filter(|content| matches!(content, Content::Retry(_))).count();
    assert_eq!(retries, snapshot.retries);
}
