//! Every field of a descriptor at its bound, above it, and far above it: accepted, refused with the
//! place, and refused in little memory. The fields are those of the published schema and those that
//! the parser knows: one that is added to either has to be added here, with its bounds.

mod fields;

use allocation_counter::measure;
use fields::{Bound, FIELDS, KINDS, Kind};
use informant_runtime::{Descriptor, FIXED_LIMITS, FixedLimit, Unit};
use serde_json::Value;
use std::collections::BTreeSet;

/// Bytes that reading any descriptor takes at once, beside its own: an error quotes a text, in which
/// an escape has up to six bytes for one.
const PARSING_BYTES_MAX: u64 = 4 << 20;
/// Bytes that it takes at once to refuse a descriptor for its size: those of the words.
const REFUSAL_BYTES_MAX: u64 = 1 << 10;
/// How far above its bound a field is tried.
const HUGE: usize = 100;

fn limit(name: &str) -> &'static FixedLimit {
    let found = FIXED_LIMITS.iter().find(|limit| limit.name == name);
    found.unwrap_or_else(|| panic!("no limit is called {name}"))
}

fn schema() -> Value {
    let text = include_str!("../../../../plugin-sdk/descriptor.schema.json");
    serde_json::from_str(text).expect("the schema is JSON")
}

/// What is wrong with a descriptor, if anything is. It is found in little memory.
fn problem(descriptor: &[u8]) -> Option<String> {
    let bytes_max = limit("descriptorBytes").value as usize;
    let at_once_max =
        if descriptor.len() > bytes_max { REFUSAL_BYTES_MAX } else { PARSING_BYTES_MAX };
    let mut parsed = None;
    let taken = measure(|| parsed = Some(Descriptor::parse(descriptor)));
    let shown = String::from_utf8_lossy(&descriptor[..descriptor.len().min(200)]);
    assert!(taken.bytes_max <= at_once_max, "{} bytes at once: {shown}", taken.bytes_max);
    parsed.expect("it was parsed").err().map(|error| error.to_string())
}

/// A descriptor in which one field has this value.
fn descriptor(kind: &Kind, key: &str, value: Value) -> Vec<u8> {
    let mut object = (kind.least)(key);
    object[key] = value;
    (kind.whole)(object).to_string().into_bytes()
}

/// The value is refused with these words, and with the place; or the descriptor is as a whole.
#[track_caller]
fn check_refused(kind: &Kind, key: &str, value: Value, words: &str) {
    let descriptor = descriptor(kind, key, value);
    let error = problem(&descriptor).unwrap_or_default();
    if descriptor.len() as u64 > limit("descriptorBytes").value {
        let whole = format!("descriptor as a whole: has {} bytes, at most", descriptor.len());
        return assert!(error.starts_with(&whole), "{key}: {error}");
    }
    let place = format!("descriptor {}", kind.place);
    assert!(error.starts_with(&place) && error.contains(key), "{key}: {error}");
    assert!(error.contains(words), "{key}: {error}");
}

#[track_caller]
fn check_accepted(kind: &Kind, key: &str, value: Value) {
    assert_eq!(problem(&descriptor(kind, key, value)), None, "{key} of {}", kind.place);
}

#[test]
fn every_field_is_bounded() {
    for (kind, key, bound) in FIELDS {
        match bound {
            Bound::Limit(name, value) => {
                let max = limit(name).value as usize;
                check_accepted(kind, key, value(max));
                let words = format!("at most {max} are");
                check_refused(kind, key, value(max + 1), &words);
                // Its bytes may be too many first.
                check_refused(kind, key, value(max * HUGE), "at most");
            }
            Bound::Own(max, words, value) => {
                check_accepted(kind, key, value(*max));
                check_refused(kind, key, value(max + 1), words);
                check_refused(kind, key, value(max * HUGE), words);
            }
            Bound::OneOf(values) => {
                values().into_iter().for_each(|value| check_accepted(kind, key, value));
                check_refused(kind, key, "x".repeat(HUGE << 10).into(), "");
            }
        }
    }
}

/// The keys that the parser knows, as it says itself when it is asked for another.
fn known(kind: &Kind) -> BTreeSet<String> {
    let error = problem(&descriptor(kind, "?", Value::Null)).expect("no field is called so");
    let (_, known) = error.split_once("; known are ").expect("it says so");
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_field_that_the_parser_or_the_schema_knows_is_tried() {
    let schema = schema();
    for kind in KINDS {
        let fields = FIELDS.iter().filter(|(of, _, _)| of.schema == kind.schema);
        let tried: BTreeSet<String> = fields.map(|(_, key, _)| (*key).to_owned()).collect();
        let published = schema.pointer(kind.schema).expect("the schema has it")["properties"]
            .as_object()
            .expect("they are an object");
        assert_eq!(tried, published.keys().cloned().collect(), "the schema's of {}", kind.place);
        assert_eq!(tried, known(kind), "the parser's of {}", kind.place);
    }
}

/// What the schema says of a field, or of the entries of its list.
fn published<'s>(schema: &'s Value, kind: &Kind, key: &str, of_entries: bool) -> Vec<&'s Value> {
    let resolved = |value: &'s Value| match value["$ref"].as_str() {
        Some(to) => schema.pointer(to.trim_start_matches('#')).expect("it is there"),
        None => value,
    };
    let field = &schema.pointer(kind.schema).expect("the schema has it")["properties"][key];
    let field = resolved(field);
    let field = if of_entries { resolved(&field["items"]) } else { field };
    match field["anyOf"].as_array() {
        Some(ways) => ways.iter().map(resolved).collect(),
        None => vec![field],
    }
}

/// Bytes are characters there, of which no text has more.
#[test]
fn the_schema_has_the_bounds_of_the_parser() {
    let schema = schema();
    for (kind, key, bound) in FIELDS {
        let Bound::Limit(name, value) = bound else { continue };
        let limit = limit(name);
        let entries = value(2).as_array().map(Vec::len);
        let word = match (limit.unit, entries) {
            (Unit::Bytes, _) => "maxLength",
            (_, Some(2)) => "maxItems",
            // A schema does not count the parts of a text.
            _ => continue,
        };
        let of_entries = entries.is_some() && word == "maxLength";
        let said = published(&schema, kind, key, of_entries);
        let says = |said: &&Value| said[word] == limit.value;
        assert!(said.iter().any(says), "{key} of {}: {word} is {}", kind.place, limit.value);
    }
}

/// A descriptor of so many bytes, most of which are those of texts, lists or levels that nobody reads.
fn filled(begin: &str, with: &str, end: &str, bytes: usize) -> Vec<u8> {
    let mut text = begin.to_owned();
    let room = bytes - begin.len() - end.len();
    text.push_str(&with.repeat(room / with.len()));
    text.push_str(&" ".repeat(bytes - text.len() - end.len()));
    text.push_str(end);
    text.into_bytes()
}

#[test]
fn what_is_no_descriptor_is_refused_in_little_memory() {
    let max = limit("descriptorBytes").value as usize;
    let whole = r#"{"version":"1"}"#;
    assert_eq!(problem(&filled(whole, " ", "", max)), None);
    let begins = [
        (r#"{"version":"1","subscriptions":["#, r#"{"":0},"#, "0]}"),
        (r#"{"version":"1","subscriptions":[{"resource":"v1/pods","enqueue":["#, "{},", "0]}]}"),
        (
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","types":["#,
            r#""added","#,
            "0]}]}",
        ),
        (r#"{"version":"1","x":"#, "[", ""),
        (r#"{"version":"1","http":["#, r#"{"a":"#, ""),
        (r#"{"version":""#, r"\u001b", r#""}"#),
        (r#"{"version":"1",""#, r"\u001b", r#"":0}"#),
        (r#"{"version":"1","reads":[{"resource":""#, r"\n", r#""}]}"#),
        (r#"{"version":"1""#, r#","a":0"#, "}"),
        (r#"{"version":"1","shards":"#, "9", "}"),
        ("", "\u{feff}", ""),
        ("", "\"", ""),
    ];
    for (begin, with, end) in begins {
        for bytes in [max, max + 1, max * 16] {
            let error = problem(&filled(begin, with, end, bytes));
            assert!(error.is_some_and(|error| error.len() < 2 << 10), "{begin}{with}");
        }
    }
}
