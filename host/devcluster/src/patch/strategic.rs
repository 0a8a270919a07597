//! Strategic merge patch: a merge patch that merges some lists by key.
//!
//! As `k8s.io/apimachinery/pkg/util/strategicpatch` on the server's side: it applies a patch to a stored object.
//! kubectl computes patches (two-way, three-way); this module does not. `schema.rs` declares the merge keys of lists.

mod lists;
mod schema;

use serde_json::{Map, Value};

use schema::{Strategy, Type};

/// The member with the instruction how to patch a map, or one entry of a list.
const PATCH: &str = "$patch";
/// Names the only members of a union that are kept.
const RETAIN_KEYS: &str = "$retainKeys";
/// Prefix of the member with the order of a list's entries.
const SET_ELEMENT_ORDER: &str = "$setElementOrder/";
/// Prefix of the member with the entries to remove from a list of plain values.
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList/";

/// Objects nested deeper than this are refused. No Kubernetes type is nested so deeply, and the recursion stays
/// bounded.
const DEPTH_MAX: usize = 64;

/// Why a strategic merge patch cannot be applied. The API server answers 400 to all of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategicPatchError {
    /// The patch or its target is not a JSON object.
    #[error("a strategic merge patch must be a JSON object, and so must what it patches")]
    NotAnObject,
    /// `$patch` has an unknown value, or one that is not possible at its place.
    #[error(
        "unknown $patch directive {directive} at {at}: use \"replace\", \"delete\" or \"merge\""
    )]
    Directive {
        /// The value.
        directive: String,
        /// The member whose value contains the directive.
        at: String,
    },
    /// An entry of a list that is merged by key lacks the key.
    #[error("an entry of {list} in the patch has no {key:?}, the key by which this list is merged")]
    NoMergeKey {
        /// The list.
        list: String,
        /// Its merge key.
        key: &'static str,
    },
    /// A directive's value has the wrong shape.
    #[error("{directive} must be a list: {expects}")]
    Malformed {
        /// The directive as written in the patch.
        directive: String,
        /// The expected content.
        expects: &'static str,
    },
    /// The patch sets a member that its own `$retainKeys` does not name.
    #[error("the patch sets {member:?}, which its $retainKeys does not name: add it there")]
    NotRetained {
        /// The member.
        member: String,
    },
    /// The entries of a list are not in the order of `$setElementOrder`.
    #[error(
        "the entries of {list} in the patch do not follow the order in $setElementOrder/{list}"
    )]
    OrderMismatch {
        /// The list.
        list: String,
    },
    /// The patch is nested too deeply.
    #[error("the patch is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
}

/// Applies `patch` to `target`, an object of the built-in `kind`, in place.
///
/// On an error `target` may be partly patched, so pass a copy. For an unknown kind, only the members that every object
/// has (`metadata`, `status.conditions`) merge by key; all other lists are replaced. The caller refuses strategic
/// patches for custom resources, as the API server does.
pub fn apply(target: &mut Value, patch: &Value, kind: &str) -> Result<(), StrategicPatchError> {
    let (Value::Object(target), Value::Object(patch)) = (target, patch) else {
        return Err(StrategicPatchError::NotAnObject);
    };
    merge_map(target, patch, schema::root(kind), "the object", DEPTH_MAX)
}

/// The instructions of a patch for one member, collected from up to three members of the patch.
#[derive(Default)]
struct MemberPatch<'p> {
    value: Option<&'p Value>,
    element_order: Option<&'p Value>,
    delete_from: Option<&'p Value>,
}

fn merge_map(
    target: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    of: Type,
    at: &str,
    depth: usize,
) -> Result<(), StrategicPatchError> {
    let depth = depth.checked_sub(1).ok_or(StrategicPatchError::TooDeep)?;
    match patch.get(PATCH).map(|directive| directive.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            *target = cleaned_map(patch, depth)?;
            return Ok(());
        }
        Some("delete") => {
            target.clear();
            return Ok(());
        }
        Some(_) => return Err(unknown_directive(&patch[PATCH], at)),
    }
    retain_keys(target, patch)?;
    for (name, member) in members(patch) {
        merge_member(target, name, &member, of, depth)?;
    }
    Ok(())
}

/// Collects the patch's instructions for each member, in the order of first mention.
fn members(patch: &Map<String, Value>) -> Vec<(&str, MemberPatch<'_>)> {
    let mut members: Vec<(&str, MemberPatch<'_>)> = Vec::with_capacity(patch.len());
    for (key, value) in patch {
        if key == PATCH || key == RETAIN_KEYS {
            continue;
        }
        let order_of = key.strip_prefix(SET_ELEMENT_ORDER);
        let delete_from = key.strip_prefix(DELETE_FROM_PRIMITIVE_LIST);
        let name = order_of.or(delete_from).unwrap_or(key);
        let index = members.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            members.push((name, MemberPatch::default()));
            members.len() - 1
        });
        let member = &mut members[index].1;
        if order_of.is_some() {
            member.element_order = Some(value);
        } else if delete_from.is_some() {
            member.delete_from = Some(value);
        } else {
            member.value = Some(value);
        }
    }
    members
}

fn merge_member(
    target: &mut Map<String, Value>,
    name: &str,
    member: &MemberPatch<'_>,
    of: Type,
    depth: usize,
) -> Result<(), StrategicPatchError> {
    let field = schema::field(of, name);
    let mut order_before = target.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    match member.value {
        None => {}
        Some(Value::Null) => {
            target.remove(name);
        }
        Some(patch) => match (target.get_mut(name), patch) {
            (Some(Value::Object(value)), Value::Object(patch)) => match field.strategy {
                Strategy::Replace => *value = cleaned_map(patch, depth)?,
                Strategy::Atomic | Strategy::Set | Strategy::Key(_) => {
                    merge_map(value, patch, field.holds, name, depth)?;
                }
            },
            (Some(Value::Array(values)), Value::Array(patch)) => {
                order_before = lists::merge(values, patch, &field, name, depth)?;
            }
            (Some(value), patch) => *value = cleaned(patch, depth)?,
            (None, patch) => {
                if let Some(value) = kept(patch, depth)? {
                    target.insert(name.to_owned(), value);
                }
            }
        },
    }
    if let Some(delete) = member.delete_from {
        let delete = delete.as_array().ok_or_else(|| StrategicPatchError::Malformed {
            directive: format!("{DELETE_FROM_PRIMITIVE_LIST}{name}"),
            expects: "the values to take out",
        })?;
        if let Some(Value::Array(values)) = target.get_mut(name) {
            values.retain(|value| !delete.contains(value));
        }
    }
    let (Some(order), Some(Value::Array(values))) = (member.element_order, target.get_mut(name))
    else {
        return Ok(());
    };
    lists::set_element_order(values, order, member.value, &order_before, &field, name)
}

/// `$retainKeys`: drops members of a union that the patch does not name.
fn retain_keys(
    target: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<(), StrategicPatchError> {
    let Some(keys) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let keys = keys.as_array().ok_or_else(|| StrategicPatchError::Malformed {
        directive: RETAIN_KEYS.to_owned(),
        expects: "the names of the members to keep",
    })?;
    let named = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let stray = patch
        .iter()
        .find(|(name, value)| !value.is_null() && !name.starts_with('$') && !named(name.as_str()));
    if let Some((member, _)) = stray {
        return Err(StrategicPatchError::NotRetained { member: member.clone() });
    }
    target.retain(|name, _| named(name));
    Ok(())
}

/// The value that a patch creates at an empty place: without directives and nulls. `None` if the value itself says
/// "delete".
fn kept(patch: &Value, depth: usize) -> Result<Option<Value>, StrategicPatchError> {
    let delete = patch.get(PATCH).and_then(Value::as_str) == Some("delete");
    if delete { Ok(None) } else { cleaned(patch, depth).map(Some) }
}

fn cleaned(patch: &Value, depth: usize) -> Result<Value, StrategicPatchError> {
    let depth = depth.checked_sub(1).ok_or(StrategicPatchError::TooDeep)?;
    match patch {
        Value::Object(map) => cleaned_map(map, depth).map(Value::Object),
        Value::Array(values) => {
            let entries = values.iter().filter(|value| !is_directive(value));
            let kept: Result<Vec<Option<Value>>, _> =
                entries.map(|value| kept(value, depth)).collect();
            Ok(Value::Array(kept?.into_iter().flatten().collect()))
        }
        plain => Ok(plain.clone()),
    }
}

/// A list entry that contains only `{"$patch": "replace"}` is an instruction. (If the list is new, the API server
/// keeps it as `{}`, and then refuses that because it has no name.)
fn is_directive(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(PATCH))
}

fn cleaned_map(
    patch: &Map<String, Value>,
    depth: usize,
) -> Result<Map<String, Value>, StrategicPatchError> {
    let mut map = Map::with_capacity(patch.len());
    for (name, value) in patch {
        if name.starts_with('$') && is_directive_name(name) || value.is_null() {
            continue;
        }
        if let Some(value) = kept(value, depth)? {
            map.insert(name.clone(), value);
        }
    }
    Ok(map)
}

fn is_directive_name(name: &str) -> bool {
    name == PATCH
        || name == RETAIN_KEYS
        || name.starts_with(SET_ELEMENT_ORDER)
        || name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
}

fn unknown_directive(directive: &Value, at: &str) -> StrategicPatchError {
    StrategicPatchError::Directive { directive: directive.to_string(), at: at.to_owned() }
}

#[cfg(test)]
mod tests;
