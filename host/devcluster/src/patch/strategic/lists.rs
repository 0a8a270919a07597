//! Lists in a strategic merge patch: merged by key, as a set, or replaced, and put in order.

use serde_json::{Map, Value};

use super::schema::{MemberSchema, Strategy};
use super::{PATCH, SET_ELEMENT_ORDER, StrategicPatchError, cleaned, merge_map, unknown_directive};

/// Applies the list `patch` to the list `values` by the field's strategy. Returns the order that [`set_element_order`]
/// must use as the previous order.
///
/// Upstream this is the previous list, but new entries have replaced the deleted ones in it: the slices share their
/// memory (`deleteMatchingEntries`). Clients see the result, so this code gives the same result.
pub(super) fn merge(
    values: &mut Vec<Value>,
    patch: &[Value],
    field: &MemberSchema,
    name: &str,
    depth: usize,
) -> Result<Vec<Value>, StrategicPatchError> {
    let order_before = values.clone();
    match field.strategy {
        Strategy::Atomic | Strategy::Replace => {
            match cleaned(&Value::Array(patch.to_vec()), depth)? {
                Value::Array(cleaned) => *values = cleaned,
                other => *values = vec![other],
            }
        }
        Strategy::Set => {
            for value in patch {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            put_in_order(values, patch, &order_before, None);
        }
        Strategy::Key(key) => {
            merge_by_key(values, patch, field, key, name, depth)?;
            let places = values.iter().take(order_before.len()).cloned().collect();
            put_in_order(values, patch, &order_before, Some(key));
            return Ok(places);
        }
    }
    Ok(order_before)
}

fn merge_by_key(
    values: &mut Vec<Value>,
    patch: &[Value],
    field: &MemberSchema,
    key: &'static str,
    name: &str,
    depth: usize,
) -> Result<(), StrategicPatchError> {
    let no_key = || StrategicPatchError::NoMergeKey { list: name.to_owned(), key };
    let replace = patch.iter().any(|entry| directive(entry) == Some("replace"));
    if replace {
        values.clear();
    }
    for entry in patch {
        let Value::Object(map) = entry else { return Err(no_key()) };
        match directive(entry) {
            Some("replace") => {}
            Some("delete") => {
                let id = map.get(key).ok_or_else(no_key)?;
                values.retain(|value| value.get(key) != Some(id));
            }
            Some(_) => return Err(unknown_directive(&map[PATCH], name)),
            None => {
                let id = map.get(key).ok_or_else(no_key)?;
                merge_entry(values, map, id, field, key, name, depth)?;
            }
        }
    }
    Ok(())
}

fn merge_entry(
    values: &mut Vec<Value>,
    patch: &Map<String, Value>,
    id: &Value,
    field: &MemberSchema,
    key: &str,
    name: &str,
    depth: usize,
) -> Result<(), StrategicPatchError> {
    let known = values.iter_mut().find(|value| value.get(key) == Some(id));
    match known.and_then(Value::as_object_mut) {
        Some(known) => merge_map(known, patch, field.holds, name, depth),
        None => {
            values.push(cleaned(&Value::Object(patch.clone()), depth)?);
            Ok(())
        }
    }
}

fn directive(entry: &Value) -> Option<&str> {
    entry.get(PATCH).map(|directive| directive.as_str().unwrap_or_default())
}

/// `$setElementOrder/<list>`: the entries that it names take its order. The other entries keep their place relative to
/// the entries that existed before.
pub(super) fn set_element_order(
    values: &mut Vec<Value>,
    order: &Value,
    patch: Option<&Value>,
    order_before: &[Value],
    field: &MemberSchema,
    name: &str,
) -> Result<(), StrategicPatchError> {
    let order = order.as_array().ok_or_else(|| StrategicPatchError::Malformed {
        directive: format!("{SET_ELEMENT_ORDER}{name}"),
        expects: "the entries' keys in their order",
    })?;
    let key = field.strategy.key();
    let patch = patch.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !order.is_empty() && !follows(patch, order, key) {
        return Err(StrategicPatchError::OrderMismatch { list: name.to_owned() });
    }
    put_in_order(values, order, order_before, key);
    Ok(())
}

/// Whether the patch's entries, without directives, appear in `order` in the same sequence.
fn follows(patch: &[Value], order: &[Value], key: Option<&str>) -> bool {
    let mut rest = order.iter();
    patch
        .iter()
        .filter(|entry| directive(entry).is_none())
        .all(|entry| rest.any(|place| id(place, key) == id(entry, key)))
}

/// Puts the entries named in `order` into that order, and inserts the other entries between them. Two entries keep
/// their order in `order_before` as far as possible (`mergeSortedSlice` upstream).
fn put_in_order(
    values: &mut Vec<Value>,
    order: &[Value],
    order_before: &[Value],
    key: Option<&str>,
) {
    let place = |places: &[Value], value: &Value| {
        places.iter().position(|entry| id(entry, key) == id(value, key))
    };
    let all = std::mem::take(values);
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|value| place(order, value).is_some());
    named.sort_by_key(|value| place(order, value));
    others.sort_by_key(|value| place(order_before, value).unwrap_or(usize::MAX));

    let mut others = others.into_iter().peekable();
    for value in named {
        let before = place(order_before, &value);
        while let Some(other) = others.peek() {
            match (place(order_before, other), before) {
                (Some(other), Some(value)) if other < value => values.extend(others.next()),
                _ => break,
            }
        }
        values.push(value);
    }
    values.extend(others);
}

/// The identity of an entry: the merge key's value, or the entry itself.
fn id<'v>(value: &'v Value, key: Option<&str>) -> Option<&'v Value> {
    match key {
        Some(key) => value.get(key),
        None => Some(value),
    }
}
