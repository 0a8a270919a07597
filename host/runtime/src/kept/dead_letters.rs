//! Dead letters of one plugin's name, to be shown, redriven or purged. Synchronous.

use crate::contract::limits::Limits;
use crate::event::{Change, Event, ShownObject};
use crate::names::is_of_secrets;
use crate::one_line::one_line;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes of an error in a letter.
const ERROR_BYTES_MAX: usize = 1 << 10;

/// An event that was given up.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// Rises by one with every dead letter of the plugin.
    pub id: u64,
    /// The name of the subscription that the event was for.
    pub subscription: String,
    /// The subscription's resource.
    pub resource: String,
    /// The event as it was last delivered.
    pub event: Event,
    /// The number of deliveries.
    pub attempts: u32,
    /// Whether its object ended too many instances: then the event was given up before its last attempt.
    pub parked: bool,
    /// The error of the last delivery.
    pub error: String,
    /// When the event was given up.
    pub at: Timestamp,
}

/// A selection of dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All letters.
    All,
    /// The letters with these ids.
    Ids(BTreeSet<u64>),
}

impl Selection {
    pub(crate) fn contains(&self, letter: &DeadLetter) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&letter.id),
        }
    }
}

/// The dead letters of one plugin's name.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    /// By id: the oldest first.
    letters: BTreeMap<u64, DeadLetter>,
    /// Letters that were redriven and whose events are not delivered yet. They are hidden meanwhile.
    sent: BTreeSet<u64>,
    bytes: usize,
    ids: u64,
    bounds: LetterBounds,
}

/// A new letter, and the ids of those that were dropped for it.
#[derive(Debug)]
pub(crate) struct Pushed {
    pub(crate) letter: DeadLetter,
    pub(crate) dropped: Vec<u64>,
}

/// The bounds of the kept letters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LetterBounds {
    pub(crate) letters: usize,
    /// The bytes of the objects.
    pub(crate) bytes: usize,
}

impl From<&Limits> for LetterBounds {
    fn from(limits: &Limits) -> Self {
        Self { letters: limits.dead_letters_max, bytes: limits.dead_letters_bytes_max }
    }
}

impl DeadLetters {
    pub(crate) fn new(bounds: LetterBounds) -> Self {
        Self { letters: BTreeMap::new(), sent: BTreeSet::new(), bytes: 0, ids: 0, bounds }
    }

    /// Sets the bounds for the next letter.
    pub(crate) fn set_bounds(&mut self, bounds: LetterBounds) {
        self.bounds = bounds;
    }

    /// Takes the kept letters, whatever the bounds are now, and the id of the last letter.
    pub(crate) fn restore(&mut self, letters: Vec<DeadLetter>, last_id: u64) {
        let newest = letters.iter().map(|letter| letter.id).max().unwrap_or_default();
        self.ids = self.ids.max(last_id).max(newest);
        self.bytes += letters.iter().map(DeadLetter::size).sum::<usize>();
        self.letters.extend(letters.into_iter().map(|letter| (letter.id, letter)));
    }

    /// Keeps a letter, gives it an id, and returns the dropped older ones.
    pub(crate) fn push(&mut self, mut letter: DeadLetter) -> Pushed {
        self.ids += 1;
        letter.id = self.ids;
        letter.error = one_line(&letter.error, ERROR_BYTES_MAX).into_owned();
        letter.event.object = letter.event.object.at_rest();
        letter.event.old = None;
        letter.event.letters = Vec::new();
        self.bytes += letter.size();
        self.letters.insert(letter.id, letter.clone());
        let mut dropped = Vec::new();
        // The newest letter stays even if it alone exceeds the bound.
        while self.letters.len() > 1
            && (self.letters.len() > self.bounds.letters || self.bytes > self.bounds.bytes)
        {
            let Some(oldest) = self.letters.keys().next().copied() else { break };
            self.remove(oldest);
            dropped.push(oldest);
        }
        Pushed { letter, dropped }
    }

    /// The error of the newest visible letter.
    pub(crate) fn last_error(&self) -> Option<&str> {
        let mut newest = self.letters.values().rev();
        newest.find(|letter| !self.sent.contains(&letter.id)).map(|letter| letter.error.as_str())
    }

    pub(crate) fn list(&self) -> Vec<DeadLetter> {
        self.oldest(0, usize::MAX)
    }

    /// The id of the newest letter so far.
    pub(crate) fn last_id(&self) -> u64 {
        self.ids
    }

    /// At most so many, from this id on.
    pub(crate) fn oldest(&self, from: u64, max: usize) -> Vec<DeadLetter> {
        let letters = self.letters.range(from..).map(|(_, letter)| letter);
        letters.filter(|letter| !self.sent.contains(&letter.id)).take(max).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.letters.len() - self.sent.len()
    }

    /// The bytes of all kept letters.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Marks the selected letters that can be redriven, and returns them, oldest first. Also returns the number of
    /// those that cannot.
    pub(crate) fn send(
        &mut self,
        selection: &Selection,
        can_be_sent: impl Fn(&DeadLetter) -> bool,
    ) -> (Vec<DeadLetter>, usize) {
        let selected = self.selected(selection);
        let (sent, left): (Vec<_>, Vec<_>) =
            selected.into_iter().partition(|letter| can_be_sent(letter));
        let sent: Vec<DeadLetter> = sent.into_iter().cloned().collect();
        let left = left.len();
        self.sent.extend(sent.iter().map(|letter| letter.id));
        (sent, left)
    }

    /// The selected letters that are visible, oldest first. Of some ids each is looked up, however many letters there are.
    fn selected(&self, selection: &Selection) -> Vec<&DeadLetter> {
        match selection {
            Selection::All => self.lying().collect(),
            Selection::Ids(ids) => {
                let found = ids.iter().filter(|id| !self.sent.contains(id));
                found.filter_map(|id| self.letters.get(id)).collect()
            }
        }
    }

    /// The visible letters, which were not redriven.
    fn lying(&self) -> impl Iterator<Item = &DeadLetter> {
        self.letters.values().filter(|letter| !self.sent.contains(&letter.id))
    }

    /// Removes redriven letters whose events were delivered.
    pub(crate) fn told(&mut self, ids: &[u64]) {
        for id in ids {
            if self.sent.contains(id) {
                self.remove(*id);
            }
        }
    }

    /// Makes redriven letters visible again whose events will not be delivered.
    pub(crate) fn take_back(&mut self, is_lost: impl Fn(&DeadLetter) -> bool) {
        self.sent.retain(|id| !self.letters.get(id).is_some_and(&is_lost));
    }

    /// Takes out the selected letters, oldest first, without the redriven ones.
    pub(crate) fn take(&mut self, selection: &Selection) -> Vec<DeadLetter> {
        let ids: Vec<u64> = self.selected(selection).iter().map(|letter| letter.id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    fn remove(&mut self, id: u64) -> Option<DeadLetter> {
        let letter = self.letters.remove(&id)?;
        self.bytes -= letter.size();
        self.sent.remove(&id);
        Some(letter)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LetterWithObject {
    #[serde(flatten)]
    letter: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_object: Option<Box<RawValue>>,
}

impl DeadLetter {
    /// The bytes of its object's text and its error. An estimate of its record's size, which is more than it takes in
    /// memory.
    pub(crate) fn size(&self) -> usize {
        self.event.object.json_len() + self.error.len() + size_of::<Self>()
    }

    /// The letter without its object, for a list.
    pub fn to_json(&self) -> Value {
        let object = ShownObject::from(&self.event.object);
        json!({
            "id": self.id,
            "subscription": self.subscription,
            "resource": self.resource,
            "namespace": object.namespace,
            "name": object.name,
            "uid": *self.event.object.uid(),
            "resourceVersion": object.resource_version,
            "change": self.event.change.as_str(),
            "reason": self.event.reason.as_str(),
            "coalesced": self.event.coalesced,
            "attempts": self.attempts,
            "parked": self.parked,
            "error": self.error,
            "at": self.at.to_string(),
        })
    }

    /// The letter with its object, or the last known object of a deletion. A Secret is not shown.
    ///
    /// The object stays a text: a tree could take 50 times its bytes.
    pub fn to_json_with_object(&self) -> impl Serialize {
        let shown = (!is_of_secrets(&self.resource)).then(|| {
            let text = String::from_utf8(self.event.object.json().to_vec()).unwrap_or_default();
            // The cache keeps only readable objects.
            RawValue::from_string(text).unwrap_or_default()
        });
        let (object, last_object) = match self.event.change {
            Change::Deleted => (None, shown),
            _ => (shown, None),
        };
        LetterWithObject { letter: self.to_json(), object, last_object }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::event::SubscriptionId;
    use informant_cache::Object;
    use std::time::Instant;

    fn letter(name: &str) -> DeadLetter {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","resourceVersion":"1"}}}}"#
        );
        let object = Object::decode(json.as_bytes(), None).expect("an object");
        let event = Event::new(SubscriptionId(1), Change::Added, object, Instant::now());
        let (subscription, resource) = ("pods".to_owned(), "v1/pods".to_owned());
        let (error, at) = ("no\nway".to_owned(), Timestamp::UNIX_EPOCH);
        DeadLetter { id: 0, subscription, resource, event, attempts: 10, parked: false, error, at }
    }

    fn names(letters: &[DeadLetter]) -> Vec<String> {
        let name =
            |letter: &DeadLetter| format!("{} {}", letter.id, letter.event.object.key().name());
        letters.iter().map(name).collect()
    }

    /// The letters that remain after letters to `a`, `b`, ... and the dropped ids after each.
    #[track_caller]
    fn check(bounds: LetterBounds, letters: &[&str], dropped: &[usize], left: &[&str]) {
        let mut dead = DeadLetters::new(bounds);
        let answers: Vec<usize> =
            letters.iter().map(|name| dead.push(letter(name)).dropped.len()).collect();
        assert_eq!(answers, dropped);
        assert_eq!(names(&dead.list()), left);
        assert_eq!(dead.bytes, dead.letters.values().map(DeadLetter::size).sum::<usize>());
    }

    #[test]
    fn the_oldest_go_first_above_the_bounds() {
        let bounds = LetterBounds { letters: 2, bytes: 1 << 20 };
        check(bounds, &["a", "b", "c"], &[0, 0, 1], &["2 b", "3 c"]);
        check(LetterBounds { letters: 9, bytes: 1 }, &["a", "b"], &[0, 1], &["2 b"]);
    }

    #[test]
    fn a_list_begins_at_an_id_and_has_only_letters_that_lie() {
        let mut dead = DeadLetters::new(LetterBounds { letters: 9, bytes: 1 << 20 });
        ["a", "b", "c", "d"].into_iter().for_each(|name| _ = dead.push(letter(name)));
        let one = Selection::Ids([2].into());
        dead.send(&one, |_| true);
        assert_eq!(names(&dead.oldest(1, 2)), ["1 a", "3 c"]);
        assert_eq!(names(&dead.oldest(2, 9)), ["3 c", "4 d"]);
        assert!(dead.oldest(5, 9).is_empty());
    }

    #[test]
    fn letters_that_were_sent_again_go_in_linear_time() {
        let sent = |count: usize| {
            let mut dead = DeadLetters::new(LetterBounds { letters: count, bytes: 1 << 30 });
            let one = letter("a");
            (0..count).for_each(|_| _ = dead.push(one.clone()));
            let ids: Vec<u64> =
                dead.send(&Selection::All, |_| true).0.iter().map(|letter| letter.id).collect();
            (dead, ids)
        };
        crate::cost_growth::check_linear(500, sent, |(mut dead, ids)| {
            ids.iter().for_each(|id| dead.told(&[*id]));
            assert_eq!(dead.bytes, 0);
        });
    }

    #[test]
    fn letters_are_looked_up_by_their_ids_in_linear_time() {
        let lying = |count: usize| {
            let mut dead = DeadLetters::new(LetterBounds { letters: count, bytes: 1 << 30 });
            let one = letter("a");
            let ids: BTreeSet<u64> = (0..count).map(|_| dead.push(one.clone()).letter.id).collect();
            (dead, Selection::Ids(ids))
        };
        crate::cost_growth::check_linear(500, lying, |(mut dead, selection)| {
            assert!(dead.send(&selection, |_| false).0.is_empty(), "none can be sent");
            dead.take(&selection);
            assert_eq!(dead.bytes, 0);
        });
    }

    #[test]
    fn those_selected_are_taken_out() {
        let mut dead = DeadLetters::new(LetterBounds { letters: 9, bytes: 1 << 20 });
        for name in ["a", "b", "c"] {
            dead.push(letter(name));
        }
        assert_eq!(names(&dead.take(&Selection::Ids([3, 1, 7].into()))), ["1 a", "3 c"]);
        assert_eq!(names(&dead.take(&Selection::All)), ["2 b"]);
        assert_eq!((dead.len(), dead.bytes), (0, 0));
    }

    #[test]
    fn what_is_sent_again_is_seen_by_nobody_until_it_is_told_or_comes_back() {
        let mut dead = DeadLetters::new(LetterBounds { letters: 4, bytes: 1 << 20 });
        for name in ["a", "b", "c", "d"] {
            dead.push(letter(name));
        }
        let (sent, left) = dead.send(&Selection::All, |letter| letter.id != 4);
        assert_eq!((names(&sent), left), (["1 a", "2 b", "3 c"].map(str::to_owned).to_vec(), 1));
        assert_eq!((names(&dead.list()), dead.len()), (vec!["4 d".to_owned()], 1));
        assert!(dead.take(&Selection::Ids([1].into())).is_empty(), "it is under way");
        assert!(dead.send(&Selection::Ids([1].into()), |_| true).0.is_empty(), "once");
        dead.told(&[1, 4]);
        dead.take_back(|letter| letter.id == 2);
        assert_eq!(names(&dead.list()), ["2 b", "4 d"], "told is only what was sent");
        // Redriven letters count too: the oldest is dropped.
        dead.push(letter("e"));
        assert_eq!(dead.push(letter("f")).dropped, [2]);
        assert_eq!(dead.push(letter("g")).dropped, [3]);
        assert_eq!(names(&dead.list()), ["4 d", "5 e", "6 f", "7 g"]);
        assert_eq!(dead.bytes, dead.letters.values().map(DeadLetter::size).sum::<usize>());
    }

    #[test]
    fn ids_rise_over_what_is_restored() {
        let mut dead = DeadLetters::new(LetterBounds { letters: 2, bytes: 1 << 20 });
        let numbered = |id| DeadLetter { id, ..letter("a") };
        dead.restore(vec![numbered(4), numbered(3), numbered(7)], 9);
        assert_eq!(names(&dead.list()), ["3 a", "4 a", "7 a"], "all of them, by id");
        let pushed = dead.push(letter("b"));
        assert_eq!((pushed.letter.id, pushed.dropped), (10, vec![3, 4]));
    }

    #[test]
    fn a_list_of_letters_is_short_whatever_the_names() {
        let json = letter(&"n".repeat(900_000)).to_json().to_string();
        assert!(json.contains(" … (899747 bytes more)") && json.len() < 1 << 10, "{json}");
    }

    #[test]
    fn a_letter_shows_its_object_when_it_is_asked_for() {
        let mut dead = DeadLetters::new(LetterBounds { letters: 9, bytes: 1 << 20 });
        dead.push(letter("a"));
        let shown = |letter: &DeadLetter| {
            serde_json::to_value(letter.to_json_with_object()).expect("it is JSON")
        };
        let of_deleted = |mut letter: DeadLetter| {
            letter.event.change = Change::Deleted;
            letter
        };
        let secret = DeadLetter { resource: "v1/secrets".to_owned(), ..letter("a") };
        assert_eq!(shown(&secret), secret.to_json());
        let deleted = shown(&of_deleted(letter("a")));
        assert_eq!(deleted["lastObject"]["metadata"]["name"], "a");
        assert_eq!(deleted.get("object"), None);
        let shown = shown(&dead.list()[0]);
        assert_eq!(shown["object"]["metadata"]["name"], "a");
        assert_eq!(shown["error"], "no\\nway");
        assert_eq!(dead.list()[0].to_json().get("object"), None);
    }
}
