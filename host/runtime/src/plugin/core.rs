//! The parts of a plugin's name that outlive its versions: its queue, keys, timers, state, dead
//! letters and facts. The actors change them; `plugin/status.rs` shows them.

mod access;
mod account;
mod facts;
mod replaying;
mod settings;

use crate::contract::configuration::PluginSettings;
use crate::contract::limits::Limits;
use crate::counters::Counters;
use crate::delivery::plugin_queue::PluginQueue;
use crate::event::SubscriptionId;
use crate::kept::dead_letters::{DeadLetters, LetterBounds};
use crate::kept::plugin_archive::PluginArchive;
use crate::kept::plugin_state::PluginState;
use crate::log_budget::LogBudget;
use crate::log_tail::LogTail;
use crate::plugin::lifecycle::{Input, LifecycleState};
use crate::plugin_metrics::PluginMetrics;
use crate::plugin_name::PluginName;
use crate::powers::restriction::Restriction;
pub(crate) use access::{AccessShown, RefusedRead};
pub(crate) use facts::{Facts, LastLoad, RunningVersion};
use informant_cache::Pulse;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
pub use replaying::ReplaySnapshot;
pub(crate) use replaying::Replaying;
use std::sync::Arc;
use std::time::Instant;

/// A host that is not ready waits for its plugins' first loads so long. A load that hangs may take more than ten
/// minutes, and a single dropped file must not keep the whole host out of service. The largest known plugin takes 5 s.
const FIRST_LOAD_MAX: SignedDuration = SignedDuration::from_secs(60);

/// The data of one plugin's name. The plugin and its actors share it.
pub(crate) struct PluginCore {
    pub(crate) name: PluginName,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Arc<PluginQueue>,
    /// The plugin's own metrics.
    pub(crate) metrics: Arc<Mutex<PluginMetrics>>,
    pub(crate) dead_letters: Mutex<DeadLetters>,
    /// The last log lines.
    pub(crate) log: LogTail,
    /// The log rate, with that of the host's lines about calls and loads.
    pub(crate) log_budget: LogBudget,
    /// The plugin's `state`.
    pub(crate) state: Arc<Mutex<PluginState>>,
    /// The parts of this data that outlive the host.
    pub(crate) archive: PluginArchive,
    /// The requests that the running version may no longer make.
    pub(crate) restriction: Restriction,
    /// One entry for each of the running version's subscriptions.
    replays: Mutex<Vec<Replaying>>,
    access: Mutex<Option<AccessShown>>,
    facts: Mutex<Facts>,
}

impl PluginCore {
    pub(crate) fn new(
        name: PluginName,
        counters: Arc<Counters>,
        queue: Arc<PluginQueue>,
        metrics: PluginMetrics,
        limits: &Limits,
        now: Timestamp,
    ) -> Self {
        Self {
            log_budget: LogBudget::new(limits, counters.clone(), Instant::now()),
            counters,
            queue,
            metrics: Arc::new(Mutex::new(metrics)),
            dead_letters: Mutex::new(DeadLetters::new(LetterBounds::from(limits))),
            log: LogTail::new(limits.log_tail_bytes_max),
            state: Arc::new(Mutex::new(PluginState::new(limits.into()))),
            archive: PluginArchive::new(name.clone(), limits),
            restriction: Restriction::default(),
            replays: Mutex::default(),
            access: Mutex::default(),
            facts: Mutex::new(Facts::new(now)),
            name,
        }
    }

    /// Applies several inputs under one lock, so that readers see them together.
    pub(crate) fn apply(&self, inputs: impl IntoIterator<Item = Input>, now: Timestamp) {
        let mut facts = self.facts.lock();
        for input in inputs {
            facts.step(input, now);
        }
    }

    /// A version takes over the queue, in so many shards. Earlier failures are not its own.
    pub(crate) fn swapped(&self, shards: usize, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(Input::Loaded, now);
        (facts.last_error, facts.last_retry, facts.last_key_retry) = (None, None, None);
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

    /// A shard has an instance again. The plugin backs off while any shard lacks its instance.
    pub(crate) fn restarted(&self, shard: usize, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.lost.remove(&shard);
        if facts.lost.is_empty() {
            facts.step(Input::Restarted, now);
        }
    }

    /// The pause has ended, and missing instances start at once.
    pub(crate) fn resumed(&self, now: Timestamp) {
        let missing = "its instance ended and the next one starts";
        self.facts.lock().goes_on(Input::Resumed, missing, now);
    }

    /// Shows the current state of the breaker: another shard's call may have changed it again.
    pub(crate) fn shows_breaker(&self, now: Timestamp) {
        let mut facts = self.facts.lock();
        match self.queue.look(|mailboxes| mailboxes.tripped().map(str::to_owned)) {
            Some(reason) => facts.step(Input::Tripped { reason }, now),
            // A call succeeded in one shard; another shard may lack its instance.
            None => {
                facts.goes_on(Input::Recovered, "an instance ended and the next one is due", now)
            }
        }
    }

    /// A version took over, and its subscriptions are in place. The state, the version and the result of its load
    /// change together, so that no reader sees one without the others.
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

    /// A version will not take over; `input` has the reason.
    pub(crate) fn refused(&self, sha256: &str, reason: &str, input: Input, now: Timestamp) {
        let mut facts = self.facts.lock();
        facts.step(input, now);
        facts.last_load = Some(LastLoad::new("failed", Some(reason), sha256, now));
    }

    /// Whether the last load put a version of this file and with these settings in charge, and it runs.
    pub(crate) fn runs(&self, sha256: &str, settings: &Arc<PluginSettings>) -> bool {
        let facts = self.facts.lock();
        let is_it = |running: &RunningVersion| running.settings.is_configured_as(settings);
        let last = facts.last_load.as_ref();
        facts.state == LifecycleState::Running
            && last.is_some_and(|load| load.result == "ok" && load.sha256 == sha256)
            && facts.running.as_ref().is_some_and(is_it)
    }

    /// The plugin got the events that these letters were redriven as.
    pub(crate) fn told(&self, letters: &[u64]) {
        if !letters.is_empty() {
            self.dead_letters.lock().told(letters);
        }
    }

    /// Releases the withheld events of a subscription.
    pub(crate) fn release_withheld(&self, id: SubscriptionId) {
        self.queue.change(|it| it.release_withheld(id, Instant::now()));
    }

    /// The progress of each shard's actor.
    pub(crate) fn pulses(&self, now: Instant) -> Vec<Pulse> {
        let shards = self.facts.lock().shards;
        self.queue.pulses(shards, now)
    }

    /// Sets the subscriptions of the version in charge.
    pub(crate) fn replays(&self, replays: Vec<Replaying>) {
        *self.replays.lock() = replays;
    }

    /// Notes the error of a call.
    pub(crate) fn failed(&self, error: &str, now: Timestamp) {
        self.facts.lock().last_error = Some((error.to_owned(), now));
    }

    /// Notes the error of a failed event that will be retried.
    pub(crate) fn event_comes_again(&self, error: &str) {
        self.facts.lock().last_retry = Some(error.to_owned());
    }

    /// The same for a key.
    pub(crate) fn key_comes_again(&self, key: &str, error: &str) {
        self.facts.lock().last_key_retry = Some((key.to_owned(), error.to_owned()));
    }

    /// Notes that keys of events are missing. Returns whether that is new for this version.
    pub(crate) fn misses_keys(&self) -> bool {
        !std::mem::replace(&mut self.facts.lock().misses_keys, true)
    }

    /// Whether a ready host waits for the plugin: its first version is being loaded, for less than `FIRST_LOAD_MAX`.
    pub(crate) fn is_awaited(&self, now: Timestamp) -> bool {
        let facts = self.facts.lock();
        facts.state.is_first_load() && now.duration_since(facts.since) < FIRST_LOAD_MAX
    }

    pub(crate) fn state(&self) -> LifecycleState {
        self.facts.lock().state.clone()
    }

    /// The facts, which do not change while the guard is held.
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock()
    }

    /// The progress of the replays that have not ended.
    pub(crate) fn replays_left(&self) -> Vec<ReplaySnapshot> {
        let replays = self.replays.lock();
        replays.iter().filter_map(|it| it.snapshot(&self.queue)).collect()
    }

    /// The subscriptions of the version in charge that are delivered.
    pub(crate) fn subscriptions(&self) -> Vec<Replaying> {
        self.replays.lock().clone()
    }

    /// The plugin's service account, and the reads that the account may not make.
    pub(crate) fn access(&self) -> Option<AccessShown> {
        self.access.lock().clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::delivery::mailbox::Marks;
    use crate::plugin_metrics::MetricNames;

    pub(crate) fn core() -> PluginCore {
        let (counters, limits) = (Arc::<Counters>::default(), Limits::default());
        let queue = Arc::new(PluginQueue::new(Marks::from(&limits), counters.clone()));
        let name: PluginName = "p".parse().expect("a name");
        let names = MetricNames::default();
        let metrics = PluginMetrics::new(name.clone(), (&limits).into(), names);
        PluginCore::new(name, counters, queue, metrics, &limits, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_first_load_is_waited_for_and_not_for_ever() {
        let core = core();
        let check = |second: i64, expect: bool| {
            let now = Timestamp::from_second(second).expect("a moment");
            assert_eq!(core.is_awaited(now), expect, "after {second} s");
        };
        check(0, true);
        check(59, true);
        check(60, false);
        core.swapped(1, Timestamp::UNIX_EPOCH);
        check(0, true);
        core.apply([Input::Subscribed], Timestamp::UNIX_EPOCH);
        check(0, false);
    }

    /// The state of a plugin in two shards after each step: `0` and `1` lose their instance, `+0` and `+1` have one
    /// again. `t` opens the breaker, `c` closes it, `p` pauses and `r` resumes.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (core, now) = (core(), Timestamp::UNIX_EPOCH);
        core.swapped(2, now);
        core.apply([Input::Subscribed], now);
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let shard = |text: &str| text.parse().expect("a shard's number");
            match step {
                "t" => core.apply([Input::Tripped { reason: String::new() }], now),
                "c" => core.shows_breaker(now),
                "p" => core.apply([Input::Paused], now),
                "r" => core.resumed(now),
                _ => match step.strip_prefix('+') {
                    Some(text) => core.restarted(shard(text), now),
                    None => core.crashed(shard(step), String::new(), now),
                },
            }
            shown.push(core.state().name());
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
