//! Times in Kubernetes' format, and spans of time.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Whole seconds, as in `creationTimestamp`.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Microseconds, as in a lease's `renewTime`.
pub(crate) fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A time in an object.
pub(crate) fn parse(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// The time after this number of milliseconds. Unchanged if it would overflow.
pub(crate) fn later(time: Timestamp, milliseconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_millis(milliseconds)).unwrap_or(time)
}
