//! The metrics of one plugin's name: a synchronous cupboard between its calls and whoever asks for `/metrics`. It outlives reloads.
//!
//! All plugins and the host share one page, on which a name means one thing: names are checked so that no two can be written as the same, the
//! host's own are its own, and a name that a plugin has as a counter is no other plugin's gauge.

use hashbrown::HashMap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a name, of a metric or of a label.
const NAME_BYTES_MAX: usize = 128;
/// Bytes of a label's value.
const VALUE_BYTES_MAX: usize = 256;
/// Labels of one series.
const LABELS_MAX: usize = 16;
/// A series that nobody has touched for so long is shown no more: what it counted is gone, or does not happen any more.
const IDLE_MAX: Duration = Duration::from_secs(3_600);
/// The names of the host, of its process and of what Prometheus says of a scrape begin so.
const OF_THE_HOST: [&str; 4] = ["informant_", "leader_election_", "process_", "scrape_"];
/// What Prometheus itself calls so.
const OF_PROMETHEUS: [&str; 3] = ["up", "ALERTS", "ALERTS_FOR_STATE"];
/// What Prometheus writes behind names, or takes for more than a name: on counters' and histograms' lines.
const SUFFIXES: [&str; 6] = ["_total", "_created", "_bucket", "_count", "_sum", "_info"];

/// Upper bounds of the histograms' buckets, three to a decade: as seconds 0.1 ms to three hours, as bytes up to 10 kB.
pub const METRIC_BUCKETS: [f64; 25] = [
    1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4,
];

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It only rises.
    Counter,
    /// It is what it was set to last.
    Gauge,
    /// It counts values by how large they are.
    Histogram,
}

/// What a series is at.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// The sum of what was added.
    Counter(f64),
    /// The last value.
    Gauge(f64),
    /// What was observed.
    Histogram {
        /// In each of [`METRIC_BUCKETS`], not cumulative; the last one is for what is above all bounds.
        counts: Box<[u64; METRIC_BUCKETS.len() + 1]>,
        /// All values together.
        sum: f64,
    },
}

/// Names and values, sorted by name.
pub type MetricLabels = Vec<(Box<str>, Box<str>)>;

/// The series of one name.
#[derive(Debug, Clone)]
pub struct MetricFamily {
    /// Without `_total`.
    pub name: Arc<str>,
    /// What all of them are.
    pub kind: MetricKind,
    /// By their labels.
    pub series: Vec<(MetricLabels, MetricValue)>,
}

/// What each name is that some plugin has, and how many have it.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricNames(Arc<Mutex<Names>>);

type Names = HashMap<Arc<str>, (MetricKind, usize)>;

impl MetricNames {
    /// One more plugin has a metric of this name; an error says what it is to others.
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
    series: BTreeMap<MetricLabels, Series>,
}

#[derive(Debug)]
struct Series {
    value: MetricValue,
    touched: Instant,
}

#[derive(Debug)]
pub(crate) struct PluginMetrics {
    /// By name; none is empty.
    families: BTreeMap<Arc<str>, Family>,
    series: usize,
    series_max: usize,
    names: MetricNames,
}

impl Drop for PluginMetrics {
    fn drop(&mut self) {
        self.families.keys().for_each(|name| self.names.release(name));
    }
}

impl PluginMetrics {
    pub(crate) fn new(series_max: usize, names: MetricNames) -> Self {
        Self { families: BTreeMap::new(), series: 0, series_max, names }
    }

    /// From here on so many may be there; those that are stay.
    pub(crate) fn set_series_max(&mut self, series_max: usize) {
        self.series_max = series_max;
    }

    /// How many series there are.
    pub(crate) fn len(&self) -> usize {
        self.series
    }

    /// Adds to a counter, sets a gauge or observes a value, or says why not.
    pub(crate) fn record(
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
        self.make_room(now)?;
        let series = self.family(name, kind)?.series.entry(labels);
        let series = series.or_insert(Series { value: MetricValue::new(kind), touched: now });
        series.value.take(value);
        self.series += 1;
        Ok(())
    }

    /// What is to be shown at `now`; what nobody has touched for long is gone.
    pub(crate) fn snapshot(&mut self, now: Instant) -> Vec<MetricFamily> {
        self.expire(now);
        let families = self.families.iter().map(|(name, family)| MetricFamily {
            name: name.clone(),
            kind: family.kind,
            series: family
                .series
                .iter()
                .map(|(labels, series)| (labels.clone(), series.value.clone()))
                .collect(),
        });
        families.collect()
    }

    fn make_room(&mut self, now: Instant) -> Result<(), String> {
        if self.series >= self.series_max {
            self.expire(now);
        }
        match self.series < self.series_max {
            true => Ok(()),
            false => {
                let max = self.series_max;
                Err(format!("there are {max} series already, and at most so many are kept"))
            }
        }
    }

    fn family(&mut self, name: &str, kind: MetricKind) -> Result<&mut Family, String> {
        let name: Arc<str> = name.into();
        if !self.families.contains_key(&name) {
            let other = |kind: MetricKind| {
                format!("{name} is a {} of another plugin; take another name", kind.as_str())
            };
            self.names.claim(&name, kind).map_err(other)?;
        }
        let family = || Family { kind, series: BTreeMap::new() };
        Ok(self.families.entry(name).or_insert_with(family))
    }

    fn expire(&mut self, now: Instant) {
        let Self { families, series, names, .. } = self;
        families.retain(|name, family| {
            let before = family.series.len();
            let lives = |series: &Series| now.saturating_duration_since(series.touched) < IDLE_MAX;
            family.series.retain(|_, series| lives(series));
            *series -= before - family.series.len();
            if family.series.is_empty() {
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

/// Both together, or the most that there is: the page shows finite numbers alone.
fn added(sum: f64, value: f64) -> f64 {
    (sum + value).clamp(f64::MIN, f64::MAX)
}

/// The name as the page's families have it.
fn checked_name(kind: MetricKind, name: &str) -> Result<&str, String> {
    check_word("the name", name)?;
    if let Some(prefix) = OF_THE_HOST.iter().find(|prefix| name.starts_with(**prefix)) {
        return Err(format!("{name}: names that begin with {prefix} are the host's"));
    }
    if OF_PROMETHEUS.contains(&name) {
        return Err(format!("{name} is Prometheus' own"));
    }
    let base = match kind {
        MetricKind::Counter => name.strip_suffix("_total").unwrap_or(name),
        MetricKind::Gauge | MetricKind::Histogram => name,
    };
    match SUFFIXES.iter().find(|suffix| base.ends_with(**suffix)) {
        Some(suffix) => Err(format!("{name}: {suffix} is not for the end of a {}", kind.as_str())),
        None if base.is_empty() => Err(format!("{name} is no name")),
        None => Ok(base),
    }
}

fn checked_labels(labels: Vec<(String, String)>) -> Result<MetricLabels, String> {
    if labels.len() > LABELS_MAX {
        let found = labels.len();
        return Err(format!("{found} labels, at most {LABELS_MAX} are kept"));
    }
    for (name, value) in &labels {
        check_word("the label", name)?;
        if name.starts_with("__") || ["plugin", "le", "quantile"].contains(&name.as_str()) {
            return Err(format!("the label {name} is the host's or Prometheus' own"));
        }
        if value.len() > VALUE_BYTES_MAX {
            let found = value.len();
            return Err(format!("the label {name} has {found} bytes, at most {VALUE_BYTES_MAX}"));
        }
    }
    let boxed = |(name, value): (String, String)| (name.into(), value.into());
    let mut labels: MetricLabels = labels.into_iter().map(boxed).collect();
    labels.sort();
    match labels.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(format!("the label {} comes twice", pair[0].0)),
        None => Ok(labels),
    }
}

/// What Prometheus takes for a name in a metric and in a label alike.
fn check_word(what: &str, word: &str) -> Result<(), String> {
    if word.is_empty() || word.len() > NAME_BYTES_MAX {
        let found = word.len();
        return Err(format!("{what} has {found} bytes: names have 1 to {NAME_BYTES_MAX}"));
    }
    let fits = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !fits || word.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(format!(
            "{what} {word:?} is not of letters, digits and _, a letter or _ first"
        ));
    }
    Ok(())
}

fn check_value(kind: MetricKind, value: f64) -> Result<(), String> {
    if !value.is_finite() {
        return Err(format!("{value} is no value"));
    }
    match kind == MetricKind::Counter && value < 0.0 {
        true => Err(format!("a counter only rises, and this is {value}")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a row of records leaves: `c`ounter, `g`auge or `h`istogram, name, labels, value, as `c requests code=200,path=/ 1`; a word that is
    /// only a number lets as many seconds pass. Errors are shown, then the series.
    #[track_caller]
    fn check(records: &[&str], expect: &str) {
        let mut metrics = PluginMetrics::new(3, MetricNames::default());
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
        let before = metrics.len();
        for MetricFamily { name, series, .. } in metrics.snapshot(now) {
            for (labels, value) in series {
                let labels: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
                let value = match value {
                    MetricValue::Counter(value) | MetricValue::Gauge(value) => value.to_string(),
                    MetricValue::Histogram { counts, sum } => {
                        format!("{}:{sum}", counts.iter().sum::<u64>())
                    }
                };
                shown.push(format!("{name}{{{}}}={value}", labels.join(",")));
            }
        }
        assert!(metrics.len() <= before);
        assert_eq!(shown.join("; "), expect, "{records:?}");
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
        let mut first = PluginMetrics::new(3, names.clone());
        let mut second = PluginMetrics::new(3, names);
        check_on(&mut first, &["c x - 1"], "x{}=1");
        let other = "x is a counter of another plugin; take another name";
        check_on(&mut second, &["g x - 1", "c x - 7"], &format!("{other}; x{{}}=7"));
        drop(first);
        check_on(&mut second, &["g x - 1"], "x is a counter already; x{}=7");
        check_on(&mut second, &["3600"], "");
        check_on(&mut second, &["g x - 1"], "x{}=1");
    }
}
