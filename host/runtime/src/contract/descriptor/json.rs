//! The JSON of a descriptor. Each object is read as its own type. No tree is built, and an unread part takes no
//! memory.

use super::{DescriptorError, error};
use crate::contract::unknown_key::unknown_key;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Bytes of a descriptor. There is room for 64 subscriptions with two selectors, a filter and 64 namespaces each, at
/// their bounds (14.3 KiB). The rest, 100 KiB, is for the other parts.
pub(crate) const DESCRIPTOR_BYTES_MAX: usize = 1 << 20;

/// The place of a problem that concerns no single part.
pub(super) const WHOLE: &str = "as a whole";

/// The document, after a check that it is JSON and not too large.
pub(super) fn document(json: &[u8]) -> Result<&RawValue, DescriptorError> {
    let (bytes, max) = (json.len(), DESCRIPTOR_BYTES_MAX);
    if bytes > max {
        let problem = format!("has {bytes} bytes, at most {max} are allowed");
        return Err(error(WHOLE, problem));
    }
    serde_json::from_slice(json).map_err(|e| error(WHOLE, format!("is not JSON: {e}")))
}

/// Reads an object. An unknown key is refused with the nearest known one, before any value is read.
pub(super) fn object<'a, T: Deserialize<'a>>(
    json: &'a RawValue,
    at: &str,
    known: &[&str],
) -> Result<T, DescriptorError> {
    if !json.get().starts_with('{') {
        return Err(error(at, "is not an object"));
    }
    let keys = UnknownKey { known };
    let unknown = serde_json::Deserializer::from_str(json.get()).deserialize_map(keys);
    if let Some(key) = unknown.map_err(|e| problem(at, &e))? {
        return Err(error(at, unknown_key(&key, known)));
    }
    let mut values = serde_json::Deserializer::from_str(json.get());
    serde_path_to_error::deserialize(&mut values).map_err(|e| match e.path().to_string().as_str() {
        "." | "?" => problem(at, e.inner()),
        path if at == WHOLE => problem(path, e.inner()),
        path => problem(&format!("{at}.{path}"), e.inner()),
    })
}

/// The library's message without line and column, which count within a part.
fn problem(at: &str, problem: &serde_json::Error) -> DescriptorError {
    let text = problem.to_string();
    error(at, text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text))
}

/// Finds the first unknown key. The values are skipped.
struct UnknownKey<'k> {
    known: &'k [&'k str],
}

impl<'de> Visitor<'de> for UnknownKey<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut unknown = None;
        while let Some(key) = map.next_key::<String>()? {
            if unknown.is_none() && !self.known.contains(&key.as_str()) {
                unknown = Some(key);
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(unknown)
    }
}
