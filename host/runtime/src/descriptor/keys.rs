//! The keys of a descriptor's objects: what is not known is refused with the nearest that is.

use super::{DescriptorError, error};
use crate::configuration::unknown_key;
use serde_json::Value;

/// Refuses unknown keys, naming the nearest known one, before serde looks at the values.
pub(super) fn checked<T: serde::de::DeserializeOwned>(
    value: Value,
    at: &str,
    known: &[&str],
) -> Result<T, DescriptorError> {
    if let Some(object) = value.as_object() {
        for key in object.keys() {
            if !known.contains(&key.as_str()) {
                return Err(error(at, unknown_key(key, known)));
            }
        }
    }
    serde_json::from_value(value).map_err(|e| error(at, e.to_string()))
}
