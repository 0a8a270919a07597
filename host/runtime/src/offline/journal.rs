//! The tape of a run: makes a transcript of the calls between the guest and its host.

use super::transcript::{Transcript, TranscriptLine};
use crate::call_error::{CallError, Retry};
use crate::event::{Event, Gone};
use crate::guest::bindings::informant::plugin::log::Level;
use crate::guest::surroundings::Surroundings;
use crate::guest::tape::{CallAnswer, Called, Tape, TapeOf, Tapes, level_name};
use crate::recording::{RecordedHostCall, hide_in_call};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Functions that only read are not shown.
const READS: [&str; 6] =
    ["indexer.", "host-info.", "state.get", "state.keys", "workqueue.len", "workqueue.num-"];

pub(super) struct Journal {
    surroundings: Surroundings,
    began: Instant,
    transcript: Mutex<Transcript>,
    /// The names of the version's subscriptions.
    subscriptions: Vec<String>,
    /// The state of a playback.
    played: Mutex<Played>,
}

/// The recorded host calls of the current call.
#[derive(Default)]
struct Played {
    is_one: bool,
    /// Each host call, and whether the playback has used it.
    asked: Vec<(RecordedHostCall, bool)>,
    /// Whether the current answer is not in the recording.
    is_unknown: bool,
}

impl Journal {
    pub(super) fn new(surroundings: Surroundings, subscriptions: Vec<String>) -> Self {
        let (began, transcript) = (surroundings.now(), Mutex::default());
        Self { surroundings, began, transcript, subscriptions, played: Mutex::default() }
    }

    /// Notes something outside of calls.
    pub(super) fn note(&self, what: &str, with: Value) {
        self.line(false, what, with, None);
    }

    /// From here on the guest gets the answers of the recorded call.
    pub(super) fn answer_from(&self, asked: Vec<RecordedHostCall>) {
        let asked = asked.into_iter().map(|it| (it, false)).collect();
        *self.played.lock() = Played { is_one: true, asked, is_unknown: false };
    }

    /// Notes that the run ends early.
    pub(super) fn cut_off(&self, why: String) {
        self.transcript.lock().cut_off(why);
    }

    pub(super) fn is_cut(&self) -> bool {
        self.transcript.lock().cut().is_some()
    }

    pub(super) fn take(&self) -> Transcript {
        std::mem::take(&mut *self.transcript.lock())
    }

    fn line(&self, is_inner: bool, what: &str, with: Value, answer: Option<Value>) {
        let passed = self.surroundings.now().saturating_duration_since(self.began);
        let at = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let with = match with {
            Value::Object(with) => with,
            _ => Map::new(),
        };
        let line = TranscriptLine { at, is_inner, what: what.to_owned(), with, answer };
        self.transcript.lock().push(line);
    }

    fn subscription(&self, index: u32) -> &str {
        self.subscriptions.get(index as usize).map_or("", String::as_str)
    }

    fn shown(&self, call: &Called<'_>) -> (&'static str, Value) {
        match call {
            Called::Start => ("call start", json!({})),
            Called::Stop => ("call stop", json!({})),
            Called::Snapshot => ("call snapshot", json!({})),
            Called::Restore(from, data) => {
                ("call restore", json!({ "from": from, "bytes": data.len() }))
            }
            Called::Synced(index) => {
                ("call synced", json!({ "subscription": self.subscription(*index) }))
            }
            Called::Reconcile(key, attempt) => {
                ("call reconcile", json!({ "key": key, "attempt": attempt }))
            }
            Called::Fire(schedule, unix_ms) => {
                ("call fire", json!({ "schedule": schedule, "unixMs": unix_ms }))
            }
            Called::Handle(event, current) => {
                let more = |count: u32| (count > 0).then_some(count);
                let with = json!({
                    "subscription": self.subscription(event.subscription),
                    "change": current.event.change.as_str(),
                    "reason": current.event.reason.as_str(),
                    "gone": current.event.gone.map(Gone::as_str),
                    "key": current.event.object.key().to_string(),
                    "seq": event.seq,
                    "attempt": event.attempt,
                    "coalesced": more(event.coalesced),
                });
                ("call handle", with)
            }
        }
    }
}

/// One journal for all instances.
impl Tapes for Arc<Journal> {
    fn tape(&self, _: &TapeOf<'_>) -> Option<Arc<dyn Tape>> {
        Some(self.clone())
    }
}

impl Tape for Journal {
    fn called(&self, call: &Called<'_>) {
        let (what, with) = self.shown(call);
        self.line(false, what, with, None);
    }

    fn ended(&self, result: Result<CallAnswer, &CallError>) {
        let answer = match result {
            Ok(CallAnswer::Done) => json!({ "ok": null }),
            Ok(CallAnswer::Again(ms)) => json!({ "ok": { "againAfterMs": ms } }),
            Ok(CallAnswer::Bytes(bytes)) => json!({ "ok": { "bytes": bytes } }),
            Err(error) => json!({ "error": failure(error) }),
        };
        self.line(true, "answer", Value::Null, Some(answer));
    }

    /// The unused answer to this question in the recorded call; else the last answer to it.
    fn answer(&self, function: &'static str, with: &Value) -> Option<Value> {
        let mut played = self.played.lock();
        if !played.is_one {
            return None;
        }
        let mut with = with.clone();
        hide_in_call(function, &mut with, &mut Value::Null);
        let is_it = |it: &RecordedHostCall| it.function == function && it.with == with;
        let next = played.asked.iter().position(|(it, used)| !used && is_it(it));
        let found = next.or_else(|| played.asked.iter().rposition(|(it, _)| is_it(it)));
        played.is_unknown = found.is_none();
        let (asked, used) = played.asked.get_mut(found?)?;
        *used = true;
        Some(asked.answer.clone())
    }

    fn asked(&self, function: &'static str, mut with: Value, answer: Value) {
        let is_unknown = std::mem::take(&mut self.played.lock().is_unknown);
        if let (true, Some(with)) = (is_unknown, with.as_object_mut()) {
            with.insert("recorded".to_owned(), false.into());
        }
        if is_unknown || !READS.iter().any(|read| function.starts_with(read)) {
            self.line(true, function, with, Some(answer));
        }
    }

    fn wants(&self, level: Level) -> Option<bool> {
        Some(!matches!(level, Level::Trace | Level::Debug))
    }

    fn passed_over(&self, subscription: &str, event: &Event) {
        let key = event.object.key().to_string();
        self.note(
            "filtered",
            json!({ "subscription": subscription, "change": event.change.as_str(), "key": key }),
        );
    }

    fn became_keys(&self, subscription: &str, event: &Event, keys: &mut dyn Iterator<Item = &str>) {
        let keys: Vec<&str> = keys.collect();
        let (change, key) = (event.change.as_str(), event.object.key().to_string());
        self.note(
            "enqueue",
            json!({ "subscription": subscription, "change": change, "key": key, "keys": keys }),
        );
    }

    fn logged(&self, level: Level, message: &str, fields: &str) {
        let with = json!({ "level": level_name(level), "message": message, "fields": fields });
        self.line(true, "log", with, None);
    }
}

/// The error of a call, and its next attempt if the plugin decides that.
fn failure(error: &CallError) -> Value {
    let text = error.to_string();
    match error {
        CallError::Guest { retry: Retry::After(wait), .. } => {
            json!({ "failed": text, "againAfterMs": wait.as_millis() as u64 })
        }
        CallError::Guest { retry: Retry::Never, .. } => json!({ "failed": text, "again": "never" }),
        error if error.ends_instance() => json!({ "failed": text, "instance": "ended" }),
        _ => json!({ "failed": text }),
    }
}
