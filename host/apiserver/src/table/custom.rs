//! Custom resources: the columns that a CustomResourceDefinition declares (`additionalPrinterColumns`),
//! each found by the simple form of JSONPath that the API server allows there.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::format::{entries, name, plain, text};
use super::human_duration::{since, timestamp};
use crate::excerpt::WantedParts;

/// Entries that the paths of one row may visit, and bytes that its cells may have. Whoever declares columns and creates objects
/// could have each request visit millions. The cells after that stay empty.
const ROW_WORK_MAX: usize = 256 * 1024;

/// A declared column, as far as its cells need it.
pub(super) struct CustomColumn {
    kind: String,
    /// `None` where the declared path cannot be read.
    path: Option<Vec<Step>>,
}

/// One step of a path. A path has at most as many as its text has characters.
#[derive(Debug, PartialEq)]
enum Step {
    /// `.name`, `['name']`
    Member(String),
    /// `[0]`, `[-1]`
    Entry(i64),
    /// `[*]`, `.*`: the first of all of them, since a cell has room for one.
    Every,
    /// `[?(@.type=="Ready")]`: the entries whose member has this value.
    Where(Vec<Step>, String),
}

/// The declared columns, or the age where none are declared.
fn declared(definitions: &Value) -> Cow<'_, [Value]> {
    match entries(definitions) {
        [] => vec![json!({
            "name": "Age",
            "type": "date",
            "jsonPath": ".metadata.creationTimestamp",
        })]
        .into(),
        declared => declared.into(),
    }
}

/// The columns. One whose path cannot be read stays empty.
pub(super) fn columns(definitions: &Value) -> Vec<CustomColumn> {
    declared(definitions).iter().map(column).collect()
}

fn column(declared: &Value) -> CustomColumn {
    let kind = text(&declared["type"]).to_owned();
    CustomColumn { kind, path: parse(text(&declared["jsonPath"])) }
}

/// The parts of an object in which the name and the declared paths are found: up to the first step that is no member.
pub(super) fn wanted(columns: &[CustomColumn]) -> WantedParts {
    let mut wanted = WantedParts::default();
    wanted.add(["metadata", "name"]);
    for path in columns.iter().filter_map(|column| column.path.as_ref()) {
        wanted.add(path.iter().map_while(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Entry(_) | Step::Every | Step::Where(..) => None,
        }));
    }
    wanted
}

/// The name's definition and those of the declared columns. Only the head of a table has them: they are made for it
/// alone.
pub(super) fn definitions(definitions: &Value) -> Vec<Value> {
    let name = super::column::NAME.to_json();
    std::iter::once(name).chain(declared(definitions).iter().map(definition)).collect()
}

fn definition(declared: &Value) -> Value {
    let path = text(&declared["jsonPath"]);
    let description = match text(&declared["description"]) {
        "" => format!("Custom resource definition column (in JSONPath format): {path}"),
        description => description.to_owned(),
    };
    json!({
        "name": declared["name"],
        "type": declared["type"],
        "format": text(&declared["format"]),
        "description": description,
        "priority": declared["priority"].as_i64().unwrap_or(0),
    })
}

/// The name and what is found under the declared paths; null where nothing is.
pub(super) fn cells(columns: &[CustomColumn], object: &Value, now: Timestamp) -> Vec<Value> {
    let mut work = Work { left: ROW_WORK_MAX };
    let found = columns.iter().map(|column| {
        let value = column.path.as_ref().and_then(|path| work.find(object, path))?;
        let cell = cell(column, value, now);
        work.spend(cell.as_str().map_or(1, str::len))?;
        Some(cell)
    });
    std::iter::once(name(object)).chain(found.map(Option::unwrap_or_default)).collect()
}

fn cell(column: &CustomColumn, value: &Value, now: Timestamp) -> Value {
    match column.kind.as_str() {
        "integer" => value.as_i64().or(value.as_f64().map(|float| float as i64)).into(),
        "number" => value.as_f64().into(),
        "boolean" => value.as_bool().into(),
        "date" => match value.as_str().map(|_| timestamp(value)) {
            None => Value::Null,
            Some(None) => "<invalid>".into(),
            Some(Some(_)) => since(value, now).into(),
        },
        _ => match value {
            Value::String(text) => text.as_str().into(),
            Value::Null => Value::Null,
            other => other.to_string().into(),
        },
    }
}

/// The work that is left of a row.
struct Work {
    left: usize,
}

impl Work {
    /// None: the row has had its work.
    fn spend(&mut self, work: usize) -> Option<()> {
        let left = self.left.checked_sub(work);
        self.left = left.unwrap_or_default();
        left.map(drop)
    }

    fn find<'v>(&mut self, value: &'v Value, path: &[Step]) -> Option<&'v Value> {
        self.spend(1)?;
        let Some((step, rest)) = path.split_first() else { return Some(value) };
        match step {
            Step::Member(name) => self.find(value.get(name)?, rest),
            Step::Entry(index) => {
                let all = value.as_array()?;
                let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                let index = if *index < 0 { all.len().checked_sub(from_end)? } else { from_end };
                self.find(all.get(index)?, rest)
            }
            Step::Every => match value {
                Value::Array(all) => self.first(all.iter(), |work, entry| work.find(entry, rest)),
                Value::Object(all) => {
                    self.first(all.values(), |work, entry| work.find(entry, rest))
                }
                _ => None,
            },
            Step::Where(path, expect) => self.first(value.as_array()?.iter(), |work, entry| {
                let is_it = plain(work.find(entry, path)?) == *expect;
                if is_it { work.find(entry, rest) } else { None }
            }),
        }
    }

    /// The first value that is found in an entry, as long as work is left.
    fn first<'v>(
        &mut self,
        entries: impl Iterator<Item = &'v Value>,
        find: impl Fn(&mut Self, &'v Value) -> Option<&'v Value>,
    ) -> Option<&'v Value> {
        for entry in entries {
            if let Some(found) = find(self, entry) {
                return Some(found);
            }
            if self.left == 0 {
                break;
            }
        }
        None
    }
}

/// Reads `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a\.b/c']`.
fn parse(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim();
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (step, after) = parse_bracket(bracket)?;
            steps.push(step);
            rest = after;
        } else {
            let (name, after) = parse_member(rest.strip_prefix('.').unwrap_or(rest));
            match name.as_str() {
                "" => return if after.is_empty() && steps.is_empty() { Some(steps) } else { None },
                "*" => steps.push(Step::Every),
                _ => steps.push(Step::Member(name)),
            }
            rest = after;
        }
    }
    Some(steps)
}

/// A member's name up to the next dot or bracket; a backslash takes the next character as it is.
fn parse_member(path: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = path.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, &path[index..]),
            other => name.push(other),
        }
    }
    (name, "")
}

/// What stands between `[` and `]`.
fn parse_bracket(path: &str) -> Option<(Step, &str)> {
    if let Some(filter) = path.strip_prefix("?(@") {
        let (condition, after) = filter.split_once(")]")?;
        let (left, right) = condition.split_once("==")?;
        return Some((Step::Where(parse(left.trim())?, unquoted(right.trim())), after));
    }
    if path.starts_with(['\'', '"']) {
        let quote = if path.starts_with('\'') { "']" } else { "\"]" };
        let (name, after) = path[1..].split_once(quote)?;
        return Some((Step::Member(name.replace('\\', "")), after));
    }
    let (index, after) = path.split_once(']')?;
    let step = if index == "*" { Step::Every } else { Step::Entry(index.parse().ok()?) };
    Some((step, after))
}

fn unquoted(text: &str) -> String {
    text.trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, path: &str, expect: Value) {
        let object = json!({
            "metadata": {"name": "x", "labels": {"a.b/c": "label"},
                "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"replicas": 3, "ratio": 0.5, "on": true, "hosts": ["a", "b"], "deep": {"k": 1}},
            "status": {"conditions": [{"type": "Synced", "status": "False"},
                {"type": "Ready", "status": "True"}]},
        });
        let columns = columns(&json!([{"name": "C", "type": kind, "jsonPath": path}]));
        let now = "2026-01-01T01:00:00Z".parse().expect("a time");
        assert_eq!(cells(&columns, &object, now)[1], expect, "{path}");
    }

    #[test]
    fn paths_find_their_values() {
        check("integer", ".spec.replicas", json!(3));
        check("number", ".spec.ratio", json!(0.5));
        check("boolean", ".spec.on", json!(true));
        check("string", ".spec.replicas", json!("3"));
        check("string", ".spec.hosts[0]", json!("a"));
        check("string", ".spec.hosts[-1]", json!("b"));
        check("string", ".spec.hosts[*]", json!("a"));
        check("string", ".spec.hosts", json!(r#"["a","b"]"#));
        check("string", ".spec['deep'].k", json!("1"));
        check("string", r".metadata.labels.a\.b/c", json!("label"));
        check("string", r#".metadata.labels['a.b/c']"#, json!("label"));
        check("string", r#".status.conditions[?(@.type=="Ready")].status"#, json!("True"));
        check("string", ".status.conditions[?(@.type=='Synced')].status", json!("False"));
        check("date", ".metadata.creationTimestamp", json!("60m"));
    }

    #[test]
    fn what_is_missing_or_of_another_type_stays_empty() {
        check("string", ".spec.nothing", json!(null));
        check("string", ".spec.hosts[7]", json!(null));
        check("string", ".spec.hosts[-7]", json!(null));
        check("integer", ".metadata.name", json!(null));
        check("date", ".metadata.name", json!("<invalid>"));
        check("date", ".spec.replicas", json!(null));
    }

    /// The cells of an object with so many entries, of so many columns of a path.
    #[track_caller]
    fn check_work(entries: usize, columns: usize, path: &str, filled: usize) {
        let object = json!({"spec": {"a": vec![json!([0]); entries]}, "metadata": {"name": "x"}});
        let column = json!({"name": "C", "type": "string", "jsonPath": path});
        let columns = super::columns(&vec![column; columns].into());
        let cells = cells(&columns, &object, Timestamp::UNIX_EPOCH);
        assert_eq!(cells.iter().skip(1).filter(|cell| !cell.is_null()).count(), filled, "{path}");
    }

    #[test]
    fn a_row_visits_a_bounded_number_of_entries_and_has_a_bounded_size() {
        check_work(10, 3_000, ".spec.a[*][0]", 3_000);
        // Nothing is found, and that costs all of the work: the last column has none left.
        let absent = json!({"name": "C", "type": "string", "jsonPath": ".spec.a[*].z"});
        let name = json!({"name": "N", "type": "string", "jsonPath": ".metadata.name"});
        let object = json!({"spec": {"a": vec![0; ROW_WORK_MAX]}, "metadata": {"name": "x"}});
        let cells = |columns: Value| {
            super::cells(&super::columns(&columns), &object, Timestamp::UNIX_EPOCH).split_off(1)
        };
        assert_eq!(cells(json!([name, absent])), [json!("x"), Value::Null]);
        assert_eq!(cells(json!([absent, name])), [Value::Null, Value::Null]);
        // A cell of 40 KB.
        check_work(10_000, 100, ".spec.a", 6);
    }

    #[test]
    fn paths_that_cannot_be_read_stay_empty() {
        for path in ["[", "..", ".a[", ".a[x]", ".a[?(@.b)]", ".a[?(@", ".spec..replicas"] {
            check("string", path, json!(null));
        }
    }
}
