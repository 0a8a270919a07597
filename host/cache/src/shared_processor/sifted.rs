//! The handlers of one sieve, and the changes that it leaves to each of them.

use super::ToTell;
use crate::places::SievePlaces;
use crate::resource_event_handler::{Notification, Sieve, SievePlace};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Settled handlers with a place in the same sieve.
pub(super) struct SiftedHandlers {
    sieve: Arc<dyn Sieve>,
    /// A handler is a position in the list of handlers; here by its place.
    by_place: Vec<Option<usize>>,
    /// Its places.
    all: SievePlaces,
    /// The places whose handlers get no change of the batch so far. A handler that gets one gets the rest, too: the sieve
    /// does not know its state by then.
    asked: SievePlaces,
    /// The places whose handlers get the present change as their first one.
    left: SievePlaces,
}

impl std::fmt::Debug for SiftedHandlers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SiftedHandlers").field("all", &self.all).finish_non_exhaustive()
    }
}

impl SiftedHandlers {
    /// Adds a handler to those of its sieve.
    pub(super) fn add(all: &mut Vec<Self>, handler: usize, place: &SievePlace) {
        let known = all.iter().position(|one| Arc::ptr_eq(&one.sieve, &place.sieve));
        let number = known.unwrap_or_else(|| {
            all.push(Self::new(place.sieve.clone()));
            all.len() - 1
        });
        let sifted = &mut all[number];
        if sifted.by_place.len() <= place.place {
            sifted.by_place.resize(place.place + 1, None);
        }
        sifted.by_place[place.place] = Some(handler);
        sifted.all.insert(place.place);
    }

    fn new(sieve: Arc<dyn Sieve>) -> Self {
        let [all, asked, left] = [const { SievePlaces::new() }; 3];
        Self { sieve, by_place: Vec::new(), all, asked, left }
    }

    /// Calls `visit` with each handler that gets a change, and the number of its first change. It gets the rest, too.
    pub(super) fn route(&mut self, changes: &[ToTell], mut visit: impl FnMut(usize, usize)) {
        self.asked.set_to(&self.all);
        for (number, change) in changes.iter().enumerate() {
            if self.asked.is_empty() {
                return;
            }
            self.left.set_to(&self.asked);
            self.sift(change);
            self.asked.subtract(&self.left);
            for place in self.left.iter() {
                if let Some(handler) = self.by_place.get(place).copied().flatten() {
                    visit(handler, number);
                }
            }
        }
    }

    /// Removes the places from `left` whose handlers refuse the change. A change that is more or less than an update of
    /// an object, or that a list shows, is for all of them.
    fn sift(&mut self, change: &ToTell) {
        let Notification::Updated { old, new, cause, .. } = &change.notification else { return };
        let is_plain = !change.is_completed && !change.listing;
        if !is_plain || old.is_metadata_only() || new.is_metadata_only() || self.left.is_empty() {
            return;
        }
        let Self { sieve, left, asked, .. } = self;
        let sift = AssertUnwindSafe(|| sieve.sift([old, new], *cause, left));
        if catch_unwind(sift).is_err() {
            tracing::error!(object = %new.key(), "a sieve panicked; its handlers get the update");
            left.set_to(asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::routes::tests::change;
    use super::*;
    use crate::object::Object;
    use crate::resource_event_handler::Cause;

    /// Refuses updates for the places in the new state's label: `0.2`. It panics for `panic`.
    struct Named;

    impl Sieve for Named {
        fn sift(&self, [_, new]: [&Object; 2], _: Cause, places: &mut SievePlaces) {
            let named = new.label("team").unwrap_or_default();
            assert_ne!(named, "panic");
            named.split('.').filter_map(|it| it.parse().ok()).for_each(|it| places.remove(it));
        }
    }

    /// Checks the visits of the handlers 10, 11 and 12 in the places 0, 1 and 2, as `handler: changes`.
    #[track_caller]
    fn check(changes: &[&str], expect: &[&str]) {
        let (sieve, mut all) = (Arc::new(Named), Vec::new());
        for place in 0..3 {
            let sieve = sieve.clone();
            SiftedHandlers::add(&mut all, 10 + place, &SievePlace { sieve, place });
        }
        let told: Vec<ToTell> = changes.iter().copied().map(change).collect();
        let mut visits = Vec::new();
        for sifted in &mut all {
            let rest = |first: usize| changes[first..].iter();
            sifted
                .route(&told, |handler, first| visits.extend(rest(first).map(|it| (handler, *it))));
        }
        visits.sort();
        let shown: Vec<String> = visits
            .chunk_by(|one, next| one.0 == next.0)
            .map(|of| {
                format!("{}: {}", of[0].0, of.iter().map(|it| it.1).collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(all.len(), 1, "it is one sieve");
        assert_eq!(shown, expect, "{changes:?}");
    }

    #[test]
    fn handlers_get_the_updates_that_are_not_refused_for_them() {
        check(&["a/x>a/0.2", "a/x>a/0.1.2"], &["11: a/x>a/0.1.2 a/x>a/0.2"]);
        check(&["a/x>a/0.1.2"], &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_handler_that_gets_a_change_gets_the_rest_of_the_batch() {
        check(&["a/x>a/0.1.2", "a/x>a/1.2", "a/x>b/0.1.2"], &["10: a/x>a/1.2 a/x>b/0.1.2"]);
    }

    #[test]
    fn additions_deletions_and_updates_after_a_panic_are_for_all() {
        let all = |change: &str| ["10", "11", "12"].map(|it| format!("{it}: {change}"));
        for change in ["+a/0.1", "-a/0.1.2", "a/x>a/panic"] {
            check(&[change], &all(change).each_ref().map(String::as_str));
        }
    }
}
