//! The end of a delivery, for the plugin's history.

use super::Actor;
use crate::delivery::mailbox::Queued;
use crate::delivery::reevaluation::Seen;
use crate::event::Event;
use crate::history::{DeliveryEnd, EndedDelivery};
use std::sync::Arc;
use std::time::Instant;

/// The end of a delivery.
#[derive(Clone, Copy)]
pub(super) struct DeliveryResult<'a> {
    pub(super) end: DeliveryEnd,
    /// Empty for a success.
    pub(super) error: &'a str,
}

impl DeliveryResult<'_> {
    pub(super) fn of(end: DeliveryEnd) -> Self {
        Self { end, error: "" }
    }
}

/// The end of a delivery without a call. `to_tell`: the event as it would be delivered.
pub(super) fn not_told(to_tell: Option<&Arc<Event>>, seen: Option<&Seen>) -> DeliveryEnd {
    match to_tell {
        Some(_) => DeliveryEnd::Enqueued,
        None if seen.is_some_and(|seen| seen.event.is_none()) => DeliveryEnd::Unwanted,
        None => DeliveryEnd::Filtered,
    }
}

impl Actor {
    /// The end of the delivery in flight.
    pub(super) fn ended<'a>(
        &'a self,
        queued: &'a Queued,
        result: DeliveryResult<'a>,
        now: Instant,
    ) -> EndedDelivery<'a> {
        let event = &queued.event;
        let began = if result.end.is_call() { self.last_call.began } else { now };
        EndedDelivery {
            subscription: event.subscription,
            change: event.change,
            reason: event.reason,
            gone: event.gone,
            object: event.object.key().into(),
            resource_version: event.object.resource_version(),
            attempt: queued.tried.number,
            waited: began.saturating_duration_since(event.received),
            took: now.saturating_duration_since(began),
            ended: now,
            end: result.end,
            error: result.error,
            wrote: if result.end.is_call() { &self.last_call.wrote } else { "" },
        }
    }
}
