//! Plugins' own metrics: one family for each name, for all plugins that have the name, with a label for the plugin.

use super::NoLabels;
use informant_runtime::{METRIC_BUCKETS, MetricKind, MetricValue, PluginSeries};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The next names to write. For each name: the positions of the plugins that have it, and each plugin's kind of
/// metric.
type Next = BTreeMap<Arc<str>, Vec<(usize, MetricKind)>>;

/// Writes the names in order, each with the series of all plugins that have it. If a plugin begins a name during this
/// call, the name may be missing.
pub(super) fn encode_all(
    encoder: &mut DescriptorEncoder<'_>,
    of_plugins: &[PluginSeries],
) -> fmt::Result {
    let mut next = Next::new();
    let find = |next: &mut Next, place: usize, after: Option<&str>| {
        if let Some((name, kind)) = of_plugins[place].name_after(after) {
            next.entry(name).or_default().push((place, kind));
        }
    };
    (0..of_plugins.len()).for_each(|place| find(&mut next, place, None));
    while let Some((name, mut places)) = next.pop_first() {
        places.sort_unstable_by_key(|(place, _)| *place);
        encode_name(encoder, &name, &places, of_plugins)?;
        places.iter().for_each(|(place, _)| find(&mut next, *place, Some(&*name)));
    }
    Ok(())
}

fn encode_name(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    places: &[(usize, MetricKind)],
    of_plugins: &[PluginSeries],
) -> fmt::Result {
    // A name has one kind for all plugins. The kind of a name may have changed since the search; then the series of
    // the other kind are left out.
    let Some((_, kind)) = places.first() else { return Ok(()) };
    let mut lines = encoder.encode_descriptor(name, "A plugin's own", None, metric_type(*kind))?;
    for (place, _) in places {
        let series = &of_plugins[*place];
        let mut piece = series.series_after(name, *kind, None);
        while let Some((last, _)) = piece.last() {
            for (labels, value) in &piece {
                let own = labels.iter().map(|(name, value)| (&**name, &**value));
                let labels: Vec<(&str, &str)> =
                    [("plugin", series.plugin().as_str())].into_iter().chain(own).collect();
                encode_value(lines.encode_family(&labels)?, value)?;
            }
            piece = series.series_after(name, *kind, Some(last));
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
    use informant_runtime::{MetricBounds, MetricNames, PluginMetrics, PluginName};
    use parking_lot::Mutex;
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::text::encode_registry;
    use prometheus_client::registry::Registry;
    use std::time::Instant;

    #[derive(Debug)]
    struct Page(Vec<PluginSeries>);

    impl Collector for Page {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            encode_all(&mut encoder, &self.0)
        }
    }

    /// A recorded number: kind, name, labels and value.
    type Record = (MetricKind, &'static str, &'static [(&'static str, &'static str)], f64);

    use MetricKind::{Counter, Gauge, Histogram};

    const BOUNDS: MetricBounds = MetricBounds { series: 100, page_bytes: 1 << 20 };

    /// The page of these plugins, and the largest size that their accounts allow for it.
    fn page(plugins: &[(&str, &[Record])]) -> (String, usize) {
        let (names, now) = (MetricNames::default(), Instant::now());
        let mut account = 0;
        let series = plugins.iter().map(|(plugin, records)| {
            let plugin: PluginName = plugin.parse().expect("a plugin's name");
            let mut metrics = PluginMetrics::new(plugin.clone(), BOUNDS, names.clone());
            for (kind, name, labels, value) in *records {
                let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into()));
                let recorded = metrics.record(*kind, name, labels.collect(), *value, now);
                recorded.expect("it is recorded");
            }
            account += metrics.size().1;
            PluginSeries::new(plugin, Arc::new(Mutex::new(metrics)), now)
        });
        let series = series.collect();
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Page(series)));
        let mut text = String::new();
        encode_registry(&mut text, &registry).expect("text");
        (text, account)
    }

    /// The page's lines, without help and empty buckets.
    #[track_caller]
    fn check(plugins: &[(&str, &[Record])], expect: &[&str]) {
        let (text, account) = page(plugins);
        assert!(text.len() <= account, "{} bytes, the account says {account}: {text}", text.len());
        let is_zero = |line: &&str| line.contains("_bucket{") && line.ends_with(" 0");
        let shown = |line: &&str| !line.starts_with("# HELP") && !is_zero(line);
        let lines: Vec<&str> = text.lines().filter(shown).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn plugins_that_count_the_same_are_one_family() {
        let plugins: [(&str, &[Record]); 3] = [
            ("a", &[(Counter, "hits", &[("path", "a\"b")], 2.0), (Gauge, "a", &[], 1.0)]),
            ("b", &[(Counter, "hits", &[], 0.5), (Gauge, "z", &[], 1.0)]),
            ("c", &[(Gauge, "a", &[], 3.0), (Gauge, "k", &[], 1.0)]),
        ];
        let expect = [
            "# TYPE a gauge",
            r#"a{plugin="a"} 1.0"#,
            r#"a{plugin="c"} 3.0"#,
            "# TYPE hits counter",
            r#"hits_total{plugin="a",path="a\"b"} 2.0"#,
            r#"hits_total{plugin="b"} 0.5"#,
            "# TYPE k gauge",
            r#"k{plugin="c"} 1.0"#,
            "# TYPE z gauge",
            r#"z{plugin="b"} 1.0"#,
        ];
        check(&plugins, &expect);
    }

    #[test]
    fn a_gauge_is_what_it_was_set_to() {
        let expect = ["# TYPE hits gauge", r#"hits{plugin="a"} -1.5"#];
        check(&[("a", &[(Gauge, "hits", &[], -1.5)])], &expect);
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_the_infinite_bucket() {
        let most = 10_000.0;
        let values = [most, most, most, 10_000.5].map(|value| (Histogram, "hits", &[][..], value));
        let expect = [
            "# TYPE hits histogram",
            r#"hits_sum{plugin="a"} 40000.5"#,
            r#"hits_count{plugin="a"} 4"#,
            r#"hits_bucket{le="10000.0",plugin="a"} 3"#,
            r#"hits_bucket{le="+Inf",plugin="a"} 4"#,
        ];
        check(&[("a", &values)], &expect);
    }

    /// The counted bytes are at least the bytes of the page with its numbers. The smallest numbers have the most
    /// digits.
    #[test]
    fn an_account_holds_what_is_on_the_page_and_little_more() {
        let smallest = -2.225_073_858_507_201_4e-308;
        let labels: &[(&str, &str)] =
            &[("a", "\\\\\\\\\"\"\"\"\n\n\n"), ("b", ""), ("c", "0123456789")];
        for kind in [Counter, Gauge, Histogram] {
            let value = if kind == Counter { -smallest } else { smallest };
            let (text, account) = page(&[("plugin", &[(kind, "metric", labels, value)])]);
            let (length, lines) = (text.len(), text.lines().count());
            assert!((length..=length + lines * 46).contains(&account), "{account}: {text}");
        }
    }
}
