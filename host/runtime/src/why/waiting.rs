//! The events of the object that wait, and why each of them waits.

use super::answer::{DeliveryWhy, WaitingWhy};
use super::times::span;
use super::{Looked, Sight};
use crate::delivery::mailbox::{WaitingEvent, WaitingPlace};
use crate::plugin::lifecycle::LifecycleState;

/// Waiting events of one object in an answer: those that come first.
const WAITING_MAX: usize = 50;

/// The first of the events, and the number of the others.
pub(super) fn waiting(
    sight: &Sight<'_>,
    looked: &Looked<'_>,
    deliveries: &[DeliveryWhy],
) -> (Vec<WaitingWhy>, usize) {
    let events = looked.events.iter();
    let mut named =
        events.filter_map(|event| Some((looked.name_of(sight, event.subscription)?, event)));
    let first = named.by_ref().take(WAITING_MAX);
    let first = first.map(|(name, event)| one(sight, looked, name, event, deliveries)).collect();
    (first, named.count())
}

fn one(
    sight: &Sight<'_>,
    looked: &Looked<'_>,
    subscription: &str,
    event: &WaitingEvent,
    deliveries: &[DeliveryWhy],
) -> WaitingWhy {
    let (why, text) = why(sight, looked, subscription, event, deliveries);
    WaitingWhy {
        subscription: subscription.to_owned(),
        change: event.change.as_str().to_owned(),
        since: sight.clocks.at(event.received),
        resource_version: event.resource_version.clone(),
        attempt: event.attempt,
        why: why.to_owned(),
        text,
    }
}

/// One word, and one line. A reason of the whole plugin comes before one of the event.
fn why(
    sight: &Sight<'_>,
    looked: &Looked<'_>,
    subscription: &str,
    event: &WaitingEvent,
    deliveries: &[DeliveryWhy],
) -> (&'static str, String) {
    let whole = match event.place {
        WaitingPlace::InFlight => Some(("call", "the plugin is being called for it".to_owned())),
        WaitingPlace::PutAside => {
            Some(("ending", "the plugin's file is gone, and the plugin ends".to_owned()))
        }
        WaitingPlace::Withheld => Some(("serviceAccount", withheld(looked, subscription))),
        _ => of_plugin(sight, looked),
    };
    let error = || failure(subscription, deliveries);
    match (whole, event.place) {
        (Some((word, text)), WaitingPlace::Retry(_)) if event.attempt > 1 => {
            (word, text + &error())
        }
        (Some(whole), _) => whole,
        (None, WaitingPlace::Retry(at)) => {
            let (attempt, wait) = (event.attempt, span(sight.clocks.until(at)));
            ("retry", format!("attempt {attempt} comes in {wait}{}", error()))
        }
        (None, WaitingPlace::Debounce(at)) => {
            let wait = span(sight.clocks.until(at));
            ("debounce", format!("debounce: further changes are awaited for {wait}"))
        }
        (None, WaitingPlace::Line { ahead } | WaitingPlace::Replay { ahead }) => {
            of_line(ahead, looked.status.queue.is_rate_limited)
        }
        (None, _) => ("object", "an earlier event of the object comes first".to_owned()),
    }
}

fn of_line(ahead: usize, is_rate_limited: bool) -> (&'static str, String) {
    let text = match ahead {
        0 => "it comes next".to_owned(),
        1 => "1 event comes first".to_owned(),
        ahead => format!("{ahead} events come first"),
    };
    match is_rate_limited {
        true => ("rateLimit", format!("rateLimit: {text}")),
        false => ("line", text),
    }
}

/// The error of the newest attempt that the history has, behind a colon.
fn failure(subscription: &str, deliveries: &[DeliveryWhy]) -> String {
    let is_failure = |it: &&DeliveryWhy| it.subscription == subscription && it.end == "failed";
    let failed = deliveries.iter().rev().find(is_failure).and_then(|it| it.error.clone());
    failed.map_or(String::new(), |error| format!(": {error}"))
}

fn withheld(looked: &Looked<'_>, subscription: &str) -> String {
    let access = looked.core.access();
    let mut refused = access.iter().flat_map(|shown| &shown.refused);
    let refused = refused.find(|it| it.subscription.as_deref() == Some(subscription));
    refused.map_or("the subscription is withheld".to_owned(), |it| it.why.clone())
}

/// What keeps the plugin from being called at all.
fn of_plugin(sight: &Sight<'_>, looked: &Looked<'_>) -> Option<(&'static str, String)> {
    let (state, name) = (&looked.status.state, looked.core.name.as_str());
    let resource = sight.question.resource.to_string();
    let withdrawn = looked
        .running
        .as_ref()
        .and_then(|running| looked.core.restriction.check_read(&running.settings, &resource).err());
    match state {
        LifecycleState::Paused { .. } => {
            Some(("paused", format!("paused until `informant plugin resume {name}`")))
        }
        _ if state.is_tripped() => {
            let reason = state.reason().unwrap_or_default();
            Some(("tripped", format!("tripped: {reason}")))
        }
        LifecycleState::BackingOff { reason } => {
            Some(("backing-off", format!("the next instance is due: {reason}")))
        }
        _ => withdrawn.map(|why| ("grant", why)),
    }
}
