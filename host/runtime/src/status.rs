//! What `/plugins` and the metrics show of a plugin's name.

mod access;
mod settings;

use crate::actor::{RETRY_BASE, RETRY_BURST, RETRY_INTERVAL, RETRY_MAX};
use crate::configuration::PluginSettings;
use crate::counters::Counters;
use crate::dead_letters::{Bounds, DeadLetters};
use crate::event::SubscriptionId;
use crate::key_queue::{KeyQueue, KeysSnapshot, Waits};
use crate::lifecycle::{Input, State};
use crate::limits::Limits;
use crate::plugin_archive::{KeptSnapshot, PluginArchive};
use crate::plugin_metrics::PluginMetrics;
use crate::plugin_name::PluginName;
use crate::plugin_queue::{PluginQueue, QueueSnapshot};
use crate::plugin_state::PluginState;
use crate::restriction::Restriction;
use crate::subscription::Progress;
use crate::timers::{Now, Timers};
use crate::wasi::WasiImports;
pub(crate) use access::{AccessShown, Refused};
use informant_cache::Indexer;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// The shared, current status of one plugin's name.
pub(crate) struct StatusCell {
    pub(crate) name: PluginName,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Arc<PluginQueue>,
    /// The plugin's workqueue.
    pub(crate) keys: Arc<Mutex<KeyQueue>>,
    /// When it is called by the clock.
    pub(crate) timers: Mutex<Timers>,
    /// Its own metrics.
    pub(crate) metrics: Arc<Mutex<PluginMetrics>>,
    pub(crate) dead_letters: Mutex<DeadLetters>,
    /// What the plugin keeps in `state`.
    pub(crate) state: Arc<Mutex<PluginState>>,
    /// What of all this outlives the host.
    pub(crate) archive: PluginArchive,
    /// What the running version may do no more.
    pub(crate) restriction: Restriction,
    /// Of each of the running version's subscriptions.
    replays: Mutex<Vec<Replaying>>,
    access: Mutex<Option<AccessShown>>,
    facts: Mutex<Facts>,
}

struct Facts {
    state: State,
    since: Timestamp,
    running: Option<RunningVersion>,
    last_load: Option<LastLoad>,
    last_error: Option<(String, Timestamp)>,
    /// It has been said that keys of events are missing.
    misses_keys: bool,
}

/// A subscription whose objects are told, or have been.
pub(crate) struct Replaying {
    pub(crate) id: SubscriptionId,
    pub(crate) subscription: String,
    pub(crate) progress: Arc<Progress>,
    pub(crate) indexer: Indexer,
}

/// How far a replay is that is not through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaySnapshot {
    /// The subscription's name.
    pub subscription: String,
    /// Objects of its resource that it is done with: told, or none of the subscription's business.
    pub told: usize,
    /// The others. Objects that come or go among those that it is done with make this wrong by as many.
    pub left: usize,
}

/// The version that takes events.
#[derive(Clone, Debug)]
pub(crate) struct RunningVersion {
    pub(crate) version: String,
    pub(crate) sha256: String,
    /// What it imports of WASI.
    pub(crate) wasi: Arc<WasiImports>,
    /// Name and resource of each subscription.
    pub(crate) subscriptions: Vec<(String, String)>,
    /// What it runs with.
    pub(crate) settings: Arc<PluginSettings>,
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
    /// Its workqueue.
    pub keys: KeysSnapshot,
    /// Replays that are not through, in the subscriptions' order.
    pub replays: Vec<ReplaySnapshot>,
    /// Its schedules and when each comes next, as `/plugins` shows them.
    pub schedules: Value,
    /// How many series its metrics have.
    pub metric_series: usize,
    /// Its counters, which go on counting.
    pub counters: Arc<Counters>,
    /// Dead letters that are kept.
    pub dead_letters: usize,
    /// Keys of the plugin's `state`, and bytes of its keys and values.
    pub state_size: (usize, usize),
    /// What outlives the host; none without a state directory.
    pub kept: Option<KeptSnapshot>,
    access: Option<AccessShown>,
    since: Timestamp,
    running: Option<RunningVersion>,
    restricted: Option<String>,
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
        metrics: PluginMetrics,
        limits: &Limits,
        now: Timestamp,
    ) -> Self {
        let facts = Facts {
            state: State::Loading,
            since: now,
            running: None,
            last_load: None,
            last_error: None,
            misses_keys: false,
        };
        Self {
            counters,
            queue,
            keys: Arc::new(Mutex::new(workqueue(limits))),
            timers: Mutex::default(),
            metrics: Arc::new(Mutex::new(metrics)),
            dead_letters: Mutex::new(DeadLetters::new(Bounds::from(limits))),
            state: Arc::new(Mutex::new(PluginState::new(limits.into()))),
            archive: PluginArchive::new(name.clone(), limits.kept_retries_bytes_max),
            restriction: Restriction::default(),
            replays: Mutex::default(),
            access: Mutex::default(),
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
        facts.misses_keys = false;
    }

    /// A version took over, and its subscriptions are in place. The state, the version and the result of its load change together, so
    /// that nobody sees one without the others.
    pub(crate) fn took_over(&self, version: RunningVersion, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(Input::Subscribed, now);
        facts.last_load = Some(LastLoad::new("ok", None, &version.sha256, now));
        facts.running = Some(version);
    }

    /// A version is ready.
    pub(crate) fn loaded(&self, sha256: &str, now: Timestamp) {
        self.facts.lock().last_load = Some(LastLoad::new("ok", None, sha256, now));
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

    /// The subscriptions of the version in charge are in place.
    pub(crate) fn replays(&self, replays: Vec<Replaying>) {
        *self.replays.lock() = replays;
    }

    /// Notes what went wrong in a call.
    pub(crate) fn failed(&self, error: &str, now: Timestamp) {
        self.facts.lock().last_error = Some((error.to_owned(), now));
    }

    /// Notes that keys of events are missing, and whether that is new of this version.
    pub(crate) fn misses_keys(&self) -> bool {
        !std::mem::replace(&mut self.facts.lock().misses_keys, true)
    }

    pub(crate) fn state(&self) -> State {
        self.facts.lock().state.clone()
    }

    pub(crate) fn snapshot(&self) -> PluginStatus {
        let facts = self.facts.lock();
        PluginStatus {
            name: self.name.clone(),
            state: facts.state.clone(),
            queue: self.queue.snapshot(),
            schedules: self.timers.lock().to_json(Now::read()),
            metric_series: self.metrics.lock().len(),
            keys: self.keys.lock().snapshot(Instant::now()),
            replays: {
                let replays = self.replays.lock();
                replays.iter().filter_map(|it| it.snapshot(&self.queue)).collect()
            },
            dead_letters: self.dead_letters.lock().len(),
            state_size: self.state.lock().size(),
            kept: self.archive.snapshot(),
            counters: self.counters.clone(),
            access: self.access.lock().clone(),
            since: facts.since,
            running: facts.running.clone(),
            restricted: self.restriction.shown(),
            last_load: facts.last_load.clone(),
            last_error: facts.last_error.clone(),
        }
    }
}

impl Replaying {
    /// None once it is through, and nothing of it waits.
    fn snapshot(&self, queue: &PluginQueue) -> Option<ReplaySnapshot> {
        let (come_to, waiting) = (self.progress.count(), queue.replays_waiting(self.id));
        if come_to.is_none() && waiting == 0 {
            return None;
        }
        let there = self.indexer.count(None);
        let told = come_to.unwrap_or(there).saturating_sub(waiting);
        let left = there.saturating_sub(told);
        Some(ReplaySnapshot { subscription: self.subscription.clone(), told, left })
    }
}

impl ReplaySnapshot {
    fn to_json(&self) -> Value {
        json!({ "subscription": self.subscription, "told": self.told, "left": self.left })
    }
}

impl PluginStatus {
    /// What the version that takes events may use; none before there is one.
    pub fn limits(&self) -> Option<&Limits> {
        self.running.as_ref().map(|running| &running.settings.limits)
    }

    /// Origins and paths that its rules for requests over HTTP name; none before there is a version.
    pub fn http_rules(&self) -> Option<usize> {
        self.running.as_ref().map(|running| running.settings.http.entries())
    }

    fn queue_json(&self) -> Value {
        let age = self.queue.oldest.map(|oldest| oldest.elapsed().as_secs_f64());
        json!({
            "depth": self.queue.depth,
            "bytes": self.queue.bytes,
            "ageSeconds": age,
            "isRateLimited": self.queue.is_rate_limited,
        })
    }

    /// The entry in `GET /plugins`.
    pub fn to_json(&self) -> Value {
        let running = self.running.as_ref();
        let subscriptions = running.iter().flat_map(|running| &running.subscriptions);
        let counters = &self.counters;
        json!({
            "name": self.name.as_str(),
            "version": running.map(|running| &running.version),
            "sha256": running.map(|running| &running.sha256),
            "configuration": running.map(|running| running.settings.to_json()),
            "restricted": self.restricted,
            "serviceAccount": self.access_json(),
            "wasi": running.map(|running| running.wasi.to_json()),
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
            "queue": self.queue_json(),
            "workqueue": self.keys.to_json(),
            "replays": self.replays.iter().map(ReplaySnapshot::to_json).collect::<Vec<_>>(),
            "schedules": self.schedules,
            "metricSeries": self.metric_series,
            "deadLetters": self.dead_letters,
            "store": { "keys": self.state_size.0, "bytes": self.state_size.1 },
            "kept": self.kept.map(KeptSnapshot::to_json),
            "counters": self.counters_json(),
        })
    }

    /// What it has counted.
    fn counters_json(&self) -> Value {
        let counters = &self.counters;
        json!({
            "ok": counters.ok.load(Relaxed),
            "retry": counters.retry.load(Relaxed),
            "dead": counters.dead.load(Relaxed),
            "filtered": counters.filtered.load(Relaxed),
            "filterErrors": counters.filter_errors.load(Relaxed),
            "coalesced": self.queue.coalesced,
            "firings": counters.firings_ok.load(Relaxed),
            "firingsRetry": counters.firings_retry.load(Relaxed),
            "firingsDead": counters.firings_dead.load(Relaxed),
            "enqueued": counters.enqueued.load(Relaxed),
            "keysOk": counters.keys_ok.load(Relaxed),
            "keysRetry": counters.keys_retry.load(Relaxed),
            "keysDead": counters.keys_dead.load(Relaxed),
            "keysDropped": counters.keys_dropped.load(Relaxed),
            "dropped": counters.dropped.load(Relaxed),
            "logLinesDropped": counters.log_lines_dropped.load(Relaxed),
            "reloads": counters.reloads_ok.load(Relaxed),
            "failedReloads": counters.reloads_failed.load(Relaxed),
            "restarts": counters.restarts(),
            "trips": counters.trips.load(Relaxed),
            "deadLettersDropped": counters.dead_letters_dropped.load(Relaxed),
            "memoryBytes": counters.memory_bytes.load(Relaxed),
        })
    }
}

/// Keys that failed wait as events do.
fn workqueue(limits: &Limits) -> KeyQueue {
    let (base, max) = (RETRY_BASE, RETRY_MAX);
    let (interval, burst) = (RETRY_INTERVAL, RETRY_BURST);
    KeyQueue::new(limits.into(), Waits { base, max, interval, burst })
}
