//! What plugins count themselves: a family for each name, whichever plugins have it, with a label that says which.

use super::{NoLabels, Snapshot, gauges};
use informant_runtime::{METRIC_BUCKETS, MetricFamily, MetricKind, MetricValue, PluginName};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::collections::BTreeMap;
use std::fmt;

impl Snapshot {
    pub(super) fn encode_metrics_of_plugins(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> fmt::Result {
        gauges(
            encoder,
            "informant_plugin_metric_series",
            "Series of the plugin's own metrics",
            self.plugin_gauge(|plugin| plugin.metric_series as f64),
        )?;
        let mut families: BTreeMap<&str, Vec<(&PluginName, &MetricFamily)>> = BTreeMap::new();
        for (plugin, of_plugin) in &self.of_plugins {
            for family in of_plugin {
                families.entry(&family.name).or_default().push((plugin, family));
            }
        }
        families.into_iter().try_for_each(|(name, of_plugins)| encode(encoder, name, &of_plugins))
    }
}

fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    of_plugins: &[(&PluginName, &MetricFamily)],
) -> fmt::Result {
    let Some((_, MetricFamily { kind, .. })) = of_plugins.first() else { return Ok(()) };
    let mut lines = encoder.encode_descriptor(name, "A plugin's own", None, metric_type(*kind))?;
    // A name is one thing to all plugins; one of them may have changed hands between their snapshots.
    for (plugin, family) in of_plugins.iter().filter(|(_, family)| family.kind == *kind) {
        for (labels, value) in &family.series {
            let own = labels.iter().map(|(name, value)| (&**name, &**value));
            let labels: Vec<(&str, &str)> =
                [("plugin", plugin.as_str())].into_iter().chain(own).collect();
            encode_value(lines.encode_family(&labels)?, value)?;
        }
    }
    Ok(())
}

fn encode_value(mut encoder: MetricEncoder<'_>, value: &MetricValue) -> fmt::Result {
    match value {
        MetricValue::Counter(value) => ConstCounter::new(*value).encode(encoder),
        MetricValue::Gauge(value) => ConstGauge::new(*value).encode(encoder),
        MetricValue::Histogram { counts, sum } => {
            let bounds = METRIC_BUCKETS.iter().copied().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
            encoder.encode_histogram::<NoLabels>(*sum, counts.iter().sum(), &buckets, None)
        }
    }
}

fn metric_type(kind: MetricKind) -> MetricType {
    match kind {
        MetricKind::Counter => MetricType::Counter,
        MetricKind::Gauge => MetricType::Gauge,
        MetricKind::Histogram => MetricType::Histogram,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::text::encode_registry;
    use prometheus_client::registry::Registry;

    #[derive(Debug)]
    struct Page(Vec<(PluginName, MetricFamily)>);

    impl Collector for Page {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let of_plugins: Vec<_> = self.0.iter().map(|(name, family)| (name, family)).collect();
            super::encode(&mut encoder, "hits", &of_plugins)
        }
    }

    /// A plugin, labels and a value.
    type One = (&'static str, &'static [(&'static str, &'static str)], MetricValue);

    /// The page's lines of a metric that these plugins have.
    #[track_caller]
    fn check(of_plugins: &[One], expect: &[&str]) {
        let families = of_plugins.iter().map(|(plugin, labels, value)| {
            let kind = match value {
                MetricValue::Counter(_) => MetricKind::Counter,
                MetricValue::Gauge(_) => MetricKind::Gauge,
                MetricValue::Histogram { .. } => MetricKind::Histogram,
            };
            let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let series = vec![(labels.collect(), value.clone())];
            let family = MetricFamily { name: "hits".into(), kind, series };
            (plugin.parse().expect("a plugin's name"), family)
        });
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Page(families.collect())));
        let mut text = String::new();
        encode_registry(&mut text, &registry).expect("text");
        let is_zero = |line: &&str| line.starts_with("hits_bucket") && line.ends_with(" 0");
        let shown = |line: &&str| !line.starts_with("# HELP") && !is_zero(line);
        let lines: Vec<&str> = text.lines().filter(shown).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn plugins_that_count_the_same_are_one_family() {
        let of_plugins: [One; 3] = [
            ("a", &[("path", "a\"b")], MetricValue::Counter(2.0)),
            ("b", &[], MetricValue::Counter(0.5)),
            // It had the name before.
            ("c", &[], MetricValue::Gauge(1.0)),
        ];
        let expect = [
            "# TYPE hits counter",
            r#"hits_total{plugin="a",path="a\"b"} 2.0"#,
            r#"hits_total{plugin="b"} 0.5"#,
        ];
        check(&of_plugins, &expect);
    }

    #[test]
    fn a_gauge_is_what_it_was_set_to() {
        let expect = ["# TYPE hits gauge", r#"hits{plugin="a"} -1.5"#];
        check(&[("a", &[], MetricValue::Gauge(-1.5))], &expect);
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_the_infinite_bucket() {
        let mut counts = Box::new([0; METRIC_BUCKETS.len() + 1]);
        (counts[METRIC_BUCKETS.len() - 1], counts[METRIC_BUCKETS.len()]) = (3, 1);
        let expect = [
            "# TYPE hits histogram",
            r#"hits_sum{plugin="a"} 0.5"#,
            r#"hits_count{plugin="a"} 4"#,
            r#"hits_bucket{le="10000.0",plugin="a"} 3"#,
            r#"hits_bucket{le="+Inf",plugin="a"} 4"#,
        ];
        check(&[("a", &[], MetricValue::Histogram { counts, sum: 0.5 })], &expect);
    }
}
