//! Writes into JSON from outside. Values of a wrong type are replaced, and nothing panics.

use serde_json::{Map, Value};

/// The value at a path of members. Missing members are created.
pub(crate) fn at<'v>(value: &'v mut Value, path: &[&str]) -> &'v mut Value {
    path.iter().fold(value, |value, member| {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        &mut value[*member]
    })
}

/// Puts a value at a path.
pub(crate) fn put(value: &mut Value, path: &[&str], new: impl Into<Value>) {
    *at(value, path) = new.into();
}

/// Adds an entry to the list at a path.
pub(crate) fn push(value: &mut Value, path: &[&str], entry: Value) {
    let list = at(value, path);
    if let Value::Array(entries) = list {
        entries.push(entry);
    } else {
        *list = Value::Array(vec![entry]);
    }
}

/// Sets a number of a status. Removes it if it is zero, as `omitempty` does.
pub(crate) fn count(status: &mut Value, member: &str, number: i64) {
    if number == 0 {
        remove(status, member);
    } else {
        put(status, &[member], number);
    }
}

/// A number of the type `int32`, as Kubernetes' counts are. A number outside of it becomes the nearest one, so that sums
/// of numbers from clients do not overflow.
pub(crate) fn int32(value: &Value) -> Option<i64> {
    value.as_i64().map(|number| number.clamp(i32::MIN.into(), i32::MAX.into()))
}

/// Removes a member.
pub(crate) fn remove(value: &mut Value, member: &str) {
    if let Some(map) = value.as_object_mut() {
        map.shift_remove(member);
    }
}

/// The entries of a list. Empty if the list is missing.
pub(crate) fn entries(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The mutable entries of the list at a path. Empty if the list is missing.
pub(crate) fn entries_mut<'v>(value: &'v mut Value, pointer: &str) -> &'v mut [Value] {
    match value.pointer_mut(pointer) {
        Some(Value::Array(entries)) => entries,
        _ => &mut [],
    }
}

/// FNV-1a, 64 bits: for choices that must be the same in every run.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
