//! Values as YAML for a terminal.

use crate::logging::escaped;
use anyhow::Result;
use informant_runtime::disturbs_terminal;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

/// YAML of the value, in which no character moves the cursor or turns the reading direction. An escape of JSON stands for
/// each within double quotes.
pub(super) fn yaml(value: &Value) -> Result<String> {
    // The serializer does not quote a key on request. JSON is YAML too, and quotes all keys.
    if has_escaped_key(value) {
        return Ok(escaped(&format!("{value:#}")));
    }
    Ok(escaped(serde_saphyr::to_string(&ShownValue(value))?.trim_end()))
}

/// A value whose texts are in double quotes if they need escapes. The serializer itself does so only for control
/// characters.
struct ShownValue<'a>(&'a Value);

impl Serialize for ShownValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if is_escaped(text) => DoubleQuoted(text).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(ShownValue)),
            Value::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, value)| (key, ShownValue(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

fn has_escaped_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_escaped_key),
        Value::Object(members) => {
            members.iter().any(|(key, value)| is_escaped(key) || has_escaped_key(value))
        }
        _ => false,
    }
}

fn is_escaped(text: &str) -> bool {
    text.contains(|one: char| disturbs_terminal(one) && !matches!(one, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: &Value, expect: &str) {
        let text = yaml(value).expect("a text");
        assert_eq!(text, expect);
        assert_eq!(&serde_saphyr::from_str::<Value>(&text).expect("it is YAML"), value);
    }

    #[test]
    fn no_text_turns_the_reading_direction() {
        check(
            &json!({"a": "x\u{202e}y", "b": ["\u{2066}\\\"", "it's \u{200f}\n two lines"]}),
            "a: \"x\\u202ey\"\nb:\n- \"\\u2066\\\\\\\"\"\n- \"it's \\u200f\\n two lines\"",
        );
        check(
            &json!({"k\u{61c}": {"l\u{202a}": 1}, "m": ["\u{2069}\t"]}),
            "{\n  \"k\\u061c\": {\n    \"l\\u202a\": 1\n  },\n  \"m\": [\n    \"\\u2069\\t\"\n  ]\n}",
        );
        let long = "word \u{200e}".repeat(60);
        let escapes = "word \\u200e".repeat(60);
        check(&json!({"long": long}), &format!("long: \"{escapes}\""));
        check(&json!("\u{1b}[2J\u{2028}\u{85}"), "\"\\e[2J\\L\\N\"");
    }

    #[test]
    fn other_texts_are_as_they_were() {
        let value =
            json!({"a": "Zürich", "b": "two\nlines", "c": "1", "d": [], "e": {}, "f": "a\tb"});
        assert_eq!(
            yaml(&value).expect("a text"),
            serde_saphyr::to_string(&value).expect("a text").trim_end()
        );
    }
}
