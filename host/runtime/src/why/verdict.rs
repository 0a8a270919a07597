//! The answer in one word and in one line, from all findings.

use super::answer::{DeliveryWhy, KeyWhy, LetterWhy, SubscriptionWhy, WaitingWhy};
use super::keys::shown;
use super::refusals::QUESTIONS;
use super::{Looked, Sight};
use crate::counted::counted;
use crate::plugin::lifecycle::LifecycleState;
use std::collections::BTreeSet;

/// The keys of an object that is gone: rules compute them from a state, and none is left.
const KEYS_OF_GONE: &str = "its keys came from its last state, which is gone";

/// The findings about one plugin.
pub(super) struct PluginFindings<'a> {
    pub(super) subscriptions: &'a [SubscriptionWhy],
    pub(super) waiting: &'a [WaitingWhy],
    pub(super) deliveries: &'a [DeliveryWhy],
    pub(super) letters: &'a [LetterWhy],
    pub(super) keys: &'a [KeyWhy],
}

pub(super) fn verdict(
    sight: &Sight<'_>,
    looked: &Looked<'_>,
    found: &PluginFindings<'_>,
) -> (&'static str, String) {
    let is_stopped = matches!(
        looked.status.state,
        LifecycleState::Stopped { .. } | LifecycleState::Waiting { .. }
    );
    let Some(running) = looked.running.as_ref().filter(|_| !is_stopped) else {
        return ("not-running", not_running(looked));
    };
    if found.subscriptions.is_empty() {
        let resources: BTreeSet<String> =
            running.specs.iter().map(|(_, spec)| spec.resource.to_string()).collect();
        let resources: Vec<String> = resources.into_iter().collect();
        let text = match resources.is_empty() {
            true => "it has no subscriptions".to_owned(),
            false => format!("it subscribes to {} only", resources.join(", ")),
        };
        return ("not-subscribed", text);
    }
    if let Some(first) = found.waiting.first() {
        return ("waits", format!("{} {}: {}", first.change, first.resource_version, first.text));
    }
    let taken = taken(sight, found.deliveries);
    if let Some(taken) = taken.filter(|taken| !is_given_up(taken, found)) {
        return match &*taken.end {
            "enqueued" if sight.object.is_none() => ("enqueued", told(taken, KEYS_OF_GONE)),
            "enqueued" => ("enqueued", told(taken, &shown(found.keys))),
            end => ("delivered", told(taken, end)),
        };
    }
    if let Some(letter) = found.letters.last() {
        let LetterWhy { id, attempts, error, .. } = letter;
        let attempts = counted(*attempts as usize, "attempt");
        return ("given-up", format!("dead letter {id} after {attempts}: {error}"));
    }
    if let Some(refused) = refused(found.subscriptions) {
        return refused;
    }
    ("no-record", format!("no question is answered with no; {}", past(sight, looked, found)))
}

/// The history's text for an object without a delivery of its newest state.
fn past(sight: &Sight<'_>, looked: &Looked<'_>, found: &PluginFindings<'_>) -> String {
    if let Some(last) = found.deliveries.last() {
        return format!("the last delivery is {}", told(last, &last.end));
    }
    match (looked.history.is_kept(), looked.history_since(sight)) {
        (false, _) => "no history is kept (limits.history is 0)".to_owned(),
        (true, Some(since)) => format!("the history has no delivery of it since {since}"),
        (true, None) => "the history has no delivery of it".to_owned(),
    }
}

/// The last successful delivery of the newest state. Another subscription may have refused the same state later.
fn taken<'a>(sight: &Sight<'_>, deliveries: &'a [DeliveryWhy]) -> Option<&'a DeliveryWhy> {
    deliveries.iter().rev().find(|it| is_taken(it) && is_of_newest(sight, it))
}

fn is_taken(delivery: &DeliveryWhy) -> bool {
    matches!(&*delivery.end, "ok" | "enqueued")
}

/// Whether the same state is a dead letter of another subscription, which has not succeeded since.
fn is_given_up(taken: &DeliveryWhy, found: &PluginFindings<'_>) -> bool {
    let version = &taken.resource_version;
    let is_taken_by = |subscription: &str| {
        let mut of = found.deliveries.iter().filter(|it| it.subscription == subscription);
        of.any(|it| is_taken(it) && it.resource_version == *version)
    };
    let mut letters = found.letters.iter().filter(|letter| letter.resource_version == *version);
    letters.any(|letter| !is_taken_by(&letter.subscription))
}

fn not_running(looked: &Looked<'_>) -> String {
    let state = &looked.status.state;
    match state.reason() {
        Some(reason) => reason.to_owned(),
        None => format!("no version runs; the plugin is {}", state.name()),
    }
}

/// Whether a delivery was of the cached state, or of the deletion of an absent object.
fn is_of_newest(sight: &Sight<'_>, delivery: &DeliveryWhy) -> bool {
    match &sight.object {
        Some(object) => delivery.resource_version == object.resource_version(),
        None => delivery.change == "deleted",
    }
}

fn told(delivery: &DeliveryWhy, end: &str) -> String {
    let DeliveryWhy { change, resource_version, at, .. } = delivery;
    format!("{change} {resource_version} at {at}: {end}")
}

/// The latest question with the answer no, over all subscriptions: the furthest progress. `None` if one subscription
/// refuses nothing.
fn refused(subscriptions: &[SubscriptionWhy]) -> Option<(&'static str, String)> {
    if subscriptions.iter().any(|subscription| subscription.refusals.is_empty()) {
        return None;
    }
    let place = |subscription: &SubscriptionWhy| {
        let first = subscription.refusals.first()?;
        QUESTIONS.iter().position(|question| *question == first.question)
    };
    let nearest = subscriptions.iter().max_by_key(|subscription| place(subscription))?;
    let first = nearest.refusals.first()?;
    let answer = if first.question == "cache" { "absent" } else { "refused" };
    Some((answer, format!("{}: {}", nearest.name, first.text)))
}
