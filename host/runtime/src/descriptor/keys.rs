//! The keys of a descriptor's objects: what is not known is refused with the nearest that is.

use super::{DescriptorError, error};
use serde_json::Value;

/// Keys that the contract names and that this host does not carry out yet.
const NOT_OFFERED: [&str; 4] = ["enqueue", "schedules", "resyncPeriod", "reconciler"];

/// Refuses unknown keys, naming the nearest known one, before serde looks at the values.
pub(super) fn checked<T: serde::de::DeserializeOwned>(
    value: Value,
    at: &str,
    known: &[&str],
) -> Result<T, DescriptorError> {
    if let Some(object) = value.as_object() {
        for key in object.keys() {
            if known.contains(&key.as_str()) {
                continue;
            }
            if NOT_OFFERED.contains(&key.as_str()) {
                return Err(error(at, format!("the key {key:?} is not offered by this host yet")));
            }
            return Err(error(at, unknown_key(key, known)));
        }
    }
    serde_json::from_value(value).map_err(|e| error(at, e.to_string()))
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(key, a).total_cmp(&strsim::jaro_winkler(key, b)));
    match nearest {
        Some(nearest) if strsim::jaro_winkler(key, nearest) > 0.7 => {
            format!("unknown key {key:?}; did you mean {nearest:?}?")
        }
        _ => format!("unknown key {key:?}; known are {}", known.join(", ")),
    }
}
