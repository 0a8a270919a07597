//! What `/plugins` and the metrics show of a plugin's name.

use crate::counters::Counters;
use crate::dead_letters::{Bounds, DeadLetters};
use crate::lifecycle::{Input, State};
use crate::plugin_name::PluginName;
use crate::plugin_queue::{PluginQueue, QueueSnapshot};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The shared, current status of one plugin's name.
pub(crate) struct StatusCell {
    name: PluginName,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Arc<PluginQueue>,
    pub(crate) dead_letters: Mutex<DeadLetters>,
    facts: Mutex<Facts>,
}

struct Facts {
    state: State,
    since: Timestamp,
    running: Option<RunningVersion>,
    last_load: Option<LastLoad>,
    last_error: Option<(String, Timestamp)>,
}

/// The version that takes events.
#[derive(Clone, Debug)]
pub(crate) struct RunningVersion {
    pub(crate) version: String,
    pub(crate) sha256: String,
    /// Name and resource of each subscription.
    pub(crate) subscriptions: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
struct LastLoad {
    result: &'static str,
    reason: Option<String>,
    sha256: String,
    at: Timestamp,
}

/// One plugin at one moment.
#[derive(Clone, Debug)]
pub struct PluginStatus {
    /// The plugin's name.
    pub name: PluginName,
    /// What it is doing.
    pub state: State,
    /// Its queue.
    pub queue: QueueSnapshot,
    /// Its counters, which go on counting.
    pub counters: Arc<Counters>,
    /// Dead letters that are kept.
    pub dead_letters: usize,
    since: Timestamp,
    running: Option<RunningVersion>,
    last_load: Option<LastLoad>,
    last_error: Option<(String, Timestamp)>,
}

impl Facts {
    fn step(&mut self, input: Input, now: Timestamp) {
        let before = self.state.clone();
        self.state = before.clone().step(input);
        if self.state.name() != before.name() {
            self.since = now;
        }
    }
}

impl LastLoad {
    fn new(result: &'static str, reason: Option<&str>, sha256: &str, at: Timestamp) -> Self {
        Self { result, reason: reason.map(str::to_owned), sha256: sha256.to_owned(), at }
    }
}

impl StatusCell {
    pub(crate) fn new(
        name: PluginName,
        counters: Arc<Counters>,
        queue: Arc<PluginQueue>,
        dead_letters: Bounds,
        now: Timestamp,
    ) -> Self {
        let facts = Facts {
            state: State::Loading,
            since: now,
            running: None,
            last_load: None,
            last_error: None,
        };
        let dead_letters = Mutex::new(DeadLetters::new(dead_letters));
        Self { name, counters, queue, dead_letters, facts: Mutex::new(facts) }
    }

    pub(crate) fn apply(&self, input: Input, now: Timestamp) {
        self.facts.lock().step(input, now);
    }

    /// A version took over. The state, the version and the result of its load change together, so that nobody sees one
    /// without the others.
    pub(crate) fn took_over(&self, version: RunningVersion, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(Input::Loaded, now);
        facts.last_load = Some(LastLoad::new("ok", None, &version.sha256, now));
        facts.running = Some(version);
        facts.last_error = None;
    }

    /// A version will not take over: `input` says why.
    pub(crate) fn refused(&self, sha256: &str, reason: &str, input: Input, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(input, now);
        facts.last_load = Some(LastLoad::new("failed", Some(reason), sha256, now));
    }

    /// Notes what went wrong in a call.
    pub(crate) fn failed(&self, error: &str, now: Timestamp) {
        self.facts.lock().last_error = Some((error.to_owned(), now));
    }

    pub(crate) fn snapshot(&self) -> PluginStatus {
        let facts = self.facts.lock();
        PluginStatus {
            name: self.name.clone(),
            state: facts.state.clone(),
            queue: self.queue.snapshot(),
            dead_letters: self.dead_letters.lock().len(),
            counters: self.counters.clone(),
            since: facts.since,
            running: facts.running.clone(),
            last_load: facts.last_load.clone(),
            last_error: facts.last_error.clone(),
        }
    }
}

impl PluginStatus {
    /// The entry in `GET /plugins`.
    pub fn to_json(&self) -> Value {
        let age = self.queue.oldest.map(|oldest| oldest.elapsed().as_secs_f64());
        let running = self.running.as_ref();
        let subscriptions = running.iter().flat_map(|running| &running.subscriptions);
        let counters = &self.counters;
        json!({
            "name": self.name.as_str(),
            "version": running.map(|running| &running.version),
            "sha256": running.map(|running| &running.sha256),
            "state": self.state.name(),
            "reason": self.state.reason(),
            "since": self.since.to_string(),
            "lastLoad": self.last_load.as_ref().map(|load| json!({
                "result": load.result,
                "reason": load.reason,
                "sha256": load.sha256,
                "at": load.at.to_string(),
            })),
            "lastError": self.last_error.as_ref().map(|(message, at)| json!({
                "message": message,
                "at": at.to_string(),
            })),
            "lastFilterError": counters.last_filter_error(),
            "subscriptions": subscriptions
                .map(|(name, resource)| json!({ "name": name, "resource": resource }))
                .collect::<Vec<_>>(),
            "queue": {
                "depth": self.queue.depth,
                "bytes": self.queue.bytes,
                "ageSeconds": age,
            },
            "deadLetters": self.dead_letters,
            "counters": {
                "ok": counters.ok.load(Relaxed),
                "retry": counters.retry.load(Relaxed),
                "dead": counters.dead.load(Relaxed),
                "filtered": counters.filtered.load(Relaxed),
                "filterErrors": counters.filter_errors.load(Relaxed),
                "coalesced": self.queue.coalesced,
                "dropped": counters.dropped.load(Relaxed),
                "logLinesDropped": counters.log_lines_dropped.load(Relaxed),
                "reloads": counters.reloads_ok.load(Relaxed),
                "failedReloads": counters.reloads_failed.load(Relaxed),
                "restarts": counters.restarts(),
                "trips": counters.trips.load(Relaxed),
                "deadLettersDropped": counters.dead_letters_dropped.load(Relaxed),
                "memoryBytes": counters.memory_bytes.load(Relaxed),
            },
        })
    }
}
