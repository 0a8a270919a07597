//! Redrives dead letters: the events have the present state of the objects, never the letters' old
//! bytes.

use super::{Active, Plugin};
use crate::contract::coverage::subscribed_scope;
use crate::contract::descriptor::Descriptor;
use crate::counted::counted;
use crate::counters::add_one;
use crate::delivery::view::View;
use crate::event::EventKeys;
use crate::event::{Change, Event, Gone, Reason, SubscriptionId};
use crate::kept::dead_letters::{DeadLetter, Selection};
use crate::plugin::admin::AdminError;
use crate::plugin::core::PluginCore;
use hashbrown::HashMap;
use informant_cache::{Object, ObjectKey};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

impl Plugin {
    /// Queues the present state of the letters' objects. The informers' tasks read this state between two
    /// notifications, so that no older state of an object can follow it.
    pub(crate) fn redrive(&mut self, selection: &Selection) -> Result<String, AdminError> {
        if self.load.is_some() {
            let text = "a version is being loaded; try again when that has ended";
            return Err(AdminError::Refused(text.to_owned()));
        }
        let mut by_subscription = BTreeMap::<String, Vec<DeadLetter>>::new();
        let can_be_sent = |letter: &DeadLetter| {
            let active = self.subscriptions.get(&letter.subscription);
            active.is_some_and(|active| {
                active.spec.resource.to_string() == letter.resource
                    && active.knows_of(letter)
                    && !active.informer.informer().is_stopped()
            })
        };
        let (taken, orphans) = self.core.dead_letters.lock().send(selection, can_be_sent);
        let count = taken.len();
        if count == 0 && orphans > 0 {
            let text = "the running version has no subscription of that name that takes events now and whose objects are followed and listed; the dead letters stay";
            return Err(AdminError::Refused(text.to_owned()));
        }
        if count == 0 {
            return Err(AdminError::Refused("there is no such dead letter".to_owned()));
        }
        for letter in taken {
            by_subscription.entry(letter.subscription.clone()).or_default().push(letter);
        }
        for (name, letters) in by_subscription {
            if let Some(active) = self.subscriptions.get(&name) {
                active.redrive(letters, &self.core);
            }
        }
        let kept = match orphans {
            0 => String::new(),
            orphans => {
                format!(
                    "; {orphans} stay, for their subscriptions are gone, not followed, or not listed yet"
                )
            }
        };
        Ok(format!("{} sent again{kept}", counted(count, "dead letter")))
    }
}

/// Letters on their way to the informer's task. If the informer has stopped, it drops this value: then the letters lie
/// as before.
struct Sent {
    core: Arc<PluginCore>,
    ids: BTreeSet<u64>,
}

impl Sent {
    fn new(core: Arc<PluginCore>, letters: &[DeadLetter]) -> Self {
        Self { core, ids: letters.iter().map(|letter| letter.id).collect() }
    }

    /// From here on the letters' events are on their way.
    fn arrive(&mut self) {
        self.ids.clear();
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if !self.ids.is_empty() {
            let is_lost = |letter: &DeadLetter| self.ids.contains(&letter.id);
            self.core.dead_letters.lock().take_back(is_lost);
        }
    }
}

impl Active {
    /// Queues the present state of the letters' objects, in the informer's task.
    fn redrive(&self, letters: Vec<DeadLetter>, core: &Arc<PluginCore>) {
        let informer = self.informer.informer();
        let (indexer, core) = (informer.indexer(), core.clone());
        let id = (self.id, self.asked_by);
        let (view, types) = (self.handler.view().clone(), self.spec.types);
        let progress = self.handler.progress();
        let mut sent = Sent::new(core.clone(), &letters);
        informer.between_notifications(move || {
            sent.arrive();
            let present = |key: &ObjectKey| indexer.get(key);
            for event in redriven(id, letters, &view, present, Instant::now()) {
                progress.was_told_past(&event.object);
                match types.contain(event.change) {
                    true => core.queue.push(event),
                    false => {
                        add_one(&core.counters.filtered);
                        // The object's other events, for example a retry, are not concerned.
                        core.archive.told(&event.letters);
                        core.told(&event.letters);
                    }
                }
            }
        });
    }

    /// Whether the state of the letter's object is known: an object that is not listed yet is not gone.
    fn knows_of(&self, letter: &DeadLetter) -> bool {
        let (view, informer) = (self.handler.view(), self.informer.informer());
        if view.followed().is_some_and(|followed| !followed.have_begun()) {
            return false;
        }
        match letter.event.object.key().namespace() {
            "" => informer.has_synced(),
            namespace => {
                let scope = || subscribed_scope(&self.spec).in_namespace(namespace);
                !view.covers_namespace(namespace) || informer.covers(&scope())
            }
        }
    }
}

impl Plugin {
    /// Deletes letters.
    pub(crate) fn purge(&self, selection: &Selection) -> String {
        let mut letters = self.core.dead_letters.lock();
        let taken = letters.take(selection);
        self.core.archive.threw_away(&taken);
        format!("{} thrown away", counted(taken.len(), "dead letter"))
    }

    /// Takes back letters that were redriven to subscriptions that this version lacks: the waiting events of those are
    /// dropped.
    pub(super) fn take_back(&self, descriptor: &Descriptor) {
        let is_lost = |letter: &DeadLetter| {
            !descriptor.subscriptions.iter().any(|spec| {
                spec.name == letter.subscription && spec.resource.to_string() == letter.resource
            })
        };
        self.core.dead_letters.lock().take_back(is_lost);
    }
}

/// One event for each object, in the order of the objects' last letters.
fn redriven(
    (subscription, asked_by): (SubscriptionId, u64),
    letters: Vec<DeadLetter>,
    view: &View,
    present: impl Fn(&ObjectKey) -> Option<Object>,
    now: Instant,
) -> Vec<Event> {
    let mut ids = HashMap::<ObjectKey, Vec<u64>>::new();
    for letter in &letters {
        ids.entry(letter.event.object.key().clone()).or_default().push(letter.id);
    }
    let is_last = |letter: &DeadLetter| {
        ids.get(letter.event.object.key()).and_then(|ids| ids.last()) == Some(&letter.id)
    };
    let last = letters.iter().filter(|letter| is_last(letter));
    last.map(|letter| {
        let found = present(letter.event.object.key());
        let belongs = found.as_ref().is_some_and(|object| view.contains(object));
        let (change, gone, object) = match found.filter(|_| belongs) {
            Some(object) if letter.event.change == Change::Added => (Change::Added, None, object),
            Some(object) => (Change::Updated, None, object),
            None => {
                let gone = letter.event.gone.unwrap_or(Gone::Unknown);
                (Change::Deleted, Some(gone), letter.event.object.clone())
            }
        };
        let reason = Reason::Redrive;
        Event {
            subscription,
            asked_by,
            change,
            reason,
            gone,
            object,
            old: None,
            coalesced: 0,
            letters: ids.get(letter.event.object.key()).cloned().unwrap_or_default(),
            received: now,
            before_sync: false,
            // The plugin was called with the event that it gave up.
            knew: true,
            keys: EventKeys::default(),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost_growth::check_linear;
    use jiff::Timestamp;

    const DESCRIPTOR: &[u8] =
        br#"{"version":"1","subscriptions":[{"resource":"v1/pods","labelSelector":"color=red"}]}"#;

    fn object(name: &str, version: u32, color: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","resourceVersion":"{version}","labels":{{"color":"{color}"}}}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("an object")
    }

    fn letter(name: &str, change: Change) -> DeadLetter {
        let gone = (change == Change::Deleted).then_some(Gone::Deleted);
        let event = Event {
            gone,
            ..Event::new(SubscriptionId(1), change, object(name, 1, "red"), Instant::now())
        };
        let (subscription, resource, error) = ("s".to_owned(), "v1/pods".to_owned(), String::new());
        let at = Timestamp::UNIX_EPOCH;
        DeadLetter { id: 0, subscription, resource, event, attempts: 1, parked: false, error, at }
    }

    /// The events of redriven letters while the cache holds `present`; the view contains red objects.
    #[track_caller]
    fn check(letters: &[(&str, Change)], present: &[Object], expect: &[&str]) {
        let descriptor = Descriptor::parse(DESCRIPTOR).expect("a descriptor");
        let view = View::from(&*descriptor.subscriptions[0]);
        let letters = letters.iter().zip(1..);
        let letters: Vec<_> = letters
            .map(|((name, change), id)| DeadLetter { id, ..letter(name, *change) })
            .collect();
        let find = |key: &ObjectKey| present.iter().find(|object| object.key() == key).cloned();
        let events = redriven((SubscriptionId(2), 7), letters, &view, find, Instant::now());
        let shown: Vec<String> = events
            .iter()
            .map(|event| {
                assert_eq!(
                    (event.subscription, event.reason),
                    (SubscriptionId(2), Reason::Redrive)
                );
                let gone = event.gone.map_or_else(String::new, |gone| format!(" {gone:?}"));
                let (name, version) = (event.object.key().name(), event.object.resource_version());
                let ids = &event.letters;
                format!("{} {name}@{version}{gone} of {ids:?}", event.change.as_str())
            })
            .collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn the_present_state_is_told_and_not_the_letters() {
        let present = [object("a", 7, "red"), object("b", 8, "red")];
        check(
            &[("a", Change::Added), ("b", Change::Updated)],
            &present,
            &["added a@7 of [1]", "updated b@8 of [2]"],
        );
    }

    #[test]
    fn what_is_gone_or_has_left_the_view_is_told_as_deleted() {
        let left = [object("b", 8, "blue")];
        check(
            &[("a", Change::Updated), ("b", Change::Updated), ("c", Change::Deleted)],
            &left,
            &[
                "deleted a@1 Unknown of [1]",
                "deleted b@1 Unknown of [2]",
                "deleted c@1 Deleted of [3]",
            ],
        );
    }

    #[test]
    fn several_letters_of_one_object_are_one_event() {
        let letters = [("a", Change::Added), ("b", Change::Updated), ("a", Change::Updated)];
        let expect = ["deleted b@1 Unknown of [2]", "updated a@7 of [1, 3]"];
        check(&letters, &[object("a", 7, "red")], &expect);
    }

    #[test]
    fn letters_are_sent_again_in_linear_time() {
        let view =
            View::from(&*Descriptor::parse(DESCRIPTOR).expect("a descriptor").subscriptions[0]);
        let letters = |count: usize| {
            let letter = |id: usize| {
                let name = format!("p{id}");
                DeadLetter { id: id as u64, ..letter(&name, Change::Updated) }
            };
            (0..count).map(letter).collect::<Vec<_>>()
        };
        check_linear(500, letters, |letters| {
            let count = letters.len();
            let events = redriven((SubscriptionId(2), 7), letters, &view, |_| None, Instant::now());
            assert_eq!(events.len(), count);
        });
    }

    /// The letters that remain after a redrive to an informer. A running informer makes the call, and a stopped one
    /// drops it.
    #[track_caller]
    fn check_sent(runs: bool, expect: usize) {
        let core = Arc::new(crate::plugin::core::tests::core());
        let sent = {
            let mut letters = core.dead_letters.lock();
            letters.push(letter("a", Change::Updated));
            letters.send(&Selection::All, |_| true).0
        };
        let mut sent = Sent::new(core.clone(), &sent);
        if runs {
            sent.arrive();
        }
        drop(sent);
        assert_eq!(core.dead_letters.lock().len(), expect, "runs: {runs}");
    }

    #[test]
    fn letters_to_an_informer_that_has_stopped_lie_as_before() {
        check_sent(true, 0);
        check_sent(false, 1);
    }
}
