//! The file's content after every step, compared with the waiting events: the host may end at any step.

use super::*;
use crate::delivery::mailbox::{Attempts, Mailbox, Marks, Settled};
use crate::event::{Change, Reason};
use crate::kept::dead_letters::{self, DeadLetters, Selection};
use informant_cache::Object;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SUBSCRIPTION: SubscriptionId = SubscriptionId(1);

fn event(name: u8, version: u32) -> Event {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{name}","uid":"{name}","resourceVersion":"{version}"}}}}"#
    );
    Event::new(
        SUBSCRIPTION,
        Change::Updated,
        Object::decode(json.as_bytes(), None).expect("an object"),
        Instant::now(),
    )
}

#[derive(Debug, Clone)]
enum Step {
    Push(u8),
    /// The next due event is delivered, with this result.
    Tell(Became),
    Redrive,
    /// The redriven events are not to be delivered.
    RedriveFiltered,
    Purge,
    /// The subscription is removed, and added again.
    Drop,
    /// From here on the disk takes all changes, or none.
    Disk(bool),
    Restart,
}

#[derive(Debug, Clone, Copy)]
enum Became {
    Done,
    Again,
    Crashed,
    Dead,
}

/// The data that must outlive the host.
#[derive(Debug, Clone, Default, PartialEq)]
struct Owed {
    /// Attempted events that wait: object and next attempt.
    retries: BTreeMap<String, u32>,
    /// Letters that the plugin must get: the visible ones, and redriven ones that were not delivered.
    letters: BTreeSet<u64>,
}

/// A host's part of one plugin, and the file with the changes from the time in which the disk worked.
struct Bench {
    file: BTreeMap<(PluginName, ArchiveKey), ArchiveValue>,
    disk_works: bool,
    archive: Archive,
    kept: PluginArchive,
    queue: Mailbox,
    letters: DeadLetters,
    owed: Owed,
    /// The data that must outlive the host, when the disk last took all changes.
    written: Owed,
    /// Redriven letters that were not delivered, with their object and its state at the redrive.
    sent: BTreeMap<u64, (String, u32)>,
    now: Instant,
    version: u32,
}

/// Room for the retries of some objects, and not of all.
const RETRIES_BYTES_MAX: usize = 1_200;

fn parts() -> (Archive, PluginArchive, Mailbox, DeadLetters) {
    let marks = Marks { events: 3, bytes: usize::MAX };
    let bounds = dead_letters::LetterBounds { letters: 3, bytes: 1 << 20 };
    let limits = Limits { kept_retries_bytes_max: RETRIES_BYTES_MAX, ..Limits::default() };
    let kept = PluginArchive::new(name(), &limits);
    let archive = Archive::new();
    // A plugin's first load reads the file.
    archive.found(&name(), &Kept::default());
    (archive, kept, Mailbox::new(marks), DeadLetters::new(bounds))
}

fn name() -> PluginName {
    "p".parse().expect("a name")
}

impl Bench {
    fn new() -> Self {
        let (archive, kept, queue, letters) = parts();
        kept.open(archive.clone(), &Kept::default());
        Self {
            file: BTreeMap::new(),
            disk_works: true,
            archive,
            kept,
            queue,
            letters,
            owed: Owed::default(),
            written: Owed::default(),
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
            Step::RedriveFiltered => {
                for letter in self.letters.send(&Selection::All, |_| true).0 {
                    self.kept.told(&[letter.id]);
                    self.letters.told(&[letter.id]);
                    self.owed.letters.remove(&letter.id);
                }
            }
            Step::Purge => {
                let taken = self.letters.take(&Selection::All);
                self.kept.threw_away(&taken);
                for letter in taken {
                    self.owed.letters.remove(&letter.id);
                }
            }
            Step::Drop => {
                self.queue.retain(&HashSet::new());
                self.kept.retain(&HashSet::new());
                self.letters.take_back(|_| true);
                self.owed.retries.clear();
                self.sent.clear();
            }
            Step::Disk(works) => self.disk_works = *works,
            Step::Restart => self.restart(),
        }
        self.write();
    }

    fn write(&mut self) {
        let changes = self.archive.take_unwritten(self.disk_works);
        if !self.disk_works {
            return;
        }
        for (place, content) in changes.iter() {
            match content {
                Some(content) => _ = self.file.insert(place.clone(), content.clone()),
                None => _ = self.file.remove(place),
            }
        }
        self.written = self.owed.clone();
    }

    fn tell(&mut self, became: Became) {
        self.now += Duration::from_secs(10);
        let (now, due) = (self.now, self.now + Duration::from_secs(5));
        let Some(queued) = self.queue.pop(now) else { return };
        let name = queued.event.object.key().name().to_owned();
        let version: u32 = queued.event.object.resource_version().parse().expect("a number");
        let resource: Arc<str> = "v1/pods".into();
        let settled = match became {
            Became::Done | Became::Dead => Settled::Finished,
            Became::Again => Settled::RetryAt(due),
            Became::Crashed => Settled::CrashedRetryAt(due),
        };
        let is_told = match became {
            Became::Done => {
                self.kept.finished(&queued.event, StateChanges::new());
                self.letters.told(&queued.event.letters);
                self.owed.retries.remove(&name);
                true
            }
            Became::Again | Became::Crashed => {
                let again = settled.again().expect("it comes again");
                let is_kept = self.kept.waits(("s", &resource), &queued, again);
                if is_kept {
                    self.letters.told(&queued.event.letters);
                    self.owed.retries.insert(name.clone(), queued.tried.number + 1);
                }
                is_kept
            }
            Became::Dead => {
                self.owed.retries.remove(&name);
                self.bury(&queued, &resource);
                true
            }
        };
        if is_told {
            // A redriven letter's event has the object's state at the redrive, or a later one.
            let told = self.sent.extract_if(.., |_, (of, at)| *of == name && *at <= version);
            for (id, _) in told {
                self.owed.letters.remove(&id);
            }
        }
        self.queue.settle(settled, now);
    }

    fn bury(&mut self, queued: &Queued, resource: &str) {
        self.letters.told(&queued.event.letters);
        let pushed = self.letters.push(DeadLetter {
            id: 0,
            subscription: "s".to_owned(),
            resource: resource.to_owned(),
            event: Event::clone(&queued.event),
            attempts: queued.tried.number,
            parked: false,
            error: String::new(),
            at: Timestamp::UNIX_EPOCH,
        });
        self.kept.gave_up(&queued.event, &pushed);
        self.owed.letters.insert(pushed.letter.id);
        for id in &pushed.dropped {
            self.owed.letters.remove(id);
            self.sent.remove(id);
        }
    }

    fn redrive(&mut self) {
        for letter in self.letters.send(&Selection::All, |_| true).0 {
            self.version += 1;
            let name = letter.event.object.key().name().to_owned();
            let number = name[1..].parse().expect("a number");
            let present = event(number, self.version);
            self.sent.insert(letter.id, (name, self.version));
            self.queue.push(Event { reason: Reason::Redrive, letters: vec![letter.id], ..present });
        }
    }

    /// The host is killed, and another begins with the file's content.
    fn restart(&mut self) {
        self.disk_works = true;
        self.owed = self.written.clone();
        (self.archive, self.kept, self.queue, self.letters) = parts();
        let mut kept = Kept::default();
        for ((_, place), content) in &self.file {
            match (place, content.clone()) {
                (_, ArchiveValue::Head(head)) => kept.head = Some(head),
                (_, ArchiveValue::Letter(letter)) => kept.letters.push(*letter),
                (ArchiveKey::Retry { subscription, .. }, ArchiveValue::Retry(waiting)) => {
                    kept.retries.push((subscription.clone(), *waiting));
                }
                other => panic!("nobody put {other:?}"),
            }
        }
        self.archive.found(&name(), &kept);
        self.kept.open(self.archive.clone(), &kept);
        let last = kept.head.unwrap_or_default().letters;
        self.letters.restore(kept.letters, last);
        for (subscription, waiting) in kept.retries {
            self.kept.restored(SUBSCRIPTION, &subscription, &waiting);
            let WaitingRetry { event, attempt, crashes, .. } = waiting;
            let event = Event { subscription: SUBSCRIPTION, ..event };
            self.queue.restore(
                Queued {
                    event: event.into(),
                    tried: Attempts { number: attempt, excused: 0, crashes },
                    seq: 0,
                },
                self.now,
            );
        }
        self.sent.clear();
    }

    /// The file has exactly the waiting events and owed letters. If the disk takes nothing, it has those of the last
    /// write.
    fn check(&self) {
        let mut found = Owed::default();
        for ((_, place), content) in &self.file {
            match (place, content) {
                (ArchiveKey::Retry { key, .. }, ArchiveValue::Retry(waiting)) => {
                    found.retries.insert(key.name().to_owned(), waiting.attempt);
                }
                (ArchiveKey::Letter(id), _) => _ = found.letters.insert(*id),
                _ => {}
            }
        }
        assert_eq!(found, self.written);
        let snapshot = self.kept.snapshot().expect("it is open");
        let shown = (snapshot.retries, snapshot.dead_letters);
        assert_eq!(shown, (found.retries.len(), found.letters.len()), "what is in the file");
        assert_eq!(self.owed.retries.is_empty(), snapshot.retries_bytes == 0);
        assert!(snapshot.retries_bytes <= RETRIES_BYTES_MAX);
        let lie: BTreeSet<u64> = self.letters.list().iter().map(|letter| letter.id).collect();
        let sent: BTreeSet<u64> = self.sent.keys().copied().collect();
        assert_eq!(lie, &self.owed.letters - &sent, "letters that lie");
        // The changes that wait for the disk are at most the owed records, the file's records, and the head.
        let waiting = self.archive.status().waiting;
        let all = [&found, &self.owed].map(|owed| owed.retries.len() + owed.letters.len());
        assert!(waiting <= all.iter().sum::<usize>() + 1, "{waiting} changes wait");
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
        6 => (0..6u8).prop_map(Step::Push),
        10 => became.prop_map(Step::Tell),
        2 => Just(Step::Redrive),
        1 => Just(Step::RedriveFiltered),
        1 => Just(Step::Purge),
        1 => Just(Step::Drop),
        2 => any::<bool>().prop_map(Step::Disk),
        2 => Just(Step::Restart),
    ]
}

proptest! {
    #[test]
    fn the_file_always_says_what_waits(steps in proptest::collection::vec(step(), 1..80)) {
        let mut bench = Bench::new();
        for step in &steps {
            bench.step(step);
            bench.check();
        }
        // In the end all events are delivered, and only the visible letters remain.
        bench.step(&Step::Disk(true));
        while bench.queue.load().events > 0 {
            bench.step(&Step::Tell(Became::Done));
            bench.check();
        }
        prop_assert!(bench.sent.is_empty() && bench.written.retries.is_empty());
    }
}

#[test]
fn what_is_above_the_bound_is_not_kept_and_counted() {
    let (archive, kept, mut queue, _) = parts();
    kept.open(archive.clone(), &Kept::default());
    let (now, resource) = (Instant::now(), "v1/pods".into());
    for name in 0..8 {
        queue.push(event(name, 1));
        let queued = queue.pop(now).expect("it waits");
        let settled = Settled::RetryAt(now + Duration::from_secs(1));
        kept.waits(("s", &resource), &queued, settled.again().expect("it comes again"));
        queue.settle(settled, now);
    }
    assert_eq!(kept.snapshot().map(|snapshot| snapshot.retries), Some(0), "none is on the disk");
    let in_file = archive.take_unwritten(true);
    let snapshot = kept.snapshot().expect("it is open");
    assert!(snapshot.retries_bytes <= RETRIES_BYTES_MAX, "{snapshot:?}");
    assert!(snapshot.retries > 0 && snapshot.unkept > 0, "{snapshot:?}");
    assert_eq!(snapshot.retries as u64 + snapshot.unkept, 8);
    let retries = in_file.values().flatten();
    let retries = retries.filter(|content| matches!(content, ArchiveValue::Retry(_))).count();
    assert_eq!(retries, snapshot.retries);
}

#[test]
fn secrets_are_not_kept() {
    let (archive, kept, mut queue, mut letters) = parts();
    kept.open(archive.clone(), &Kept::default());
    let (now, resource): (_, Arc<str>) = (Instant::now(), "v1/secrets".into());
    queue.push(event(1, 1));
    let queued = queue.pop(now).expect("it waits");
    let again = Settled::RetryAt(now).again().expect("it comes again");
    assert!(!kept.waits(("s", &resource), &queued, again));
    let pushed = letters.push(DeadLetter {
        id: 0,
        subscription: "s".to_owned(),
        resource: resource.to_string(),
        event: Event::clone(&queued.event),
        attempts: 1,
        parked: false,
        error: String::new(),
        at: Timestamp::UNIX_EPOCH,
    });
    kept.gave_up(&queued.event, &pushed);
    let in_file = archive.take_unwritten(true);
    assert!(in_file.values().flatten().all(|content| matches!(content, ArchiveValue::Head(_))));
    assert_eq!(kept.snapshot().expect("it is open").unkept, 1);
}
