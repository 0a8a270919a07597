//! The error text for an unknown key, in a descriptor and in a configuration.

use informant_apimachinery::nearest;

/// The problem with an unknown key.
pub(crate) fn unknown_key(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(nearest) => format!("unknown key {key:?}; did you mean {nearest:?}?"),
        None => format!("unknown key {key:?}; known are {}", known.join(", ")),
    }
}
