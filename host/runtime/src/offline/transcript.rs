//! The result of a run, a line for each step: for people and for machines, and the same bytes in each run.

use crate::one_line::one_line;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The most lines of a transcript.
pub(super) const LINES_MAX: usize = 1_000_000;
/// The most bytes of the lines.
pub(super) const BYTES_MAX: usize = 256 << 20;

/// The line after the last failed attempt of an event, key or firing.
pub(super) const GAVE_UP: &str = "gave up";
/// The last line.
pub(super) const END: &str = "end";

/// All calls of a plugin and its actions, in order.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    lines: Vec<TranscriptLine>,
    bytes: usize,
    /// The reason of an early end.
    cut: Option<String>,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct TranscriptLine {
    /// Milliseconds since the start.
    pub(super) at: u64,
    /// Whether it belongs to the call above it.
    pub(super) is_inner: bool,
    pub(super) what: String,
    pub(super) with: Map<String, Value>,
    pub(super) answer: Option<Value>,
}

impl Transcript {
    /// The reason of the run's early end, if it ended early.
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// How many failed events, keys and firings were given up.
    pub fn given_up(&self) -> usize {
        self.lines.iter().filter(|line| line.what == GAVE_UP).count()
    }

    /// How many events were neither handled nor given up at the end: failed ones, and those behind them.
    pub fn unfinished(&self) -> u64 {
        let end = self.lines.iter().rfind(|line| line.what == END);
        end.and_then(|line| line.with.get("waitingEvents")?.as_u64()).unwrap_or_default()
    }

    pub(super) fn cut_off(&mut self, why: String) {
        self.cut.get_or_insert(why);
    }

    pub(super) fn push(&mut self, line: TranscriptLine) {
        self.push_within(line, (LINES_MAX, BYTES_MAX));
    }

    fn push_within(&mut self, line: TranscriptLine, (lines_max, bytes_max): (usize, usize)) {
        if self.cut.is_some() {
            return;
        }
        let bytes = line.size();
        if self.lines.len() >= lines_max || self.bytes + bytes > bytes_max {
            let mebibytes = bytes_max >> 20;
            self.cut_off(format!(
                "it would have more than {lines_max} lines or {mebibytes} MiB: give it less to do"
            ));
            return;
        }
        self.bytes += bytes;
        self.lines.push(line);
    }

    /// As text for people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let _ = writeln!(text, "{}", line.text());
        }
        text
    }

    /// As lines of JSON for machines.
    pub fn to_json_lines(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let _ = writeln!(text, "{}", line.json());
        }
        text
    }
}

impl TranscriptLine {
    fn size(&self) -> usize {
        let values = self.with.values().chain(&self.answer);
        self.what.len() + values.map(size).sum::<usize>()
    }

    fn json(&self) -> Value {
        let mut line = json!({ "atMs": self.at, "what": self.what, "with": self.with });
        if let (Some(answer), Some(members)) = (&self.answer, line.as_object_mut()) {
            members.insert("answer".to_owned(), answer.clone());
        }
        line
    }

    fn text(&self) -> String {
        let (seconds, millis) = (self.at / 1_000, self.at % 1_000);
        let indent = if self.is_inner { "  " } else { "" };
        let mut text = format!("{seconds}.{millis:03} {indent}{}", self.what);
        for (name, value) in &self.with {
            if !is_nothing(value) {
                let _ = write!(text, " {name}={}", shown(value));
            }
        }
        match &self.answer {
            None | Some(Value::Null) => {}
            Some(answer) => {
                let _ = write!(text, " -> {}", shown_answer(answer));
            }
        }
        // A guest's text stays on its line.
        one_line(&text, usize::MAX / 2).into_owned()
    }
}

/// Bytes. An estimate.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(members) => members.iter().map(|(key, it)| key.len() + 4 + size(it)).sum(),
        _ => 8,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// A text without quotes if it is unambiguous, otherwise as JSON.
fn shown(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic() && !b"\"'\\=".contains(&it))
    };
    let is_json =
        || text.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok();
    match is_word(text) || is_json() {
        true => text.clone(),
        false => value.to_string(),
    }
}

/// The answer of a function: `ok` and its value, or the error's name and text.
fn shown_answer(answer: &Value) -> String {
    let only = answer.as_object().filter(|it| it.len() == 1).and_then(|it| it.iter().next());
    match only {
        Some((name, value)) if name == "ok" && is_nothing(value) => "ok".to_owned(),
        Some((name, value)) if name == "ok" => format!("ok {}", shown(value)),
        Some((name, value)) if name == "error" => format!("error {}", shown(value)),
        _ => shown(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(with: Value, answer: Option<Value>) -> TranscriptLine {
        let with = with.as_object().cloned().unwrap_or_default();
        TranscriptLine { at: 1_005, is_inner: true, what: "kube.patch".to_owned(), with, answer }
    }

    #[track_caller]
    fn check(with: Value, answer: Option<Value>, expect: &str) {
        assert_eq!(line(with, answer).text(), format!("1.005   kube.patch{expect}"));
    }

    #[test]
    fn a_line_is_one_line_whatever_is_in_it() {
        check(
            json!({ "key": "a/b", "none": null, "empty": "", "count": 3 }),
            None,
            " key=a/b count=3",
        );
        check(
            json!({ "text": "two words" }),
            Some(json!({ "ok": null })),
            " text=\"two words\" -> ok",
        );
        check(
            json!({ "json": "{\"a\": 1}" }),
            Some(json!({ "ok": "{}" })),
            " json={\"a\": 1} -> ok {}",
        );
        check(json!({ "a": "x\ny\u{202e}" }), None, " a=\"x\\ny\\u{202e}\"");
        let error = json!({ "error": { "not-granted": "no" } });
        check(json!({}), Some(error), " -> error {\"not-granted\":\"no\"}");
    }

    #[test]
    fn machines_get_all_of_it() {
        let found = line(json!({ "none": null }), Some(json!(7))).json().to_string();
        let expect = r#"{"atMs":1005,"what":"kube.patch","with":{"none":null},"answer":7}"#;
        assert_eq!(found, expect);
    }

    #[test]
    fn a_transcript_is_bounded() {
        let mut transcript = Transcript::default();
        let one = || line(json!({ "a": "x" }), None);
        let bytes = one().size();
        for _ in 0..3 {
            transcript.push_within(one(), (3, usize::MAX));
        }
        assert_eq!(transcript.cut(), None);
        transcript.push_within(one(), (3, usize::MAX));
        assert!(transcript.cut().is_some_and(|why| why.contains("more than 3 lines")));
        let mut transcript = Transcript::default();
        transcript.push_within(one(), (9, bytes));
        assert_eq!(transcript.cut(), None);
        transcript.push_within(one(), (9, bytes));
        assert!(transcript.cut().is_some());
        assert_eq!(transcript.lines.len(), 1);
    }
}
