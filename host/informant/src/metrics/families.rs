//! Every metric of the host, one row each: its type, its name, its meaning, and its number.

use super::process::{files_max, files_open, of_status, processor_seconds, started};
use super::{Informer, Labels, Snapshot};
use informant_runtime::{CONTRACT_VERSION, Histogram, KeptSnapshot, LIMITS, Limit, PluginStatus};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The numbers of a family, each with its labels.
pub(super) type Series<'a> = Vec<(Labels<'a>, f64)>;

/// A metric's type. A plugin's series begins when it has a number that is not zero, because most plugins have few of
/// the series. The kinds with `FromZero` have all their series from the start, because their zero means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Gauge,
    GaugeFromZero,
    Counter,
    CounterFromZero,
}

/// The source of a family's numbers. A variant with `By` gives several numbers for one thing, each with its own
/// labels.
#[derive(Clone, Copy)]
pub(super) enum ShownSeries {
    Host(fn(&Snapshot) -> f64),
    HostBy(fn(&Snapshot) -> Series<'_>),
    Informer(fn(&Informer) -> f64),
    InformerBy(fn(&Informer) -> Series<'_>),
    Plugin(fn(&PluginStatus) -> f64),
    PluginBy(fn(&PluginStatus) -> Series<'_>),
}

/// One metric.
pub(super) struct Family {
    pub(super) kind: MetricKind,
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) shown: ShownSeries,
}

/// The duration of calls, for each plugin.
pub(super) struct Times {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) of: fn(&PluginStatus) -> &Histogram,
}

macro_rules! families {
    ($($kind:ident $name:literal: $help:literal, $shown:ident $of:expr;)*) => {
        &[$(Family { kind: MetricKind::$kind, name: $name, help: $help, shown: ShownSeries::$shown($of) },)*]
    };
}

macro_rules! times {
    ($($name:literal: $help:literal, $field:ident;)*) => {
        &[$(Times { name: $name, help: $help, of: |it| &it.counters.$field },)*]
    };
}

pub(super) const FAMILIES: &[Family] = families! {
    // The process, under the names that all Prometheus clients use.
    Gauge "informant_build_info": "Version and contract of this program",
        HostBy |_| vec![(labels([("version", env!("CARGO_PKG_VERSION")), ("contract", CONTRACT_VERSION)]), 1.0)];
    Counter "process_cpu_seconds": "Processor time of the process and all of its threads", Host |_| processor_seconds();
    Gauge "process_start_time_seconds": "Time of the start, since 1970", Host |_| started();
    Gauge "process_resident_memory_bytes": "Resident memory", HostBy |_| some(of_status("VmRSS", 1024.0));
    Gauge "process_virtual_memory_bytes": "Virtual memory", HostBy |_| some(of_status("VmSize", 1024.0));
    Gauge "process_threads": "Threads", HostBy |_| some(of_status("Threads", 1.0));
    Gauge "process_open_fds": "Open files", HostBy |_| some(files_open());
    Gauge "process_max_fds": "Maximum of open files", HostBy |_| some(files_max());

    // Informers and their caches.
    Gauge "informant_informer_synced": "1 when the informer's first list is complete", Informer |it| one_if(it.synced);
    Gauge "informant_informer_state":
        "1 for the state of the informer; of several namespaces the worst one counts",
        InformerBy |it| vec![(labels([("state", it.state)]), 1.0)];
    Gauge "informant_informer_last_event_age_seconds": "Time since the last event or bookmark",
        InformerBy |it| some(it.stats.last_event_age.map(|age| age.as_secs_f64()));
    Counter "informant_informer_events": "Watch events received, by type", InformerBy |it| by("type", [
        ("added", it.stats.added),
        ("modified", it.stats.modified),
        ("deleted", it.stats.deleted),
        ("bookmark", it.stats.bookmarks),
    ]);
    Counter "informant_informer_failures":
        "Failures, by kind: lists and watches, unreadable objects and events, transforms, panics of handlers",
        InformerBy |it| by("kind", [
            ("list-or-watch", it.stats.errors),
            ("unreadable", it.stats.malformed),
            ("transform", it.stats.transform_failures),
            ("handler-panic", it.stats.handler_panics),
        ]);
    Counter "informant_informer_relists": "Lists, by cause; the first one is included",
        InformerBy |it| by("cause", it.stats.relists.iter().map(|(cause, count)| (cause.as_str(), *count)));
    Gauge "informant_cache_objects": "Objects in the cache", Informer |it| it.stats.objects as f64;
    Gauge "informant_cache_bytes": "Bytes of the objects in the cache", Informer |it| it.stats.bytes as f64;
    Counter "informant_index_values_cut":
        "Versions of objects with more values for an index than the index holds",
        HostBy |host| host.index_values_cut.iter()
            .map(|((resource, pointer), count)| (labels([("resource", resource), ("pointer", pointer)]), *count as f64))
            .collect();

    // Plugins and their events.
    GaugeFromZero "informant_plugin_up": "1 while a version of the plugin takes events in all of its shards",
        Plugin |it| one_if(it.state.takes_events());
    Gauge "informant_plugin_state": "1 for the state of the plugin",
        PluginBy |it| vec![(labels([("state", it.state.name())]), 1.0)];
    CounterFromZero "informant_plugin_events": "Events, by result", PluginBy events;
    Counter "informant_plugin_filter_errors": "Evaluations of a filter that failed; the event was delivered",
        Plugin |it| load(&it.counters.filter_errors);
    Gauge "informant_plugin_queue_depth": "Events that wait", Plugin |it| it.queue.depth as f64;
    Gauge "informant_plugin_queue_age_seconds": "Time since the oldest waiting event was received",
        Plugin |it| it.queue.oldest.map_or(0.0, |at| at.elapsed().as_secs_f64());

    // Keys and schedules.
    Counter "informant_plugin_keys": "Keys, by result", PluginBy |it| by("result", [
        ("ok", it.counters.keys_ok.load(Relaxed)),
        ("retry", it.counters.keys_retry.load(Relaxed)),
        ("dead", it.counters.keys_dead.load(Relaxed)),
        ("dropped", it.counters.keys_dropped.load(Relaxed)),
    ]);
    Gauge "informant_plugin_workqueue_keys": "Keys in the work queue: waiting, delayed and failed", Plugin |it| it.keys.keys as f64;
    Gauge "informant_plugin_workqueue_bytes": "Bytes of these keys", Plugin |it| it.keys.bytes as f64;
    Gauge "informant_plugin_workqueue_depth": "Keys that wait for a call", Plugin |it| it.keys.depth as f64;
    Gauge "informant_plugin_workqueue_age_seconds": "Time since the oldest of them was added",
        Plugin |it| it.keys.oldest.map_or(0.0, |at| at.elapsed().as_secs_f64());
    Counter "informant_plugin_firings": "Times of schedules, by result", PluginBy |it| by("result", [
        ("ok", it.counters.firings_ok.load(Relaxed)),
        ("retry", it.counters.firings_retry.load(Relaxed)),
        ("dead", it.counters.firings_dead.load(Relaxed)),
    ]);
    Gauge "informant_plugin_schedule_age_seconds":
        "Age of the oldest time of a schedule that waits for its call", Plugin |it| it.timers.age.as_secs_f64();

    // Files, code and limits.
    Counter "informant_plugin_compiles": "Loads of plugins' code, by result: compiled, taken from the cache, failed", HostBy |host| by("result", [
        ("compiled", host.compiles.compiled),
        ("cached", host.compiles.cached),
        ("failed", host.compiles.failed),
    ]);
    Gauge "informant_files_not_loaded":
        "Files in the plugin directories that are not loaded, or are in a place where they do not count; /problems lists them",
        Host |host| host.files_not_loaded as f64;
    Gauge "informant_plugin_load_refused": "1 while the plugin's newest file is refused",
        Plugin |it| one_if(it.refusal().is_some());
    Gauge "informant_plugin_limit":
        "Limits of the plugin that differ from informant_plugin_limit_default, in the unit of the label",
        PluginBy limits;
    Gauge "informant_plugin_limit_default":
        "Limits of a plugin without any configuration, in the unit of the label",
        HostBy |_| LIMITS.iter().map(|limit| (of_limit(limit), limit.default as f64)).collect();
    Gauge "informant_plugin_queue_bytes": "Bytes that the waiting events keep alive", Plugin |it| it.queue.bytes as f64;
    Counter "informant_plugin_log_lines_dropped": "Log lines above the limit, which were dropped",
        Plugin |it| load(&it.counters.log_lines_dropped);
    Counter "informant_plugin_dead_letters_dropped": "Dead letters that made room for newer ones",
        Plugin |it| load(&it.counters.dead_letters_dropped);

    // Instances.
    CounterFromZero "informant_plugin_reloads": "Loads of a new version, by result",
        PluginBy |it| by("result", [
            ("ok", it.counters.reloads_ok.load(Relaxed)),
            ("failed", it.counters.reloads_failed.load(Relaxed)),
        ]);
    Counter "informant_plugin_restarts": "Instances that ended, by cause",
        PluginBy |it| by("cause", it.counters.restarts());
    CounterFromZero "informant_plugin_trips": "Times that the plugin was tripped because almost all of its calls failed",
        Plugin |it| load(&it.counters.trips);
    Gauge "informant_plugin_failed_syncs": "Failed calls of synced that no later call has made good",
        Plugin |it| it.failed_syncs as f64;
    Gauge "informant_plugin_dead_letters": "Dead letters that are kept", Plugin |it| it.dead_letters as f64;
    Gauge "informant_plugin_memory_bytes": "Memory of the plugin's instances: linear memories and data",
        Plugin |it| it.account.memory_of("instances") as f64;

    // Accounts.
    Gauge "informant_plugin_account_bytes": "Memory that the host holds for the plugin, by part",
        PluginBy |it| by("part", it.account.memory.iter().copied());
    Counter "informant_plugin_account_seconds": "Time of the plugin, and of the host for it, by part",
        PluginBy |it| it.account.time.iter()
            .map(|(part, time)| (labels([("part", part)]), time.as_secs_f64()))
            .collect();
    Counter "informant_plugin_cpu_seconds":
        "Processor time of the plugin's calls, of the host functions in them and of its queue",
        Plugin |it| it.account.processor.as_secs_f64();
    Counter "informant_plugin_log_bytes": "Bytes of the plugin's lines in the log", Plugin |it| it.account.log_bytes as f64;
    Gauge "informant_plugin_state_bytes": "Keys and values that the plugin keeps in its state",
        Plugin |it| it.state_size.1 as f64;
    Gauge "informant_plugin_state_keys": "Keys that the plugin keeps in its state", Plugin |it| it.state_size.0 as f64;

    // Calls.
    Gauge "informant_plugin_rate_limited":
        "1 while events wait only for the configured rate of calls",
        Plugin |it| one_if(it.queue.is_rate_limited);
    Gauge "informant_plugin_shards": "Instances of the plugin", Plugin |it| it.shards.len() as f64;
    Gauge "informant_plugin_shards_lost": "Instances that ended and are not replaced yet",
        Plugin |it| it.shards.iter().filter(|shard| shard.is_lost).count() as f64;
    Counter "informant_plugin_host_call_seconds": "Time in host functions that the plugin called, by the clock",
        Plugin |it| load(&it.counters.host_call_nanoseconds) / 1e9;

    // The election, and requests to the world outside.
    Gauge "leader_election_master_status": "1 while this host leads, with leader election", HostBy leads;
    Counter "informant_plugin_cluster_writes":
        "Writes of the plugin to the cluster, by verb, resource and result: `ok`, `conflict`, `throttled`, `refused`, `unknown` (no whole answer), `unsent`, `not-granted`, `not-leader`, `invalid`", PluginBy writes;
    Counter "informant_plugin_kubernetes_events":
        "Kubernetes Events that the plugin recorded, by result", PluginBy |it| by("result", [
            ("written", it.counters.events_written.load(Relaxed)),
            ("dropped", it.counters.events_dropped.load(Relaxed)),
        ]);
    Counter "informant_plugin_http_requests":
        "HTTP requests of the plugin, by method and result",
        PluginBy |it| it.counters.http_requests().into_iter()
            .map(|((method, result), count)| (labels([("method", method), ("result", result)]), count as f64))
            .collect();
    Gauge "informant_plugin_http_rules": "Origins and paths in the plugin's rules for HTTP requests",
        PluginBy |it| some(it.http_rules().map(|rules| rules as f64));
    Counter "informant_http_refused":
        "Connections and requests above a listener's bound, by listener",
        HostBy refused;
    Counter "informant_http_callers_refused":
        "Requests that were refused for their callers, to the secure address or for actions, by reason",
        HostBy callers_refused;
    Gauge "informant_http_watches": "Open watches of the HTTP API, by resource: Kubernetes watches and server-sent events",
        HostBy watches;
    Counter "informant_http_watch_changes_sent": "Changes sent to these watches",
        Host |host| load(host.watches.changes_sent());
    Counter "informant_http_watches_ended":
        "Ended watches, by reason: client (closed, or nothing read for 10 s), timeout, too-slow, gap, informer-ended, host-stops",
        HostBy |host| by("reason", host.watches.ended());
    Counter "informant_access_reviews": "Reviews of service accounts' permissions, by result",
        HostBy |host| by("result", [
            ("allowed", host.access.allowed.load(Relaxed)),
            ("denied", host.access.denied.load(Relaxed)),
            ("failed", host.access.failed.load(Relaxed)),
        ]);
    Gauge "informant_access_permissions":
        "Permissions of service accounts that are reviewed periodically",
        Host |host| load(&host.access.asks);
    Gauge "informant_plugin_refused_reads":
        "Subscriptions and reads that the plugin's service account may not list and watch, or that are not reviewed yet",
        Plugin |it| it.refused_reads() as f64;
    Gauge "informant_configuration_in_force":
        "1 while the present content of the host's own configuration file is in force",
        Host |host| one_if(host.configuration.problem().is_none());
    Counter "informant_configuration_reloads":
        "Changes of the host's own configuration file, by result",
        HostBy |host| by("result", [
            ("ok", host.configuration.taken.load(Relaxed)),
            ("failed", host.configuration.refused.load(Relaxed)),
        ]);

    // The export to OpenTelemetry's collectors.
    Counter "informant_otlp_spans":
        "Spans for OTLP, by result: exported, dropped because the queue was full, failed", HostBy |host| by("result", host.otlp.spans());
    Counter "informant_otlp_requests": "OTLP requests with spans or metrics, by result: ok, partial if the collector refused a part, failed",
        HostBy |host| by("result", host.otlp.requests());

    // Plugins' own metrics (`plugins.rs`).
    Gauge "informant_plugin_metric_series": "Series of the plugin's own metrics", Plugin |it| it.metric_size.0 as f64;
    Gauge "informant_plugin_metric_bytes": "Bytes that the plugin's own metrics take on this page, at most",
        Plugin |it| it.metric_size.1 as f64;
};

/// Metrics of a host with a state directory.
pub(super) const KEPT: &[Family] = families! {
    Gauge "informant_plugin_kept_retries": "Waiting retries in the state directory",
        Plugin |it| kept(it, |kept| kept.retries);
    Gauge "informant_plugin_kept_dead_letters": "Dead letters in the state directory",
        Plugin |it| kept(it, |kept| kept.dead_letters);
    Gauge "informant_plugin_kept_retry_bytes": "Bytes of the waiting retries in the state directory",
        Plugin |it| kept(it, |kept| kept.retries_bytes);
    Counter "informant_plugin_retries_not_kept":
        "Retries that the state directory did not keep, because it was at the plugin's bound",
        Plugin |it| kept(it, |kept| kept.unkept as usize);
    Counter "informant_state_directory_writes":
        "Transactions of the state directory, by result; a failed one is tried again",
        HostBy |host| host.state_directory.iter()
            .flat_map(|it| by("result", [("ok", it.written), ("failed", it.failed), ("refused", it.refused)]))
            .collect();
    Gauge "informant_state_directory_waiting_bytes": "Bytes that wait to be written to the state directory",
        HostBy |host| some(host.state_directory.as_ref().map(|it| it.waiting_bytes as f64));
};

pub(super) const TIMES: &[Times] = times! {
    "informant_plugin_handle_seconds": "Time in the plugin's handle", handle_seconds;
    "informant_plugin_event_latency_seconds": "From the read of the watch event's bytes to the return of handle",
        event_latency_seconds;
    "informant_plugin_reconcile_seconds": "Time in the plugin's reconcile", reconcile_seconds;
    "informant_plugin_fire_seconds": "Time in the plugin's fire", fire_seconds;
    "informant_plugin_cluster_write_seconds": "Time that the plugin waited for answers to writes", cluster_write_seconds;
    "informant_plugin_http_request_seconds":
        "Time that the plugin waited for answers to HTTP requests, with turns and redirects", http_request_seconds;
};

fn events(plugin: &PluginStatus) -> Series<'_> {
    let counters = &plugin.counters;
    let all = by(
        "result",
        [
            ("ok", counters.ok.load(Relaxed)),
            ("retry", counters.retry.load(Relaxed)),
            ("dead", counters.dead.load(Relaxed)),
            ("filtered", plugin.filtered),
            ("enqueued", counters.enqueued.load(Relaxed)),
            ("coalesced", plugin.queue.coalesced),
        ],
    );
    // An alert on an increase needs the series before the increase.
    let is_watched = |(labels, count): &(Labels<'_>, f64)| *count > 0.0 || labels[0].1 == "dead";
    all.into_iter().filter(is_watched).collect()
}

fn limits(plugin: &PluginStatus) -> Series<'_> {
    let Some(limits) = plugin.limits() else { return Vec::new() };
    let set = LIMITS.iter().map(|limit| (limit, (limit.get)(limits)));
    let set = set.filter(|(limit, number)| *number != limit.default);
    set.map(|(limit, number)| (of_limit(limit), number as f64)).collect()
}

fn writes(plugin: &PluginStatus) -> Series<'_> {
    let writes = plugin.counters.cluster_writes().into_iter();
    let one = |((verb, resource, result), count): ((&'static str, Box<str>, &'static str), u64)| {
        let resource = ("resource", String::from(resource).into());
        (vec![("verb", verb.into()), resource, ("result", result.into())], count as f64)
    };
    writes.map(one).collect()
}

fn leads(host: &Snapshot) -> Series<'_> {
    let leads = host.candidate.iter().map(|candidate| {
        let leads = one_if(candidate.leadership.is_leader());
        (labels([("name", &*candidate.lease)]), leads)
    });
    leads.collect()
}

fn callers_refused(host: &Snapshot) -> Series<'_> {
    let refused = &host.refused.callers;
    let counts = [
        ("unauthenticated", &refused.unauthenticated),
        ("too-many-tokens", &refused.too_many_tokens),
        ("forbidden", &refused.forbidden),
        ("unknown", &refused.unknown),
    ];
    by("reason", counts.map(|(reason, count)| (reason, count.load(Relaxed))))
}

fn refused(host: &Snapshot) -> Series<'_> {
    let listeners = [
        ("listen", &host.refused.api),
        ("metrics-bind-address", &host.refused.metrics),
        ("secure-listen-address", &host.refused.secure),
        ("admin-socket", &host.refused.admin),
    ];
    let of = |(listener, refused): (&'static str, &super::RefusedCounts)| {
        let counts = [("connection", &refused.connections), ("request", &refused.requests)];
        counts
            .map(|(what, count)| (labels([("listener", listener), ("refused", what)]), load(count)))
    };
    listeners.into_iter().flat_map(|(listener, refused)| of((listener, refused))).collect()
}

fn watches(host: &Snapshot) -> Series<'_> {
    let by_resource = host.watches.by_resource().into_iter();
    by_resource.map(|(resource, open)| (vec![("resource", resource.into())], open as f64)).collect()
}

fn kept(plugin: &PluginStatus, number: fn(KeptSnapshot) -> usize) -> f64 {
    plugin.kept.map_or(0.0, |kept| number(kept) as f64)
}

fn of_limit(limit: &Limit) -> Labels<'static> {
    labels([("limit", limit.name), ("unit", limit.unit.name())])
}

/// Numbers with one label.
fn by(
    label: &'static str,
    counts: impl IntoIterator<Item = (&'static str, u64)>,
) -> Series<'static> {
    counts.into_iter().map(|(value, count)| (labels([(label, value)]), count as f64)).collect()
}

fn labels<'a, const N: usize>(labels: [(&'static str, &'a str); N]) -> Labels<'a> {
    labels.map(|(label, value)| (label, value.into())).into()
}

/// A number that may be unknown.
fn some(number: Option<f64>) -> Series<'static> {
    number.map(|number| (Vec::new(), number)).into_iter().collect()
}

fn one_if(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn load(counter: &AtomicU64) -> f64 {
    counter.load(Relaxed) as f64
}
