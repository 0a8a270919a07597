//! The updates of one resource that filters refused last: one record for all plugins that refused an update. Synchronous.

use crate::event::{Change, Reason, SubscriptionId};
use crate::history::{DeliveryEnd, PastDelivery};
use informant_cache::{Cause, Object, ObjectKey, SievePlaces};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The kept updates of one resource: a little more than the history of a plugin keeps by default. With a thousand plugins
/// each takes some 250 bytes.
pub(super) const UPDATES_MAX: usize = 1 << 10;

/// Bytes of all records of one resource: each object's name counts for each of its records.
pub(super) const BYTES_MAX: usize = 1 << 20;

/// The most records of one subscription in an answer, the newest.
pub(super) const ANSWER_MAX: usize = 64;

/// The newest refused updates, oldest first.
#[derive(Debug, Default)]
pub(super) struct RefusedUpdates {
    updates: VecDeque<RefusedUpdate>,
    /// The sum of the records' bytes.
    bytes: usize,
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
    /// Notes an update that the filters in these places refuse.
    pub(super) fn push(&mut self, object: &Object, cause: Cause, places: &SievePlaces) {
        let ended = Instant::now();
        let update = RefusedUpdate {
            key: object.key().clone(),
            resource_version: object.resource_version().to_owned(),
            reason: cause.reason.into(),
            waited: ended.saturating_duration_since(cause.received),
            ended,
            places: places.clone(),
        };
        self.bytes += update.bytes();
        self.updates.push_back(update);
        while self.updates.len() > UPDATES_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.updates.pop_front() else { return };
            self.bytes -= oldest.bytes();
            self.note_forgotten(&oldest);
        }
    }

    fn note_forgotten(&mut self, oldest: &RefusedUpdate) {
        for place in oldest.places.iter() {
            if self.forgotten.len() <= place {
                self.forgotten.resize(place + 1, None);
            }
            self.forgotten[place] = Some(oldest.ended);
        }
    }

    /// The newest refused updates of a place, oldest first: those of an object, or of all. And the end of the newest one of
    /// the place that is not among them, if there was any. An informer waits meanwhile, so the others cost no allocation.
    pub(super) fn of(
        &self,
        (place, subscription): (usize, SubscriptionId),
        key: Option<&ObjectKey>,
    ) -> (Vec<PastDelivery>, Option<Instant>) {
        let is_wanted = |update: &&RefusedUpdate| {
            update.places.contains(place) && key.is_none_or(|key| *key == update.key)
        };
        let mut wanted = self.updates.iter().rev().filter(is_wanted);
        let newest = wanted.by_ref().take(ANSWER_MAX);
        let mut past: Vec<PastDelivery> = newest.map(|it| it.of(subscription)).collect();
        past.reverse();
        let forgotten = self.forgotten.get(place).copied().flatten();
        (past, wanted.next().map(|it| it.ended).or(forgotten))
    }

    /// The places are for other subscriptions from now on.
    pub(super) fn forget(&mut self, places: &SievePlaces) {
        if places.is_empty() {
            return;
        }
        self.updates.retain_mut(|update| {
            update.places.subtract(places);
            !update.places.is_empty()
        });
        self.bytes = self.updates.iter().map(RefusedUpdate::bytes).sum();
        for place in places.iter() {
            if let Some(forgotten) = self.forgotten.get_mut(place) {
                *forgotten = None;
            }
        }
    }
}

impl RefusedUpdate {
    fn bytes(&self) -> usize {
        let texts =
            self.key.namespace().len() + self.key.name().len() + self.resource_version.len();
        size_of::<Self>() + texts + self.places.bytes()
    }

    fn of(&self, subscription: SubscriptionId) -> PastDelivery {
        PastDelivery {
            subscription,
            change: Change::Updated,
            reason: self.reason,
            gone: None,
            object: (&self.key).into(),
            resource_version: self.resource_version.clone(),
            attempt: 1,
            waited: self.waited,
            took: Duration::ZERO,
            ended: self.ended,
            end: DeliveryEnd::Filtered,
            error: String::new(),
            wrote: String::new(),
        }
    }
}

#[cfg(test)]
impl RefusedUpdates {
    /// The bytes of all records, which the account has, too.
    pub(super) fn check_bytes(&self) -> usize {
        let bytes = self.updates.iter().map(RefusedUpdate::bytes).sum();
        assert_eq!(self.bytes, bytes);
        bytes
    }
}
