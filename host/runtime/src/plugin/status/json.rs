//! A plugin's entry in `GET /plugins`.

use super::{PluginStatus, ShardStatus};
use crate::contract::coverage::NAMESPACES_WATCHED_MAX;
use crate::contract::descriptor::NAMESPACE_BYTES_MAX;
use crate::contract::limits::Limits;
use crate::delivery::not_now::NotNow;
use crate::enumerated::first_texts;
use crate::kept::plugin_archive::KeptSnapshot;
use crate::plugin::core::ReplaySnapshot;
use serde_json::{Value, json};
use std::sync::atomic::Ordering::Relaxed;

/// The names of a view's namespaces: all that are watched individually.
pub(super) fn namespaces<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> Vec<String> {
    first_texts(names, NAMESPACES_WATCHED_MAX, NAMESPACE_BYTES_MAX)
}

impl ShardStatus {
    fn to_json(self) -> Value {
        json!({ "isLost": self.is_lost, "depth": self.depth })
    }
}

impl ReplaySnapshot {
    fn to_json(&self) -> Value {
        json!({ "subscription": self.subscription, "told": self.told, "left": self.left })
    }
}

impl PluginStatus {
    /// The limits of the version that takes events; `None` before there is one.
    pub fn limits(&self) -> Option<&Limits> {
        self.running.as_ref().map(|running| &*running.settings.limits)
    }

    /// The number of origins and paths in its rules for HTTP requests; `None` before there is a version.
    pub fn http_rules(&self) -> Option<usize> {
        self.running.as_ref().map(|running| running.settings.http.entries())
    }

    /// The reason for which the file that was read last does not run.
    pub fn refusal(&self) -> Option<&str> {
        let refused = self.last_load.as_ref().filter(|load| load.result == "failed")?;
        Some(refused.reason.as_deref().unwrap_or_default())
    }

    fn queue_json(&self) -> Value {
        let age = self.queue.oldest.map(|oldest| oldest.elapsed().as_secs_f64());
        json!({
            "depth": self.queue.depth,
            "inFlight": self.queue.in_flight,
            "bytes": self.queue.bytes,
            "ageSeconds": age,
            "isRateLimited": self.queue.is_rate_limited,
            "notNow": self.not_now().map(NotNow::as_str),
            "failed": self.queue.failed,
        })
    }

    /// The entry in `GET /plugins`.
    pub fn to_json(&self) -> Value {
        let running = self.running.as_ref();
        let subscriptions = running.iter().flat_map(|running| &*running.specs);
        let counters = &self.counters;
        json!({
            "name": self.name.as_str(),
            "version": running.map(|running| &running.version),
            "sha256": running.map(|running| &running.sha256),
            "configuration": running.map(|running| running.settings.to_json()),
            "restricted": self.restricted,
            "notInForce": running.and_then(|running| running.settings.not_in_force()),
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
                .map(|(_, spec)| json!({
                    "name": spec.name,
                    "resource": spec.resource.to_string(),
                    "namespaces": namespaces(spec.namespaces.iter()),
                    "namespaceSelector": spec.namespace_selector.as_ref().map(ToString::to_string),
                }))
                .collect::<Vec<_>>(),
            "reads": running.iter().flat_map(|running| &*running.reads)
                .map(|spec| json!({
                    "resource": spec.resource.to_string(),
                    "namespaces": namespaces(spec.namespaces.iter()),
                    "namespaceSelector": spec.namespace_selector.as_ref().map(ToString::to_string),
                }))
                .collect::<Vec<_>>(),
            "shards": self.shards.iter().copied().map(ShardStatus::to_json).collect::<Vec<_>>(),
            "queue": self.queue_json(),
            "workqueue": self.keys.to_json(),
            "replays": self.replays.iter().map(ReplaySnapshot::to_json).collect::<Vec<_>>(),
            "schedules": self.schedules,
            "timers": self.timers.to_json(),
            "metricSeries": self.metric_size.0,
            "metricBytes": self.metric_size.1,
            "deadLetters": self.dead_letters,
            "store": { "keys": self.state_size.0, "bytes": self.state_size.1 },
            "kept": self.kept.map(KeptSnapshot::to_json),
            "account": self.account.to_json(),
            "eventLatency": counters.event_latency_seconds.to_json(),
            "counters": self.counters_json(),
        })
    }

    /// The counters of the plugin.
    fn counters_json(&self) -> Value {
        let counters = &self.counters;
        json!({
            "ok": counters.ok.load(Relaxed),
            "retry": counters.retry.load(Relaxed),
            "dead": counters.dead.load(Relaxed),
            "filtered": self.filtered,
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
            "memoryBytes": self.account.memory_of("instances"),
        })
    }
}
