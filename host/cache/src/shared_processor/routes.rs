//! The way of a change to the handlers that it may concern, so that a thousand handlers of a namespace each cost a change
//! no more than a few do.

use super::ToTell;
use super::active::Active;
use super::sifted::SiftedHandlers;
use crate::object::Object;
use crate::resource_event_handler::{Interest, Notification};
use hashbrown::HashMap;

/// Handlers by their [`Interest`]. A handler is a position in the list of handlers.
#[derive(Debug, Default)]
pub(super) struct Routes {
    /// Those that get every change, in their order.
    every: Vec<usize>,
    by_namespace: HashMap<String, Vec<usize>>,
    /// By label, then by its value.
    by_label: HashMap<String, HashMap<String, Vec<usize>>>,
    /// Those with a place in a sieve, by sieve.
    sifted: Vec<SiftedHandlers>,
}

/// A handler and the position of a change that may concern it. A batch has at most as many as calls of handlers, and a
/// batch is bounded.
type Visit = (usize, usize);

/// The changes of a batch that may concern a handler.
enum Concerning<'a> {
    /// This one and all that follow.
    From(usize),
    These(&'a [Visit]),
}

impl Routes {
    /// A handler that is not settled gets every change: its replay may know objects of an earlier interest.
    pub(super) fn new(handlers: &mut [Active]) -> Self {
        for active in &mut *handlers {
            active.is_routed_as_settled = active.is_settled();
        }
        Self::of_interests(handlers.iter().map(|active| match active.is_routed_as_settled {
            true => &active.interest,
            false => &Interest::All,
        }))
    }

    fn of_interests<'a>(interests: impl Iterator<Item = &'a Interest>) -> Self {
        let mut routes = Self::default();
        for (handler, interest) in interests.enumerate() {
            match interest {
                Interest::All => routes.every.push(handler),
                Interest::Namespaces(names) => {
                    for name in &**names {
                        routes.by_namespace.entry_ref(name.as_str()).or_default().push(handler);
                    }
                }
                Interest::Label { key, values } => {
                    let by_value = routes.by_label.entry_ref(key.as_str()).or_default();
                    for value in values {
                        by_value.entry_ref(value.as_str()).or_default().push(handler);
                    }
                }
                Interest::Sifted(place) => SiftedHandlers::add(&mut routes.sifted, handler, place),
            }
        }
        routes
    }

    /// Calls `visit` with each handler that some of the changes may concern, and these changes, in the order of both.
    pub(super) fn visit<'a>(
        &mut self,
        changes: &'a [ToTell],
        mut visit: impl FnMut(usize, &mut dyn Iterator<Item = &'a ToTell>),
    ) {
        let mut visits: Vec<(usize, Concerning<'_>)> =
            self.every.iter().map(|&handler| (handler, Concerning::From(0))).collect();
        for sifted in &mut self.sifted {
            sifted.route(changes, |handler, first| visits.push((handler, Concerning::From(first))));
        }
        let routed = self.routed(changes);
        let some = routed.chunk_by(|one, next| one.0 == next.0);
        visits.extend(some.map(|group| (group[0].0, Concerning::These(group))));
        visits.sort_unstable_by_key(|&(handler, _)| handler);
        for (handler, concerning) in visits {
            match concerning {
                Concerning::From(first) => visit(handler, &mut changes[first..].iter()),
                Concerning::These(group) => {
                    visit(handler, &mut group.iter().map(|&(_, at)| &changes[at]));
                }
            }
        }
    }

    fn routed(&self, changes: &[ToTell]) -> Vec<Visit> {
        let mut visits = Vec::new();
        if self.by_namespace.is_empty() && self.by_label.is_empty() {
            return visits;
        }
        for (number, change) in changes.iter().enumerate() {
            let [one, other] = states(&change.notification);
            let mut add = |handlers: Option<&Vec<usize>>| {
                visits.extend(handlers.into_iter().flatten().map(|&handler| (handler, number)));
            };
            // Both states are of one namespace.
            add(one.and_then(|object| self.by_namespace.get(object.key().namespace())));
            for (key, by_value) in &self.by_label {
                let values = [one, other].map(|object| object.and_then(|object| object.label(key)));
                add(values[0].and_then(|value| by_value.get(value)));
                if values[0] != values[1] {
                    add(values[1].and_then(|value| by_value.get(value)));
                }
            }
        }
        visits.sort_unstable();
        // A handler of two values of a label gets the change from one to the other once.
        visits.dedup();
        visits
    }
}

/// The states of which one may concern a handler.
fn states(notification: &Notification) -> [Option<&Object>; 2] {
    match notification {
        Notification::Added { object, .. } => [Some(object), None],
        Notification::Updated { old, new, .. } => [Some(old), Some(new)],
        Notification::Deleted { last, known_as, .. } => [Some(last), known_as.as_ref()],
        Notification::Synced => [None, None],
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::resource_event_handler::{Cause, FinalState, Reason};
    use std::time::Instant;

    /// An object `namespace/team`.
    fn object(text: &str) -> Object {
        let (namespace, team) = text.split_once('/').expect("namespace/team");
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","namespace":"{namespace}","uid":"u","resourceVersion":"1","labels":{{"team":"{team}"}}}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("it decodes")
    }

    fn to_tell(notification: Notification) -> ToTell {
        ToTell { notification, listing: false, is_completed: false }
    }

    /// `+a/x`: added; `a/x>a/y`: updated; `-a/x`: deleted; `-a/x<a/y`: deleted, last known as the second.
    pub(in super::super) fn change(text: &str) -> ToTell {
        let (cause, coalesced) = (Cause { reason: Reason::Watch, received: Instant::now() }, 0);
        if let Some(text) = text.strip_prefix('+') {
            return to_tell(Notification::Added { object: object(text), cause, coalesced });
        }
        if let Some(text) = text.strip_prefix('-') {
            let (last, known_as) = match text.split_once('<') {
                Some((last, known_as)) => (object(last), Some(object(known_as))),
                None => (object(text), None),
            };
            let final_state = FinalState::Known;
            return to_tell(Notification::Deleted {
                last,
                known_as,
                final_state,
                cause,
                coalesced,
            });
        }
        let (old, new) = text.split_once('>').expect("an update");
        let (old, new) = (object(old), object(new));
        to_tell(Notification::Updated { old, new, cause, coalesced })
    }

    /// `*`: all; `a,b`: namespaces; `=x,y`: values of the label.
    fn interest(text: &str) -> Interest {
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        match text.strip_prefix('=') {
            _ if text == "*" => Interest::All,
            Some(values) => {
                let values: Vec<String> = values.split(',').map(str::to_owned).collect();
                Interest::Label { key: "team".to_owned(), values }
            }
            None => Interest::Namespaces(std::sync::Arc::new(list(text))),
        }
    }

    /// Checks the visits, as `handler: changes`.
    #[track_caller]
    fn check(interests: &[&str], changes: &[&str], expect: &[&str]) {
        let interests: Vec<Interest> = interests.iter().copied().map(interest).collect();
        let mut routes = Routes::of_interests(interests.iter());
        let told: Vec<ToTell> = changes.iter().copied().map(change).collect();
        let mut visits = Vec::new();
        routes.visit(&told, |handler, some| {
            let some = some.map(|change| {
                let at = told.iter().position(|one| std::ptr::eq(one, change));
                changes[at.expect("it is one of them")]
            });
            visits.push(format!("{handler}: {}", some.collect::<Vec<_>>().join(" ")));
        });
        assert_eq!(visits, expect);
    }

    #[test]
    fn a_change_reaches_the_handlers_of_its_namespace_and_those_of_all() {
        check(
            &["a", "*", "b", "a,b", "c"],
            &["+a/x", "b/x>b/y", "-a/x"],
            &["0: +a/x -a/x", "1: +a/x b/x>b/y -a/x", "2: b/x>b/y", "3: +a/x b/x>b/y -a/x"],
        );
    }

    #[test]
    fn a_change_reaches_the_handlers_of_its_label_before_and_after() {
        check(
            &["=x", "=y", "=x,y", "=z", "*"],
            &["a/x>a/y", "-a/w<a/z", "+a/y"],
            &[
                "0: a/x>a/y",
                "1: a/x>a/y +a/y",
                "2: a/x>a/y +a/y",
                "3: -a/w<a/z",
                "4: a/x>a/y -a/w<a/z +a/y",
            ],
        );
    }

    #[test]
    fn handlers_of_all_get_each_change_and_without_handlers_nothing_happens() {
        check(&["*", "*"], &["+a/x", "-a/x"], &["0: +a/x -a/x", "1: +a/x -a/x"]);
        check(&[], &["+a/x"], &[]);
        check(&["b"], &["+a/x"], &[]);
    }
}
