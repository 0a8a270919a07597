//! The input of a run: objects, and a file with one JSON object on each line for later changes. Synchronous.

use super::field_error;
use crate::event::Change;
use crate::outside::outbound::Target;
use bytes::Bytes;
use informant_apimachinery::{GroupVersionResource, duration};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes of an events file: some thousand whole objects.
pub const SCRIPT_BYTES_MAX: usize = 64 << 20;
/// The most lines of a file.
pub(super) const STEPS_MAX: usize = 100_000;
/// The longest wait of one line: schedules and retries run all the time.
const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 3_600);

/// The whole input of a run.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The objects at the beginning.
    pub objects: Vec<KindedObject>,
    /// Whether the plugin's writes change the objects, and cause events.
    pub apply_writes: bool,
    pub(super) steps: Vec<Step>,
}

/// An object and its resource.
#[derive(Debug, Clone)]
pub struct KindedObject {
    /// The source of the object, for errors.
    pub source: String,
    /// The resource.
    pub resource: GroupVersionResource,
    /// The object as JSON. Missing fields that an API server sets are added.
    pub json: Vec<u8>,
}

/// The reason for which an events file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    /// The problem, for the author.
    pub problem: String,
}

/// One line.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) line: usize,
    /// The time of the line; `None`: at once.
    pub(super) time: Option<Timestamp>,
    pub(super) what: What,
}

impl Step {
    /// Whether the line only prepares an answer, at or before this time.
    pub(super) fn is_answer_by(&self, time: Timestamp) -> bool {
        matches!(self.what, What::Answer(_)) && self.time.is_none_or(|at| at <= time)
    }
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Change(ScriptedChange),
    /// A pause.
    Wait(Duration),
    Answer(ScriptedAnswer),
    /// Only the time changes.
    Nothing,
}

#[derive(Debug, Clone)]
pub(super) struct ScriptedChange {
    pub(super) resource: GroupVersionResource,
    pub(super) change: Change,
    pub(super) object: Bytes,
    pub(super) old: Option<Bytes>,
}

/// From here on such requests and writes get this answer.
#[derive(Debug, Clone)]
pub(super) enum ScriptedAnswer {
    Http(HttpAnswer),
    Kube(KubeAnswer),
}

/// Matching requests, and their answer.
#[derive(Debug, Clone)]
pub(super) struct HttpAnswer {
    pub(super) method: Option<String>,
    pub(super) target: Target,
    pub(super) answer: Result<HttpResult, String>,
    /// The number of uses; `None`: always.
    pub(super) times: Option<u32>,
}

#[derive(Debug, Clone)]
pub(super) struct HttpResult {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    /// A text unchanged, any other value as JSON.
    pub(super) body: Value,
}

/// Matching writes, and their answer. A missing field matches everything.
#[derive(Debug, Clone)]
pub(super) struct KubeAnswer {
    pub(super) of: KubeMatch,
    pub(super) answer: KubeResult,
    pub(super) times: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KubeMatch {
    pub(super) verb: Option<String>,
    pub(super) resource: Option<String>,
    /// `namespace/name`, or the name of an object without a namespace.
    pub(super) key: Option<String>,
    pub(super) subresource: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct KubeResult {
    /// The object in the answer, in place of the computed one.
    pub(super) object: Option<Value>,
    /// The status of a refusal.
    pub(super) status: Option<u16>,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) message: String,
    pub(super) retry_after: Option<String>,
    /// No answer, with this error.
    pub(super) error: Option<String>,
}

/// A line in its written form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine<'a> {
    time: Option<Timestamp>,
    resource: Option<String>,
    change: Option<String>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old: Option<&'a RawValue>,
    wait: Option<String>,
    http: Option<Value>,
    kube: Option<Value>,
    answer: Option<Value>,
    times: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpMatch {
    method: Option<String>,
    url: String,
}

/// The answer to an HTTP request: an error's text, or a response.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpSaid {
    error: Option<String>,
    status: Option<u16>,
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    body: Value,
}

impl Script {
    /// Reads an events file: a JSON object on each line. Empty lines, and lines that begin with `#`, are skipped.
    pub fn parse(text: &[u8]) -> Result<Self, ScriptError> {
        let fail = |line, problem| ScriptError { line, problem };
        if text.len() > SCRIPT_BYTES_MAX {
            let found = text.len();
            let problem =
                format!("the file has {found} bytes, and at most {SCRIPT_BYTES_MAX} are read");
            return Err(fail(1, problem));
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut before: Option<Timestamp> = None;
        for (number, bytes) in text.split(|byte| *byte == b'\n').enumerate() {
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() || bytes.starts_with(b"#") {
                continue;
            }
            let line = number + 1;
            if steps.len() >= STEPS_MAX {
                return Err(fail(line, format!("at most {STEPS_MAX} lines are read")));
            }
            let (time, what) = read(bytes).map_err(|problem| fail(line, problem))?;
            if let (Some(time), Some(before)) = (time, before)
                && time < before
            {
                return Err(fail(line, format!("its time is before {before}, which has passed")));
            }
            before = time.or(before);
            steps.push(Step { line, time, what });
        }
        Ok(Self { steps, ..Self::default() })
    }

    /// The start of the run: the first time in the file, or the first day of 2026.
    pub(super) fn begins(&self) -> Timestamp {
        let said = self.steps.first().and_then(|step| step.time);
        said.unwrap_or(Timestamp::constant(1_767_225_600, 0))
    }
}

fn read(bytes: &[u8]) -> Result<(Option<Timestamp>, What), String> {
    let line: ScriptLine<'_> = field_error::parse(bytes)?;
    let time = line.time;
    let is_change = line.resource.is_some() || line.change.is_some() || line.object.is_some();
    let kinds = [is_change, line.wait.is_some(), line.http.is_some(), line.kube.is_some()];
    let what = match kinds {
        [false, false, false, false] if time.is_some() => What::Nothing,
        [true, false, false, false] => What::Change(change(&line)?),
        [false, true, false, false] => What::Wait(wait(&line.wait.unwrap_or_default())?),
        [false, false, true, false] => What::Answer(ScriptedAnswer::Http(http(line)?)),
        [false, false, false, true] => What::Answer(ScriptedAnswer::Kube(kube(line)?)),
        _ => {
            return Err(
                "it is to have one of `resource`, `wait`, `http`, `kube` and `time`".to_owned()
            );
        }
    };
    Ok((time, what))
}

fn change(line: &ScriptLine<'_>) -> Result<ScriptedChange, String> {
    let resource = line.resource.as_deref().ok_or("it has no `resource`")?;
    let resource = resource.parse::<GroupVersionResource>().map_err(|error| error.to_string())?;
    let change = line.change.as_deref().ok_or("it has no `change`")?;
    let change = Change::ALL.into_iter().find(|it| it.as_str() == change);
    let change = change.ok_or("its `change` is none of added, updated and deleted")?;
    let bytes = |raw: &RawValue| Bytes::copy_from_slice(raw.get().as_bytes());
    let object = line.object.map(bytes).ok_or("it has no `object`")?;
    let old = line.old.map(bytes);
    if old.is_some() && change == Change::Added {
        return Err("what is added has no `old`".to_owned());
    }
    Ok(ScriptedChange { resource, change, object, old })
}

fn wait(text: &str) -> Result<Duration, String> {
    let wait = duration::parse(text).map_err(|error| format!("wait: {error}"))?;
    match wait <= WAIT_MAX {
        true => Ok(wait),
        false => Err(format!("wait: at most {} pass with one line", duration::show(WAIT_MAX))),
    }
}

fn http(line: ScriptLine<'_>) -> Result<HttpAnswer, String> {
    let HttpMatch { method, url } = field_error::read("http", &line.http.unwrap_or_default())?;
    let target = Target::parse(&url).map_err(|problem| format!("http.url: {problem}"))?;
    let answer = line.answer.ok_or("it has no `answer`")?;
    let answer = match field_error::read("answer", &answer)? {
        HttpSaid { error: Some(error), status: None, body: Value::Null, headers: None } => {
            Err(error)
        }
        HttpSaid { error: None, status: Some(status), headers, body } => {
            Ok(HttpResult { status, headers: headers.unwrap_or_default(), body })
        }
        _ => {
            return Err("its answer is to have either `error`, or `status` and perhaps `headers` and `body`".to_owned());
        }
    };
    Ok(HttpAnswer { method, target, answer, times: line.times })
}

fn kube(line: ScriptLine<'_>) -> Result<KubeAnswer, String> {
    let of = field_error::read("kube", &line.kube.unwrap_or_default())?;
    let answer = line.answer.ok_or("it has no `answer`")?;
    let answer: KubeResult = field_error::read("answer", &answer)?;
    let said = [answer.object.is_some(), answer.status.is_some(), answer.error.is_some()];
    if said.iter().filter(|is_said| **is_said).count() != 1 {
        return Err("its answer is to have one of `object`, `status` and `error`".to_owned());
    }
    if let Some(text) = &answer.retry_after {
        duration::parse(text).map_err(|error| format!("answer.retryAfter: {error}"))?;
    }
    Ok(KubeAnswer { of, answer, times: line.times })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parsed file, or its problem.
    #[track_caller]
    fn check(text: &str, expect: &str) {
        let shown = match Script::parse(text.as_bytes()) {
            Err(error) => error.to_string(),
            Ok(script) => {
                let steps = script.steps.iter().map(|step| match &step.what {
                    What::Change(it) => format!("{} {}", it.change.as_str(), it.resource),
                    What::Wait(time) => format!("wait {}", duration::show(*time)),
                    What::Answer(ScriptedAnswer::Http(it)) => {
                        format!("http {}", it.target.origin())
                    }
                    What::Answer(ScriptedAnswer::Kube(it)) => format!("kube {:?}", it.of.verb),
                    What::Nothing => "time".to_owned(),
                });
                steps.collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn each_line_says_one_thing() {
        check("", "");
        check("\n# a note\n  \r\n", "");
        let pod = r#"{"resource":"v1/pods","change":"added","object":{}}"#;
        check(&format!("{pod}\r\n{{\"wait\":\"5m\"}}"), "added v1/pods, wait 5m");
        check(r#"{"time":"2026-03-01T00:00:00Z"}"#, "time");
        check(
            r#"{"http":{"url":"https://a.org/x"},"answer":{"status":200}}"#,
            "http https://a.org",
        );
        check(
            r#"{"kube":{"verb":"patch"},"answer":{"status":409},"times":1}"#,
            "kube Some(\"patch\")",
        );
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let which = "it is to have one of `resource`, `wait`, `http`, `kube` and `time`";
        check("{}", &format!("line 1: {which}"));
        check("\n\n{\"wait\":\"1s\",\"kube\":{}}", &format!("line 3: {which}"));
        check(
            r#"{"resource":"pods","change":"added","object":{}}"#,
            "line 1: resource \"pods\" is not written as version/resource (v1/pods) or group/version/resource (apps/v1/deployments): it has not two or three parts",
        );
        check(
            r#"{"resource":"v1/pods","change":"gone","object":{}}"#,
            "line 1: its `change` is none of added, updated and deleted",
        );
        check(r#"{"resource":"v1/pods","change":"added"}"#, "line 1: it has no `object`");
        check(
            r#"{"resource":"v1/pods","change":"added","object":{},"old":{}}"#,
            "line 1: what is added has no `old`",
        );
        check(
            r#"{"wait":"5"}"#,
            "line 1: wait: \"5\" is no duration: write it as in Kubernetes, 500ms, 30s or 1m30s",
        );
        check(r#"{"http":{},"answer":{"status":200}}"#, "line 1: http: missing field `url`");
        check(
            r#"{"http":{"url":"https://a.org"},"answer":{"status":200,"headers":{"a":1}}}"#,
            "line 1: answer.headers.a: invalid type: integer `1`, expected a string",
        );
        let either = "line 1: its answer is to have either `error`, or `status` and perhaps `headers` and `body`";
        check(r#"{"http":{"url":"https://a.org"},"answer":{"body":"a"}}"#, either);
        check(r#"{"http":{"url":"https://a.org"},"answer":{"error":"a","status":200}}"#, either);
        check(
            r#"{"kube":{"verb":["patch"]},"answer":{"status":409}}"#,
            "line 1: kube.verb: invalid type: sequence, expected a string",
        );
        check(
            r#"{"kube":{"name":"a"},"answer":{"status":409}}"#,
            "line 1: kube.name: unknown field `name`, expected one of `verb`, `resource`, `key`, `subresource`",
        );
        check(r#"{"wait":"#, "line 1: wait: EOF while parsing a value");
        check(r#"{"wait":5}"#, "line 1: wait: invalid type: integer `5`, expected a string");
        check(r#"{"wait":"1s"} x"#, "line 1: trailing characters");
        check(
            r#"{"kube":{},"answers":{}}"#,
            "line 1: answers: unknown field `answers`, expected one of `time`, `resource`, `change`, `object`, `old`, `wait`, `http`, `kube`, `answer`, `times`",
        );
        check(
            r#"{"kube":{},"answer":{}}"#,
            "line 1: its answer is to have one of `object`, `status` and `error`",
        );
        check(
            r#"{"http":{"url":"ftp://a"},"answer":{"status":200}}"#,
            "line 1: http.url: a URL begins with https:// or http://",
        );
        check(
            "{\"time\":\"2026-03-02T00:00:00Z\"}\n{\"time\":\"2026-03-01T00:00:00Z\"}",
            "line 2: its time is before 2026-03-02T00:00:00Z, which has passed",
        );
    }

    #[test]
    fn files_are_bounded() {
        let line = "{\"wait\":\"0\"}\n";
        assert!(Script::parse(line.repeat(STEPS_MAX).as_bytes()).is_ok());
        let error = Script::parse(line.repeat(STEPS_MAX + 1).as_bytes()).err();
        assert_eq!(error.map(|it| it.line), Some(STEPS_MAX + 1));
        assert!(Script::parse(&vec![b' '; SCRIPT_BYTES_MAX]).is_ok());
        assert!(Script::parse(&vec![b' '; SCRIPT_BYTES_MAX + 1]).is_err());
        let longest = format!("{{\"wait\":\"{}h\"}}", 366 * 24);
        assert!(Script::parse(longest.as_bytes()).is_ok());
        let longer = format!("{{\"wait\":\"{}h1s\"}}", 366 * 24);
        assert!(Script::parse(longer.as_bytes()).is_err());
    }
}
