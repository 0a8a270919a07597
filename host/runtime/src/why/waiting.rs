//! The waiting events of the object, and the reason of each.

use super::answer::{DeliveryWhy, WaitingWhy};
use super::times::span;
use super::values::line;
use super::{Looked, Sight};
use crate::delivery::mailbox::WaitingEvent;
use crate::delivery::not_now::NotNow;

/// The most waiting events of one object in an answer: the first ones.
const WAITING_MAX: usize = 50;

/// The first events, and the number of the others.
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
        why: why.as_str().to_owned(),
        text: line(&text),
    }
}

/// The reason's word, and a line.
fn why(
    sight: &Sight<'_>,
    looked: &Looked<'_>,
    subscription: &str,
    event: &WaitingEvent,
    deliveries: &[DeliveryWhy],
) -> (NotNow, String) {
    let why = match event.why {
        own @ (NotNow::Call | NotNow::Ending | NotNow::ServiceAccount) => own,
        own => of_plugin(sight, looked).unwrap_or(own),
    };
    let why = match (why, looked.status.not_now()) {
        (NotNow::Line { .. }, Some(of_queue)) => of_queue,
        (own, _) => own,
    };
    let state = || looked.status.state.reason().unwrap_or_default();
    let text = match why {
        NotNow::Call => "the plugin is being called for it".to_owned(),
        NotNow::Ending => "the plugin's file is gone, and the plugin ends".to_owned(),
        NotNow::ServiceAccount => withheld(looked, subscription),
        NotNow::Paused => looked.status.paused().unwrap_or_default(),
        NotNow::Tripped => format!("tripped: {}", state()),
        // The reason may be of a call for another object.
        NotNow::BackingOff => "the instance ended, and the next one is due".to_owned(),
        NotNow::Grant => withdrawn(sight, looked).unwrap_or_default(),
        NotNow::Workqueue => "the workqueue has no room for its keys".to_owned(),
        NotNow::RateLimit => format!("rateLimit: {}", ahead(event)),
        NotNow::Retry(at) => {
            format!("attempt {} comes in {}", event.attempt, span(sight.clocks.until(at)))
        }
        NotNow::Debounce(at) => {
            let wait = span(sight.clocks.until(at));
            format!("debounce: further changes are awaited for {wait}")
        }
        NotNow::Line { .. } => ahead(event),
        NotNow::Object => "an earlier event of the object comes first".to_owned(),
    };
    let is_retry = matches!(event.why, NotNow::Retry(_)) && (why == event.why || event.attempt > 1);
    (why, if is_retry { text + &failure(subscription, deliveries) } else { text })
}

/// The number of events in front.
fn ahead(event: &WaitingEvent) -> String {
    match event.why {
        NotNow::Line { ahead: 1 } => "1 event comes first".to_owned(),
        NotNow::Line { ahead } if ahead > 1 => format!("{ahead} events come first"),
        _ => "it comes next".to_owned(),
    }
}

/// The error of the newest attempt in the history, behind a colon.
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

/// The reason for which the plugin is not called at all.
fn of_plugin(sight: &Sight<'_>, looked: &Looked<'_>) -> Option<NotNow> {
    let withdrawn = || withdrawn(sight, looked).map(|_| NotNow::Grant);
    looked.status.state.not_now().or_else(withdrawn)
}

/// The reason for which the configuration no longer grants the read.
fn withdrawn(sight: &Sight<'_>, looked: &Looked<'_>) -> Option<String> {
    let (running, resource) = (looked.running.as_ref()?, sight.question.resource.to_string());
    looked.core.restriction.check_read(&running.settings, &resource).err()
}
