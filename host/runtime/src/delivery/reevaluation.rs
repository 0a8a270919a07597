//! Reevaluates events that an older version's subscription queued, for the version that took over. Synchronous.
//!
//! While such events wait, the new view does not say which objects the plugin knows: the old view decided that. So the
//! result of an object's old events is remembered until its first new event. The new event was computed as if the old
//! events had been delivered unchanged.

use crate::contract::coverage::subscribed_scope;
use crate::contract::descriptor::{ChangeTypes, ReplayOption, SubscriptionSpec};
use crate::delivery::mailbox::Queued;
use crate::delivery::view::View;
use crate::event::{Change, Event, Gone, SubscriptionId};
use hashbrown::HashMap;
use informant_cache::{Object, Projection};
use std::sync::Arc;

/// The settings of a subscription that decide when an event is queued. The `namespaceSelector` is not among them: its
/// answer changes with time, and the new subscription delivers a deletion for each object outside of its namespaces.
pub(crate) struct Wish {
    view: View,
    types: ChangeTypes,
    concerning: Projection,
    /// Whether objects that are not whole come again, whole, as added.
    waits_for_whole: bool,
}

impl From<&SubscriptionSpec> for Wish {
    fn from(spec: &SubscriptionSpec) -> Self {
        Self {
            view: View::from(spec),
            types: spec.types,
            concerning: Projection::new(&spec.only_if_changed),
            waits_for_whole: !subscribed_scope(spec).is_metadata_only()
                && spec.replay != ReplayOption::Never
                && spec.types.added,
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

/// An event as the current version is to get it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// `None`: the version does not get the event.
    pub(crate) event: Option<Arc<Event>>,
    /// Whether the plugin knows the object afterwards.
    told: bool,
}

/// Events between two searches for entries that can be forgotten. A search visits the whole queue.
const LOOK_EVERY: u32 = 256;

/// The results of events that waited while their subscription changed.
#[derive(Debug, Default)]
pub(crate) struct Reevaluation {
    /// Objects, by UID, whose last event was an old one, and whether the plugin knows them. At most as many as events
    /// waited. They stay until all events are settled that the subscription queued before its objects were replayed.
    known: HashMap<(SubscriptionId, Box<str>), bool>,
    /// The number of events settled while there are entries.
    settled: u32,
}

impl Reevaluation {
    /// The event to deliver; `None` if the event can be delivered unchanged.
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
            // An attempted event was delivered, as any type of change.
            _ if queued.tried.number > 1 => true,
            Change::Added => known.unwrap_or(event.knew),
            Change::Updated | Change::Deleted => known.unwrap_or(true),
        };
        let is_gone = event.change == Change::Deleted;
        if wish.waits_for_whole && event.object.is_metadata_only() && !is_gone {
            return Some(Seen { event: None, told });
        }
        let mut seen = seen(event, told, wish);
        seen.event = seen.event.filter(|event| wish.types.contain(event.change));
        Some(seen)
    }

    /// Whether no object is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether to search for entries that can be forgotten: from time to time, while there are entries.
    pub(crate) fn is_look_due(&mut self) -> bool {
        if self.known.is_empty() {
            return false;
        }
        self.settled = (self.settled + 1) % LOOK_EVERY;
        self.settled == 0
    }

    /// Notes that a possibly reevaluated event does not come again.
    pub(crate) fn settle(&mut self, event: &Event, asked_by: u64, seen: Option<&Seen>) {
        let Some(seen) = seen else { return };
        let object = (event.subscription, event.object.uid().into());
        if event.asked_by == asked_by || event.gone == Some(Gone::Deleted) {
            self.known.remove(&object);
        } else {
            self.known.insert(object, seen.told);
        }
    }

    /// Forgets other subscriptions: those that a version lacks, or that have no old event left.
    pub(crate) fn retain(&mut self, keep: impl Fn(SubscriptionId) -> bool) {
        self.known.retain(|(subscription, _), _| keep(*subscription));
    }
}

/// The event for a plugin that knows the object, or does not.
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
    Seen { event: event.map(Arc::new), told: is_in }
}

#[cfg(test)]
mod tests;
