//! The unit of order: one object of one subscription.

use crate::event::{Event, SubscriptionId};
use informant_cache::{Object, ObjectKey};
use std::hash::{Hash, Hasher};

/// One object of one subscription, by name. The object is kept only as the owner of its key.
#[derive(Clone)]
pub(super) struct Lane {
    pub(super) subscription: SubscriptionId,
    object: Object,
}

impl Lane {
    pub(super) fn of(event: &Event) -> Self {
        Self::new(event.subscription, &event.object)
    }

    pub(super) fn new(subscription: SubscriptionId, object: &Object) -> Self {
        Self { subscription, object: object.clone() }
    }

    pub(super) fn key(&self) -> &ObjectKey {
        self.object.key()
    }

    fn identity(&self) -> (SubscriptionId, &ObjectKey) {
        (self.subscription, self.object.key())
    }
}

impl PartialEq for Lane {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Lane {}

impl PartialOrd for Lane {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Lane {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for Lane {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.object.key();
        write!(f, "{}:{}/{}", self.subscription.0, key.namespace(), key.name())
    }
}
