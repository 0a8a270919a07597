//! The metrics, each declared once. The other crates have plain counters. This module writes the counters as
//! Prometheus' text for a request.

mod families;
mod otlp;
#[cfg(test)]
mod page;
mod plugins;
mod process;
mod refused;
mod watches;

use crate::election::Candidate;
use crate::host_configuration::ConfigurationStatus;
use families::{FAMILIES, Family, KEPT, MetricKind, Series, ShownSeries, TIMES};
use informant_cache::{InformerStats, SharedIndexInformer, SharedInformerFactory};
use informant_runtime::{
    AccessCounts, BUCKETS, CompileCounts, Histogram, PluginSeries, PluginStatus, Plugins,
    StateDirectoryStatus,
};
pub(crate) use otlp::OtlpCounts;
pub(crate) use process::begin;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet as NoLabels,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
pub(crate) use refused::{RefusedByListener, RefusedCallers, RefusedCounts};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
pub(crate) use watches::{OpenWatch, WatchCounts, WatchEndReason};

/// The content type that Prometheus prefers.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The sources of all shown numbers.
#[derive(Clone)]
pub(crate) struct MetricSources {
    pub(crate) plugins: Plugins,
    pub(crate) informers: Arc<SharedInformerFactory>,
    /// `None` without an election.
    pub(crate) candidate: Option<Candidate>,
    pub(crate) configuration: Arc<ConfigurationStatus>,
    /// The connections and requests that the HTTP server refused.
    pub(crate) refused: RefusedByListener,
    pub(crate) watches: Arc<WatchCounts>,
    pub(crate) otlp: Arc<OtlpCounts>,
}

/// Writes the text of all metrics.
pub(crate) fn write(sources: MetricSources, page: &mut impl fmt::Write) -> fmt::Result {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot::new(sources)));
    encode(page, &registry)
}

/// A snapshot of the host for its metrics.
#[derive(Debug)]
struct Snapshot {
    /// `None` without an election.
    candidate: Option<Candidate>,
    configuration: Arc<ConfigurationStatus>,
    refused: RefusedByListener,
    watches: Arc<WatchCounts>,
    otlp: Arc<OtlpCounts>,
    plugins: Vec<PluginStatus>,
    /// Plugins' own metrics. They are read while the page is written.
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

type Labels<'a> = Vec<(&'static str, Cow<'a, str>)>;

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let kept = self.state_directory.iter().flat_map(|_| KEPT);
        for family in FAMILIES.iter().chain(kept) {
            self.encode_family(&mut encoder, family)?;
        }
        for times in TIMES {
            let mut lines =
                encoder.encode_descriptor(times.name, times.help, None, MetricType::Histogram)?;
            for plugin in &self.plugins {
                let histogram = (times.of)(plugin);
                if histogram.counts().iter().any(|count| *count > 0) {
                    encode_times(lines.encode_family(&vec![name(plugin)])?, histogram)?;
                }
            }
        }
        plugins::encode_all(&mut encoder, &self.of_plugins)
    }
}

impl Snapshot {
    fn new(sources: MetricSources) -> Self {
        let MetricSources { plugins, informers, candidate, configuration, refused, watches, otlp } =
            sources;
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
            watches,
            otlp,
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

    fn encode_family(&self, encoder: &mut DescriptorEncoder<'_>, family: &Family) -> fmt::Result {
        let Family { kind, name, help, shown } = family;
        let is_gauge = matches!(kind, MetricKind::Gauge | MetricKind::GaugeFromZero);
        let kind_of = if is_gauge { MetricType::Gauge } else { MetricType::Counter };
        let is_from_zero = matches!(kind, MetricKind::GaugeFromZero | MetricKind::CounterFromZero)
            || !matches!(shown, ShownSeries::Plugin(_) | ShownSeries::PluginBy(_));
        let mut lines = encoder.encode_descriptor(name, help, None, kind_of)?;
        for (labels, number) in self.series(shown) {
            if number == 0.0 && !is_from_zero {
                continue;
            }
            let one = lines.encode_family(&labels)?;
            match is_gauge {
                true => ConstGauge::new(number).encode(one)?,
                // Most counters count whole things.
                false if number.fract() == 0.0 => ConstCounter::new(number as u64).encode(one)?,
                false => ConstCounter::new(number).encode(one)?,
            }
        }
        Ok(())
    }

    fn series(&self, shown: &ShownSeries) -> Series<'_> {
        match shown {
            ShownSeries::Host(number) => vec![(Vec::new(), number(self))],
            ShownSeries::HostBy(series) => series(self),
            ShownSeries::Informer(number) => of(&self.informers, resource, |it| one(number(it))),
            ShownSeries::InformerBy(series) => of(&self.informers, resource, series),
            ShownSeries::Plugin(number) => of(&self.plugins, name, |it| one(number(it))),
            ShownSeries::PluginBy(series) => of(&self.plugins, name, series),
        }
    }
}

/// The series of each of these things, with the label of its name.
fn of<'a, T>(
    things: &'a [T],
    name: fn(&'a T) -> (&'static str, Cow<'a, str>),
    series: impl Fn(&'a T) -> Series<'a>,
) -> Series<'a> {
    let named = |thing: &'a T| {
        let named = move |(labels, number): (Labels<'a>, f64)| {
            (std::iter::once(name(thing)).chain(labels).collect(), number)
        };
        series(thing).into_iter().map(named)
    };
    things.iter().flat_map(named).collect()
}

fn one<'a>(number: f64) -> Series<'a> {
    vec![(Vec::new(), number)]
}

fn name(plugin: &PluginStatus) -> (&'static str, Cow<'_, str>) {
    ("plugin", plugin.name.as_str().into())
}

fn resource(informer: &Informer) -> (&'static str, Cow<'_, str>) {
    ("resource", informer.resource.as_str().into())
}

fn encode_times(mut encoder: MetricEncoder<'_>, histogram: &Histogram) -> fmt::Result {
    let counts = histogram.counts();
    let bounds = BUCKETS.iter().copied().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
    encoder.encode_histogram::<NoLabels>(histogram.sum(), counts.iter().sum(), &buckets, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_runtime::{FIXED_LIMITS, LIMITS};
    use prometheus_client::encoding::text::encode_registry;

    #[derive(Debug, Default)]
    struct One(Histogram);

    impl Collector for One {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let kind = MetricType::Histogram;
            encode_times(encoder.encode_descriptor("test_seconds", "A test", None, kind)?, &self.0)
        }
    }

    #[test]
    fn every_limit_is_seen_in_a_metric_that_there_is() {
        let families = FAMILIES.iter().chain(KEPT).map(|it| it.name);
        let here: Vec<&str> = families.chain(TIMES.iter().map(|it| it.name)).collect();
        let set = LIMITS.iter().map(|limit| (limit.name, limit.metric));
        let fixed = FIXED_LIMITS.iter().map(|limit| (limit.name, limit.metric));
        for (name, metric) in set.chain(fixed).filter(|(_, metric)| !metric.is_empty()) {
            let declared = metric.trim_end_matches("_total");
            assert!(here.contains(&declared), "{name} is said to be in {metric}");
        }
    }

    /// Without this bucket, Prometheus treats the whole answer as broken.
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
