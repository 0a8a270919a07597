//! Events that a test creates.

use crate::bindings::exports::informant::plugin::handler::{self, Gone};
use crate::imports::test_host::{key_of, text};
use crate::{Change, ObjectKey, Reason, Subscription};
use serde_json::Value;

/// An event for a plugin under test. The key, UID and resourceVersion are the object's.
#[derive(Clone, Debug)]
pub struct TestEvent {
    pub(super) change: Change,
    pub(super) subscription: u32,
    object: Option<Value>,
    old: Option<Value>,
    reason: Reason,
    attempt: u32,
    coalesced: u32,
    gone: Option<Gone>,
}

/// The object is new.
#[must_use]
pub fn added(object: Value) -> TestEvent {
    TestEvent::new(Change::Added, Some(object), None)
}

/// The object changed.
#[must_use]
pub fn updated(old: Value, object: Value) -> TestEvent {
    TestEvent::new(Change::Updated, Some(object), Some(old))
}

/// The object is gone. `last` is its last known state.
#[must_use]
pub fn deleted(last: Value) -> TestEvent {
    TestEvent { gone: Some(Gone::Deleted), ..TestEvent::new(Change::Deleted, None, Some(last)) }
}

impl TestEvent {
    fn new(change: Change, object: Option<Value>, old: Option<Value>) -> Self {
        Self {
            change,
            subscription: 0,
            object,
            old,
            reason: Reason::Watch,
            attempt: 1,
            coalesced: 0,
            gone: None,
        }
    }

    /// The reason of the event. Default: `watch`.
    #[must_use]
    pub fn reason(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }

    /// The number of the delivery. Default: the first.
    #[must_use]
    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// The index of the event's subscription in the descriptor. Default: 0, the first.
    #[must_use]
    pub fn subscription(self, index: u32) -> Self {
        Self { subscription: index, ..self }
    }

    /// The number of older events that it replaces. Default: none.
    #[must_use]
    pub fn coalesced(self, events: u32) -> Self {
        Self { coalesced: events, ..self }
    }

    /// The kind of the deletion. Default: `deleted`.
    #[must_use]
    pub fn gone(self, gone: Gone) -> Self {
        Self { gone: Some(gone), ..self }
    }

    pub(super) fn newest(&self) -> &Value {
        self.object.as_ref().or(self.old.as_ref()).expect("every event has an object")
    }

    pub(super) fn key(&self) -> ObjectKey {
        key_of(self.newest())
    }

    /// Whether the subscription has the event. A resync comes whatever has changed.
    pub(super) fn is_wanted(&self, subscription: &Subscription) -> bool {
        let differs = |pointer: &str| {
            let [object, old] = [&self.object, &self.old].map(|state| state.as_ref());
            object.and_then(|o| o.pointer(pointer)) != old.and_then(|o| o.pointer(pointer))
        };
        let is_resync = self.reason == Reason::Resync;
        subscription.is_wanted(self.change, |pointer| is_resync || differs(pointer))
    }

    /// The objects for `event-data`: those that the subscription delivers.
    pub(super) fn sides(&self, subscription: &Subscription) -> (Option<Value>, Option<Value>) {
        let brings_old = subscription.brings_old() || self.change == Change::Deleted;
        (self.object.clone(), self.old.clone().filter(|_| brings_old))
    }

    pub(super) fn into_contract(self, seq: u64, subscription: &Subscription) -> handler::Event {
        let (object, old) = self.sides(subscription);
        let bytes = |object: Option<Value>| {
            object.filter(|_| !subscription.is_lazy()).map(|o| o.to_string().into_bytes())
        };
        let newest = self.newest();
        handler::Event {
            seq,
            subscription: self.subscription,
            change: self.change,
            reason: self.reason,
            key: key_of(newest),
            uid: text(newest, "/metadata/uid"),
            resource_version: text(newest, "/metadata/resourceVersion"),
            gone: self.gone,
            coalesced: self.coalesced,
            attempt: self.attempt,
            object: bytes(object),
            old: bytes(old),
        }
    }
}
