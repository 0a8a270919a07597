//! One event, in the form that the guest gets.

use super::Subscription;
use crate::call_error::CallError;
use crate::contract::descriptor::{Delivery, SubscriptionSpec};
use crate::contract::filter::FilterVerdict;
use crate::counters::{Counters, add_one};
use crate::delivery::mailbox::Queued;
use crate::delivery::payload::payload;
use crate::delivery::reevaluation::Seen;
use crate::event::CurrentEvent;
use crate::event::{Change, Event, Gone, Reason};
use crate::guest::bindings::exports::informant::plugin::handler;
use crate::guest::bindings::informant::plugin::types as contract;
use crate::guest::instance::Instance;
use crate::guest::tape::Tape;
use crate::trace::CallOrigin;
use std::sync::Arc;
use std::time::Instant;

/// The event as the guest is to get it: as it was queued, or reevaluated. `None` if the guest is not to get it; that
/// is counted and recorded.
pub(super) fn to_tell<'a>(
    subscription: &Subscription,
    queued: &'a Queued,
    seen: Option<&'a Seen>,
    (counters, tape): (&Counters, Option<&dyn Tape>),
) -> Option<&'a Arc<Event>> {
    let event = seen.map_or(Some(&queued.event), |seen| seen.event.as_ref());
    let told = event.filter(|event| is_told(subscription, event, counters));
    if event.is_none() {
        add_one(&counters.filtered);
    }
    if let (None, Some(tape)) = (told, tape) {
        tape.passed_over(&subscription.spec.name, &queued.event);
    }
    told
}

/// Whether the subscription's filter lets the event pass. If the filter fails, the failure is counted and the event
/// passes.
fn is_told(subscription: &Subscription, event: &Event, counters: &Counters) -> bool {
    let Some(filter) = &subscription.spec.filter else { return true };
    let began = Instant::now();
    let verdict = filter.verdict(event);
    counters.ledger.evaluated(began.elapsed());
    match verdict {
        FilterVerdict::Told => true,
        FilterVerdict::Filtered => {
            add_one(&counters.filtered);
            false
        }
        FilterVerdict::Failed(error) => {
            counters.filter_failed(filter_failure(&subscription.spec, &error));
            true
        }
    }
}

/// The failure of a subscription's filter, as pages show it. The interpreter quotes values of the object.
fn filter_failure(spec: &SubscriptionSpec, error: &str) -> String {
    let error = match spec.resource.is_secrets() {
        true => "its error is not shown, because it may quote a value of a Secret",
        false => error,
    };
    format!("{}: {error}", spec.name)
}

/// Delivers one event to the guest.
pub(super) async fn call(
    instance: &mut Instance,
    subscription: &Subscription,
    queued: &Queued,
    event: &Arc<Event>,
    now: Instant,
) -> Result<(), CallError> {
    let delivery = subscription.spec.delivery;
    let resource = subscription.resource.clone();
    let current = CurrentEvent::new(resource, event.clone(), delivery == Delivery::Metadata);
    let object = event.new_state().and_then(|object| payload(object, delivery));
    let shows_old = subscription.spec.with_old || event.change == Change::Deleted;
    let old = event.old_state().filter(|_| shows_old).and_then(|old| payload(old, delivery));
    let sizes = object.as_deref().map_or(0, <[u8]>::len) + old.as_deref().map_or(0, <[u8]>::len);
    let (attempt, coalesced) = (queued.tried.number, event.coalesced);
    let origin = CallOrigin { attempt, received: event.received, coalesced };
    let state = instance.state();
    check_size(sizes, state.limits().event_bytes_max)
        .inspect_err(|_| state.begin_refused(&current, origin, now))?;
    let names = event.object.names();
    let handed = handler::Event {
        seq: queued.seq,
        subscription: subscription.index,
        change: change(event),
        reason: reason(event),
        key: contract::ObjectKeyParam { namespace: names.namespace(), name: names.name() },
        uid: names.uid(),
        resource_version: names.resource_version(),
        gone: event.gone.map(gone),
        coalesced,
        attempt,
        object: object.as_deref(),
        old: old.as_deref(),
    };
    instance.handle((&handed, &names), current, (origin, now)).await
}

fn check_size(bytes: usize, max: usize) -> Result<(), CallError> {
    if bytes > max { Err(CallError::EventTooLarge { bytes, max }) } else { Ok(()) }
}

fn change(event: &Event) -> contract::Change {
    match event.change {
        Change::Added => contract::Change::Added,
        Change::Updated => contract::Change::Updated,
        Change::Deleted => contract::Change::Deleted,
    }
}

fn reason(event: &Event) -> contract::Reason {
    match event.reason {
        Reason::Initial => contract::Reason::Initial,
        Reason::Watch => contract::Reason::Watch,
        Reason::Relist => contract::Reason::Relist,
        Reason::Resync => contract::Reason::Resync,
        Reason::Reload => contract::Reason::Reload,
        Reason::Redrive => contract::Reason::Redrive,
    }
}

fn gone(gone: Gone) -> handler::Gone {
    match gone {
        Gone::Deleted => handler::Gone::Deleted,
        Gone::LeftView => handler::Gone::LeftView,
        Gone::Unknown => handler::Gone::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::Descriptor;

    #[test]
    fn an_event_is_handed_over_up_to_its_bound() {
        assert_eq!(check_size(10, 10), Ok(()));
        let error = check_size(11, 10).expect_err("one byte more");
        let text = "the event has 11 bytes, at most 10 are handed over; ";
        assert!(error.to_string().starts_with(text), "{error}");
        assert!(!error.ends_instance());
    }

    #[test]
    fn the_error_of_a_filter_of_secrets_is_not_shown() {
        let failure = |resource: &str| {
            let json =
                format!(r#"{{"version":"1","subscriptions":[{{"resource":"{resource}"}}]}}"#);
            let descriptor = Descriptor::parse(json.as_bytes()).expect("it is valid");
            filter_failure(&descriptor.subscriptions[0], "no such overload: \"hunter2\" + 1")
        };
        assert_eq!(failure("v1/configmaps"), "v1/configmaps: no such overload: \"hunter2\" + 1");
        assert!(!failure("v1/secrets").contains("hunter2"));
    }
}
