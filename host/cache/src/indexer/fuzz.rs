//! Fuzz target: JSON pointers over objects, against serde_json's tree as the oracle.

use crate::json::JsonPointer;
use informant_fuzz::Target;
use serde_json::Value;
use std::collections::BTreeSet;

/// Every value at the end of the steps.
fn reached<'v>(tree: &'v Value, steps: &[&str]) -> Vec<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return vec![tree] };
    let name = step.replace("~1", "/").replace("~0", "~");
    let next: Vec<&Value> = match tree {
        Value::Object(map) if *step == "*" => map.values().collect(),
        Value::Array(items) if *step == "*" => items.iter().collect(),
        Value::Object(map) => map.get(&name).into_iter().collect(),
        // `Value::pointer` decides which texts are positions.
        Value::Array(_) => tree.pointer(&format!("/{step}")).into_iter().collect(),
        _ => Vec::new(),
    };
    next.into_iter().flat_map(|value| reached(value, rest)).collect()
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => {
            let integer = number.as_i64().map(|n| n.to_string());
            let integer = integer.or_else(|| number.as_u64().map(|n| n.to_string()));
            integer.or_else(|| number.as_f64().map(|n| n.to_string()))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[test]
fn json_pointer() {
    let words =
        &["/spec/nodeName", "/*", "/0", "/01", "/+1", "~0", "~1", "\"a\":", "{\"a\":1}", "\n"];
    Target::new(env!("CARGO_MANIFEST_DIR"), "json_pointer").words(words).run(|input| {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return };
        let (text, json) = (&input[..end], &input[end + 1..]);
        let Ok(text) = std::str::from_utf8(text) else { return };
        let Ok(pointer) = text.parse::<JsonPointer>() else { return };
        let found = pointer.values(json);
        // For invalid JSON, or JSON that a tree cannot hold, the result is not defined.
        let Ok(tree) = serde_json::from_slice::<Value>(json) else { return };
        let steps: Vec<&str> = text[1..].split('/').collect();
        let expected: BTreeSet<String> =
            reached(&tree, &steps).into_iter().filter_map(shown).collect();
        match text.contains('*') {
            // A tree has one of each name, and `*` finds both of two.
            true => {
                let found = BTreeSet::from_iter(found);
                assert!(expected.is_subset(&found), "{found:?} has not all of {expected:?}");
            }
            false => assert_eq!(found, Vec::from_iter(expected)),
        }
    });
}
