//! The keys that rules find in an object, each once and within a bound.

use super::EnqueueRule;
use crate::names::is_namespace;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The most keys of one event. An object of 1.5 MB has room for thousands of owners; a real one has a handful of keys.
pub(super) const EVENT_KEYS_MAX: usize = 256;
/// The bytes of a key beside its text. An estimate.
const KEY_BYTES: usize = 64;
/// Bytes of a name, as in the API server.
const NAME_BYTES_MAX: usize = 253;
/// Bytes of a namespace, which is a DNS label.
const NAMESPACE_BYTES_MAX: usize = 63;
/// The most bytes that a JSON string has for one byte of text.
const ESCAPE_BYTES: usize = 6;

/// The keys that were found, each once, up to [`EVENT_KEYS_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundKeys {
    keys: BTreeSet<String>,
    /// The number of texts that cannot be a name.
    refused: u64,
    /// There are more keys than [`EVENT_KEYS_MAX`]. The search then ends.
    is_full: bool,
}

impl FoundKeys {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// The problem, if some places gave no key: how often, and the text.
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

    /// A JSON value as a name; `None` for an empty text or another type.
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
        // A longer text is not copied.
        let text = (content.len() <= bytes_max * ESCAPE_BYTES).then(|| unescaped(json, content));
        let sound = text.flatten().filter(|text| is_sound(text));
        self.refused += u64::from(sound.is_none());
        sound
    }

    /// Adds the key of an owner. The owner's name is unchecked text.
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

    /// Adds the keys of another search.
    pub(crate) fn append(&mut self, other: &Self) {
        self.refused += other.refused;
        self.is_full |= other.is_full;
        other.keys.iter().for_each(|key| self.insert(key.clone()));
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.keys.is_empty() && self.refused == 0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.iter().map(|key| key.len() + KEY_BYTES).sum()
    }
}

/// Whether the text can be a part of a key: a guest splits the namespace off at the slash.
fn is_name(text: &str) -> bool {
    let is_foreign = |c: char| c == '/' || c.is_control();
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && !text.contains(is_foreign)
        && !matches!(text, "." | "..")
}

/// A JSON string's content; `None` if its escapes are invalid.
fn unescaped<'a>(json: &'a [u8], content: &'a [u8]) -> Option<Cow<'a, str>> {
    match content.contains(&b'\\') {
        true => serde_json::from_slice::<String>(json).ok().map(Cow::from),
        false => std::str::from_utf8(content).ok().map(Cow::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JSON value as a name and as a namespace, and the number of refused ones.
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
