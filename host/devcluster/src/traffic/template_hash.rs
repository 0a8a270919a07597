//! A hash that identifies a pod template. It does not depend on the order of members.

use serde_json::Value;

use super::edit;

/// The label of a ReplicaSet and its pods that contains the hash.
pub(crate) const TEMPLATE_HASH: &str = "pod-template-hash";

/// Hashes a template: FNV-1a over its canonical JSON, in the letters that Kubernetes uses for such suffixes
/// (`rand.SafeEncodeString`).
pub(crate) fn template_hash(template: &Value) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash = edit::fnv1a(canonical(template).to_string().as_bytes());
    let mut text = String::with_capacity(10);
    for _ in 0..10 {
        text.push(char::from(LETTERS[(hash % 27) as usize]));
        hash /= 27;
    }
    text
}

/// The same value for templates with the same meaning: keys are sorted, null and empty values are omitted, and so is
/// the label of the hash itself.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<(&String, Value)> = map
                .iter()
                .filter(|(key, _)| *key != TEMPLATE_HASH)
                .map(|(key, value)| (key, canonical(value)))
                .filter(|(_, value)| !is_nothing(value))
                .collect();
            members.sort_by_key(|(key, _)| *key);
            members.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(entries) => entries.iter().map(canonical).collect(),
        plain => plain.clone(),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(left: Value, right: Value, same: bool) {
        assert_eq!(template_hash(&left) == template_hash(&right), same);
    }

    #[test]
    fn templates_that_mean_the_same_have_the_same_hash() {
        let template = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"x": [1, 2]}});
        check(
            template.clone(),
            json!({"spec": {"x": [1, 2]}, "metadata": {"labels": {"b": "2", "a": "1"}}}),
            true,
        );
        check(
            template.clone(),
            json!({"metadata": {"creationTimestamp": null, "labels": {"a": "1", "b": "2",
                "pod-template-hash": "x"}}, "spec": {"x": [1, 2], "resources": {}}}),
            true,
        );
        check(
            template,
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"x": [2, 1]}}),
            false,
        );
    }
}
