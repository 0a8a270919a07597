//! What `/plugins` and the metrics show of a plugin's name.

mod access;
mod account;
mod json;
mod pulses;
mod replaying;
mod settings;
mod why;

use crate::account::Account;
use crate::actor::{RETRY_BASE, RETRY_BURST, RETRY_INTERVAL, RETRY_MAX};
use crate::configuration::PluginSettings;
use crate::contract::WasiImports;
use crate::counters::Counters;
use crate::dead_letters::{Bounds, DeadLetters};
use crate::key_queue::{KeyQueue, KeysSnapshot, Waits, Worked};
use crate::lifecycle::{Input, State};
use crate::limits::Limits;
use crate::plugin_archive::{KeptSnapshot, PluginArchive};
use crate::plugin_metrics::PluginMetrics;
use crate::plugin_name::PluginName;
use crate::plugin_queue::{PluginQueue, QueueSnapshot};
use crate::plugin_state::PluginState;
use crate::restriction::Restriction;
use crate::timers::{Now, Timers};
pub(crate) use access::{AccessShown, Refused};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
pub use replaying::ReplaySnapshot;
pub(crate) use replaying::Replaying;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A host that is not ready gives its plugins' first loads so long: one that hangs may take 380 s, and a file that somebody drops is no reason to keep a
/// whole host out of service. The largest known plugin takes 5 s.
const FIRST_LOAD_MAX: SignedDuration = SignedDuration::from_secs(60);

/// The shared, current status of one plugin's name.
pub(crate) struct StatusCell {
    pub(crate) name: PluginName,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Arc<PluginQueue>,
    /// The plugin's workqueue.
    pub(crate) keys: Arc<Mutex<KeyQueue>>,
    /// Its keys wait for a resource that it reads and that has not synced.
    pub(crate) awaits_reads: AtomicBool,
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
    /// In how many shards its version runs, and which of them lack their instance.
    shards: usize,
    lost: BTreeSet<usize>,
    since: Timestamp,
    running: Option<RunningVersion>,
    last_load: Option<LastLoad>,
    last_error: Option<(String, Timestamp)>,
    /// Why the last call failed that comes again.
    last_retry: Option<String>,
    /// It has been said that keys of events are missing.
    misses_keys: bool,
}

/// One of the shards that a plugin runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardStatus {
    /// Its instance ended, and the next one is due.
    pub is_lost: bool,
    /// Events that wait for it.
    pub depth: usize,
}

/// The version that takes events.
#[derive(Clone, Debug)]
pub(crate) struct RunningVersion {
    pub(crate) version: String,
    pub(crate) sha256: String,
    /// What it imports of WASI.
    pub(crate) wasi: Arc<WasiImports>,
    /// Name, resource and namespaces of each subscription.
    pub(crate) subscriptions: Vec<(String, String, BTreeSet<String>)>,
    /// Resource and namespaces of each further read.
    pub(crate) reads: Vec<(String, BTreeSet<String>)>,
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
    /// The shards that it runs in, by number; none before a version runs.
    pub shards: Vec<ShardStatus>,
    /// Its queue.
    pub queue: QueueSnapshot,
    /// Its workqueue.
    pub keys: KeysSnapshot,
    /// Replays that are not through, in the subscriptions' order.
    pub replays: Vec<ReplaySnapshot>,
    /// Its schedules and when each comes next, as `/plugins` shows them.
    pub schedules: Value,
    /// Those of them whose last call failed.
    pub failing_schedules: Vec<Arc<str>>,
    /// How many series its metrics have, and the bytes that they may take on the page.
    pub metric_size: (usize, usize),
    /// What the host holds and has done for it.
    pub account: Account,
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
    last_retry: Option<String>,
    last_dead_letter: Option<String>,
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

impl Facts {
    /// The shards with what waits for each. Others may be looking while their number changes.
    fn shards(&self, depths: &[usize]) -> Vec<ShardStatus> {
        let depth = |shard: usize| depths.get(shard).copied().unwrap_or_default();
        let one = |shard| ShardStatus { is_lost: self.lost.contains(&shard), depth: depth(shard) };
        (0..self.shards).map(one).collect()
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
            shards: 0,
            lost: BTreeSet::new(),
            since: now,
            running: None,
            last_load: None,
            last_error: None,
            last_retry: None,
            misses_keys: false,
        };
        Self {
            counters,
            queue,
            keys: Arc::new(Mutex::new(workqueue(limits))),
            awaits_reads: AtomicBool::new(false),
            timers: Mutex::default(),
            metrics: Arc::new(Mutex::new(metrics)),
            dead_letters: Mutex::new(DeadLetters::new(Bounds::from(limits))),
            state: Arc::new(Mutex::new(PluginState::new(limits.into()))),
            archive: PluginArchive::new(name.clone(), limits),
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

    /// A version has the queue, in so many shards; what went wrong before is not its own.
    pub(crate) fn swapped(&self, shards: usize, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(Input::Loaded, now);
        (facts.last_error, facts.last_retry) = (None, None);
        facts.misses_keys = false;
        facts.shards = shards;
        facts.lost.clear();
    }

    /// A shard's instance has ended.
    pub(crate) fn crashed(&self, shard: usize, reason: String, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.lost.insert(shard);
        facts.step(Input::Crashed { reason }, now);
    }

    /// A shard has an instance again. The plugin backs off for as long as one of them lacks its own.
    pub(crate) fn restarted(&self, shard: usize, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.lost.remove(&shard);
        if facts.lost.is_empty() {
            facts.step(Input::Restarted, now);
        }
    }

    /// Whoever held the plugin lets it go on, and instances that are missing start at once.
    pub(crate) fn resumed(&self, now: Timestamp) {
        self.goes_on(Input::Resumed, "its instance ended and the next one starts", now);
    }

    /// An event that was tried succeeded, in one shard: another may lack its instance.
    pub(crate) fn recovered(&self, now: Timestamp) {
        self.goes_on(Input::Recovered, "an instance ended and the next one is due", now);
    }

    /// The plugin runs, unless an instance is missing, which is said so.
    fn goes_on(&self, input: Input, missing: &str, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(input, now);
        if !facts.lost.is_empty() {
            facts.step(Input::Crashed { reason: missing.to_owned() }, now);
        }
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

    /// No event or key that has failed is tried before this; none: each comes at its own time.
    pub(crate) fn hold_retries(&self, from: Option<Instant>, now: Instant) {
        self.queue.hold_retries(from);
        self.keys.lock().hold_retries(from, now);
    }

    /// Says what became of a shard's key in flight.
    pub(crate) fn settle_key(&self, shard: usize, worked: Worked, now: Instant) {
        self.keys.lock().settle(shard, worked, now);
        self.queue.tell_progress();
    }

    /// The subscriptions of the version in charge are in place.
    pub(crate) fn replays(&self, replays: Vec<Replaying>) {
        *self.replays.lock() = replays;
    }

    /// Notes what went wrong in a call.
    pub(crate) fn failed(&self, error: &str, now: Timestamp) {
        self.facts.lock().last_error = Some((error.to_owned(), now));
    }

    /// Notes why a call failed that comes again.
    pub(crate) fn comes_again(&self, error: &str) {
        self.facts.lock().last_retry = Some(error.to_owned());
    }

    /// Notes that keys of events are missing, and whether that is new of this version.
    pub(crate) fn misses_keys(&self) -> bool {
        !std::mem::replace(&mut self.facts.lock().misses_keys, true)
    }

    /// Whether its first version is on its way, and has been for no longer than is waited for.
    pub(crate) fn is_awaited(&self, now: Timestamp) -> bool {
        let facts = self.facts.lock();
        facts.state.is_first_load() && now.duration_since(facts.since) < FIRST_LOAD_MAX
    }

    pub(crate) fn state(&self) -> State {
        self.facts.lock().state.clone()
    }

    pub(crate) fn snapshot(&self) -> PluginStatus {
        let facts = self.facts.lock();
        // One lock after the other: those in the fields of one expression would all be held until it ends.
        let account = self.account_of(facts.running.as_ref());
        let (schedules, failing_schedules) = {
            let timers = self.timers.lock();
            (timers.to_json(Now::read()), timers.failing())
        };
        let metric_size = self.metrics.lock().size();
        let keys = self.keys.lock().snapshot(Instant::now());
        let (dead_letters, last_dead_letter) = {
            let letters = self.dead_letters.lock();
            (letters.len(), letters.last_error().map(str::to_owned))
        };
        let state_size = self.state.lock().size();
        let access = self.access.lock().clone();
        let replays = {
            let replays = self.replays.lock();
            replays.iter().filter_map(|it| it.snapshot(&self.queue)).collect()
        };
        PluginStatus {
            name: self.name.clone(),
            state: facts.state.clone(),
            shards: facts.shards(&self.queue.depths()),
            queue: self.queue.snapshot(),
            schedules,
            failing_schedules,
            metric_size,
            keys,
            replays,
            dead_letters,
            state_size,
            account,
            kept: self.archive.snapshot(),
            counters: self.counters.clone(),
            access,
            since: facts.since,
            running: facts.running.clone(),
            restricted: self.restriction.shown(),
            last_load: facts.last_load.clone(),
            last_error: facts.last_error.clone(),
            last_retry: facts.last_retry.clone(),
            last_dead_letter,
        }
    }
}

/// Keys that failed wait as events do.
fn workqueue(limits: &Limits) -> KeyQueue {
    let (base, max) = (RETRY_BASE, RETRY_MAX);
    let (interval, burst) = (RETRY_INTERVAL, RETRY_BURST);
    KeyQueue::new(limits.into(), Waits { base, max, interval, burst })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin_metrics::MetricNames;
    use crate::queue::Marks;

    pub(super) fn status() -> StatusCell {
        let (counters, limits) = (Arc::<Counters>::default(), Limits::default());
        let queue = Arc::new(PluginQueue::new(Marks::from(&limits), counters.clone()));
        let name: PluginName = "p".parse().expect("a name");
        let names = MetricNames::default();
        let metrics = PluginMetrics::new(name.clone(), (&limits).into(), names);
        StatusCell::new(name, counters, queue, metrics, &limits, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_first_load_is_waited_for_and_not_for_ever() {
        let status = status();
        let check = |second: i64, expect: bool| {
            let now = Timestamp::from_second(second).expect("a moment");
            assert_eq!(status.is_awaited(now), expect, "after {second} s");
        };
        check(0, true);
        check(59, true);
        check(60, false);
        status.swapped(1, Timestamp::UNIX_EPOCH);
        check(0, true);
        status.apply([Input::Subscribed], Timestamp::UNIX_EPOCH);
        check(0, false);
    }

    /// What is shown of a plugin in two shards after each step: `0` and `1` lose their instance, `+0` and `+1` have one again, `t` trips, `c` closes the
    /// breaker, `p` pauses and `r` resumes.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (status, now) = (status(), Timestamp::UNIX_EPOCH);
        status.swapped(2, now);
        status.apply([Input::Subscribed], now);
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let shard = |text: &str| text.parse().expect("a shard's number");
            match step {
                "t" => status.apply([Input::Tripped { reason: String::new() }], now),
                "c" => status.recovered(now),
                "p" => status.apply([Input::Paused], now),
                "r" => status.resumed(now),
                _ => match step.strip_prefix('+') {
                    Some(text) => status.restarted(shard(text), now),
                    None => status.crashed(shard(step), String::new(), now),
                },
            }
            shown.push(status.state().name());
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn a_plugin_backs_off_for_as_long_as_a_shard_lacks_its_instance() {
        check("0 1 +0 +1", "backing-off backing-off backing-off running");
        check("0 t c +0", "backing-off tripped backing-off running");
        check("t 0 1 +0 c +1", "tripped tripped tripped tripped backing-off running");
        check("0 p +0 r", "backing-off paused paused running");
        check("p 0 r +0", "paused paused backing-off running");
    }
}
