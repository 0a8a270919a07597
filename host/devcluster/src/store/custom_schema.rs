//! Checks custom objects against the structural schema of their definition (apiextensions-apiserver's
//! `schema/pruning`, `schema/defaulting` and `validation`). Unknown fields are dropped, defaults are filled in, and
//! violations are refused. Supported are types, properties, items, required, enum, and the bounds of numbers, texts
//! and lists. Patterns, formats and CEL rules are not checked.

use informant_apimachinery::StatusCause;
use serde_json::Value;

/// Schemas nested deeper than this are not followed. No author writes such a schema by hand.
const DEPTH_MAX: usize = 48;

const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";

/// The schema of a definition's version, if it has one.
pub fn of_version<'d>(definition: &'d Value, version: &str) -> Option<&'d Value> {
    let versions = definition["spec"]["versions"].as_array()?;
    let version = versions.iter().find(|known| known["name"] == version)?;
    Some(&version["schema"]["openAPIV3Schema"]).filter(|schema| schema.is_object())
}

/// Drops unknown fields and fills in defaults, in this order. The server handles `apiVersion`, `kind` and `metadata`.
pub fn shape(object: &mut Value, schema: &Value) {
    if schema[PRESERVES] != true
        && let (Some(fields), Some(known)) =
            (object.as_object_mut(), schema["properties"].as_object())
    {
        let system = ["apiVersion", "kind", "metadata"];
        fields.retain(|key, _| known.contains_key(key) || system.contains(&key.as_str()));
    }
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
            fill(object, key, schema, DEPTH_MAX);
        }
    }
}

/// Inserts a property's default if it is missing, then shapes the property's value.
fn fill(object: &mut Value, key: &str, schema: &Value, depth: usize) {
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(default) = schema.get("default")
        && fields.get(key).is_none_or(|value| value.is_null() && schema["nullable"] != true)
    {
        fields.insert(key.to_owned(), default.clone());
    }
    if let Some(value) = fields.get_mut(key) {
        inside(value, schema, depth);
    }
}

fn inside(value: &mut Value, schema: &Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Array(items) => {
            for item in items {
                inside(item, &schema["items"], depth);
            }
        }
        Value::Object(fields) => {
            let known = schema["properties"].as_object();
            let others = &schema["additionalProperties"];
            if others.is_object() {
                for value in fields.values_mut() {
                    inside(value, others, depth);
                }
            } else if schema[PRESERVES] != true && *others != true && schema.is_object() {
                fields.retain(|key, _| known.is_some_and(|known| known.contains_key(key)));
            }
            for (key, schema) in known.into_iter().flatten() {
                fill(value, key, schema, depth);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The violations of the schema's rules.
pub fn problems(object: &Value, schema: &Value) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    check_fields(object, schema, "", DEPTH_MAX, &mut causes);
    causes
}

fn check(value: &Value, schema: &Value, path: &str, depth: usize, causes: &mut Vec<StatusCause>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    if let Some(problem) = type_problem(value, schema) {
        causes.push(StatusCause {
            reason: "FieldValueTypeInvalid".into(),
            message: format!("Invalid value: {value}: {problem}"),
            field: path.to_owned(),
        });
        return;
    }
    if let Some(known) = schema["enum"].as_array().filter(|known| !known.contains(value)) {
        let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        causes.push(StatusCause::not_supported(path, &shown, &known));
    }
    if let Some(problem) = bound_problem(value, schema) {
        causes.push(StatusCause::invalid(path, value, &problem));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, &schema["items"], &format!("{path}[{index}]"), depth, causes);
    }
    check_fields(value, schema, path, depth, causes);
}

fn check_fields(
    value: &Value,
    schema: &Value,
    path: &str,
    depth: usize,
    causes: &mut Vec<StatusCause>,
) {
    let Some(fields) = value.as_object() else { return };
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for key in required.filter(|key| !fields.contains_key(*key)) {
        causes.push(StatusCause::required(&join(key), ""));
    }
    for (key, value) in fields {
        let own = &schema["properties"][key];
        let schema = if own.is_object() { own } else { &schema["additionalProperties"] };
        let is_system =
            path.is_empty() && matches!(key.as_str(), "apiVersion" | "kind" | "metadata");
        if schema.is_object() && !is_system {
            check(value, schema, &join(key), depth, causes);
        }
    }
}

fn type_problem(value: &Value, schema: &Value) -> Option<String> {
    let is_integer = value.is_i64() || value.is_u64();
    if schema["x-kubernetes-int-or-string"] == true {
        let fits = is_integer || value.is_string();
        return (!fits).then(|| "must be a whole number or a string".to_owned());
    }
    let wanted = schema["type"].as_str()?;
    let fits = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => is_integer,
        "number" => value.is_number(),
        _ => true,
    };
    (!fits).then(|| format!("must be of type {wanted}"))
}

fn bound_problem(value: &Value, schema: &Value) -> Option<String> {
    let (size, least, most) = match value {
        Value::Number(number) => (number.as_f64()?, "minimum", "maximum"),
        Value::String(text) => (text.chars().count() as f64, "minLength", "maxLength"),
        Value::Array(items) => (items.len() as f64, "minItems", "maxItems"),
        Value::Object(fields) => (fields.len() as f64, "minProperties", "maxProperties"),
        Value::Null | Value::Bool(_) => return None,
    };
    if let Some(bound) = schema[least].as_f64().filter(|bound| size < *bound) {
        return Some(format!("{least} is {bound}"));
    }
    let bound = schema[most].as_f64().filter(|bound| size > *bound)?;
    Some(format!("{most} is {bound}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "required": ["e"],
            "properties": {
                "n": {"type": "integer", "minimum": 1, "default": 5},
                "e": {"type": "string", "enum": ["a", "b"]},
                "list": {"type": "array", "maxItems": 2, "items": {
                    "type": "object", "properties": {"x": {"type": "string", "default": "y"}},
                }},
                "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "free": {"type": "object", PRESERVES: true},
                "port": {"x-kubernetes-int-or-string": true},
            },
        }}})
    }

    #[track_caller]
    fn check_shape(spec: Value, expect: Value) {
        let mut object =
            json!({"kind": "Thing", "metadata": {"name": "a"}, "spec": spec, "other": 1});
        shape(&mut object, &schema());
        assert_eq!(object, json!({"kind": "Thing", "metadata": {"name": "a"}, "spec": expect}));
        assert_eq!(problems(&object, &schema()), Vec::new());
    }

    #[track_caller]
    fn check_problems(spec: Value, expect: &[(&str, &str)]) {
        let causes = problems(&json!({"spec": spec}), &schema());
        let seen: Vec<(&str, &str)> =
            causes.iter().map(|cause| (cause.field.as_str(), cause.reason.as_ref())).collect();
        assert_eq!(seen, expect);
    }

    #[test]
    fn unknown_fields_go_and_defaults_come() {
        check_shape(json!({"e": "a", "unknown": 1}), json!({"e": "a", "n": 5}));
        check_shape(json!({"e": "a", "n": 7}), json!({"e": "a", "n": 7}));
        let list = json!({"e": "a", "n": 1, "list": [{}, {"x": "z", "q": 1}]});
        check_shape(list, json!({"e": "a", "n": 1, "list": [{"x": "y"}, {"x": "z"}]}));
        let open =
            json!({"e": "a", "n": 1, "map": {"q": true}, "free": {"q": {"r": 1}}, "port": 1});
        check_shape(open.clone(), open);
    }

    #[test]
    fn broken_rules_are_named_by_their_fields() {
        check_problems(json!({}), &[("spec.e", "FieldValueRequired")]);
        let both = [("spec.e", "FieldValueNotSupported"), ("spec.n", "FieldValueInvalid")];
        check_problems(json!({"e": "z", "n": 0}), &both);
        check_problems(json!({"e": "a", "n": "x"}), &[("spec.n", "FieldValueTypeInvalid")]);
        check_problems(json!("x"), &[("spec", "FieldValueTypeInvalid")]);
        let map = [("spec.map.q", "FieldValueTypeInvalid")];
        check_problems(json!({"e": "a", "map": {"q": 1}}), &map);
        let long = json!({"e": "a", "list": [{}, {}, {}]});
        check_problems(long, &[("spec.list", "FieldValueInvalid")]);
        let item = [("spec.list[1].x", "FieldValueTypeInvalid")];
        check_problems(json!({"e": "a", "list": [{}, {"x": 1}]}), &item);
        check_problems(json!({"e": "a", "port": true}), &[("spec.port", "FieldValueTypeInvalid")]);
    }
}
