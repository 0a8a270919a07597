//! The plugin's account, read from the parts of its name.

use super::{PluginCore, RunningVersion};
use crate::account::{Account, Holding, INDEXES};
use crate::counters::{Counters, Histogram};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

impl PluginCore {
    /// The memory and time that the plugin uses now.
    pub(crate) fn account(&self) -> Account {
        self.account_of(self.facts.lock().running.as_ref())
    }

    /// The same, for a caller that holds the lock of the facts.
    pub(crate) fn account_of(&self, running: Option<&RunningVersion>) -> Account {
        let ledger = &self.counters.ledger;
        let state = self.state.lock().size().1;
        let letters = self.dead_letters.lock().bytes();
        let (queue, history, workqueue) =
            self.queue.look(|it| (it.load().bytes, it.history.bytes(), it.keys.bytes()));
        let series = self.metrics.lock().size().1;
        let indexes = ledger.weighed_bytes(INDEXES);
        let read = [
            ("watches", ledger.weighed_bytes("watches")),
            ("recordings", ledger.weighed_bytes("recordings")),
            ("queue", queue as u64),
            ("history", history as u64),
            ("logTail", self.log.bytes() as u64),
            ("workqueue", workqueue as u64),
            ("series", series as u64),
            ("state", state as u64),
            ("deadLetters", letters as u64),
        ];
        ledger.note_read(indexes, read.iter().map(|(_, bytes)| bytes).sum());
        let held = Holding::ALL.map(|holding| (holding.name(), ledger.held(holding)));
        let kept = self.archive.snapshot();
        Account {
            memory: held.into_iter().chain([(INDEXES, indexes)]).chain(read).collect(),
            memory_max: running.map(|running| running.settings.limits.host_memory_max),
            time: time(&self.counters),
            processor: ledger.processor(),
            log_bytes: ledger.log_bytes(),
            disk_bytes: kept.map_or(0, |kept| state + letters + kept.retries_bytes) as u64,
        }
    }
}

/// The time spent for a plugin so far. Waits for outside answers do not count.
fn time(counters: &Counters) -> Vec<(&'static str, Duration)> {
    let seconds = |seconds: f64| Duration::from_secs_f64(seconds.max(0.0));
    let calls: [&Histogram; 3] =
        [&counters.handle_seconds, &counters.reconcile_seconds, &counters.fire_seconds];
    let calls = seconds(calls.iter().map(|histogram| histogram.sum()).sum());
    let waits = [&counters.cluster_write_seconds, &counters.http_request_seconds];
    let waits = seconds(waits.iter().map(|histogram| histogram.sum()).sum());
    let host = Duration::from_nanos(counters.host_call_nanoseconds.load(Relaxed));
    vec![
        ("guest", calls.saturating_sub(host)),
        ("hostFunctions", host.saturating_sub(waits)),
        ("evaluation", counters.ledger.evaluation()),
        ("compile", counters.ledger.compile()),
    ]
}
