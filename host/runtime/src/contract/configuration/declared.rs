//! The declaration of a configuration file as data: the reference page and the JSON schema are made from it.

use crate::contract::limits::Unit;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// One key of an object.
#[derive(Debug, Clone)]
pub struct Declared {
    pub(super) key: &'static str,
    pub(super) kind: ValueKind,
    /// As written in a file; empty without a default.
    pub(super) default: String,
    pub(super) doc: String,
}

/// The type of a key's value.
#[derive(Debug, Clone)]
pub(super) enum ValueKind {
    /// This text.
    Constant(&'static str),
    /// Any value.
    Any,
    /// `true` or `false`.
    Boolean,
    Number {
        unit: Unit,
        bounds: RangeInclusive<u64>,
    },
    /// A text like this one.
    Text(&'static str),
    /// One of these words, each with its meaning.
    Choice(Vec<(&'static str, &'static str)>),
    /// A list with at least so many entries.
    List(Box<ValueKind>, usize),
    Object(Vec<Declared>),
    /// Objects with these keys, under names that the file chooses.
    Named(Vec<Declared>),
}

/// A file's JSON schema, with which editors check YAML.
pub fn json_schema(title: &str, description: &str, declared: &[Declared]) -> Value {
    let mut schema = object(declared);
    let head = [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("title", title),
        ("description", description),
    ];
    let mut whole: Map<String, Value> =
        head.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect();
    whole.extend(schema.as_object_mut().map(std::mem::take).unwrap_or_default());
    whole.into()
}

fn object(declared: &[Declared]) -> Value {
    let constants = declared.iter().filter(|one| matches!(one.kind, ValueKind::Constant(_)));
    let required: Vec<&str> = constants.map(|one| one.key).collect();
    let properties = declared.iter().map(|one| {
        let mut schema = one.kind.schema();
        let text = match one.default.as_str() {
            "" => one.doc.clone(),
            default => format!("{} Default: {default}.", one.doc),
        };
        schema["description"] = text.into();
        (one.key.to_owned(), schema)
    });
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties.collect::<Map<_, _>>(),
    });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

impl ValueKind {
    fn schema(&self) -> Value {
        match self {
            Self::Constant(text) => json!({ "const": text }),
            Self::Any => json!({}),
            Self::Boolean => json!({ "type": "boolean" }),
            Self::Number { unit: Unit::Count | Unit::PerSecond, bounds } => {
                json!({ "type": "integer", "minimum": bounds.start(), "maximum": bounds.end() })
            }
            Self::Number { unit: Unit::Milliseconds, .. } => {
                json!({ "type": "string", "pattern": r"^(0|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$" })
            }
            Self::Number { .. } => json!({
                "type": ["string", "integer"],
                "pattern": r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$",
            }),
            Self::Text(like) => json!({ "type": "string", "examples": [like] }),
            Self::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                json!({ "enum": words })
            }
            Self::List(of, 0) => json!({ "type": "array", "items": of.schema() }),
            Self::List(of, least) => {
                json!({ "type": "array", "items": of.schema(), "minItems": least })
            }
            Self::Object(declared) => object(declared),
            Self::Named(declared) => {
                json!({ "type": "object", "additionalProperties": object(declared) })
            }
        }
    }

    /// The type, for a cell of the page.
    fn shown(&self) -> String {
        match self {
            Self::Constant(text) => format!("`{text}`"),
            Self::Any => "anything".to_owned(),
            Self::Boolean => "`true` or `false`".to_owned(),
            Self::Number { unit, bounds } => {
                let what = match unit {
                    Unit::Count => "number",
                    Unit::Bytes => "size",
                    Unit::Milliseconds => "duration",
                    Unit::PerSecond => "number a second",
                    Unit::BytesPerSecond => "size a second",
                };
                format!("{what}, {} to {}", unit.show(*bounds.start()), unit.show(*bounds.end()))
            }
            Self::Text(like) => format!("text, as `{like}`"),
            Self::Choice(words) => {
                let words: Vec<String> =
                    words.iter().map(|(word, _)| format!("`{word}`")).collect();
                words.join(" or ")
            }
            Self::List(of, _) => format!("list: {}", of.shown()),
            Self::Object(_) => "object".to_owned(),
            Self::Named(_) => "objects by name".to_owned(),
        }
    }

    fn below(&self) -> &[Declared] {
        match self {
            Self::Object(declared) | Self::Named(declared) => declared,
            Self::List(of, _) => of.below(),
            _ => &[],
        }
    }
}

/// The keys as rows of a Markdown table; nested keys follow their object. `skip` has the paths of objects that another
/// table has.
pub fn table(declared: &[Declared], skip: &[&str]) -> String {
    let mut text = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    rows(&mut text, "", declared, skip);
    text
}

fn rows(text: &mut String, prefix: &str, declared: &[Declared], skip: &[&str]) {
    for Declared { key, kind, default, doc } in declared {
        let path = format!("{prefix}{key}");
        let default = match default.as_str() {
            "" => String::new(),
            default if default.starts_with(char::is_lowercase) && default.contains(' ') => {
                default.to_owned()
            }
            default => format!("`{default}`"),
        };
        let words = match kind {
            ValueKind::Choice(words) => {
                words.iter().map(|(word, doc)| format!(" `{word}`: {doc}.")).collect()
            }
            _ => String::new(),
        };
        let _ = writeln!(text, "| `{path}` | {} | {default} | {doc}{words} |", kind.shown());
        if !skip.contains(&path.as_str()) {
            let below = match kind {
                ValueKind::List(..) => format!("{path}[]."),
                ValueKind::Named(_) => format!("{path}.NAME."),
                _ => format!("{path}."),
            };
            rows(text, &below, kind.below(), skip);
        }
    }
}
