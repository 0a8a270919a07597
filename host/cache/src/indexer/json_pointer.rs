//! JSON pointers (RFC 6901) with `*` for every member of an object or array, read without a tree.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Where values are found in an object, for example `/spec/nodeName` or `/spec/volumes/*/configMap/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonPointer {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Every,
    Member(Box<str>),
}

/// The text is not a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("JSON pointer {text:?} cannot be read: {problem}")]
pub struct ParseJsonPointerError {
    text: String,
    problem: &'static str,
}

impl FromStr for JsonPointer {
    type Err = ParseJsonPointerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem| ParseJsonPointerError { text: text.to_owned(), problem };
        let rest = match text {
            "" => return Err(error("it is empty and would name the whole object")),
            _ => text.strip_prefix('/').ok_or_else(|| error("it does not begin with a slash"))?,
        };
        let step = |step: &str| match step {
            "*" => Ok(Step::Every),
            step if !step.replace("~0", "").replace("~1", "").contains('~') => {
                Ok(Step::Member(step.replace("~1", "/").replace("~0", "~").into()))
            }
            _ => Err(error("a tilde is written ~0 and a slash within a name ~1")),
        };
        Ok(Self { steps: rest.split('/').map(step).collect::<Result<_, _>>()? })
    }
}

impl JsonPointer {
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The text of each string, number and boolean there, once each; nothing where the bytes are not JSON.
    pub fn values(&self, json: &[u8]) -> Vec<String> {
        let mut values = Vec::new();
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let seek = Seek { steps: &self.steps, values: &mut values };
        if seek.deserialize(&mut deserializer).is_err() {
            return Vec::new();
        }
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// Goes down the remaining steps; what is not on the way is skipped.
struct Seek<'a> {
    steps: &'a [Step],
    values: &'a mut Vec<String>,
}

impl Seek<'_> {
    fn leaf<E>(self, text: impl Into<String>) -> Result<(), E> {
        if self.steps.is_empty() {
            self.values.push(text.into());
        }
        Ok(())
    }
}

/// RFC 6901: digits without a leading zero.
pub(crate) fn position(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    if plain && digits { step.parse().ok() } else { None }
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.steps.split_first() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        // Where a name stands twice its last value counts.
        match step {
            Step::Every => {
                let mut members: BTreeMap<Cow<'de, str>, Vec<String>> = BTreeMap::new();
                while let Some(name) = map.next_key()? {
                    let mut values = Vec::new();
                    map.next_value_seed(Seek { steps: rest, values: &mut values })?;
                    members.insert(name, values);
                }
                self.values.extend(members.into_values().flatten());
            }
            Step::Member(wanted) => {
                let before = self.values.len();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    if **wanted == *name {
                        self.values.truncate(before);
                        map.next_value_seed(Seek { steps: rest, values: &mut *self.values })?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.steps.split_first() else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let wanted = match step {
            Step::Every => None,
            Step::Member(step) => Some(position(step)),
        };
        for position in 0.. {
            let taken = wanted.is_none_or(|wanted| wanted == Some(position));
            let found = if taken {
                seq.next_element_seed(Seek { steps: rest, values: &mut *self.values })?.is_some()
            } else {
                seq.next_element::<IgnoredAny>()?.is_some()
            };
            if !found {
                break;
            }
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.leaf(text)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.leaf(value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.leaf(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.leaf(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.leaf(value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"spec":{"nodeName":"n1","replicas":3,"on":true,"none":null,
        "volumes":[{"name":"a","configMap":{"name":"x"}},{"name":"b"},{"configMap":{"name":"y"}}]},
        "metadata":{"labels":{"a/b":"slash","c~d":"tilde","e":"slash"}}}"#;

    #[track_caller]
    fn check(pointer: &str, json: &str, expect: &[&str]) {
        let pointer: JsonPointer = pointer.parse().expect("a pointer");
        assert_eq!(pointer.values(json.as_bytes()), expect);
    }

    #[track_caller]
    fn check_error(pointer: &str, expect: &str) {
        assert_eq!(pointer.parse::<JsonPointer>().expect_err("not a pointer").problem, expect);
    }

    #[test]
    fn values_are_found_by_their_path() {
        check("/spec/nodeName", POD, &["n1"]);
        check("/spec/replicas", POD, &["3"]);
        check("/spec/on", POD, &["true"]);
        check("/spec/volumes/1/name", POD, &["b"]);
        check("/metadata/labels/a~1b", POD, &["slash"]);
        check("/metadata/labels/c~0d", POD, &["tilde"]);
    }

    #[test]
    fn a_star_steps_into_every_member_and_each_value_comes_once() {
        check("/spec/volumes/*/configMap/name", POD, &["x", "y"]);
        check("/spec/volumes/*/name", POD, &["a", "b"]);
        check("/metadata/labels/*", POD, &["slash", "tilde"]);
    }

    #[test]
    fn what_is_not_a_value_is_not_found() {
        check("/spec", POD, &[]);
        check("/spec/volumes", POD, &[]);
        check("/spec/none", POD, &[]);
        check("/spec/nodeName/deeper", POD, &[]);
        check("/spec/volumes/x", POD, &[]);
        check("/absent/*/x", POD, &[]);
        check("/a", "not json", &[]);
    }

    #[test]
    fn the_last_of_two_equal_names_counts() {
        check("/a/b", r#"{"a":{"b":1},"a":{"b":2}}"#, &["2"]);
        check("/a/b", r#"{"a":{"b":1},"a":{}}"#, &[]);
        check("/*", r#"{"a":1,"b":3,"a":2}"#, &["2", "3"]);
        check("/*/b", r#"{"a":{"b":1},"a":{}}"#, &[]);
    }

    #[test]
    fn a_position_has_neither_sign_nor_leading_zero() {
        check("/0", r#"["a"]"#, &["a"]);
        check("/+0", r#"["a"]"#, &[]);
        check("/00", r#"["a"]"#, &[]);
        check("/00", r#"{"00":"a"}"#, &["a"]);
    }

    #[test]
    fn bad_pointers_say_what_is_wrong() {
        check_error("", "it is empty and would name the whole object");
        check_error("spec", "it does not begin with a slash");
        check_error("/a~2b", "a tilde is written ~0 and a slash within a name ~1");
    }
}
