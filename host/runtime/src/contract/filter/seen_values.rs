//! The values that an expression reads from an event's objects, for people.

use super::needs::{Needs, ReadPlace};
use super::{Filter, FilterVerdict};
use crate::event::{Change, Event};

/// The most values that are shown of one evaluation.
const VALUES_MAX: usize = 8;

/// A place in the expression's own words, and its JSON; `None` if the place has no value.
pub(crate) type SeenValue = (String, Option<String>);

impl Filter {
    /// The expression.
    pub(crate) fn text(&self) -> &str {
        &self.compiled.text
    }

    /// The verdict on an event, and the values on which it depends.
    pub(crate) fn explain(&self, event: &Event) -> (FilterVerdict, Vec<SeenValue>) {
        let (object, old) = match event.change {
            Change::Deleted => (None, Some(&event.object)),
            Change::Added | Change::Updated => (Some(&event.object), event.old.as_ref()),
        };
        let compiled = &*self.compiled;
        let mut seen = Vec::new();
        for (name, needs, object) in
            [("object", &compiled.object, object), ("old", &compiled.old, old)]
        {
            match object {
                _ if !needs.is_used() => {}
                Some(object) => seen.extend(needs.values(name, &object.json())),
                None => seen.push((name.to_owned(), Some("null".to_owned()))),
            }
        }
        if compiled.names_change {
            seen.push(("change".to_owned(), Some(format!("{:?}", event.change.as_str()))));
        }
        seen.truncate(VALUES_MAX);
        (self.verdict(event), seen)
    }
}

impl Needs {
    /// The values at the ends of the read chains.
    fn values(&self, name: &str, json: &[u8]) -> Vec<SeenValue> {
        let mut ends = Vec::new();
        ends_of(&self.root, name.to_owned(), &mut ends);
        let values = self.projection.values(json);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        ends.into_iter().map(|(path, number)| (path, values[number].map(text))).collect()
    }
}

fn ends_of(place: &ReadPlace, path: String, ends: &mut Vec<(String, usize)>) {
    if place.members.is_empty() {
        return ends.push((path, place.number));
    }
    for (name, member) in &place.members {
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let path = if is_word { format!("{path}.{name}") } else { format!("{path}[{name:?}]") };
        ends_of(member, path, ends);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SubscriptionId;
    use informant_cache::Object;
    use std::time::Instant;

    const POD: &[u8] =
        br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop",
        "labels":{"a/b":"x"}},"status":{"phase":"Running"}}"#;

    #[track_caller]
    fn check(text: &str, verdict: &FilterVerdict, expect: &[(&str, Option<&str>)]) {
        let object = Object::decode(POD, None).expect("the test's pod is well formed");
        let event = Event::new(SubscriptionId(1), Change::Added, object, Instant::now());
        let filter = Filter::compile(text).expect("an expression");
        let (found, seen) = filter.explain(&event);
        let seen: Vec<(&str, Option<&str>)> =
            seen.iter().map(|(path, value)| (path.as_str(), value.as_deref())).collect();
        assert_eq!((&found, seen.as_slice()), (verdict, expect), "{text}");
    }

    #[test]
    fn an_explanation_has_the_values_that_the_expression_reads() {
        let phase = ("object.status.phase", Some("\"Running\""));
        check("object.status.phase == \"Failed\"", &FilterVerdict::Filtered, &[phase]);
        let label = ("object.metadata.labels[\"a/b\"]", Some("\"x\""));
        let both = "object.metadata.labels[\"a/b\"] == \"x\" && change == \"added\"";
        check(both, &FilterVerdict::Told, &[label, ("change", Some("\"added\""))]);
        let missing = "has(object.spec) && object.spec.nodeName == \"n\"";
        check(missing, &FilterVerdict::Filtered, &[("object.spec.nodeName", None)]);
        check("old == null", &FilterVerdict::Told, &[("old", Some("null"))]);
    }
}
