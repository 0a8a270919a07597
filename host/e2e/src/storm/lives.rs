//! Whether anything was lost where hosts are killed at any moment, each of which goes on with the state directory of the one before: what each of them told its
//! plugin, beside what the cluster went through and what was on the disk for certain.
//!
//! A host begins with a list, so within its life every change of an object is told, once and in order, from what the list shows on. Over the lives: a retry
//! that was on the disk comes again, with its attempts, before anything else of its object; a dead letter that somebody has seen is there. Only the
//! subscription is followed whose view is always the same.

use std::collections::{BTreeSet, HashMap};

use crate::storm::history::{History, State, Uid};
use crate::storm::oracle::COMPLAINTS_MAX;
use crate::storm::told::{Change, Event, LogEntry, LogKind, Reason};
use jiff::{SignedDuration, Timestamp};

/// The subscription that has everything in every version.
pub const FOLLOWED: &str = "all";

/// From a failure in the log to the host's own word that its retry is to be kept there are some instructions; a host that has none of its threads' turns for as
/// long as this has other worries.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// A host from its start to its end.
#[derive(Debug, Default)]
pub struct Life {
    /// What it wrote.
    pub told: Vec<LogEntry>,
    /// What was seen on the disk, in order.
    pub proofs: Vec<Proof>,
}

/// The host has answered that everything until then is on the disk.
#[derive(Debug)]
pub struct Proof {
    /// So many of its lines had been read before it was asked.
    pub read: usize,
    /// The dead letters that it showed, by id.
    pub letters: BTreeSet<u64>,
    /// How many it then said to be on the disk.
    pub kept: usize,
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LivesVerdict {
    /// Events that were told.
    pub events: usize,
    /// Retries that were on the disk when a host was killed.
    pub owed: usize,
    /// Of those the ones that came again.
    pub paid: usize,
    /// Dead letters that were there in the end.
    pub letters: usize,
    /// What is wrong; empty where nothing was lost.
    pub complaints: Vec<String>,
}

/// What one host has told of an object.
#[derive(Clone, Debug)]
struct KnownOfHost {
    /// The place in the object's history that was told last.
    last: usize,
    /// It began with what a host before had attempted: the list may come after it.
    is_restored: bool,
    /// The last event, if it comes again.
    owed: Option<Event>,
}

struct LivesOracle<'a> {
    history: &'a History,
    /// Retries that were on the disk at the end of the life before, with the attempt that had failed.
    debts: HashMap<Uid, u32>,
    /// Letters that were seen, and how many were said to be on the disk.
    letters: BTreeSet<u64>,
    kept: usize,
    verdict: LivesVerdict,
}

/// Holds all lives against the history. The last one must have told everything.
pub fn check(lives: &[Life], history: &History) -> LivesVerdict {
    let (debts, letters, verdict) = (HashMap::new(), BTreeSet::new(), LivesVerdict::default());
    let mut oracle = LivesOracle { history, debts, letters, kept: 0, verdict };
    for (number, life) in lives.iter().enumerate() {
        let known = oracle.live(number, life);
        if number + 1 == lives.len() {
            oracle.end(&known);
        }
    }
    oracle.verdict.letters = oracle.letters.len();
    oracle.verdict
}

/// The events of the subscription that is followed.
fn events(told: &[LogEntry]) -> impl Iterator<Item = (Timestamp, &Event)> {
    told.iter().filter_map(|entry| match &entry.what {
        LogKind::Event(event) if &*event.subscription == FOLLOWED => Some((entry.at, event)),
        _ => None,
    })
}

impl LivesOracle<'_> {
    fn complain(&mut self, complaint: String) {
        if self.verdict.complaints.len() < COMPLAINTS_MAX {
            self.verdict.complaints.push(complaint);
        }
    }

    /// Follows one host, and answers with what it knew of each object at its end.
    fn live(&mut self, number: usize, life: &Life) -> HashMap<Uid, KnownOfHost> {
        let mut objects = HashMap::new();
        for (_, event) in events(&life.told) {
            self.verdict.events += 1;
            if let Err(why) = self.event(&mut objects, event) {
                let states = self.history.states(event.uid);
                let known = objects.get(&event.uid);
                self.complain(format!(
                    "host {number}: {why}: {event:?}; {known:?}; {}",
                    around(states, event.version)
                ));
            }
        }
        for proof in &life.proofs {
            let lost: Vec<u64> = self.letters.difference(&proof.letters).copied().collect();
            if !lost.is_empty() {
                self.complain(format!("host {number}: letters {lost:?} were there and are lost"));
            }
            if proof.letters.len() < self.kept {
                let (there, kept) = (proof.letters.len(), self.kept);
                self.complain(format!("host {number}: {there} letters, {kept} were on the disk"));
            }
            self.letters.clone_from(&proof.letters);
            self.kept = proof.kept;
        }
        self.owe(life);
        objects
    }

    fn event(
        &mut self,
        objects: &mut HashMap<Uid, KnownOfHost>,
        event: &Event,
    ) -> Result<(), &'static str> {
        let states = self.history.states(event.uid);
        let at = states.iter().position(|state| state.version == event.version);
        let at = at.ok_or("the object never had this resourceVersion")?;
        let owed = event.end.is_owed().then(|| event.clone());
        let result = match objects.get(&event.uid) {
            None => self.first(event, at),
            Some(known) => follows(known, event, at, states),
        };
        let is_restored = match objects.get(&event.uid) {
            None => event.attempt > 1,
            // A retry has the reason of its event, whatever the list says.
            Some(known) => {
                known.is_restored && (event.attempt > 1 || event.reason != Reason::Initial)
            }
        };
        objects.insert(event.uid, KnownOfHost { last: at, is_restored, owed });
        result
    }

    /// The first that a host tells of an object.
    fn first(&mut self, event: &Event, at: usize) -> Result<(), &'static str> {
        if let Some(failed) = self.debts.remove(&event.uid) {
            if event.attempt <= failed {
                return Err("a retry that was on the disk is lost");
            }
            self.verdict.paid += 1;
        }
        let is_new = event.change == Change::Added && at == 0;
        match event.reason {
            _ if event.attempt > 1 => Ok(()),
            Reason::Initial if event.change == Change::Added => Ok(()),
            Reason::Watch if is_new => Ok(()),
            _ => Err("a host tells of an object first that it is there"),
        }
    }

    /// Which retries the host that has come to its end leaves on the disk for certain.
    fn owe(&mut self, life: &Life) {
        let Some(proof) = life.proofs.last() else { return self.forget_told(life) };
        let read = &life.told[..proof.read.min(life.told.len())];
        let Some(seen) = read.last().map(|entry| entry.at) else { return self.forget_told(life) };
        let mut owed = HashMap::new();
        for (at, event) in events(read) {
            match event.end.is_owed() && seen.duration_since(at) >= SETTLED_AFTER {
                true => _ = owed.insert(event.uid, event.attempt),
                false => _ = owed.remove(&event.uid),
            }
        }
        for (_, event) in events(&life.told[read.len()..]) {
            // It has come again; whether what became of it is on the disk nobody knows.
            if !event.end.is_owed() {
                owed.remove(&event.uid);
            }
        }
        self.forget_told(life);
        self.verdict.owed += owed.len();
        self.debts.extend(owed);
    }

    /// What the host has told of is its own to owe.
    fn forget_told(&mut self, life: &Life) {
        for (_, event) in events(&life.told) {
            self.debts.remove(&event.uid);
        }
    }

    /// Everything that is there was told as it is, and nothing is owed.
    fn end(&mut self, known: &HashMap<Uid, KnownOfHost>) {
        let mut complaints = Vec::new();
        for (uid, states) in self.history.objects() {
            let Some(last) = states.len().checked_sub(1) else { continue };
            let told = known.get(&uid);
            let is_there = states[last].colour.is_some();
            if is_there && told.is_none_or(|known| known.last != last) {
                let around = around(states, states[last].version);
                complaints.push(format!("the end of {uid:x} was not told: {told:?}; {around}"));
            }
            if let Some(owed) = told.and_then(|known| known.owed.as_ref()) {
                complaints.push(format!("never came again: {owed:?}"));
            }
        }
        let never = self.debts.iter();
        complaints.extend(never.map(|(uid, attempt)| {
            format!("a retry of {uid:x} that was on the disk after attempt {attempt} never came")
        }));
        complaints.into_iter().for_each(|complaint| self.complain(complaint));
    }
}

/// What may follow on what the same host has told.
fn follows(
    known: &KnownOfHost,
    event: &Event,
    at: usize,
    states: &[State],
) -> Result<(), &'static str> {
    if let Some(owed) = &known.owed {
        let same = |one: &Event| (one.version, one.change, one.reason);
        let comes_again = same(owed) == same(event) && owed.attempt + 1 == event.attempt;
        return comes_again.then_some(()).ok_or("it overtook one that comes again");
    }
    if event.attempt > 1 {
        return Err("it came again without need");
    }
    if known.is_restored && at >= known.last {
        // The list has come after what was attempted before.
        let is_list = event.reason == Reason::Initial && event.change == Change::Added;
        let is_gone = event.reason == Reason::Relist && event.change == Change::Lost;
        if is_list || is_gone {
            return Ok(());
        }
    }
    let is_next = event.reason == Reason::Watch && at == known.last + 1 && event.coalesced == 0;
    let is_end = states[at].colour.is_none();
    let is_right = event.change == if is_end { Change::Deleted } else { Change::Updated };
    (is_next && is_right).then_some(()).ok_or("it does not follow on what was told")
}

/// The states around a resourceVersion.
fn around(states: &[State], version: u64) -> String {
    let at = states.partition_point(|state| state.version < version);
    format!("its states are {:?}", &states[at.saturating_sub(3)..states.len().min(at + 2)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storm::told;

    /// Object 1 is made, changes twice and stays; object 2 is made, changes and goes.
    fn history() -> History {
        let mut history = History::default();
        let states = [(1, 1, Some(6)), (2, 2, Some(6)), (1, 3, Some(6)), (2, 4, Some(1))];
        for (uid, version, colour) in states.into_iter().chain([(1, 5, Some(6)), (2, 6, None)]) {
            history.push(uid, State { version, colour });
        }
        history
    }

    /// A life's events, one a second; `!` is a proof with letters of these ids, and `+1` that so many more are on the disk than it showed.
    fn life(text: &str) -> Life {
        let mut life = Life::default();
        for (line, second) in text.split(", ").zip(0..) {
            if let Some(ids) = line.strip_prefix('!') {
                let (ids, more) = ids.split_once('+').unwrap_or((ids, "0"));
                let letters = ids.split_whitespace().map(|id| id.parse().expect("an id"));
                let letters: BTreeSet<u64> = letters.collect();
                let kept = letters.len() + more.parse::<usize>().expect("a number");
                life.proofs.push(Proof { read: life.told.len(), letters, kept });
                continue;
            }
            let event = told::event_of(&format!("1 all {line}"));
            let what = LogKind::Event(event.expect("the test's event is well formed"));
            let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
            life.told.push(LogEntry { at, what });
        }
        life
    }

    const FIRST: &str = "1 1 added initial - 1 0 -, 2 2 added initial - 1 0 -, \
        1 3 updated watch - 1 0 fails, 2 4 updated watch - 1 0 -";
    const LAST: &str = "1 5 updated initial - 2 1 -";

    /// What the oracle says of these lives.
    #[track_caller]
    fn check(lives: &[&str], expect: Option<&str>) -> LivesVerdict {
        let lives: Vec<Life> = lives.iter().map(|text| life(text)).collect();
        let verdict = super::check(&lives, &history());
        match expect {
            None => assert_eq!(verdict.complaints, Vec::<String>::new()),
            Some(part) => {
                let first = verdict.complaints.first().map_or("", String::as_str);
                assert!(first.contains(part), "{:#?}", verdict.complaints);
            }
        }
        verdict
    }

    #[test]
    fn a_retry_that_was_on_the_disk_has_to_come_again() {
        let first = format!("{FIRST}, !");
        let verdict = check(&[&first, LAST], None);
        assert_eq!((verdict.owed, verdict.paid), (1, 1));
        let late = "1 3 updated watch - 2 0 -, 1 5 added initial - 1 0 -";
        check(&[&first, late], None);
        check(&[&first, "1 5 added initial - 1 0 -"], Some("is lost"));
        // A host that told nothing leaves what it found.
        check(&[&first, "!", LAST], None);
        check(&[&first, "!", "1 5 added initial - 1 0 -"], Some("is lost"));
    }

    #[test]
    fn what_was_not_on_the_disk_for_certain_may_come_again_or_not() {
        check(&[FIRST, LAST], None);
        check(&[FIRST, "1 5 added initial - 1 0 -"], None);
        let told = format!("{FIRST}, !, 1 3 updated watch - 2 0 -");
        check(&[&told, "1 5 added initial - 1 0 -"], None);
        check(&[&told, LAST], None);
        let again = format!("{FIRST}, !, 1 3 updated watch - 2 0 fails");
        check(&[&again, "1 5 added initial - 1 0 -"], Some("is lost"));
    }

    #[test]
    fn letters_that_were_seen_stay() {
        check(&["!1 2", "!1 2 3, 1 5 added initial - 1 0 -"], None);
        let verdict = check(&["!1 2", "!2 3, 1 5 added initial - 1 0 -"], Some("letters [1]"));
        assert_eq!(verdict.letters, 2);
        check(&["!1 2 +1", "!1 2 3, 1 5 added initial - 1 0 -"], None);
        check(&["!1 2 +1", "!1 2, 1 5 added initial - 1 0 -"], Some("2 letters, 3 were"));
    }

    #[test]
    fn within_a_life_every_change_is_told_once_and_in_order() {
        let all = "1 1 added initial - 1 0 -, 1 3 updated watch - 1 0 -, 1 5 updated watch - 1 0 -";
        check(&[all], None);
        let lost = "1 1 added initial - 1 0 -, 1 5 updated watch - 1 0 -";
        check(&[lost], Some("does not follow"));
        let twice = format!("{all}, 1 5 updated watch - 1 0 -");
        check(&[&twice], Some("does not follow"));
        check(&["1 5 updated watch - 1 0 -"], Some("first that it is there"));
        check(&["1 3 added initial - 1 0 -"], Some("the end of 1 was not told"));
        let owed = all.replace("1 3 updated watch - 1 0 -", "1 3 updated watch - 1 0 fails");
        check(&[&owed], Some("overtook"));
        let end =
            "1 5 added initial - 1 0 -, 2 4 added initial - 1 0 -, 2 6 deleted watch deleted 1 0 -";
        check(&[end], None);
        check(&[&end.replace("2 6 deleted watch deleted", "2 6 updated watch -")], Some("follow"));
    }

    #[test]
    fn the_end_of_what_was_attempted_and_is_gone_is_told_behind_it() {
        let first = "2 2 added initial - 1 0 -, 2 4 updated watch - 1 0 fails, 1 3 added initial - 1 0 -, !";
        let gone = "2 4 updated watch - 2 0 -, 2 4 deleted relist unknown 1 0 -, 1 5 added initial - 1 0 -";
        check(&[first, gone], None);
        let listed = "2 4 added initial - 1 0 fails, 1 3 added initial - 1 0 -";
        let fails = "2 4 added initial - 2 0 fails, 2 4 added initial - 3 0 -";
        let end = "2 4 deleted relist unknown 1 0 -, 1 5 added initial - 1 0 -";
        check(&[listed, &format!("{fails}, {end}")], None);
        let without = "1 5 added initial - 1 0 -";
        check(&[first, without], Some("never came"));
    }
}
