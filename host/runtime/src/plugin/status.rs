//! A snapshot of a plugin for `/plugins` and the metrics, read from the parts of its name. It
//! changes nothing.

mod access;
mod json;
mod why;

use crate::account::Account;
use crate::counters::Counters;
use crate::delivery::key_queue::KeysSnapshot;
use crate::delivery::mailboxes::{OpenCall, QueueSnapshot};
use crate::delivery::not_now::NotNow;
use crate::delivery::timers::{Now, TimersSnapshot};
use crate::directory::Problem;
use crate::kept::plugin_archive::KeptSnapshot;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::plugin::core::{
    AccessShown, Facts, LastLoad, PluginCore, ReplaySnapshot, RunningVersion,
};
use crate::plugin::lifecycle::LifecycleState;
use crate::plugin_name::PluginName;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

/// One of the plugin's shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardStatus {
    /// Whether the shard's instance ended and the next one is due.
    pub is_lost: bool,
    /// Events that wait for the shard.
    pub depth: usize,
}

/// One plugin at one moment.
#[derive(Clone, Debug)]
pub struct PluginStatus {
    /// The plugin's name.
    pub name: PluginName,
    /// The plugin's state.
    pub state: LifecycleState,
    /// The plugin's shards, by number; empty before a version runs.
    pub shards: Vec<ShardStatus>,
    /// Its queue.
    pub queue: QueueSnapshot,
    /// Its workqueue.
    pub keys: KeysSnapshot,
    /// Replays that have not ended, in the order of the subscriptions.
    pub replays: Vec<ReplaySnapshot>,
    /// The plugin's schedules and their next times, as `/plugins` shows them.
    pub schedules: Value,
    /// The due schedules, and those whose last call failed.
    pub timers: TimersSnapshot,
    /// The number of series in its metrics, and the bytes that they may take on the page.
    pub metric_size: (usize, usize),
    /// The memory and time that the plugin uses.
    pub account: Account,
    /// The live counters.
    pub counters: Arc<Counters>,
    /// Changes within the plugin's views that its subscriptions did not want, with those that only informers count.
    pub filtered: u64,
    /// Dead letters that are kept.
    pub dead_letters: usize,
    /// Failed calls of `synced` without a later success: at most one for each shard and subscription.
    pub failed_syncs: usize,
    /// Keys of the plugin's `state`, and bytes of its keys and values.
    pub state_size: (usize, usize),
    /// The plugin's data on disk; `None` without a state directory.
    pub kept: Option<KeptSnapshot>,
    /// The reason for which the file, or the one beside it, cannot be read.
    file_problem: Option<Problem>,
    /// The oldest call that has not ended.
    call: Option<OpenCall>,
    access: Option<AccessShown>,
    since: Timestamp,
    running: Option<RunningVersion>,
    restricted: Option<String>,
    last_load: Option<LastLoad>,
    last_error: Option<(String, Timestamp)>,
    last_retry: Option<String>,
    last_key_retry: Option<String>,
    failed_sync: Option<String>,
    last_dead_letter: Option<String>,
}

impl PluginStatus {
    /// The current status of this plugin.
    pub(crate) fn of(core: &PluginCore) -> Self {
        let facts = core.facts();
        // One lock after the other: the locks in one expression would all be held until its end.
        let account = core.account_of(facts.running.as_ref());
        let at = Now::read();
        core.queue.ripen(at.instant);
        let ((depths, queue, keys), (schedules, timers), (failed_syncs, failed_sync), call) =
            core.queue.look(|it| {
                let queues = (it.depths(), it.snapshot(at.instant), it.keys.snapshot(at.instant));
                let timers = (it.timers.to_json(at), it.timers.snapshot(at));
                (queues, timers, it.failed_syncs(), it.oldest_call())
            });
        let metric_size = core.metrics.lock().size();
        let (dead_letters, last_dead_letter) = {
            let letters = core.dead_letters.lock();
            (letters.len(), letters.last_error().map(str::to_owned))
        };
        let state_size = core.state.lock().size();
        let (access, replays) = (core.access(), core.replays_left());
        Self {
            name: core.name.clone(),
            state: facts.state.clone(),
            shards: shards(&facts, &depths),
            queue,
            schedules,
            timers,
            metric_size,
            keys,
            replays,
            dead_letters,
            state_size,
            account,
            kept: core.archive.snapshot(),
            counters: core.counters.clone(),
            filtered: core.queue.filtered(),
            file_problem: None,
            call,
            access,
            since: facts.since,
            running: facts.running.clone(),
            restricted: core.restriction.shown(),
            last_load: facts.last_load.clone(),
            last_error: facts.last_error.clone(),
            last_retry: facts.last_retry.clone(),
            last_key_retry: facts.last_key_retry.as_ref().map(|(key, error)| {
                let key = one_line(key, ERROR_BYTES_MAX);
                format!("reconcile {key}: {error}")
            }),
            failed_syncs,
            failed_sync,
            last_dead_letter,
        }
    }
}

impl PluginStatus {
    /// The reason for which no event of the plugin is delivered now.
    pub(crate) fn not_now(&self) -> Option<NotNow> {
        let of_queue = || match self.keys.holds_events {
            true => Some(NotNow::Workqueue),
            false => self.queue.is_rate_limited.then_some(NotNow::RateLimit),
        };
        self.state.not_now().or_else(of_queue)
    }

    /// The same status, with the problem of a file that cannot be read.
    pub(crate) fn with_file_problem(self, file_problem: Option<Problem>) -> Self {
        Self { file_problem, ..self }
    }
}

/// The shards with their waiting events. `depths` may have another length while the number of shards changes.
fn shards(facts: &Facts, depths: &[usize]) -> Vec<ShardStatus> {
    let depth = |shard: usize| depths.get(shard).copied().unwrap_or_default();
    let one = |shard| ShardStatus { is_lost: facts.lost.contains(&shard), depth: depth(shard) };
    (0..facts.shards).map(one).collect()
}
