//! Finds values in JSON bytes by pointer (RFC 6901) without building a tree.

use informant_cache::Object;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The bytes of the value at `pointer`, or none if nothing is there or the JSON is broken before it.
///
/// An empty pointer is the whole document. Of a key that comes twice the last one counts, as everywhere.
pub(crate) fn find<'a>(json: &'a [u8], pointer: &str) -> Option<&'a RawValue> {
    if pointer.is_empty() {
        return serde_json::from_slice(json).ok();
    }
    let steps = pointer.strip_prefix('/')?.split('/').map(unescape).collect::<Vec<_>>();
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    // What follows the value that was found is not read, so the document may not be at its end.
    Seek { steps: &steps }.deserialize(&mut deserializer).ok().flatten()
}

/// Whether the value at `pointer` differs between two states of an object.
pub(crate) fn changed(new: &Object, old: &Object, pointer: &str) -> bool {
    let (new, old) = (new.json(), old.json());
    let text = |json| find(json, pointer).map(RawValue::get);
    text(&new) != text(&old)
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// Descends one step for each of `steps`.
struct Seek<'p> {
    steps: &'p [Cow<'p, str>],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.steps.is_empty() {
            return serde::Deserialize::deserialize(deserializer).map(Some);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some((step, steps)) = self.steps.split_first() else {
            return Err(A::Error::custom("no step left"));
        };
        let mut found = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == *step {
                found = map.next_value_seed(Seek { steps })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Some((step, steps)) = self.steps.split_first() else {
            return Err(A::Error::custom("no step left"));
        };
        let index = array_index(step);
        let mut found = None;
        for position in 0.. {
            if Some(position) == index {
                match seq.next_element_seed(Seek { steps })? {
                    Some(value) => found = value,
                    None => break,
                }
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// RFC 6901: digits without a leading zero.
fn array_index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    if plain && digits { step.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"metadata":{"name":"web","labels":{"a/b":"1","c~d":"2"}},
        "spec":{"containers":[{"image":"x"},{"image":"y"}],"n":null},
        "metadata":{"name":"late","labels":{"a/b":"1","c~d":"2"}}}"#;

    #[track_caller]
    fn check(pointer: &str, expect: Option<&str>) {
        assert_eq!(find(POD.as_bytes(), pointer).map(RawValue::get), expect, "{pointer}");
    }

    #[test]
    fn pointers_find_members_and_elements() {
        check("/metadata/name", Some("\"late\""));
        check("/metadata/labels/a~1b", Some("\"1\""));
        check("/metadata/labels/c~0d", Some("\"2\""));
        check("/spec/containers/1/image", Some("\"y\""));
        check("/spec/containers/0", Some(r#"{"image":"x"}"#));
        check("/spec/n", Some("null"));
        check("", Some(POD));
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        check("/metadata/uid", None);
        check("/metadata/name/first", None);
        check("/spec/containers/2", None);
        check("/spec/containers/01", None);
        check("/spec/containers/image", None);
        check("spec", None);
        assert!(find(b"{\"a\":", "/a").is_none(), "broken JSON holds nothing");
    }
}
