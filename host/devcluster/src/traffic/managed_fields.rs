//! `metadata.managedFields`: the managers of an object's fields, in the FieldsV1 format of structured-merge-diff.
//!
//! The embedded cluster does not track field ownership. The traffic writes these entries because real objects have
//! them. They make up a quarter of a pod, so measurements without them mean little.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::time;

/// An entry that names `manager` as the manager of every field of `object`, or of its status alone.
pub(crate) fn entry(
    manager: &str,
    object: &Value,
    subresource: Option<&str>,
    now: Timestamp,
) -> Value {
    let mut fields = Map::new();
    if subresource.is_none() {
        let metadata = &object["metadata"];
        let mut set = Map::new();
        for key in ["annotations", "generateName", "labels", "ownerReferences"] {
            if !metadata[key].is_null() {
                set.insert(format!("f:{key}"), fields_of(key, &metadata[key]));
            }
        }
        fields.insert("f:metadata".to_owned(), Value::Object(set));
    }
    let own = |key: &str| match subresource {
        Some(subresource) => key == subresource,
        None => !matches!(key, "apiVersion" | "kind" | "metadata" | "status"),
    };
    for (key, value) in object.as_object().into_iter().flatten().filter(|(key, _)| own(key)) {
        fields.insert(format!("f:{key}"), without_dot(fields_of(key, value)));
    }
    let mut entry = json!({
        "manager": manager,
        "operation": "Update",
        "apiVersion": object["apiVersion"],
        "time": time::seconds(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if let Some(subresource) = subresource {
        entry["subresource"] = subresource.into();
    }
    entry
}

/// The keys that identify the entries of a list. `None` for a list that is one value.
fn list_keys(list: &str) -> Option<&'static [&'static str]> {
    match list {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" => Some(&["name"]),
        "ports" => Some(&["containerPort", "port", "protocol"]),
        "volumeMounts" => Some(&["mountPath"]),
        "conditions" => Some(&["type"]),
        "ownerReferences" => Some(&["uid"]),
        "podIPs" | "hostIPs" => Some(&["ip"]),
        _ => None,
    }
}

fn fields_of(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) if !map.is_empty() && name != "selector" => {
            let mut fields = Map::from_iter([(".".to_owned(), json!({}))]);
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            fields.extend(keys.iter().map(|key| (format!("f:{key}"), fields_of(key, &map[*key]))));
            Value::Object(fields)
        }
        Value::Array(entries) => {
            let Some(keys) = list_keys(name) else { return json!({}) };
            let mut fields = Map::from_iter([(".".to_owned(), json!({}))]);
            for entry in entries {
                let keys = keys.iter().filter(|key| !entry[**key].is_null());
                let key: Map<String, Value> =
                    keys.map(|key| ((*key).to_owned(), entry[*key].clone())).collect();
                fields.insert(format!("k:{}", Value::Object(key)), fields_of("", entry));
            }
            Value::Object(fields)
        }
        _ => json!({}),
    }
}

/// The map at the top level has no manager.
fn without_dot(mut fields: Value) -> Value {
    if let Some(map) = fields.as_object_mut() {
        map.shift_remove(".");
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_by_key_and_lists_by_their_merge_key() {
        let pod = json!({
            "apiVersion": "v1",
            "metadata": {"name": "x", "labels": {"b": "2", "a": "1"}},
            "spec": {"containers": [{"name": "c", "args": ["x"]}], "tolerations": [{"key": "k"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready"}]},
        });
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let spec = entry("me", &pod, None, now);
        assert_eq!(
            spec["fieldsV1"].to_string(),
            r#"{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}},"f:spec":{"f:containers":{".":{},"k:{\"name\":\"c\"}":{".":{},"f:args":{},"f:name":{}}},"f:tolerations":{}}}"#,
        );
        assert_eq!(spec["time"], "2026-01-01T00:00:00Z");
        let status = entry("kubelet", &pod, Some("status"), now);
        assert_eq!(
            status["fieldsV1"].to_string(),
            r#"{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:type":{}}},"f:phase":{}}}"#,
        );
        assert_eq!(status["subresource"], "status");
    }
}
