//! Whether nothing was lost: what a storm's plugin was told, beside what the cluster went through.
//!
//! Each object is followed through each subscription: what it was told of last says what may come next. So every change is there, once,
//! in order and under the right name; what comes again is an event whose instance ended, or what a reload asked for.

use std::collections::{BTreeMap, HashMap};

use crate::storm::history::{History, State, Uid};
use crate::storm::told::{Change, Event, LogEntry, LogKind, Reason};
use crate::storm::version::{Version, Wanted};

/// More than these say nothing that the first do not.
pub(super) const COMPLAINTS_MAX: usize = 20;

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StormVerdict {
    /// Events that were told, repeats and replays too.
    pub events: usize,
    /// Those told again because the instance before ended.
    pub repeats: usize,
    /// Those told because a subscription began or a reload asked for them.
    pub replayed: usize,
    /// Versions that were in charge.
    pub versions: usize,
    /// What is wrong; empty where nothing was lost.
    pub complaints: Vec<String>,
}

/// What a subscription knows of an object.
#[derive(Clone, Default)]
struct KnownObject {
    /// The place in the object's history that was told last, or after which it left.
    last: Option<usize>,
    /// Whether it was told and not yet told as gone.
    is_told: bool,
    /// An event that ended its instance, which comes again before any other.
    owed: Option<Event>,
    /// How often it was replayed.
    replays: u32,
}

/// A name from the version that brings it to the one that drops it.
struct Tenure {
    wanted: Wanted,
    /// Versions that had it so far, each of which may have asked for one replay.
    versions: u32,
    /// Its view has changed: what an object went through before its replay is told as far as one of the views had it.
    has_changed: bool,
    objects: HashMap<Uid, KnownObject>,
}

struct StormOracle<'a> {
    versions: &'a BTreeMap<u32, Version>,
    history: &'a History,
    in_charge: u32,
    tenures: HashMap<&'static str, Tenure>,
    verdict: StormVerdict,
}

/// Holds everything that was told against the history. The last version must have been told everything.
pub fn check(
    versions: &BTreeMap<u32, Version>,
    told: &[LogEntry],
    history: &History,
) -> StormVerdict {
    let (tenures, verdict) = (HashMap::new(), StormVerdict::default());
    let mut oracle = StormOracle { versions, history, in_charge: 0, tenures, verdict };
    for entry in told {
        match &entry.what {
            LogKind::InCharge(version) => oracle.take_over(*version),
            LogKind::Event(event) => oracle.event(event),
            LogKind::NotLoaded | LogKind::Other => {}
        }
    }
    oracle.end();
    oracle.verdict
}

impl StormOracle<'_> {
    fn complain(&mut self, complaint: String) {
        if self.verdict.complaints.len() < COMPLAINTS_MAX {
            self.verdict.complaints.push(complaint);
        }
    }

    /// The subscriptions follow the version in charge; its own line may come after its first events.
    fn take_over(&mut self, version: u32) {
        if version == self.in_charge {
            return;
        }
        if version < self.in_charge {
            return self.complain(format!("{version} spoke after {}", self.in_charge));
        }
        let Some(plan) = self.versions.get(&version) else {
            return self.complain(format!("there is no version {version}"));
        };
        self.in_charge = version;
        self.verdict.versions += 1;
        self.tenures.retain(|name, _| plan.wanted(name).is_some());
        for wanted in &plan.wanted {
            let tenure = self.tenures.entry(wanted.name).or_insert_with(|| Tenure {
                wanted: wanted.clone(),
                versions: 0,
                has_changed: false,
                objects: HashMap::new(),
            });
            tenure.versions += 1;
            tenure.has_changed |= tenure.wanted.colours != wanted.colours;
            tenure.wanted.clone_from(wanted);
        }
    }

    fn event(&mut self, event: &Event) {
        self.verdict.events += 1;
        self.verdict.repeats += usize::from(event.attempt > 1);
        self.verdict.replayed += usize::from(event.reason != Reason::Watch);
        self.take_over(event.by);
        let states = self.history.states(event.uid);
        let Some(tenure) = self.tenures.get_mut(&*event.subscription) else {
            return self.complain(format!("under a name that the version has not: {event:?}"));
        };
        let known = tenure.objects.entry(event.uid).or_default();
        let before = known.clone();
        known.replays += u32::from(event.attempt == 1 && event.reason != Reason::Watch);
        let has_changed = tenure.has_changed;
        let result = if event.attempt > 1 {
            repeat(known, event, has_changed)
        } else if known.replays > tenure.versions {
            Err("it was replayed more often than anybody asked")
        } else {
            next(known, event, states, (&tenure.wanted, has_changed))
        };
        known.owed = event.end.is_owed().then(|| event.clone());
        if let Err(why) = result {
            let text = format!("{why}: {event:?}; {}", shown(&before, states, event.version));
            self.complain(text);
        }
    }

    /// Everything was told that there was to tell.
    fn end(&mut self) {
        let mut complaints = Vec::new();
        for (name, tenure) in &self.tenures {
            for (uid, states) in self.history.objects() {
                let Some(last) = states.len().checked_sub(1) else { continue };
                let known = tenure.objects.get(&uid).cloned().unwrap_or_default();
                let wanted = tenure.wanted.has(states[last].colour);
                if wanted != known.is_told || (wanted && known.last != Some(last)) {
                    let shown = shown(&known, states, states[last].version);
                    complaints.push(format!("{name} ends without the end of {uid:x}: {shown}"));
                } else if let Some(owed) = known.owed {
                    complaints.push(format!("never came again: {owed:?}"));
                }
            }
        }
        for complaint in complaints {
            self.complain(complaint);
        }
    }
}

/// What was known of an object, and its states around a resourceVersion.
fn shown(known: &KnownObject, states: &[State], version: u64) -> String {
    let at = states.partition_point(|state| state.version < version);
    let around = &states[at.saturating_sub(3)..states.len().min(at + 2)];
    let last = known.last.and_then(|last| states.get(last));
    let is_told = if known.is_told { "told" } else { "not told" };
    format!("it was {is_told}, last {last:?}; its states are {around:?}")
}

/// An event may come again once for each instance that it ended.
fn repeat(known: &mut KnownObject, event: &Event, has_changed: bool) -> Result<(), &'static str> {
    let Some(owed) = &known.owed else { return Err("it came again without need") };
    if has_changed && owed.change != event.change && owed.attempt + 1 == event.attempt {
        // It is something else for the new view.
        known.is_told = !matches!(event.change, Change::Left | Change::Deleted | Change::Lost);
        return Ok(());
    }
    let same = |one: &Event| (one.uid, one.version, one.change, one.reason);
    if same(owed) != same(event) || owed.attempt + 1 != event.attempt {
        return Err("another came again than the one that ended its instance");
    }
    Ok(())
}

/// What may follow on what is known.
fn next(
    known: &mut KnownObject,
    event: &Event,
    states: &[State],
    (wanted, has_changed): (&Wanted, bool),
) -> Result<(), &'static str> {
    if event.coalesced > 0 {
        return Err("it stands for others");
    }
    if known.owed.is_some() {
        return Err("it overtook one that comes again");
    }
    let Some(at) = states.iter().position(|state| state.version == event.version) else {
        return Err("the object never had this resourceVersion");
    };
    let is_in = |at: usize| states.get(at).is_some_and(|state| wanted.has(state.colour));
    let follows = known.is_told && known.last.is_some_and(|last| last + 1 == at);
    let (right, last, is_told) = match (event.change, event.reason) {
        (Change::Added, Reason::Watch) if has_changed => {
            (!known.is_told && is_in(at) && known.last.is_none_or(|last| last <= at), at, true)
        }
        (Change::Added, Reason::Watch) => (entered(known, at, is_in), at, true),
        (Change::Updated, Reason::Watch) => (follows && is_in(at), at, true),
        (Change::Deleted, Reason::Watch) => (follows && states[at].colour.is_none(), at, false),
        // Where the API server selects, it does not say whether the object is gone or left the view.
        (Change::Lost, Reason::Watch) => (follows && !is_in(at), at, false),
        (Change::Left, Reason::Watch) => {
            let stands = known.is_told && known.last == Some(at) && at + 1 < states.len();
            // It may have left the view before.
            (stands && (!is_in(at + 1) || has_changed), at + 1, false)
        }
        (Change::Added, Reason::Initial) => (known.last.is_none() && is_in(at), at, true),
        // A replay comes after everything that was told before it.
        (Change::Added, Reason::Reload) => {
            let knew = known.is_told && known.last == Some(at);
            let knew_not =
                has_changed && !known.is_told && known.last.is_none_or(|last| last <= at);
            let asked = wanted.again || has_changed;
            ((knew || knew_not) && asked && is_in(at), at, true)
        }
        (Change::Left, Reason::Reload) => {
            let knew = known.is_told && known.last == Some(at);
            // It may have left the view before, and be told again as part of this one: the end shows if it is not.
            (knew && has_changed, at, false)
        }
        // Nobody was away.
        (_, Reason::Initial | Reason::Reload | Reason::Relist) => (false, at, false),
    };
    (known.last, known.is_told) = (Some(last), is_told);
    if right { Ok(()) } else { Err("it does not follow on what was told") }
}

/// Whether the object entered the view there, and was not in it between then and when it was heard of last.
fn entered(known: &KnownObject, at: usize, is_in: impl Fn(usize) -> bool) -> bool {
    let is_new = !known.is_told && is_in(at) && (at == 0 || !is_in(at - 1));
    is_new && known.last.is_none_or(|last| last < at && !(last + 1..at).any(is_in))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storm::told;
    use crate::storm::version::Fails;

    /// Object 1 is red, blue, red again and gone; object 2 is red.
    fn history() -> History {
        let mut history = History::default();
        let states = [(1, 1, Some(6)), (2, 2, Some(6)), (1, 3, Some(6)), (1, 4, Some(1))];
        for (uid, version, colour) in states.into_iter().chain([(1, 5, Some(6)), (1, 6, None)]) {
            history.push(uid, State { version, colour });
        }
        history
    }

    /// Versions with `all` and `red`; the second has `crimson` for `red`, the third what the first has.
    fn versions() -> BTreeMap<u32, Version> {
        let one = |name, colours| Wanted { name, colours, again: name == "all" };
        let version = |number| {
            let red = if number == 2 { "crimson" } else { "red" };
            let wanted = vec![one("all", u8::MAX), one(red, 1 << 6)];
            (
                number,
                Version { number, fails: Fails::Never, failures: None, hands_on: false, wanted },
            )
        };
        (1..=3).map(version).collect()
    }

    const ALL: &str = "1 all 1 1 added initial - 1 0 -, 1 all 2 2 added initial - 1 0 -, \
        1 all 1 3 updated watch - 1 0 -, 1 all 1 4 updated watch - 1 0 -, \
        1 all 1 5 updated watch - 1 0 -, 1 all 1 6 deleted watch deleted 1 0 -";
    const RED: &str = "1 red 1 1 added initial - 1 0 -, 1 red 2 2 added initial - 1 0 -, \
        1 red 1 3 updated watch - 1 0 -, 1 red 1 3 deleted watch left-view 1 0 -, \
        1 red 1 5 added watch - 1 0 -, 1 red 1 6 deleted watch deleted 1 0 -";

    /// What the oracle says of these events.
    #[track_caller]
    fn check(told: &[&str], expect: Option<&str>) {
        let entries = told.iter().flat_map(|events| events.split(", ")).map(|event| LogEntry {
            at: jiff::Timestamp::UNIX_EPOCH,
            what: LogKind::Event(told::event_of(event).expect("the test's event is well formed")),
        });
        let verdict = super::check(&versions(), &entries.collect::<Vec<_>>(), &history());
        match expect {
            None => assert_eq!(verdict.complaints, Vec::<String>::new()),
            Some(part) => {
                let first = verdict.complaints.first().map_or("", String::as_str);
                assert!(first.contains(part), "{:#?}", verdict.complaints);
            }
        }
    }

    fn without(events: &str, lost: &str) -> String {
        let kept: Vec<&str> = events.split(", ").filter(|event| *event != lost).collect();
        assert!(kept.len() < events.split(", ").count(), "{lost} was there");
        kept.join(", ")
    }

    #[test]
    fn everything_in_order_is_well() {
        check(&[ALL, RED], None);
        let reload = "2 all 2 2 added reload - 1 0 -, 2 crimson 2 2 added initial - 1 0 -";
        check(&[ALL, RED, reload], None);
    }

    #[test]
    fn every_event_that_is_lost_is_noticed() {
        for lost in ALL.split(", ") {
            check(&[&without(ALL, lost), RED], Some("states are"));
        }
        for lost in RED.split(", ") {
            check(&[ALL, &without(RED, lost)], Some("states are"));
        }
    }

    #[test]
    fn what_comes_twice_or_late_or_merged_is_noticed() {
        let again = "1 all 2 2 added initial - 1 0 -";
        check(&[ALL, again, RED], Some("more often than anybody asked"));
        check(&[RED, ALL, "1 red 1 3 updated watch - 1 0 -"], Some("does not follow"));
        let merged = ALL.replace("1 5 updated watch - 1 0", "1 5 updated watch - 1 1");
        check(&[&merged, RED], Some("stands for others"));
        let relisted = "2 all 1 6 added reload - 1 0 -";
        check(&[ALL, RED, relisted], Some("does not follow"));
    }

    #[test]
    fn an_event_comes_again_once_for_each_instance_that_it_ended() {
        let traps = ALL.replace("1 3 updated watch - 1 0 -", "1 3 updated watch - 1 0 traps");
        check(&[&traps, RED], Some("overtook"));
        let again = traps.replace("1 0 traps", "1 0 traps, 1 all 1 3 updated watch - 2 0 -");
        check(&[&again, RED], None);
        let twice = again.replace("2 0 -", "2 0 -, 1 all 1 3 updated watch - 3 0 -");
        check(&[&twice, RED], Some("without need"));
    }

    #[test]
    fn an_event_under_a_name_that_the_version_has_not_is_noticed() {
        let wrong = "2 red 2 2 added initial - 1 0 -";
        check(&[ALL, RED, wrong], Some("a name that the version has not"));
        let before = "2 all 2 2 added reload - 1 0 -, 1 all 2 2 added reload - 1 0 -";
        check(&[ALL, RED, before], Some("1 spoke after 2"));
    }
}
