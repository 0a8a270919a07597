//! The keys of one event: those that its states give, and what it knows of states that it does not have any more.
//!
//! Whoever works on a key may have looked at an object in any state that it had. So where events merge, or a deletion brings a last state
//! that nobody has seen, the keys of the states in between come along.

use crate::enqueue::{EnqueueRule, EnqueueRules};
use crate::event::Event;
use crate::names::is_namespace;
use informant_cache::Object;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keys of one event. An object of 1.5 MB has room for thousands of owners; a real one has a handful of keys.
pub(crate) const EVENT_KEYS_MAX: usize = 256;
/// Bytes that a key takes beside its text, about.
const KEY_BYTES: usize = 64;
/// Bytes of a name, as the API server has it.
const NAME_BYTES_MAX: usize = 253;
/// Bytes of a namespace, which is a DNS label.
const NAMESPACE_BYTES_MAX: usize = 63;
/// What stands for one byte of a JSON string has at most so many.
const ESCAPE_BYTES: usize = 6;

/// What is found of keys, each once, up to [`EVENT_KEYS_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundKeys {
    keys: BTreeSet<String>,
    /// Texts where a name should be that cannot be one.
    refused: u64,
    /// There are more keys than that. Nothing is looked for then.
    is_full: bool,
}

impl FoundKeys {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// What is wrong, if not all that the rules point at became keys: how often, and what.
    pub(crate) fn problem(&self) -> Option<(u64, String)> {
        match (self.is_full, self.refused) {
            (true, refused) => {
                let text =
                    format!("it has more than {EVENT_KEYS_MAX} keys, the others are not queued");
                Some((refused + 1, text))
            }
            (false, 0) => None,
            (false, refused) => {
                let text =
                    "what an `enqueue` rule points at cannot be the name of an object or namespace";
                Some((refused, text.to_owned()))
            }
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The name that a JSON value is; none where it is no text, or an empty one.
    pub(crate) fn name<'a>(&mut self, json: &'a [u8]) -> Option<Cow<'a, str>> {
        self.text(json, NAME_BYTES_MAX, is_name)
    }

    /// The same for the name of a namespace.
    pub(crate) fn namespace<'a>(&mut self, json: &'a [u8]) -> Option<Cow<'a, str>> {
        self.text(json, NAMESPACE_BYTES_MAX, is_namespace)
    }

    fn text<'a>(
        &mut self,
        json: &'a [u8],
        bytes_max: usize,
        is_sound: fn(&str) -> bool,
    ) -> Option<Cow<'a, str>> {
        let content = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if content.is_empty() {
            return None;
        }
        // What is longer is not copied.
        let text = (content.len() <= bytes_max * ESCAPE_BYTES).then(|| unescaped(json, content));
        let sound = text.flatten().filter(|text| is_sound(text));
        self.refused += u64::from(sound.is_none());
        sound
    }

    /// The key of an owner, whose name is whatever somebody wrote.
    pub(crate) fn add_owner(&mut self, rule: &EnqueueRule, namespace: &str, name: &str) {
        match is_name(name) {
            true => self.add(rule, namespace, name),
            false => self.refused += 1,
        }
    }

    pub(crate) fn add(&mut self, rule: &EnqueueRule, namespace: &str, name: &str) {
        self.insert(rule.key(namespace, name));
    }

    fn insert(&mut self, key: String) {
        match self.keys.len() < EVENT_KEYS_MAX || self.keys.contains(&key) {
            true => _ = self.keys.insert(key),
            false => self.is_full = true,
        }
    }

    fn append(&mut self, other: &Self) {
        self.refused += other.refused;
        self.is_full |= other.is_full;
        other.keys.iter().for_each(|key| self.insert(key.clone()));
    }

    fn is_nothing(&self) -> bool {
        self.keys.is_empty() && self.refused == 0
    }
}

/// Whether it can be one part of a key, of which a guest takes the namespace off at the slash.
fn is_name(text: &str) -> bool {
    let is_foreign = |c: char| c == '/' || c.is_control();
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && !text.contains(is_foreign)
        && !matches!(text, "." | "..")
}

/// A JSON string's content; none if its escapes are not sound.
fn unescaped<'a>(json: &'a [u8], content: &'a [u8]) -> Option<Cow<'a, str>> {
    match content.contains(&b'\\') {
        true => serde_json::from_slice::<String>(json).ok().map(Cow::from),
        false => std::str::from_utf8(content).ok().map(Cow::from),
    }
}

/// What an event knows of its keys.
#[derive(Debug, Clone, Default)]
pub struct EventKeys {
    /// None: the event is told.
    rules: Option<Arc<EnqueueRules>>,
    /// Those of states that the event does not have any more.
    before: Option<Box<FoundKeys>>,
}

impl EventKeys {
    /// Of an event whose object was known in another state as well.
    pub(crate) fn new(rules: Option<&Arc<EnqueueRules>>, before: Option<&Object>) -> Self {
        let Some(rules) = rules else { return Self::default() };
        let mut found = FoundKeys::default();
        before.into_iter().for_each(|object| rules.find(object, &mut found));
        Self::with(rules.clone(), found)
    }

    fn with(rules: Arc<EnqueueRules>, found: FoundKeys) -> Self {
        let before = (!found.is_nothing()).then(|| Box::new(found));
        Self { rules: Some(rules), before }
    }

    /// Whether the event becomes keys: nobody is told of it, and its object may have been looked at all the same.
    pub(crate) fn are_made(&self) -> bool {
        self.rules.is_some()
    }

    /// Those of one event that stands for both. It has the newer one's object.
    pub(crate) fn merged(waiting: &Event, newer: &Event) -> Self {
        // What is sent again carries none.
        let Some(rules) = newer.keys.rules.as_ref().or(waiting.keys.rules.as_ref()) else {
            return Self::default();
        };
        let mut found = FoundKeys::default();
        for event in [waiting, newer] {
            found.append(&event.keys.before(rules));
        }
        for object in waiting.old.iter().chain([&waiting.object]) {
            rules.find(object, &mut found);
        }
        // An update's state before is what waited, mostly.
        let is_other = |old: &&Object| old.resource_version() != waiting.object.resource_version();
        newer.old.iter().filter(is_other).for_each(|old| rules.find(old, &mut found));
        Self::with(rules.clone(), found)
    }

    /// Bytes that it takes beside the event.
    pub(crate) fn bytes(&self) -> usize {
        let before = self.before.as_deref();
        before.map_or(0, |found| found.keys.iter().map(|key| key.len() + KEY_BYTES).sum())
    }

    /// The keys of states before the event's, if they were made by these rules: another version's may have been others.
    pub(crate) fn before(&self, rules: &EnqueueRules) -> FoundKeys {
        let before = self.before.as_deref().filter(|_| self.rules.as_deref() == Some(rules));
        before.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a JSON value is as a name and as a namespace, and how many were refused.
    #[track_caller]
    fn check(json: &str, expect: [Option<&str>; 2], refused: u64) {
        let mut found = FoundKeys::default();
        let name = found.name(json.as_bytes()).map(Cow::into_owned);
        let namespace = found.namespace(json.as_bytes()).map(Cow::into_owned);
        assert_eq!([name.as_deref(), namespace.as_deref()], expect, "{json}");
        assert_eq!(found.refused, refused, "{json}");
    }

    #[test]
    fn a_text_that_could_be_two_parts_of_a_key_is_no_name() {
        check(r#""web""#, [Some("web"), Some("web")], 0);
        check(r#""system:node""#, [Some("system:node"), None], 1);
        for nothing in ["7", "null", "{}", r#""""#] {
            check(nothing, [None, None], 0);
        }
        for foreign in ["kube-system/x", "/", r"a\u002fb", r"a\nb", r"\u0000", ".", "..", r"\ud800"]
        {
            check(&format!(r#""{foreign}""#), [None, None], 2);
        }
    }

    #[test]
    fn names_are_bounded() {
        let text = |bytes| format!(r#""{}""#, "x".repeat(bytes));
        let name = "x".repeat(NAME_BYTES_MAX);
        check(&text(NAME_BYTES_MAX), [Some(&name), None], 1);
        check(&text(NAME_BYTES_MAX + 1), [None, None], 2);
        let escaped = format!(r#""{}""#, r"\u0078".repeat(NAME_BYTES_MAX));
        check(&escaped, [Some(&name), None], 1);
        check(&text(1 << 20), [None, None], 2);
    }
}
