//! The metrics of one plugin's name, between its calls and requests for `/metrics`. Synchronous. They outlive reloads.
//!
//! All plugins and the host share one page, on which a name has one meaning. Names are checked, so that no two have
//! the same written form. The host's names are reserved, and a plugin's counter cannot be another plugin's gauge.

mod page;
mod page_bytes;
mod words;

use crate::contract::limits::Limits;
use crate::plugin_name::PluginName;
use hashbrown::HashMap;
pub use page::PluginSeries;
use page_bytes::{family_bytes, series_bytes};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};
use words::{check_value, checked_labels, checked_name};

/// A series without a change for so long is dropped: its subject is gone.
const IDLE_MAX: Duration = Duration::from_secs(3_600);
/// The series that are copied at a time for the page's writer: at most some 400 KiB of labels.
const SERIES_AT_ONCE: usize = 64;

/// Upper bounds of the histograms' buckets, three to a decade: as seconds 0.1 ms to three hours, as bytes up to 10 kB.
pub const METRIC_BUCKETS: [f64; 25] = [
    1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4,
];

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only rises.
    Counter,
    /// Has the last set value.
    Gauge,
    /// Counts values by their size.
    Histogram,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// The sum of the added values.
    Counter(f64),
    /// The last value.
    Gauge(f64),
    /// The observed values.
    Histogram {
        /// The counts in [`METRIC_BUCKETS`], not cumulative; the last one is above all bounds.
        counts: Box<[u64; METRIC_BUCKETS.len() + 1]>,
        /// The sum of the values.
        sum: f64,
    },
}

/// Names and values, sorted by name.
pub type MetricLabels = Vec<(Box<str>, Box<str>)>;

/// The bounds of one plugin's metrics.
#[derive(Debug, Clone, Copy)]
pub struct MetricBounds {
    /// The number of series.
    pub series: usize,
    /// Their bytes on the page.
    pub page_bytes: usize,
}

impl From<&Limits> for MetricBounds {
    fn from(limits: &Limits) -> Self {
        Self { series: limits.metric_series_max, page_bytes: limits.metric_bytes_max }
    }
}

/// The kind of each used name, and the number of plugins with that name.
#[derive(Debug, Clone, Default)]
pub struct MetricNames(Arc<Mutex<Names>>);

type Names = HashMap<Arc<str>, (MetricKind, usize)>;

impl MetricNames {
    /// Adds a plugin with a metric of this name. An error has the kind at other plugins.
    fn claim(&self, name: &Arc<str>, kind: MetricKind) -> Result<(), MetricKind> {
        let mut names = self.0.lock();
        let (known, users) = names.entry(name.clone()).or_insert((kind, 0));
        if *known != kind {
            return Err(*known);
        }
        *users += 1;
        Ok(())
    }

    fn release(&self, name: &Arc<str>) {
        let mut names = self.0.lock();
        if let Some((_, users)) = names.get_mut(name) {
            *users -= 1;
            if *users == 0 {
                names.remove(name);
            }
        }
    }
}

#[derive(Debug)]
struct Family {
    kind: MetricKind,
    series: BTreeMap<MetricLabels, MetricSeries>,
}

#[derive(Debug)]
struct MetricSeries {
    value: MetricValue,
    touched: Instant,
}

/// The metrics of one plugin.
#[derive(Debug)]
pub struct PluginMetrics {
    /// A label of every line.
    plugin: PluginName,
    /// By name; no family is empty.
    families: BTreeMap<Arc<str>, Family>,
    series: usize,
    /// The most bytes of all series on the page.
    page_bytes: usize,
    bounds: MetricBounds,
    names: MetricNames,
}

impl Drop for PluginMetrics {
    fn drop(&mut self) {
        self.families.keys().for_each(|name| self.names.release(name));
    }
}

impl PluginMetrics {
    /// The metrics of a plugin without values. All plugins of a host share `names`.
    pub fn new(plugin: PluginName, bounds: MetricBounds, names: MetricNames) -> Self {
        Self { plugin, families: BTreeMap::new(), series: 0, page_bytes: 0, bounds, names }
    }

    /// Sets the bounds; present series stay.
    pub(crate) fn set_bounds(&mut self, bounds: MetricBounds) {
        self.bounds = bounds;
    }

    /// The number of series, and their bytes on the page.
    pub fn size(&self) -> (usize, usize) {
        (self.series, self.page_bytes)
    }

    /// Adds to a counter, sets a gauge or observes a value. An error has the reason.
    pub fn record(
        &mut self,
        kind: MetricKind,
        name: &str,
        labels: Vec<(String, String)>,
        value: f64,
        now: Instant,
    ) -> Result<(), String> {
        let name = checked_name(kind, name)?;
        let labels = checked_labels(labels)?;
        check_value(kind, value)?;
        let known = self.families.get_mut(name);
        if let Some(family) = &known
            && family.kind != kind
        {
            return Err(format!("{name} is a {} already", family.kind.as_str()));
        }
        if let Some(series) = known.and_then(|family| family.series.get_mut(&labels)) {
            series.touched = now;
            series.value.take(value);
            return Ok(());
        }
        let bytes = series_bytes(self.plugin.as_str(), kind, name, &labels);
        self.make_room(name, bytes, now)?;
        let series = self.family(name, kind)?.series.entry(labels);
        let series = series.or_insert(MetricSeries { value: MetricValue::new(kind), touched: now });
        series.value.take(value);
        self.series += 1;
        self.page_bytes += bytes;
        Ok(())
    }

    fn name_after(&self, name: Option<&str>) -> Option<(Arc<str>, MetricKind)> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let mut families = self.families.range::<str, _>((from, Bound::Unbounded));
        families.next().map(|(name, family)| (name.clone(), family.kind))
    }

    fn series_after(
        &self,
        name: &str,
        kind: MetricKind,
        labels: Option<&MetricLabels>,
    ) -> Vec<(MetricLabels, MetricValue)> {
        let family = self.families.get(name).filter(|family| family.kind == kind);
        let from = labels.map_or(Bound::Unbounded, Bound::Excluded);
        let series = family
            .into_iter()
            .flat_map(|it| it.series.range::<MetricLabels, _>((from, Bound::Unbounded)));
        let series = series.map(|(labels, series)| (labels.clone(), series.value.clone()));
        series.take(SERIES_AT_ONCE).collect()
    }

    /// Makes room for one more series of this size.
    fn make_room(&mut self, name: &str, bytes: usize, now: Instant) -> Result<(), String> {
        if self.lacks(name, bytes).is_some() {
            self.expire(now);
        }
        self.lacks(name, bytes).map_or(Ok(()), Err)
    }

    fn lacks(&self, name: &str, bytes: usize) -> Option<String> {
        let MetricBounds { series, page_bytes } = self.bounds;
        if self.series >= series {
            return Some(format!(
                "there are {series} series already, and at most so many are kept"
            ));
        }
        let begun = self.families.contains_key(name);
        let bytes = self.page_bytes + bytes + if begun { 0 } else { family_bytes(name) };
        (bytes > page_bytes).then(|| {
            format!(
                "the series would take {bytes} bytes on the page, and at most {page_bytes} are \
                 shown (limits.metricBytes): fewer or shorter labels, or a counter for a histogram, \
                 take less"
            )
        })
    }

    fn family(&mut self, name: &str, kind: MetricKind) -> Result<&mut Family, String> {
        let name: Arc<str> = name.into();
        if !self.families.contains_key(&name) {
            let other = |kind: MetricKind| {
                format!("{name} is a {} of another plugin; take another name", kind.as_str())
            };
            self.names.claim(&name, kind).map_err(other)?;
        }
        let Self { families, page_bytes, .. } = self;
        Ok(families.entry(name).or_insert_with_key(|name| {
            *page_bytes += family_bytes(name);
            Family { kind, series: BTreeMap::new() }
        }))
    }

    /// Drops the series without a recent change at `now`.
    fn expire(&mut self, now: Instant) {
        let Self { plugin, families, series, page_bytes, names, .. } = self;
        families.retain(|name, family| {
            let kind = family.kind;
            family.series.retain(|labels, one| {
                let lives = now.saturating_duration_since(one.touched) < IDLE_MAX;
                if !lives {
                    *series -= 1;
                    *page_bytes -= series_bytes(plugin.as_str(), kind, name, labels);
                }
                lives
            });
            if family.series.is_empty() {
                *page_bytes -= family_bytes(name);
                names.release(name);
            }
            !family.series.is_empty()
        });
    }
}

impl MetricKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl MetricValue {
    fn new(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter => Self::Counter(0.0),
            MetricKind::Gauge => Self::Gauge(0.0),
            MetricKind::Histogram => {
                Self::Histogram { counts: Box::new([0; METRIC_BUCKETS.len() + 1]), sum: 0.0 }
            }
        }
    }

    fn take(&mut self, value: f64) {
        match self {
            Self::Counter(sum) => *sum = added(*sum, value),
            Self::Gauge(last) => *last = value,
            Self::Histogram { counts, sum } => {
                counts[METRIC_BUCKETS.partition_point(|bound| *bound < value)] += 1;
                *sum = added(*sum, value);
            }
        }
    }
}

/// The sum, cut to finite numbers: the page shows no others.
fn added(sum: f64, value: f64) -> f64 {
    (sum + value).clamp(f64::MIN, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::words::{LABELS_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
    use super::*;

    const BOUNDS: MetricBounds = MetricBounds { series: 3, page_bytes: 1 << 20 };

    fn metrics(bounds: MetricBounds, names: MetricNames) -> PluginMetrics {
        PluginMetrics::new("p".parse().expect("a name"), bounds, names)
    }

    /// The series after a row of records: `c`ounter, `g`auge or `h`istogram, name, labels, value, as `c requests
    /// code=200,path=/ 1`. A plain number lets as many seconds pass. Errors are shown first, then the series.
    #[track_caller]
    fn check(records: &[&str], expect: &str) {
        let mut metrics = metrics(BOUNDS, MetricNames::default());
        check_on(&mut metrics, records, expect);
    }

    #[track_caller]
    fn check_on(metrics: &mut PluginMetrics, records: &[&str], expect: &str) {
        let mut now = Instant::now();
        let mut shown = Vec::new();
        for record in records {
            if let Ok(seconds) = record.parse() {
                now += Duration::from_secs(seconds);
                continue;
            }
            let words: Vec<&str> = record.split(' ').collect();
            let [kind, name, labels, value] = words[..] else { panic!("four words: {record}") };
            let kind = match kind {
                "c" => MetricKind::Counter,
                "g" => MetricKind::Gauge,
                _ => MetricKind::Histogram,
            };
            let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
            let labels = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let value = value.parse().expect("a number");
            shown.extend(metrics.record(kind, name, labels, value, now).err());
        }
        metrics.expire(now);
        shown.extend(lines(metrics));
        assert_eq!(shown.join("; "), expect, "{records:?}");
    }

    /// All series, as the page's writer reads them.
    fn lines(metrics: &PluginMetrics) -> Vec<String> {
        let mut lines = Vec::new();
        let mut last_name: Option<Arc<str>> = None;
        while let Some((name, kind)) = metrics.name_after(last_name.as_deref()) {
            let mut piece = metrics.series_after(&name, kind, None);
            while let Some((last, _)) = piece.last() {
                lines.extend(piece.iter().map(|(labels, value)| line(&name, labels, value)));
                piece = metrics.series_after(&name, kind, Some(last));
            }
            last_name = Some(name);
        }
        lines
    }

    fn line(name: &str, labels: &MetricLabels, value: &MetricValue) -> String {
        let labels: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let value = match value {
            MetricValue::Counter(value) | MetricValue::Gauge(value) => value.to_string(),
            MetricValue::Histogram { counts, sum } => {
                format!("{}:{sum}", counts.iter().sum::<u64>())
            }
        };
        format!("{name}{{{}}}={value}", labels.join(","))
    }

    #[test]
    fn counters_add_up_gauges_are_set_and_histograms_count() {
        check(&["c hits - 1", "c hits_total - 2.5"], "hits{}=3.5");
        check(&["g load - 1", "g load - -2"], "load{}=-2");
        check(&["h took - 0.3", "h took - 1e9"], "took{}=2:1000000000.3");
        check(&["c a y=1,x=2 1", "c a x=2,y=1 1", "c a x=3 1"], "a{x=2,y=1}=2; a{x=3}=1");
    }

    #[test]
    fn values_fall_into_the_bucket_whose_bound_they_reach() {
        let mut value = MetricValue::new(MetricKind::Histogram);
        [0.0, 1e-4, 1.1e-4, 1e4, 1.1e4].into_iter().for_each(|observed| value.take(observed));
        let MetricValue::Histogram { counts, .. } = value else { panic!("it is one") };
        assert_eq!((counts[0], counts[1], counts[24], counts[25]), (2, 1, 1, 1));
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        let host = "informant_x: names that begin with informant_ are the host's";
        check(&["g informant_x - 1"], host);
        check(&["c informant_x_total - 1"], &host.replace("_x", "_x_total"));
        check(
            &["g leader_election_master_status - 1", "g up - 1", "c upper - 1"],
            "leader_election_master_status: names that begin with leader_election_ are the host's; up is Prometheus' own; upper{}=1",
        );
        check(&["g hits_total - 1"], "hits_total: _total is not for the end of a gauge");
        check(&["h took_sum - 1"], "took_sum: _sum is not for the end of a histogram");
        check(&["c x_count_total - 1"], "x_count_total: _count is not for the end of a counter");
        check(&["c _total - 1"], "_total is no name");
        check(&["c hits - 1", "g hits - 1"], "hits is a counter already; hits{}=1");
        let word = "is not of letters, digits and _, a letter or _ first";
        check(
            &["g 1st - 1", "g a:b - 1"],
            &format!("the name \"1st\" {word}; the name \"a:b\" {word}"),
        );
        let label = |name: &str| format!("the label {name} is the host's or Prometheus' own");
        check(
            &["g x plugin=me 1", "g x le=1 1", "g x __y=1 1"],
            &["plugin", "le", "__y"].map(label).join("; "),
        );
        check(&["g x a=1,a=2 1"], "the label a comes twice");
    }

    #[test]
    fn names_labels_and_values_are_bounded() {
        let long = "n".repeat(NAME_BYTES_MAX + 1);
        check(&[&format!("g {long} - 1")], "the name has 129 bytes: names have 1 to 128");
        let labels: Vec<String> = (0..=LABELS_MAX).map(|number| format!("l{number}=x")).collect();
        check(&[&format!("g x {} 1", labels.join(","))], "17 labels, at most 16 are kept");
        let value = "v".repeat(VALUE_BYTES_MAX + 1);
        check(&[&format!("g x a={value} 1")], "the label a has 257 bytes, at most 256");
        check(&["g x - NaN", "c x - -1"], "NaN is no value; a counter only rises, and this is -1");
    }

    #[test]
    fn sums_stay_finite() {
        let most = f64::MAX.to_string();
        check(&["c a - 1.7e308", "c a - 1.7e308"], &format!("a{{}}={most}"));
        check(&["h a - 1.7e308", "h a - 1.7e308"], &format!("a{{}}=2:{most}"));
        check(&["h a - -1.7e308", "h a - -1.7e308", "h a - 1"], &format!("a{{}}=3:-{most}"));
    }

    #[test]
    fn series_are_bounded_and_end_when_nobody_touches_them() {
        let full = "there are 3 series already, and at most so many are kept";
        let three = ["g x a=1 1", "g x a=2 1", "g y - 1"];
        let kept = "x{a=1}=1; x{a=2}=1; y{}=1";
        check(&[&three[..], &["g z - 1"]].concat(), &format!("{full}; {kept}"));
        check(&[&three[..], &["3599"]].concat(), kept);
        check(&[&three[..], &["3600"]].concat(), "");
        check(&[&three[..], &["3000", "g x a=2 5", "600", "g z - 1"]].concat(), "x{a=2}=5; z{}=1");
    }

    #[test]
    fn a_name_is_the_same_for_all_plugins() {
        let names = MetricNames::default();
        let mut first = metrics(BOUNDS, names.clone());
        let mut second = metrics(BOUNDS, names);
        check_on(&mut first, &["c x - 1"], "x{}=1");
        let other = "x is a counter of another plugin; take another name";
        check_on(&mut second, &["g x - 1", "c x - 7"], &format!("{other}; x{{}}=7"));
        drop(first);
        check_on(&mut second, &["g x - 1"], "x is a counter already; x{}=7");
        check_on(&mut second, &["3600"], "");
        check_on(&mut second, &["g x - 1"], "x{}=1");
    }

    #[test]
    fn what_series_take_on_the_page_is_bounded() {
        let labels = vec![("a".into(), "\\".repeat(100).into())];
        let gauge = series_bytes("p", MetricKind::Gauge, "x", &labels);
        let bound = 2 * gauge + family_bytes("x");
        let two = MetricBounds { series: 1_000, page_bytes: bound };
        let mut metrics = metrics(two, MetricNames::default());
        let gauge = |last: char| format!("g x a={}{last} 1", "\\".repeat(99));
        let [first, second, third] = ['\\', '"', '\n'].map(gauge);
        let [shown_first, shown_second] =
            ["\\", "\""].map(|last| format!("x{{a={}{last}}}=1", "\\".repeat(99)));
        let both = format!("{shown_second}; {shown_first}");
        check_on(&mut metrics, &[&first, &second], &both);
        assert_eq!(metrics.size(), (2, bound));
        let more = 3 * (bound - family_bytes("x")) / 2 + family_bytes("x");
        let full = format!(
            "the series would take {more} bytes on the page, and at most {bound} are shown \
             (limits.metricBytes): fewer or shorter labels, or a counter for a histogram, take less"
        );
        check_on(&mut metrics, &[&third], &format!("{full}; {both}"));
        // A present series needs no more room.
        check_on(&mut metrics, &[&first], &both);
        check_on(&mut metrics, &["3600"], "");
        assert_eq!(metrics.size(), (0, 0));
    }

    #[test]
    fn series_are_handed_over_in_pieces() {
        let bounds = MetricBounds { series: 1_000, page_bytes: 1 << 20 };
        let mut metrics = metrics(bounds, MetricNames::default());
        let records: Vec<String> = (0..150).map(|number| format!("g x a={number:03} 1")).collect();
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let expect: Vec<String> = (0..150).map(|number| format!("x{{a={number:03}}}=1")).collect();
        check_on(&mut metrics, &records, &expect.join("; "));
        assert_eq!(metrics.series_after("x", MetricKind::Gauge, None).len(), SERIES_AT_ONCE);
        assert_eq!(metrics.series_after("x", MetricKind::Counter, None), []);
    }
}
