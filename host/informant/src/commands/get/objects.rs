//! Objects as JSON, as YAML and by their names, in the forms of kubectl. Synchronous.

use super::kinds::ServedKind;
use crate::commands::ask::cell;
pub(super) use crate::commands::yaml::yaml;
use crate::logging::escaped;
use anyhow::Result;
use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value, json};

/// The objects of a list, with their types.
pub(super) fn objects(kind: &ServedKind, mut list: Value) -> Vec<Value> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items.into_iter().map(|item| typed(kind, item)).collect(),
        _ => Vec::new(),
    }
}

/// Texts that are printed one after the other. Those of YAML have a line between them, as kubectl's.
pub(super) struct Documents {
    is_yaml: bool,
    is_first: bool,
}

impl Documents {
    pub(super) fn of(is_yaml: bool) -> Self {
        Self { is_yaml, is_first: true }
    }

    pub(super) fn lines(&mut self, texts: Vec<String>) -> Vec<String> {
        let mut lines = Vec::with_capacity(texts.len());
        for text in texts {
            if self.is_yaml && !std::mem::take(&mut self.is_first) {
                lines.push("---".to_owned());
            }
            lines.push(text);
        }
        lines
    }
}

/// The object with its type and with sorted keys, without `managedFields`.
pub(super) fn typed(kind: &ServedKind, mut object: Value) -> Value {
    object["apiVersion"] = kind.resource.api_version().into();
    object["kind"] = kind.kind.clone().into();
    if let Value::Object(metadata) = &mut object["metadata"] {
        metadata.shift_remove("managedFields");
    }
    object.sort_all_objects();
    object
}

/// The `List` that kubectl makes of several objects.
pub(super) fn list(objects: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// JSON with kubectl's four spaces.
pub(super) fn json(value: &Value) -> Result<String> {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b"    ");
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(escaped(std::str::from_utf8(&bytes)?))
}

/// The name that other commands of kubectl take, on one line: RBAC's names may have every character but `/` and `%`.
pub(super) fn name(kind: &ServedKind, object: &Value) -> String {
    format!("{}/{}", kind.name_prefix(), cell(&object["metadata"]["name"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_form_of_kubectl() {
        let kind = ServedKind::of_test("apps/v1/deployments");
        let metadata = json!({"name": "web", "managedFields": [1], "labels": {"b": "1", "a": "2"}});
        let answer =
            json!({"kind": "DeploymentList", "items": [{"spec": 1, "metadata": metadata}]});
        let found = objects(&kind, answer);
        assert_eq!(name(&kind, &found[0]), "deployment.apps/web");
        let odd = json!({"metadata": {"name": "web\u{1b}[2J\nother"}});
        assert_eq!(name(&kind, &odd), r"deployment.apps/web\u{1b}[2J\nother");
        let text = json(&list(found.clone())).expect("a text");
        let head = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"apiVersion\": \"apps/v1\",\n            \"kind\": \"Deployment\",\n            \"metadata\": {\n                \"labels\": {\n                    \"a\": \"2\",";
        assert!(text.starts_with(head), "{text}");
        assert!(!text.contains("managedFields"), "{text}");
        let one = typed(&kind, json!({"metadata": {"name": "web"}, "items": [1]}));
        assert_eq!(
            one,
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "items": [1]})
        );
        assert!(yaml(&one).expect("a text").starts_with("apiVersion: apps/v1\nitems:"));
    }

    #[test]
    fn documents_of_yaml_have_a_line_between_them() {
        let lines = |is_yaml| {
            let mut documents = Documents::of(is_yaml);
            let mut lines = documents.lines(vec!["a: 1".to_owned(), "b: 2".to_owned()]);
            lines.extend(documents.lines(vec!["c: 3".to_owned()]));
            lines.join(" ")
        };
        assert_eq!(lines(true), "a: 1 --- b: 2 --- c: 3");
        assert_eq!(lines(false), "a: 1 b: 2 c: 3");
    }
}
