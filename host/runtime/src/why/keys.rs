//! The keys of the workqueue for the object's present state, and the place of each.

use super::answer::KeyWhy;
use super::{Looked, Sight};
use crate::counted::counted;
use crate::delivery::key_queue::KeyPlace;
use crate::event::enqueue::FoundKeys;

/// The most keys in an answer.
const KEYS_MAX: usize = 20;

pub(super) fn keys(sight: &Sight<'_>, looked: &Looked<'_>) -> Vec<KeyWhy> {
    let (Some(running), Some(object)) = (&looked.running, &sight.object) else {
        return Vec::new();
    };
    let mut found = FoundKeys::default();
    let specs = running.specs.iter().map(|(_, spec)| spec);
    for spec in specs.filter(|spec| spec.resource == sight.question.resource) {
        spec.enqueue.find(object, &mut found);
    }
    let last_retry = looked.core.facts().last_key_retry.clone();
    let keys = found.iter().take(KEYS_MAX);
    looked
        .core
        .queue
        .look(|it| keys.map(|key| of(key, it.keys.place_of(key), last_retry.as_ref())).collect())
}

fn of(key: &str, place: KeyPlace, last_retry: Option<&(String, String)>) -> KeyWhy {
    let retry = || last_retry.filter(|(of, _)| of == key).map(|(_, error)| error.clone());
    let (state, attempts, error) = match place {
        KeyPlace::InFlight { attempt } => ("call", attempt, None),
        KeyPlace::Failed { attempts } => ("failed", attempts, retry()),
        KeyPlace::GivenUp { attempts, error } => ("given-up", attempts, Some(error)),
        KeyPlace::Waits => ("waits", 0, None),
        KeyPlace::Done => ("done", 0, None),
    };
    KeyWhy { key: key.to_owned(), state: state.to_owned(), attempts, error }
}

/// The keys in one line.
pub(super) fn shown(keys: &[KeyWhy]) -> String {
    let one = |key: &KeyWhy| {
        let KeyWhy { key, state, attempts, error } = key;
        let error = error.as_ref().map_or(String::new(), |error| format!(": {error}"));
        match &**state {
            "failed" | "given-up" => {
                let attempts = counted(*attempts as usize, "attempt");
                format!("{key} {state} after {attempts}{error}")
            }
            _ => format!("{key} {state}"),
        }
    };
    match keys.is_empty() {
        true => "it became no key".to_owned(),
        false => keys.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_said_with_its_error_and_not_with_that_of_another() {
        let told = |key: &str| (key.to_owned(), "no answer".to_owned());
        let failed = || KeyPlace::Failed { attempts: 3 };
        let keys = [
            of("shop/web", failed(), Some(&told("shop/web"))),
            of("shop/db", KeyPlace::Done, Some(&told("shop/web"))),
            of("a", failed(), Some(&told("a: b"))),
        ];
        assert_eq!(
            shown(&keys),
            "shop/web failed after 3 attempts: no answer, shop/db done, a failed after 3 attempts"
        );
        assert_eq!(shown(&[]), "it became no key");
    }
}
