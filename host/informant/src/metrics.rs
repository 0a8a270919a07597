//! Every metric, declared once. The crates below keep plain counters; this turns them into Prometheus'
//! text when somebody asks.

mod access;
mod accounts;
mod calls;
mod configuration;
mod http;
mod http_out;
mod informers;
mod keys;
mod plugins;
mod process;
mod series;
mod state;
mod writes;

use crate::election::Candidate;
use crate::host_configuration::ConfigurationStatus;
use informant_cache::{InformerStats, SharedIndexInformer, SharedInformerFactory};
use informant_runtime::{
    AccessCounts, CompileCounts, Counters, LIMITS, Limit, PluginSeries, PluginStatus, Plugins,
    StateDirectoryStatus,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet as NoLabels};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) use self::http::{Refused, RefusedByListener};
pub(crate) use self::process::begin;
use series::{counters, counters_from_zero, gauges, gauges_from_zero, histograms};

/// What Prometheus asks for first.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where everything is read that is shown.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) plugins: Plugins,
    pub(crate) informers: Arc<SharedInformerFactory>,
    /// None: nobody is elected.
    pub(crate) candidate: Option<Candidate>,
    pub(crate) configuration: Arc<ConfigurationStatus>,
    /// What the HTTP server had no place for.
    pub(crate) refused: RefusedByListener,
}

/// Writes the text of everything.
pub(crate) fn write(sources: Sources, page: &mut impl fmt::Write) -> fmt::Result {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot::new(sources)));
    encode(page, &registry)
}

/// What is shown of the host, as it was at one moment.
#[derive(Debug)]
struct Snapshot {
    /// None: nobody is elected.
    candidate: Option<Candidate>,
    configuration: Arc<ConfigurationStatus>,
    refused: RefusedByListener,
    plugins: Vec<PluginStatus>,
    /// What plugins count is read while it is written.
    of_plugins: Vec<PluginSeries>,
    compiles: CompileCounts,
    access: Arc<AccessCounts>,
    /// By resource and pointer.
    index_values_cut: BTreeMap<(String, String), u64>,
    state_directory: Option<StateDirectoryStatus>,
    files_not_loaded: usize,
    informers: Vec<Informer>,
}

#[derive(Debug)]
struct Informer {
    resource: String,
    state: &'static str,
    synced: bool,
    stats: InformerStats,
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_process(&mut encoder)?;
        self.encode_informers(&mut encoder)?;
        self.encode_caches(&mut encoder)?;
        self.encode_plugins(&mut encoder)?;
        self.encode_keys(&mut encoder)?;
        self.encode_compiles(&mut encoder)?;
        self.encode_limits(&mut encoder)?;
        self.encode_instances(&mut encoder)?;
        self.encode_accounts(&mut encoder)?;
        self.encode_state(&mut encoder)?;
        self.encode_calls(&mut encoder)?;
        self.encode_leads(&mut encoder)?;
        self.encode_writes(&mut encoder)?;
        self.encode_http_out(&mut encoder)?;
        self.encode_http(&mut encoder)?;
        self.encode_access(&mut encoder)?;
        self.encode_configuration(&mut encoder)?;
        self.encode_plugin_times(&mut encoder)?;
        self.encode_metrics_of_plugins(&mut encoder)
    }
}

impl Snapshot {
    fn new(sources: Sources) -> Self {
        let Sources { plugins, informers, candidate, configuration, refused } = sources;
        let informers = informers.informers();
        let informer = |informer: &SharedIndexInformer| Informer {
            resource: informer.resource().to_string(),
            state: informer.state().as_str(),
            synced: informer.has_synced(),
            stats: informer.stats(),
        };
        Self {
            candidate,
            configuration,
            refused,
            plugins: plugins.status(),
            of_plugins: plugins.series(),
            compiles: plugins.compiles(),
            access: plugins.access(),
            index_values_cut: plugins.index_values_cut(),
            state_directory: plugins.state_directory(),
            files_not_loaded: plugins.files_not_loaded(),
            informers: informers.iter().map(informer).collect(),
        }
    }

    fn plugin_gauge(
        &self,
        value: fn(&PluginStatus) -> f64,
    ) -> impl Iterator<Item = (Labels<'_>, f64)> {
        self.plugins.iter().map(move |plugin| (vec![name(plugin)], value(plugin)))
    }

    fn encode_plugins(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        gauges_from_zero(
            encoder,
            "informant_plugin_up",
            "Whether a version of the plugin takes events, in all of its shards",
            self.plugin_gauge(|plugin| f64::from(u8::from(plugin.state.takes_events()))),
        )?;
        gauges(
            encoder,
            "informant_plugin_state",
            "1 for the state that the plugin is in",
            self.plugins.iter().map(|it| (vec![name(it), ("state", it.state.name())], 1.0)),
        )?;
        // What is watched for an increase has to be there before it.
        let is_watched =
            |(labels, n): &(Labels<'_>, u64)| *n > 0 || labels.contains(&("result", "dead"));
        counters_from_zero(
            encoder,
            "informant_plugin_events",
            "Events by what became of them",
            self.plugins.iter().flat_map(|plugin| {
                let counters = &plugin.counters;
                let results = [
                    ("ok", counters.ok.load(Relaxed)),
                    ("retry", counters.retry.load(Relaxed)),
                    ("dead", counters.dead.load(Relaxed)),
                    ("filtered", counters.filtered.load(Relaxed)),
                    ("enqueued", counters.enqueued.load(Relaxed)),
                    ("coalesced", plugin.queue.coalesced),
                ];
                let series = move |(result, n)| (vec![name(plugin), ("result", result)], n);
                results.map(series).into_iter().filter(is_watched)
            }),
        )?;
        counters(
            encoder,
            "informant_plugin_filter_errors",
            "Evaluations of a filter that failed; the event was told",
            self.plugins
                .iter()
                .map(|plugin| (vec![name(plugin)], plugin.counters.filter_errors.load(Relaxed))),
        )?;
        gauges(
            encoder,
            "informant_plugin_queue_depth",
            "Events that wait",
            self.plugin_gauge(|plugin| plugin.queue.depth as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_queue_age_seconds",
            "Time since the oldest waiting event was received",
            self.plugin_gauge(|plugin| {
                plugin.queue.oldest.map_or(0.0, |at| at.elapsed().as_secs_f64())
            }),
        )
    }

    fn encode_compiles(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let CompileCounts { compiled, cached, failed } = self.compiles;
        let results = [("compiled", compiled), ("cached", cached), ("failed", failed)];
        counters(
            encoder,
            "informant_plugin_compiles",
            "Plugins' code by how it was come by",
            results.into_iter().map(|(result, n)| (vec![("result", result)], n)),
        )?;
        gauges(
            encoder,
            "informant_files_not_loaded",
            "Files in the plugin directories that are not loaded or not used for where they are; /problems lists them",
            [(vec![], self.files_not_loaded as f64)].into_iter(),
        )?;
        gauges(
            encoder,
            "informant_plugin_load_refused",
            "1 where the plugin's file is not what runs, because it was refused",
            self.plugin_gauge(|plugin| f64::from(u8::from(plugin.is_last_load_refused()))),
        )
    }

    fn encode_limits(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        gauges(
            encoder,
            "informant_plugin_limit",
            "What one plugin may use that is not as in informant_plugin_limit_default, in the unit that the label says",
            self.plugins.iter().filter_map(|it| Some((it, it.limits()?))).flat_map(
                |(it, limits)| {
                    let set = LIMITS.iter().map(|limit| (limit, (limit.get)(limits)));
                    let set = set.filter(|(limit, number)| *number != limit.default);
                    set.map(move |(limit, number)| {
                        let labels = [name(it)].into_iter().chain(labels_of(limit));
                        (labels.collect(), number as f64)
                    })
                },
            ),
        )?;
        gauges(
            encoder,
            "informant_plugin_limit_default",
            "What one plugin may use of which no configuration says anything, in the unit that the label says",
            LIMITS.iter().map(|limit| (labels_of(limit).into(), limit.default as f64)),
        )?;
        gauges(
            encoder,
            "informant_plugin_queue_bytes",
            "Bytes that the waiting events keep alive",
            self.plugin_gauge(|plugin| plugin.queue.bytes as f64),
        )?;
        let dropped = |value: fn(&Counters) -> &AtomicU64| {
            let one = move |plugin| {
                let plugin: &PluginStatus = plugin;
                (vec![name(plugin)], value(&plugin.counters).load(Relaxed))
            };
            self.plugins.iter().map(one)
        };
        counters(
            encoder,
            "informant_plugin_log_lines_dropped",
            "Log lines that were over the limit",
            dropped(|counters| &counters.log_lines_dropped),
        )?;
        counters(
            encoder,
            "informant_plugin_dead_letters_dropped",
            "Dead letters that made room for newer ones",
            dropped(|counters| &counters.dead_letters_dropped),
        )
    }

    fn encode_instances(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters_from_zero(
            encoder,
            "informant_plugin_reloads",
            "Versions that were to replace another, by how that ended",
            self.plugins.iter().flat_map(|plugin| {
                let counters = &plugin.counters;
                let results = [
                    ("ok", counters.reloads_ok.load(Relaxed)),
                    ("failed", counters.reloads_failed.load(Relaxed)),
                ];
                results.map(|(result, n)| (vec![name(plugin), ("result", result)], n))
            }),
        )?;
        counters(
            encoder,
            "informant_plugin_restarts",
            "Instances that ended, by cause",
            self.plugins.iter().flat_map(|plugin| {
                let restarts = plugin.counters.restarts().into_iter();
                restarts.map(|(cause, n)| (vec![name(plugin), ("cause", cause)], n))
            }),
        )?;
        counters_from_zero(
            encoder,
            "informant_plugin_trips",
            "How often a plugin failed so much that its events were held back",
            self.plugins
                .iter()
                .map(|plugin| (vec![name(plugin)], plugin.counters.trips.load(Relaxed))),
        )?;
        gauges(
            encoder,
            "informant_plugin_dead_letters",
            "Events that were given up on and are kept",
            self.plugin_gauge(|plugin| plugin.dead_letters as f64),
        )?;
        gauges(
            encoder,
            "informant_plugin_memory_bytes",
            "Memory of the plugin's instances: linear memories and data",
            self.plugin_gauge(|plugin| plugin.account.memory_of("instances") as f64),
        )
    }

    fn encode_plugin_times(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        histograms(
            encoder,
            "informant_plugin_handle_seconds",
            "Time in the plugin's handle",
            self.plugins.iter().map(|plugin| (vec![name(plugin)], &plugin.counters.handle_seconds)),
        )?;
        histograms(
            encoder,
            "informant_plugin_event_latency_seconds",
            "From the read of the watch event's bytes to the return of handle",
            self.plugins
                .iter()
                .map(|plugin| (vec![name(plugin)], &plugin.counters.event_latency_seconds)),
        )
    }
}

fn labels_of(limit: &Limit) -> [(&'static str, &'static str); 2] {
    [("limit", limit.name), ("unit", limit.unit.name())]
}

fn name(plugin: &PluginStatus) -> (&'static str, &str) {
    ("plugin", plugin.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_runtime::{FIXED_LIMITS, Histogram};
    use prometheus_client::encoding::text::encode_registry;

    #[derive(Debug, Default)]
    struct One(Histogram);

    impl Collector for One {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            histograms(&mut encoder, "test_seconds", "A test", [(vec![], &self.0)].into_iter())
        }
    }

    #[test]
    fn every_limit_is_seen_in_a_metric_that_there_is() {
        let files = [
            include_str!("metrics.rs"),
            include_str!("metrics/access.rs"),
            include_str!("metrics/accounts.rs"),
            include_str!("metrics/calls.rs"),
            include_str!("metrics/http.rs"),
            include_str!("metrics/http_out.rs"),
            include_str!("metrics/informers.rs"),
            include_str!("metrics/keys.rs"),
            include_str!("metrics/plugins.rs"),
            include_str!("metrics/process.rs"),
            include_str!("metrics/state.rs"),
            include_str!("metrics/writes.rs"),
        ];
        let here = files.concat();
        let set = LIMITS.iter().map(|limit| (limit.name, limit.metric));
        let fixed = FIXED_LIMITS.iter().map(|limit| (limit.name, limit.metric));
        for (name, metric) in set.chain(fixed).filter(|(_, metric)| !metric.is_empty()) {
            let declared = format!("\"{}\",", metric.trim_end_matches("_total"));
            assert!(here.contains(&declared), "{name} is said to be in {metric}");
        }
    }

    /// Prometheus takes the whole answer for broken without it.
    #[test]
    fn histogram_ends_with_the_infinite_bucket() {
        let mut registry = Registry::default();
        registry.register_collector(Box::<One>::default());
        let mut text = String::new();
        encode_registry(&mut text, &registry).expect("text");
        let last = text.lines().rfind(|line| line.starts_with("test_seconds_bucket"));
        assert_eq!(last, Some(r#"test_seconds_bucket{le="+Inf"} 0"#), "{text}");
    }
}
