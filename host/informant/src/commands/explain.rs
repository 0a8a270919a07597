//! `informant explain`: the meaning of a key of the descriptor or of a configuration, from the schemas in this
//! program.

use super::ask::print;
use crate::cli::ExplainArgs;
use anyhow::{Context, Result, bail};
use informant_apimachinery::nearest;
use serde_json::Value;
use std::fmt::Write as _;

/// The documents that have keys, with their schemas.
const DOCUMENTS: [(&str, &str); 3] = [
    ("Descriptor", include_str!("../../../../plugin-sdk/descriptor.schema.json")),
    ("PluginConfiguration", include_str!("../../../docs/schemas/plugin-configuration.json")),
    ("HostConfiguration", include_str!("../../../docs/schemas/host-configuration.json")),
];

/// Prints the key at this path of every document.
pub(crate) fn explain(args: &ExplainArgs) -> Result<()> {
    let path = args.path.as_deref().unwrap_or_default();
    let mut found = String::new();
    for (document, text) in DOCUMENTS {
        let schema: Value = serde_json::from_str(text).with_context(|| {
            format!("the schema of {document} in this program cannot be read; please report this")
        })?;
        if let Some(node) = find(&schema, path) {
            let _ = writeln!(found, "{}", explained(&schema, document, path, node));
        }
    }
    if found.is_empty() {
        bail!("no descriptor and no configuration has the key {path}; {}", advice(path));
    }
    print(found.trim_end());
    Ok(())
}

/// Suggests the path that a misspelt path may have meant.
fn advice(path: &str) -> String {
    let found =
        DOCUMENTS.iter().find_map(|(_, text)| meant(&serde_json::from_str(text).ok()?, path));
    found.map_or("informant explain lists the keys".to_owned(), |path| {
        format!("did you mean {path}?")
    })
}

/// The path with the nearest known key in place of the first unknown key.
fn meant(schema: &Value, path: &str) -> Option<String> {
    let (mut node, mut keys) = (schema, path.split('.'));
    let mut known = Vec::new();
    let unknown = keys.find(|key| match member(schema, node, key.trim_end_matches("[]")) {
        Some(below) => {
            node = below;
            known.push(*key);
            false
        }
        None => true,
    })?;
    let members = inside(schema, node)["properties"].as_object()?;
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    known.push(nearest(unknown, &names)?);
    Some(known.into_iter().chain(keys).collect::<Vec<_>>().join("."))
}

/// The node at a path such as `subscriptions.enqueue`. The path skips the items of lists and the members of maps.
fn find<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.').filter(|key| !key.is_empty());
    keys.try_fold(schema, |node, key| member(schema, node, key.trim_end_matches("[]")))
}

fn member<'a>(schema: &'a Value, node: &'a Value, key: &str) -> Option<&'a Value> {
    let node = inside(schema, node);
    let by_name = node.get("additionalProperties").filter(|it| it.is_object());
    let own = node["properties"].get(key);
    own.or(by_name)
}

/// The node that has the keys below a node: the node of a list's items, or the object among several forms.
fn inside<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let node = resolved(schema, node);
    if let Some(items) = node.get("items") {
        return inside(schema, items);
    }
    let forms = ["oneOf", "anyOf"].iter().find_map(|key| node[*key].as_array());
    let is_object = |form: &&Value| form.get("properties").is_some();
    match forms.and_then(|forms| forms.iter().find(is_object)) {
        Some(object) if node.get("properties").is_none() => object,
        _ => node,
    }
}

fn resolved<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    reference.and_then(|pointer| schema.pointer(pointer)).unwrap_or(node)
}

/// The text in the layout of `kubectl explain`.
fn explained(schema: &Value, document: &str, path: &str, node: &Value) -> String {
    let mut text = match path {
        "" => format!("{document}\n"),
        path => format!("{document}: {path} <{}>\n", kind(schema, node)),
    };
    let about = description(schema, node);
    if !about.is_empty() {
        let _ = writeln!(text, "  {about}");
    }
    let Some(members) = inside(schema, node)["properties"].as_object() else { return text };
    for (key, member) in members {
        let about = description(schema, member);
        let _ = writeln!(text, "\n  {key} <{}>\n    {about}", kind(schema, member));
    }
    text
}

fn description<'a>(schema: &'a Value, node: &'a Value) -> &'a str {
    let own = node["description"].as_str();
    own.or(resolved(schema, node)["description"].as_str()).unwrap_or_default()
}

fn kind(schema: &Value, node: &Value) -> String {
    let node = resolved(schema, node);
    if let Some(items) = node.get("items") {
        return format!("list of {}", kind(schema, items));
    }
    let texts = |values: &[Value]| {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        values.iter().map(text).collect::<Vec<_>>().join(" or ")
    };
    let forms = ["oneOf", "anyOf"].iter().find_map(|key| node[*key].as_array());
    match (&node["type"], &node["enum"], &node["const"]) {
        (Value::String(_), ..) if node["pattern"] == "^/" => "pointer".to_owned(),
        (Value::String(kind), ..) => kind.clone(),
        (Value::Array(kinds), ..) => texts(kinds),
        (_, Value::Array(values), _) => texts(values),
        (.., Value::Null) => forms.map_or("any".to_owned(), |forms| {
            let kinds = forms.iter().map(|form| kind(schema, form));
            kinds.collect::<Vec<_>>().join(" or ")
        }),
        (.., value) => texts(std::slice::from_ref(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: &[&str]) {
        let mut found = Vec::new();
        for (document, text) in DOCUMENTS {
            let schema: Value = serde_json::from_str(text).unwrap();
            let node = find(&schema, path);
            found.extend(node.map(|node| explained(&schema, document, path, node)));
        }
        let heads: Vec<_> = found.iter().filter_map(|text| text.lines().next()).collect();
        assert_eq!(heads, expect, "{found:#?}");
    }

    #[test]
    fn a_path_leads_through_lists_forms_and_names() {
        check(
            "subscriptions.enqueue",
            &["Descriptor: subscriptions.enqueue <list of self or object>"],
        );
        check(
            "subscriptions.enqueue.namespace",
            &["Descriptor: subscriptions.enqueue.namespace <object or none or pointer>"],
        );
        check(
            "subscriptions[].enqueue.owner",
            &["Descriptor: subscriptions[].enqueue.owner <string>"],
        );
        check("limits.memory", &["PluginConfiguration: limits.memory <string or integer>"]);
        check("plugins.NAME.shards", &["HostConfiguration: plugins.NAME.shards <integer>"]);
        check("", &["Descriptor", "PluginConfiguration", "HostConfiguration"]);
        check("subscriptions.enqeue", &[]);
    }

    #[test]
    fn an_unknown_key_comes_with_the_nearest() {
        assert_eq!(advice("subscriptions.enqeue"), "did you mean subscriptions.enqueue?");
        assert_eq!(advice("subscription.enqueue"), "did you mean subscriptions.enqueue?");
        assert_eq!(advice("limits.memroy"), "did you mean limits.memory?");
        assert_eq!(advice("zzzzzz"), "informant explain lists the keys");
    }
}
