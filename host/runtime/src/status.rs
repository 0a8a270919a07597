//! What `/plugins` and the metrics show of a plugin's name.

use crate::counters::Counters;
use crate::dead_letters::{Bounds, DeadLetters};
use crate::lifecycle::{Input, State};
use crate::limits::Limits;
use crate::plugin_archive::{KeptSnapshot, PluginArchive};
use crate::plugin_name::PluginName;
use crate::plugin_queue::{PluginQueue, QueueSnapshot};
use crate::plugin_state::{self, PluginState};
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
    /// What the plugin keeps in `state`.
    pub(crate) state: Arc<Mutex<PluginState>>,
    /// What of all this outlives the host.
    pub(crate) archive: PluginArchive,
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
    /// Keys of the plugin's `state`, and bytes of its keys and values.
    pub state_size: (usize, usize),
    /// What outlives the host; none without a state directory.
    pub kept: Option<KeptSnapshot>,
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
        limits: &Limits,
        now: Timestamp,
    ) -> Self {
        let facts = Facts {
            state: State::Loading,
            since: now,
            running: None,
            last_load: None,
            last_error: None,
        };
        let bounds =
            Bounds { letters: limits.dead_letters_max, bytes: limits.dead_letters_bytes_max };
        let of_state =
            plugin_state::Bounds { keys: limits.state_keys_max, bytes: limits.state_bytes_max };
        Self {
            counters,
            queue,
            dead_letters: Mutex::new(DeadLetters::new(bounds)),
            state: Arc::new(Mutex::new(PluginState::new(of_state))),
            archive: PluginArchive::new(name.clone(), limits.kept_retries_bytes_max),
            facts: Mutex::new(facts),
            name,
        }
    }

    /// What happens at once is seen at once.
    pub(crate) fn apply(&self, inputs: impl IntoIterator<Item = Input>, now: Timestamp) {
        let mut facts = self.facts.lock();
        for input in inputs {
            facts.step(input, now);
        }
    }

    /// A version has the queue; what went wrong before is not its own.
    pub(crate) fn swapped(&self, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(Input::Loaded, now);
        facts.last_error = None;
    }

    /// A version took over, and its subscriptions are in place. The state, the version and the result of its load change together, so
    /// that nobody sees one without the others.
    pub(crate) fn took_over(&self, version: RunningVersion, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(Input::Subscribed, now);
        facts.last_load = Some(LastLoad::new("ok", None, &version.sha256, now));
        facts.running = Some(version);
    }

    /// A version will not take over: `input` says why.
    pub(crate) fn refused(&self, sha256: &str, reason: &str, input: Input, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(input, now);
        facts.last_load = Some(LastLoad::new("failed", Some(reason), sha256, now));
    }

    /// The plugin has been told of what these letters were sent again as.
    pub(crate) fn told(&self, letters: &[u64]) {
        if !letters.is_empty() {
            self.dead_letters.lock().told(letters);
        }
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
            state_size: self.state.lock().size(),
            kept: self.archive.snapshot(),
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
            "store": { "keys": self.state_size.0, "bytes": self.state_size.1 },
            "kept": self.kept.map(KeptSnapshot::to_json),
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
