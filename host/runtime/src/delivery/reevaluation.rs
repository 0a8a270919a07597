//! Events that were queued for a subscription as an older version had it, seen as the version in charge has it. Synchronous.
//!
//! What the plugin knows of an object does not follow from the new view while such events wait: it was told by the old one. So what came
//! of an object's old events is remembered until its first new one, which was worked out as if they had been told as they were.

use crate::contract::descriptor::{ChangeTypes, SubscriptionSpec};
use crate::delivery::mailbox::Queued;
use crate::delivery::view::View;
use crate::event::{Change, Event, Gone, SubscriptionId};
use hashbrown::HashMap;
use informant_cache::{Object, Projection};

/// What a subscription wants to hear of, as far as that is decided when an event is queued.
pub(crate) struct Wish {
    view: View,
    types: ChangeTypes,
    concerning: Projection,
}

impl From<&SubscriptionSpec> for Wish {
    fn from(spec: &SubscriptionSpec) -> Self {
        Self {
            view: View::from(spec),
            types: spec.types,
            concerning: Projection::new(&spec.only_if_changed),
        }
    }
}

impl Wish {
    fn is_concerned(&self, event: &Event) -> bool {
        let Some(old) = event.old.as_ref().filter(|_| !self.concerning.is_empty()) else {
            return true;
        };
        let [old, new] = [old, &event.object].map(Object::json);
        self.concerning.values(&old) != self.concerning.values(&new)
    }
}

/// An event as the version in charge is to hear of it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// None: it is not to hear of it.
    pub(crate) event: Option<Event>,
    /// Whether it knows the object afterwards.
    told: bool,
}

/// Events between two looks at whether what is remembered can be forgotten: such a look goes through the whole queue.
const LOOK_EVERY: u32 = 256;

/// What became of events that waited over a change of their subscription.
#[derive(Debug, Default)]
pub(crate) struct Reevaluation {
    /// Objects, by UID, whose last event was an old one, and whether the plugin knows them: at most as many as waited, until all that the
    /// subscription was queued before its objects were told again is through.
    known: HashMap<(SubscriptionId, Box<str>), bool>,
    /// Events settled while there are such.
    settled: u32,
}

impl Reevaluation {
    /// What is to be told; none if the event can be told as it is.
    pub(crate) fn see(&self, queued: &Queued, asked_by: u64, wish: &Wish) -> Option<Seen> {
        let event = &queued.event;
        let is_old = event.asked_by != asked_by;
        if !is_old && self.known.is_empty() {
            return None;
        }
        let known = self.known.get(&(event.subscription, event.object.uid().into())).copied();
        if !is_old && known.is_none() {
            return None;
        }
        let told = match event.change {
            // An event that was attempted has been told, as whatever.
            _ if queued.tried.number > 1 => true,
            Change::Added => known.unwrap_or(event.knew),
            Change::Updated | Change::Deleted => known.unwrap_or(true),
        };
        let mut seen = seen(event, told, wish);
        seen.event = seen.event.filter(|event| wish.types.contain(event.change));
        Some(seen)
    }

    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether it is time to look what can be forgotten: now and then, as long as anything is remembered.
    pub(crate) fn is_look_due(&mut self) -> bool {
        if self.known.is_empty() {
            return false;
        }
        self.settled = (self.settled + 1) % LOOK_EVERY;
        self.settled == 0
    }

    /// Notes that an event which may have been seen again will not come once more.
    pub(crate) fn settle(&mut self, event: &Event, asked_by: u64, seen: Option<&Seen>) {
        let Some(seen) = seen else { return };
        let object = (event.subscription, event.object.uid().into());
        if event.asked_by == asked_by || event.gone == Some(Gone::Deleted) {
            self.known.remove(&object);
        } else {
            self.known.insert(object, seen.told);
        }
    }

    /// Forgets the other subscriptions: those that a version lacks, or of which nothing old is left.
    pub(crate) fn retain(&mut self, keep: impl Fn(SubscriptionId) -> bool) {
        self.known.retain(|(subscription, _), _| keep(*subscription));
    }
}

/// What an event is for a plugin that knows the object, or does not.
fn seen(event: &Event, told: bool, wish: &Wish) -> Seen {
    let is_in = event.change != Change::Deleted && wish.view.contains(&event.object);
    let as_it_is = || Some(event.clone());
    let event = match (event.change, told, is_in) {
        (_, false, false) => None,
        (Change::Updated, true, true) => as_it_is().filter(|event| wish.is_concerned(event)),
        (Change::Added, _, true) | (Change::Deleted, true, _) => as_it_is(),
        (Change::Updated | Change::Deleted, false, true) => {
            Some(Event { change: Change::Added, old: None, ..event.clone() })
        }
        (Change::Added | Change::Updated, true, false) => Some(Event {
            change: Change::Deleted,
            gone: Some(Gone::LeftView),
            object: event.old.clone().unwrap_or_else(|| event.object.clone()),
            old: None,
            ..event.clone()
        }),
    };
    Seen { event, told: is_in }
}

#[cfg(test)]
mod tests;
