//! The lines of a recording in their written form: a JSON object each. The first line describes the recording.
//! Synchronous.

use crate::event::CurrentEvent;
use crate::event::{Change, Gone, Reason};
use crate::guest::bindings::exports::informant::plugin::handler;
use crate::guest::tape::Called;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The only version.
const VERSION: u32 = 1;
/// The kind in the first line.
const KIND: &str = "recording";
/// The most lines that are read: more than the largest recording has in practice.
const LINES_MAX: usize = 10_000_000;
/// The bytes of one line: a page of answers with its escapes.
const LINE_BYTES_MAX: usize = 64 << 20;

/// The reason for which a file is not a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct RecordingError {
    /// From 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// The recording of one version of a plugin in one shard.
#[derive(Debug, Clone)]
pub struct Recording {
    pub(crate) head: RecordingHead,
    pub(crate) moments: Vec<Moment>,
    /// The reason of its end; `None` if the file has no last line.
    pub(crate) stopped: Option<String>,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RecordingHead {
    pub(crate) informant: String,
    pub(crate) version: u32,
    pub(crate) host: String,
    pub(crate) plugin: String,
    pub(crate) plugin_version: String,
    /// The shard's number, and the number of shards.
    pub(crate) shard: [usize; 2],
    pub(crate) began: Timestamp,
    /// In the descriptor's order.
    pub(crate) subscriptions: Vec<NamedSubscription>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedSubscription {
    pub(crate) name: String,
    pub(crate) resource: String,
}

/// A call, its host calls and its end.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    /// Milliseconds since the recording began.
    pub(crate) at: u64,
    pub(crate) with: CalledWith,
    pub(crate) asked: Vec<RecordedHostCall>,
}

/// A line after the first.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line", deny_unknown_fields)]
pub(crate) enum RecordingLine {
    Call {
        at: u64,
        with: CalledWith,
    },
    Asked(RecordedHostCall),
    /// The end of the call.
    Ended {
        result: Value,
    },
    /// The end of the recording.
    Stopped {
        why: String,
    },
}

/// A call of a host function, with its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedHostCall {
    pub(crate) function: String,
    pub(crate) with: Value,
    pub(crate) answer: Value,
}

/// The call of the guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum CalledWith {
    Start,
    Stop,
    Snapshot,
    /// The snapshot is not in a recording.
    Restore {
        from: String,
    },
    Synced {
        subscription: u32,
    },
    Reconcile {
        key: String,
        attempt: u32,
    },
    Fire {
        schedule: String,
        unix_ms: u64,
    },
    Handle(Box<HandledEvent>),
}

/// An event as the guest got it, with the whole of both states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HandledEvent {
    pub(crate) seq: u64,
    pub(crate) subscription: u32,
    pub(crate) change: Word<Change>,
    pub(crate) reason: Word<Reason>,
    pub(crate) gone: Option<Word<Gone>>,
    pub(crate) coalesced: u32,
    pub(crate) attempt: u32,
    /// The newest state as text, or the last state of a deleted object.
    pub(crate) object: String,
    pub(crate) old: Option<String>,
}

/// One of a few words, as the contract spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<T>(pub(crate) T);

macro_rules! word {
    ($kind:ty) => {
        impl Serialize for Word<$kind> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0.as_str())
            }
        }

        impl<'de> Deserialize<'de> for Word<$kind> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let found = <$kind>::ALL.into_iter().find(|it| it.as_str() == text);
                found.map(Self).ok_or_else(|| serde::de::Error::custom("a word that is not known"))
            }
        }
    };
}

word!(Change);
word!(Reason);
word!(Gone);

impl CalledWith {
    /// `None` if a word has no counterpart, which never happens for a guest's words.
    pub(crate) fn of(call: &Called<'_>) -> Option<Self> {
        Some(match call {
            Called::Start => Self::Start,
            Called::Stop => Self::Stop,
            Called::Snapshot => Self::Snapshot,
            Called::Restore(from, _) => Self::Restore { from: (*from).to_owned() },
            Called::Synced(subscription) => Self::Synced { subscription: *subscription },
            Called::Reconcile(key, attempt) => {
                Self::Reconcile { key: (*key).to_owned(), attempt: *attempt }
            }
            Called::Fire(schedule, unix_ms) => {
                Self::Fire { schedule: (*schedule).to_owned(), unix_ms: *unix_ms }
            }
            Called::Handle(event, current) => Self::Handle(Box::new(handled(event, current)?)),
        })
    }
}

fn handled(event: &handler::Event<'_>, current: &CurrentEvent) -> Option<HandledEvent> {
    let text = |object: &informant_cache::Object| {
        String::from_utf8(CurrentEvent::json_of(object, current.metadata_only).to_vec()).ok()
    };
    let shown = &current.event;
    // The last state of a deleted object is `object`.
    let old = shown.new_state().and(shown.old_state());
    Some(HandledEvent {
        seq: event.seq,
        subscription: event.subscription,
        change: Word(shown.change),
        reason: Word(shown.reason),
        gone: shown.gone.map(Word),
        coalesced: event.coalesced,
        attempt: event.attempt,
        object: text(&shown.object)?,
        old: old.and_then(text),
    })
}

impl RecordingHead {
    pub(crate) fn new(
        plugin: &str,
        plugin_version: &str,
        shard: [usize; 2],
        began: Timestamp,
        subscriptions: Vec<NamedSubscription>,
    ) -> Self {
        Self {
            informant: KIND.to_owned(),
            version: VERSION,
            host: env!("CARGO_PKG_VERSION").to_owned(),
            plugin: plugin.to_owned(),
            plugin_version: plugin_version.to_owned(),
            shard,
            began,
            subscriptions,
        }
    }
}

impl Recording {
    /// Reads a recording. An incomplete last line, which a killed host leaves, is ignored.
    pub fn parse(text: &[u8]) -> Result<Self, RecordingError> {
        Self::parse_within(text, LINES_MAX)
    }

    fn parse_within(text: &[u8], lines_max: usize) -> Result<Self, RecordingError> {
        let fail = |line, problem: &str| RecordingError { line, problem: problem.to_owned() };
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..end].split_terminator_lines().enumerate();
        let (_, first) = lines.next().ok_or_else(|| fail(1, "it is empty"))?;
        let head = head(first).map_err(|problem| fail(1, &problem))?;
        let mut recording = Self { head, moments: Vec::new(), stopped: None };
        for (number, line) in lines {
            if number >= lines_max {
                return Err(fail(number + 1, &format!("at most {lines_max} lines are read")));
            }
            recording.add(line).map_err(|problem| fail(number + 1, &problem))?;
        }
        Ok(recording)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        if self.stopped.is_some() {
            return Err("there is more after the line that ends it".to_owned());
        }
        match read::<RecordingLine>(line)? {
            RecordingLine::Call { at, with } => {
                if self.moments.last().is_some_and(|before| before.at > at) {
                    return Err("it is earlier than the call before it".to_owned());
                }
                self.moments.push(Moment { at, with, asked: Vec::new() });
            }
            RecordingLine::Asked(asked) => {
                let moment = self.moments.last_mut();
                moment.ok_or("it is asked before any call")?.asked.push(asked);
            }
            RecordingLine::Ended { .. } if self.moments.is_empty() => {
                return Err("it ends a call that has not begun".to_owned());
            }
            RecordingLine::Ended { .. } => {}
            RecordingLine::Stopped { why } => self.stopped = Some(why),
        }
        Ok(())
    }
}

fn head(line: &[u8]) -> Result<RecordingHead, String> {
    let head: RecordingHead = read(line)?;
    if head.informant != KIND {
        return Err("it is no recording".to_owned());
    }
    if head.version != VERSION {
        let found = head.version;
        return Err(format!("it is of version {found}, and this program reads {VERSION}"));
    }
    Ok(head)
}

fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    if line.len() > LINE_BYTES_MAX {
        let found = line.len();
        return Err(format!("it has {found} bytes, and at most {LINE_BYTES_MAX} are read"));
    }
    serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        crate::one_line::one_line(text, 256).into_owned()
    })
}

/// Lines of bytes, each with its line end.
trait ReadLines {
    fn split_terminator_lines(&self) -> impl Iterator<Item = &[u8]>;
}

impl ReadLines for [u8] {
    fn split_terminator_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.split_inclusive(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"informant":"recording","version":1,"host":"0.1.0","plugin":"p","pluginVersion":"1","shard":[0,1],"began":"2026-01-01T00:00:00Z","subscriptions":[{"name":"v1/pods","resource":"v1/pods"}]}"#;
    const START: &str = r#"{"line":"call","at":0,"with":"start"}"#;

    /// The number of calls, host calls and ends, or the problem.
    #[track_caller]
    fn check(lines: &[&str], expect: &str) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        check_text(&text, expect);
    }

    #[track_caller]
    fn check_text(text: &str, expect: &str) {
        let shown = match Recording::parse(text.as_bytes()) {
            Err(error) => error.to_string(),
            Ok(recording) => {
                let asked: usize = recording.moments.iter().map(|it| it.asked.len()).sum();
                format!("{} calls, {asked} asked, {:?}", recording.moments.len(), recording.stopped)
            }
        };
        assert_eq!(shown, expect, "{text}");
    }

    #[test]
    fn what_was_written_is_read() {
        let asked =
            r#"{"line":"asked","function":"state.get","with":{"key":"a"},"answer":{"ok":null}}"#;
        let ended = r#"{"line":"ended","result":{"ok":null}}"#;
        let stopped = r#"{"line":"stopped","why":"the host ended"}"#;
        check(&[HEAD], "0 calls, 0 asked, None");
        check(&[HEAD, START, asked, ended], "1 calls, 1 asked, None");
        check(&[HEAD, START, ended, stopped], "1 calls, 0 asked, Some(\"the host ended\")");
        check_text(&format!("{HEAD}\n{START}\n{{\"line\":\"as"), "1 calls, 0 asked, None");
        let event = r#"{"line":"call","at":5,"with":{"handle":{"seq":1,"subscription":0,"change":"deleted","reason":"watch","gone":"left-view","coalesced":0,"attempt":1,"object":"{}","old":null}}}"#;
        check(&[HEAD, event], "1 calls, 0 asked, None");
        let line: RecordingLine = serde_json::from_str(event).expect("it is one");
        assert_eq!(serde_json::to_string(&line).expect("it can be written"), event);
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        check_text("", "line 1: it is empty");
        check_text(HEAD, "line 1: it is empty");
        check(&["{}"], "line 1: missing field `informant`");
        check(&[&HEAD.replace("\"recording\"", "\"letter\"")], "line 1: it is no recording");
        check(
            &[&HEAD.replace("\"version\":1", "\"version\":2")],
            "line 1: it is of version 2, and this program reads 1",
        );
        let ended = r#"{"line":"ended","result":null}"#;
        check(&[HEAD, ended], "line 2: it ends a call that has not begun");
        let stopped = r#"{"line":"stopped","why":""}"#;
        check(&[HEAD, stopped, START], "line 3: there is more after the line that ends it");
        let later = START.replace("\"at\":0", "\"at\":9");
        check(&[HEAD, &later, START], "line 3: it is earlier than the call before it");
        check(&[HEAD, "\u{1b}"], "line 2: expected value");
    }

    #[test]
    fn lines_are_bounded() {
        let text = format!("{HEAD}\n{START}\n{START}\n");
        assert!(Recording::parse_within(text.as_bytes(), 3).is_ok());
        let error = Recording::parse_within(text.as_bytes(), 2).err();
        assert_eq!(error.map(|it| it.line), Some(3));
        let long = format!("{HEAD}\n\"{}\"\n", "x".repeat(LINE_BYTES_MAX - 2));
        let problem = |text: &str| Recording::parse(text.as_bytes()).err().map(|it| it.problem);
        assert!(
            problem(&long).is_some_and(|it| !it.contains("at most")),
            "it is read, and no line of one"
        );
        let longer = format!("{HEAD}\n\"{}\"\n", "x".repeat(LINE_BYTES_MAX - 1));
        assert!(problem(&longer).is_some_and(|it| it.contains("at most")));
    }
}
