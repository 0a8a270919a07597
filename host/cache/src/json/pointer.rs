//! JSON pointers (RFC 6901) with `*` for every member of an object or array, read without a tree.

use super::{Cursor, position};
use indexmap::IndexSet;
use serde_json::Value;
use std::borrow::Cow;
use std::str::FromStr;

/// The place of values in an object, for example `/spec/nodeName` or `/spec/volumes/*/configMap/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonPointer {
    steps: Vec<PointerStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PointerStep {
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
            "*" => Ok(PointerStep::Every),
            step if !step.replace("~0", "").replace("~1", "").contains('~') => {
                Ok(PointerStep::Member(step.replace("~1", "/").replace("~0", "~").into()))
            }
            _ => Err(error("a tilde is written ~0 and a slash within a name ~1")),
        };
        Ok(Self { steps: rest.split('/').map(step).collect::<Result<_, _>>()? })
    }
}

impl JsonPointer {
    pub(crate) fn steps(&self) -> &[PointerStep] {
        &self.steps
    }

    /// The text of each string, number and boolean there, once each, in order.
    ///
    /// Of a duplicate name in an object the last value counts, and both for `*`. The JSON must be well-formed, as
    /// every object's is. For other bytes the result is arbitrary.
    pub fn values(&self, json: &[u8]) -> Vec<String> {
        self.first_values(json, usize::MAX).0
    }

    /// The same for the first `max` of them, and whether there are more. The text behind them is not read.
    pub fn first_values(&self, json: &[u8], max: usize) -> (Vec<String>, bool) {
        let mut found = PointedValues { values: IndexSet::new(), max, is_cut: false };
        let is_read = seek(&mut Cursor::new(json), &self.steps, &mut found).is_some();
        if !is_read && !found.is_cut {
            return (Vec::new(), false);
        }
        let mut values: Vec<String> = found.values.into_iter().collect();
        values.sort_unstable();
        (values, found.is_cut)
    }
}

/// The values that were found so far.
struct PointedValues {
    /// In the order of the text.
    values: IndexSet<String>,
    max: usize,
    is_cut: bool,
}

impl PointedValues {
    /// `None` once there are too many.
    fn add(&mut self, value: &str) -> Option<()> {
        if self.values.contains(value) {
            return Some(());
        }
        if self.values.len() == self.max {
            self.is_cut = true;
            return None;
        }
        self.values.insert(value.to_owned());
        Some(())
    }
}

/// Reads the next value and follows the remaining steps; other values are skipped. `None` if it cannot be read, or
/// enough was found.
fn seek(cursor: &mut Cursor<'_>, steps: &[PointerStep], found: &mut PointedValues) -> Option<()> {
    let Some((step, rest)) = steps.split_first() else {
        return leaf(cursor.value()?).map_or(Some(()), |value| found.add(&value));
    };
    match (cursor.peek()?, step) {
        (b'{', PointerStep::Every) => cursor.entries(|cursor, _| seek(cursor, rest, found)),
        (b'{', PointerStep::Member(wanted)) => {
            let before = found.values.len();
            cursor.entries(|cursor, key| {
                if !key.is(wanted) {
                    return cursor.value().map(|_| ());
                }
                // Of a duplicate name the last value counts.
                found.values.truncate(before);
                seek(cursor, rest, found)
            })
        }
        (b'[', step) => {
            let wanted = match step {
                PointerStep::Every => None,
                PointerStep::Member(step) => Some(position(step)),
            };
            cursor.items(|cursor, position| match wanted {
                Some(wanted) if wanted != Some(position) => cursor.value().map(|_| ()),
                _ => seek(cursor, rest, found),
            })
        }
        _ => cursor.value().map(|_| ()),
    }
}

/// So many digits are the same number in every notation.
const DIGITS_MAX: usize = 15;

/// `None` for objects, arrays, null, and a number without a finite text. Most texts are unchanged.
fn leaf(text: &[u8]) -> Option<Cow<'_, str>> {
    match text {
        [b'{' | b'[', ..] => return None,
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => {
            return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
        }
        digits if digits.len() <= DIGITS_MAX && digits.iter().all(u8::is_ascii_digit) => {
            return std::str::from_utf8(digits).ok().map(Cow::Borrowed);
        }
        _ => {}
    }
    match serde_json::from_slice(text).ok()? {
        Value::String(text) => Some(Cow::Owned(text)),
        Value::Bool(flag) => Some(Cow::Owned(flag.to_string())),
        // A number with a point or an exponent is written as the nearest number of 64 bits.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map(|number| Cow::Owned(number.to_string()))
        }
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
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
        check("/*", r#"{"a":1,"b":3,"a":2}"#, &["1", "2", "3"]);
        check("/*/b", r#"{"a":{"b":1,"b":2},"a":{}}"#, &["2"]);
    }

    #[test]
    fn the_first_values_are_those_that_stand_first() {
        let check = |json: &str, max: usize, expect: (&[&str], bool)| {
            let pointer: JsonPointer = "/*".parse().expect("a pointer");
            let (values, is_cut) = pointer.first_values(json.as_bytes(), max);
            assert_eq!(
                (&values.iter().map(String::as_str).collect::<Vec<_>>()[..], is_cut),
                expect
            );
        };
        check(r#"["c","b","a"]"#, 3, (&["a", "b", "c"], false));
        check(r#"["c","b","a"]"#, 2, (&["b", "c"], true));
        check(r#"["c","c","b","c","b"]"#, 2, (&["b", "c"], false));
        check(r#"["c","b","a" and what is not read"#, 2, (&["b", "c"], true));
        check(r#"["c","b" and what is"#, 2, (&[], false));
        check(r#"[true,7,"7",07.5,1e2,"\u0037"]"#, 9, (&["100", "7", "true"], false));
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
