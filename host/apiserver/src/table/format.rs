//! How values are written in cells: names, labels, selectors, containers, lists that are cut short.

use serde_json::Value;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The object's name.
pub(super) fn name(object: &Value) -> Value {
    text(&object["metadata"]["name"]).into()
}

/// A string, or nothing.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A string, or this where it is missing or empty.
pub(super) fn text_or<'v>(value: &'v Value, otherwise: &'v str) -> &'v str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise)
}

/// A number, or this where it is missing.
pub(super) fn int_or(value: &Value, otherwise: i64) -> i64 {
    value.as_i64().unwrap_or(otherwise)
}

/// The entries of a list; none where it is missing.
pub(super) fn entries(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// How many members a map has.
pub(super) fn members(value: &Value) -> usize {
    value.as_object().map_or(0, |map| map.len())
}

/// The list's strings, joined.
pub(super) fn joined(value: &Value, separator: &str) -> String {
    entries(value).iter().map(text).collect::<Vec<_>>().join(separator)
}

/// Text, or this where it is empty.
pub(super) fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}

/// Whether the object being deleted still waits for something.
pub(super) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The condition of this type.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    entries(&object["status"]["conditions"]).iter().find(|condition| condition["type"] == kind)
}

/// Whether the condition of this type is `True`.
pub(super) fn has_condition(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Labels as `a=1,b=2`, sorted; `<none>` where there are none.
pub(super) fn labels(value: &Value) -> String {
    or(label_pairs(value).join(","), NONE)
}

fn label_pairs(value: &Value) -> Vec<String> {
    let map = value.as_object().into_iter().flatten();
    let mut pairs: Vec<String> = map.map(|(key, value)| format!("{key}={}", text(value))).collect();
    pairs.sort();
    pairs
}

/// A LabelSelector in kubectl's syntax, sorted; empty where it selects everything or is missing.
pub(super) fn selector(value: &Value) -> String {
    let expressions = entries(&value["matchExpressions"]).iter().map(|expression| {
        let key = text(&expression["key"]);
        let mut values: Vec<&str> = entries(&expression["values"]).iter().map(text).collect();
        values.sort_unstable();
        let values = values.join(",");
        match text(&expression["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    });
    let mut requirements = label_pairs(&value["matchLabels"]);
    requirements.extend(expressions);
    requirements.sort_by(|a, b| a.trim_start_matches('!').cmp(b.trim_start_matches('!')));
    requirements.join(",")
}

/// A LabelSelector, or `<none>`.
pub(super) fn selector_or_none(value: &Value) -> String {
    or(selector(value), NONE)
}

/// The name of a class, and whether one of these annotations makes it the default.
pub(super) fn named_default(object: &Value, annotations: &[&str]) -> Value {
    let set = &object["metadata"]["annotations"];
    let is_default = annotations.iter().any(|key| set[key] == "true");
    let suffix = if is_default { " (default)" } else { "" };
    format!("{}{suffix}", text(&object["metadata"]["name"])).into()
}

/// The first `shown` of a list, and how many more there are.
pub(super) fn shortened(all: &[String], shown: usize, separator: &str) -> String {
    if all.len() <= shown {
        return all.join(separator);
    }
    format!("{} + {} more...", all[..shown].join(separator), all.len() - shown)
}

/// A value that is a string or a number: a port, a percentage, a quantity.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The object's controller, as an owner reference.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = entries(&object["metadata"]["ownerReferences"]).iter();
    owners.into_iter().find(|owner| owner["controller"] == true)
}
