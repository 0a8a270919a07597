//! The parts of an object's JSON that an answer looks at, as a tree of bounded size.
//!
//! A tree takes up to a hundred times the bytes of its JSON, and whoever creates an object decides how much that is. So
//! other parts are skipped, and of the wanted ones the first are read.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Bytes of a tree: more than any object has that people look at as a row.
const TREE_BYTES_MAX: usize = 16 << 20;
/// Bytes of a value in a tree beside its text, with its share of a list or a map. An estimate.
const VALUE_BYTES: usize = 256;

/// The wanted parts of a JSON text.
#[derive(Debug, Default)]
pub(crate) struct WantedParts {
    /// All of it.
    whole: bool,
    /// These members, and of each these parts.
    members: BTreeMap<String, WantedParts>,
}

impl WantedParts {
    /// All of it.
    pub(crate) fn whole() -> Self {
        Self { whole: true, members: BTreeMap::new() }
    }

    /// Adds what is under these members, each a member of the one before.
    pub(crate) fn add<'p>(&mut self, path: impl IntoIterator<Item = &'p str>) {
        let mut part = self;
        for name in path {
            part = part.members.entry(name.to_owned()).or_default();
        }
        part.whole = true;
    }
}

/// Reads the wanted parts, as far as they fit. Null: the text cannot be read.
pub(crate) fn excerpt(json: &[u8], wanted: &WantedParts) -> Value {
    let left = Cell::new(TREE_BYTES_MAX);
    let seed = Seed { wanted, left: &left };
    seed.deserialize(&mut serde_json::Deserializer::from_slice(json)).unwrap_or_default()
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    wanted: &'a WantedParts,
    /// Bytes that are left for the tree.
    left: &'a Cell<usize>,
}

impl<'a> Seed<'a> {
    /// Returns whether a value with so many bytes of text fits.
    fn spend(self, text: usize) -> bool {
        let left = self.left.get().checked_sub(VALUE_BYTES + text);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    fn member(self, name: &str) -> Option<Self> {
        if self.wanted.whole {
            return Some(self);
        }
        self.wanted.members.get(name).map(|wanted| Self { wanted, ..self })
    }

    fn leaf(self, value: impl Into<Value>) -> Value {
        if self.wanted.whole { value.into() } else { Value::Null }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(self.leaf(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(self.leaf(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(self.leaf(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(self.leaf(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        let fits = self.wanted.whole && self.spend(text.len());
        Ok(if fits { text.into() } else { Value::Null })
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while self.wanted.whole && self.spend(0) {
            match items.next_element_seed(self)? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.leaf(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match self.member(&name).filter(|_| self.spend(name.len())) {
                Some(member) => {
                    let value = members.next_value_seed(member)?;
                    map.insert(name, value);
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], json: &str, expect: &str) {
        let mut wanted = WantedParts::default();
        paths.iter().for_each(|path| wanted.add(path.split('.')));
        assert_eq!(excerpt(json.as_bytes(), &wanted).to_string(), expect, "{paths:?}");
    }

    #[test]
    fn what_is_wanted_is_read_and_nothing_else() {
        let json = r#"{"a":{"b":[1,-2,0.5],"c":{"d":"x"},"e":null},"f":true,"g":[{"h":1}]}"#;
        check(&["a.b"], json, r#"{"a":{"b":[1,-2,0.5]}}"#);
        check(&["a.c.d", "f"], json, r#"{"a":{"c":{"d":"x"}},"f":true}"#);
        check(&["a.c", "a.c.d", "z"], json, r#"{"a":{"c":{"d":"x"}}}"#);
        check(&["f.x", "g.h", "a.e"], json, r#"{"a":{"e":null},"f":null,"g":null}"#);
        assert_eq!(excerpt(json.as_bytes(), &WantedParts::whole()).to_string(), json);
    }

    #[test]
    fn text_that_cannot_be_read_is_null() {
        check(&["a"], r#"{"a":1"#, "null");
        // What is skipped may be as deep as it likes.
        let deep = |name: &str| format!(r#"{{"{name}":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        check(&["a"], &deep("b"), "{}");
        check(&["a"], &deep("a"), "null");
    }

    #[test]
    fn the_first_values_that_fit_are_read() {
        let fit = TREE_BYTES_MAX / VALUE_BYTES;
        let json = format!(r#"{{"":[{}0],"b":7}}"#, "0,".repeat(fit));
        let read = excerpt(json.as_bytes(), &WantedParts::whole());
        // The list is one of the values.
        assert_eq!(read[""].as_array().map(Vec::len), Some(fit - 1));
        assert_eq!(read.as_object().map(Map::len), Some(1));
        let json = format!(r#"{{"a":"{}","b":7}}"#, "x".repeat(TREE_BYTES_MAX));
        let read = excerpt(json.as_bytes(), &WantedParts::whole());
        assert_eq!(read["a"], Value::Null);
    }
}
