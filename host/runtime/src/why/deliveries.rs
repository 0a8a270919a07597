//! The object's deliveries and dead letters.

use super::answer::{DeliveryWhy, LetterWhy};
use super::times::shown;
use super::values::line;
use super::{Looked, Sight};
use crate::history::PastDelivery;

/// The most deliveries of one object in an answer, the newest.
const DELIVERIES_MAX: usize = 50;

/// The object's deliveries, oldest first. An object of another resource may have the same name, but each resource has
/// its own subscriptions.
pub(super) fn deliveries(sight: &Sight<'_>, looked: &Looked<'_>) -> Vec<DeliveryWhy> {
    let mut past = looked.history.of(&sight.question.key);
    past.extend_from_slice(&looked.refused.0);
    past.sort_by_key(|past| past.ended);
    let named = past.iter().rev().filter_map(|past| {
        let name = looked.name_of(sight, past.subscription)?;
        Some(delivery(sight, name, past))
    });
    let mut deliveries: Vec<DeliveryWhy> = named.take(DELIVERIES_MAX).collect();
    deliveries.reverse();
    deliveries
}

fn delivery(sight: &Sight<'_>, subscription: &str, past: &PastDelivery) -> DeliveryWhy {
    let text = |text: &str| (!text.is_empty()).then(|| line(text));
    DeliveryWhy {
        at: sight.clocks.at(past.ended),
        subscription: subscription.to_owned(),
        change: past.change.as_str().to_owned(),
        reason: past.reason.as_str().to_owned(),
        gone: past.gone.map(|gone| gone.as_str().to_owned()),
        resource_version: past.resource_version.clone(),
        attempt: past.attempt,
        end: past.end.as_str().to_owned(),
        error: text(&past.error),
        waited_seconds: past.waited.as_secs_f64(),
        seconds: past.took.as_secs_f64(),
        wrote: text(&past.wrote),
    }
}

/// The dead letters of the object, oldest first.
pub(super) fn letters(sight: &Sight<'_>, looked: &Looked<'_>) -> Vec<LetterWhy> {
    let resource = sight.question.resource.to_string();
    let letters = looked.core.dead_letters.lock().list();
    let of_object = letters.into_iter().filter(|letter| {
        *letter.event.object.key() == sight.question.key && letter.resource == resource
    });
    of_object
        .map(|letter| LetterWhy {
            id: letter.id,
            resource_version: letter.event.object.resource_version().to_owned(),
            subscription: letter.subscription,
            attempts: letter.attempts,
            error: letter.error,
            at: shown(letter.at),
        })
        .collect()
}
