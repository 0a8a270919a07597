//! The updates of one resource that filters refused last: one record for all plugins that refused an update. Synchronous.

use crate::event::{Change, Reason, SubscriptionId};
use crate::history::{DeliveryEnd, PastDelivery};
use informant_cache::{Cause, Object, ObjectKey, SievePlaces};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The kept updates of one resource: a little more than the history of a plugin keeps by default. With a thousand plugins
/// each takes some 250 bytes.
pub(super) const UPDATES_MAX: usize = 1 << 10;

/// The newest refused updates, oldest first.
#[derive(Debug, Default)]
pub(super) struct RefusedUpdates {
    updates: VecDeque<RefusedUpdate>,
    /// The end of the newest dropped update, by place.
    forgotten: Vec<Option<Instant>>,
}

#[derive(Debug)]
struct RefusedUpdate {
    key: ObjectKey,
    resource_version: String,
    reason: Reason,
    waited: Duration,
    ended: Instant,
    /// The subscriptions that refused it.
    places: SievePlaces,
}

impl RefusedUpdates {
    /// Notes an update that the filters in these places refuse. The newest take the memory of the oldest.
    pub(super) fn push(&mut self, object: &Object, cause: Cause, places: &SievePlaces) {
        let ended = Instant::now();
        let (mut resource_version, mut of) = (String::new(), SievePlaces::new());
        if self.updates.len() >= UPDATES_MAX
            && let Some(oldest) = self.updates.pop_front()
        {
            self.note_forgotten(&oldest);
            (resource_version, of) = (oldest.resource_version, oldest.places);
        }
        resource_version.clear();
        resource_version.push_str(object.resource_version());
        of.copy_of(places);
        self.updates.push_back(RefusedUpdate {
            key: object.key().clone(),
            resource_version,
            reason: cause.reason.into(),
            waited: ended.saturating_duration_since(cause.received),
            ended,
            places: of,
        });
    }

    fn note_forgotten(&mut self, oldest: &RefusedUpdate) {
        for place in oldest.places.iter() {
            if self.forgotten.len() <= place {
                self.forgotten.resize(place + 1, None);
            }
            self.forgotten[place] = Some(oldest.ended);
        }
    }

    /// The end of the newest dropped update of a place; `None` if none was dropped.
    pub(super) fn forgotten(&self, place: usize) -> Option<Instant> {
        self.forgotten.get(place).copied().flatten()
    }

    /// The refused updates of a place, oldest first: those of an object, or of all. An informer waits meanwhile, so the
    /// others cost no allocation.
    pub(super) fn of(
        &self,
        (place, subscription): (usize, SubscriptionId),
        key: Option<&ObjectKey>,
    ) -> Vec<PastDelivery> {
        let is_wanted = |update: &&RefusedUpdate| {
            update.places.contains(place) && key.is_none_or(|key| *key == update.key)
        };
        let wanted = self.updates.iter().filter(is_wanted);
        let past = wanted.map(|update| PastDelivery {
            subscription,
            change: Change::Updated,
            reason: update.reason,
            gone: None,
            namespace: update.key.namespace().to_owned(),
            name: update.key.name().to_owned(),
            resource_version: update.resource_version.clone(),
            attempt: 1,
            waited: update.waited,
            took: Duration::ZERO,
            ended: update.ended,
            end: DeliveryEnd::Filtered,
            error: String::new(),
            wrote: String::new(),
        });
        past.collect()
    }

    /// The place is free for another subscription.
    pub(super) fn forget(&mut self, place: usize) {
        self.updates.iter_mut().for_each(|update| update.places.remove(place));
        if let Some(forgotten) = self.forgotten.get_mut(place) {
            *forgotten = None;
        }
    }
}
