//! The page of `/metrics` as messages. The page itself is read, line by line as it is written, so both show the same
//! names and numbers: those of plugins too. It is handed over in pieces, so it is never whole in memory.

use super::messages::{
    CUMULATIVE, GaugeMessage, HistogramMessage, HistogramPoint, KeyValue, MetricData,
    MetricMessage, NumberPoint, SumMessage,
};
use std::fmt;

/// The points of a piece. Each has at most 17 labels and some KiB; most have 100 bytes.
pub(super) const POINTS_AT_ONCE: usize = 2_000;
/// Labels of things that may begin again while the host runs: their counters have an unknown start.
const RESTARTING: [&str; 2] = ["plugin", "resource"];

/// Takes the text of a page. `F` takes its pieces, and fails if nothing takes them any more.
pub(super) struct MetricsPage<F> {
    /// In nanoseconds since 1970.
    began: u64,
    clock: fn() -> u64,
    /// The time of the points in this piece.
    now: u64,
    /// The line without its end so far.
    line: String,
    families: Vec<MetricMessage>,
    /// The points of these families.
    points: usize,
    points_max: usize,
    hand_over: F,
    /// The name in the last line `HELP` or `TYPE`.
    family: String,
}

/// One line with a number.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

impl<F: FnMut(Vec<MetricMessage>) -> fmt::Result> MetricsPage<F> {
    pub(super) fn new((began, clock): (u64, fn() -> u64), points_max: usize, hand_over: F) -> Self {
        Self {
            began,
            clock,
            now: clock(),
            line: String::new(),
            families: Vec::new(),
            family: String::new(),
            points: 0,
            points_max,
            hand_over,
        }
    }

    /// Hands over the last piece.
    pub(super) fn end(mut self) -> fmt::Result {
        self.send()
    }

    /// Hands over what there is. The family of the next points is begun again.
    fn send(&mut self) -> fmt::Result {
        let next = self.families.last().map(MetricMessage::without_points);
        let mut families = std::mem::replace(&mut self.families, next.into_iter().collect());
        self.points = 0;
        families.retain(MetricMessage::has_points);
        let sent = if families.is_empty() { Ok(()) } else { (self.hand_over)(families) };
        self.now = (self.clock)();
        sent
    }

    fn read(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            if let Some((name, help)) = rest.split_once(' ') {
                self.begin(name);
                if let Some(family) = self.families.last_mut() {
                    family.description = help.trim_end_matches('.').to_owned();
                }
            }
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            if let Some((name, kind)) = rest.split_once(' ') {
                self.begin(name);
                self.set_kind(name, kind);
            }
        } else if !line.starts_with('#')
            && let Some(sample) = sample(line)
        {
            self.take(&sample);
        }
    }

    /// Whether the piece is full. A series of a histogram has several lines, and stays together.
    fn is_full(&self, line: &str) -> bool {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        self.points >= self.points_max && !name.ends_with("_count") && !name.ends_with("_bucket")
    }

    fn begin(&mut self, name: &str) {
        if self.family != name {
            name.clone_into(&mut self.family);
            let message = MetricMessage { name: name.to_owned(), ..MetricMessage::default() };
            self.families.push(message);
        }
    }

    /// A counter has the name of its lines, which end in `_total`.
    fn set_kind(&mut self, name: &str, kind: &str) {
        let Some(family) = self.families.last_mut() else { return };
        let aggregation_temporality = CUMULATIVE;
        family.data = match kind {
            "counter" => {
                family.name = format!("{name}_total");
                let is_monotonic = true;
                let data_points = Vec::new();
                Some(MetricData::Sum(SumMessage {
                    data_points,
                    aggregation_temporality,
                    is_monotonic,
                }))
            }
            "histogram" => {
                let data_points = Vec::new();
                Some(MetricData::Histogram(HistogramMessage {
                    data_points,
                    aggregation_temporality,
                }))
            }
            _ => Some(MetricData::Gauge(GaugeMessage::default())),
        };
    }

    fn take(&mut self, sample: &Sample<'_>) {
        let restarts = sample.labels.iter().any(|(key, _)| RESTARTING.contains(key));
        let (began, now) = (if restarts { 0 } else { self.began }, self.now);
        let Some(suffix) = sample.name.strip_prefix(self.family.as_str()) else { return };
        self.points += 1;
        let point = |start_time_unix_nano| NumberPoint {
            attributes: attributes(&sample.labels),
            start_time_unix_nano,
            time_unix_nano: now,
            as_double: Some(sample.value),
        };
        match self.families.last_mut().and_then(|family| family.data.as_mut()) {
            Some(MetricData::Gauge(gauge)) => gauge.data_points.push(point(0)),
            Some(MetricData::Sum(sum)) => sum.data_points.push(point(began)),
            Some(MetricData::Histogram(histogram)) => {
                take_of_histogram(&mut histogram.data_points, suffix, sample, (began, now));
            }
            None => {}
        }
    }
}

/// A series of a histogram has a line for the sum, one for the count, and then one for each bucket.
fn take_of_histogram(
    points: &mut Vec<HistogramPoint>,
    suffix: &str,
    sample: &Sample<'_>,
    (start_time_unix_nano, time_unix_nano): (u64, u64),
) {
    if suffix == "_sum" {
        points.push(HistogramPoint {
            attributes: attributes(&sample.labels),
            start_time_unix_nano,
            time_unix_nano,
            sum: Some(sample.value),
            ..HistogramPoint::default()
        });
    }
    let Some(point) = points.last_mut() else { return };
    let count = sample.value as u64;
    match suffix {
        "_count" => point.count = count,
        "_bucket" => {
            let below: u64 = point.bucket_counts.iter().sum();
            point.bucket_counts.push(count.saturating_sub(below));
            let bound = sample.labels.iter().find(|(key, _)| *key == "le");
            let bound = bound.and_then(|(_, bound)| bound.parse::<f64>().ok());
            point.explicit_bounds.extend(bound.filter(|bound| bound.is_finite()));
        }
        _ => {}
    }
}

impl<F: FnMut(Vec<MetricMessage>) -> fmt::Result> fmt::Write for MetricsPage<F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((end, after)) = rest.split_once('\n') {
            self.line.push_str(end);
            let line = std::mem::take(&mut self.line);
            if self.is_full(&line) {
                self.send()?;
            }
            self.read(&line);
            self.line = line;
            self.line.clear();
            rest = after;
        }
        self.line.push_str(rest);
        Ok(())
    }
}

fn attributes(labels: &[(&str, String)]) -> Vec<KeyValue> {
    let labels = labels.iter().filter(|(key, _)| *key != "le");
    labels.map(|(key, value)| KeyValue::text(key, value)).collect()
}

/// Reads `name{key="value",key="value"} number`. `None` for any other line.
fn sample(line: &str) -> Option<Sample<'_>> {
    let name_end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(name_end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((key, value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    // A time or an exemplar would follow; the host writes neither.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

/// The text up to the closing quote, without escapes; and the rest behind the quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write as _;
    use prometheus_client::collector::Collector;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
    use prometheus_client::metrics::MetricType;
    use prometheus_client::metrics::counter::ConstCounter;
    use prometheus_client::metrics::gauge::ConstGauge;
    use prometheus_client::registry::Registry;

    fn of(line: &str) -> Option<String> {
        let Sample { name, labels, value } = sample(line)?;
        let labels: Vec<String> = labels.iter().map(|(key, it)| format!("{key}={it:?}")).collect();
        Some(format!("{name} {} {value}", labels.join(" ")))
    }

    #[track_caller]
    fn check(line: &str, expect: Option<&str>) {
        assert_eq!(of(line).as_deref(), expect, "{line}");
    }

    #[test]
    fn lines_are_read_with_their_escapes() {
        check("up 1", Some("up  1"));
        check(r#"a{b="c",d="e,f}"} 2.5"#, Some(r#"a b="c" d="e,f}" 2.5"#));
        check(r#"a{b="\\\"\n"} 3"#, Some(r#"a b="\\\"\n" 3"#));
        check("a{} 4", Some("a  4"));
        for broken in ["", "a", "a{", r#"a{b="c"#, r#"a{b="c"}"#, "a{b} 1", "a x"] {
            check(broken, None);
        }
    }

    /// A family of each kind, with a label that is hard to read.
    #[derive(Debug)]
    struct Written(&'static str);

    impl Collector for Written {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let labels = [("a", self.0)];
            let help = "Help";
            let mut gauge = encoder.encode_descriptor("g", help, None, MetricType::Gauge)?;
            ConstGauge::new(-0.5).encode(gauge.encode_family(&labels)?)?;
            let large = encoder.encode_descriptor("large", help, None, MetricType::Gauge)?;
            ConstGauge::new(1e300).encode(large)?;
            let mut counter = encoder.encode_descriptor("c", help, None, MetricType::Counter)?;
            ConstCounter::new(3_u64).encode(counter.encode_family(&labels)?)?;
            let buckets = [(0.1, 1), (f64::INFINITY, 2)];
            let mut histogram =
                encoder.encode_descriptor("h", help, None, MetricType::Histogram)?;
            let mut histogram = histogram.encode_family(&labels)?;
            histogram.encode_histogram::<NoLabelSet>(0.7, 3, &buckets, None)
        }
    }

    #[test]
    fn the_writers_own_text_is_read() {
        for label in ["", "a b", "\"", "\\", "\n", "},{=\"\\n\"", "é\u{2028}"] {
            let mut registry = Registry::default();
            registry.register_collector(Box::new(Written(label)));
            let mut families = Vec::new();
            let mut page = MetricsPage::new((1, || 2), 100, |piece| {
                families = piece;
                Ok(())
            });
            encode(&mut page, &registry).expect("it takes all");
            page.end().expect("it takes all");
            let number = |value| NumberPoint {
                attributes: vec![KeyValue::text("a", label)],
                time_unix_nano: 2,
                as_double: Some(value),
                ..NumberPoint::default()
            };
            let data = |place: usize| families[place].data.clone().expect("numbers");
            let gauge = |point| MetricData::Gauge(GaugeMessage { data_points: vec![point] });
            assert_eq!(data(0), gauge(number(-0.5)), "{label:?}");
            let large = NumberPoint { attributes: Vec::new(), ..number(1e300) };
            assert_eq!(data(1), gauge(large));
            let MetricData::Sum(sum) = data(2) else { panic!("a sum") };
            let counted = NumberPoint { start_time_unix_nano: 1, ..number(3.0) };
            assert_eq!((&*families[2].name, sum.data_points), ("c_total", vec![counted]));
            let MetricData::Histogram(histogram) = data(3) else { panic!("a histogram") };
            let point = HistogramPoint {
                attributes: vec![KeyValue::text("a", label)],
                start_time_unix_nano: 1,
                time_unix_nano: 2,
                count: 3,
                sum: Some(0.7),
                bucket_counts: vec![1, 2],
                explicit_bounds: vec![0.1],
            };
            assert_eq!(histogram.data_points, [point]);
        }
    }

    /// The families of a page, which is written in pieces of this size and handed over in pieces of so many points:
    /// name, kind, and each point with its labels and its number.
    fn shown(page: &str, piece: usize, points_max: usize) -> Vec<String> {
        let mut taken = Vec::new();
        let mut read = MetricsPage::new((1, || 2), points_max, |families| {
            taken.extend(families);
            Ok(())
        });
        let bytes: Vec<char> = page.chars().collect();
        for piece in bytes.chunks(piece) {
            read.write_str(&piece.iter().collect::<String>()).expect("it takes all");
        }
        let labels = |attributes: &[KeyValue]| {
            attributes.iter().map(|it| it.key.as_str()).collect::<Vec<_>>().join(",")
        };
        let number = |point: &NumberPoint| {
            assert_eq!(point.time_unix_nano, 2);
            let value = point.as_double.expect("a number");
            format!("{}:{value} since {}", labels(&point.attributes), point.start_time_unix_nano)
        };
        let numbers = |points: &[NumberPoint]| points.iter().map(number).collect::<Vec<_>>();
        let family = |family: MetricMessage| {
            let MetricMessage { name, description, data } = family;
            let (kind, points) = match data.expect("a kind") {
                MetricData::Gauge(it) => ("gauge", numbers(&it.data_points)),
                MetricData::Sum(it) => {
                    assert!(it.is_monotonic && it.aggregation_temporality == CUMULATIVE);
                    ("sum", numbers(&it.data_points))
                }
                MetricData::Histogram(it) => {
                    let point = |it: &HistogramPoint| {
                        let HistogramPoint { count, sum, bucket_counts, explicit_bounds, .. } = it;
                        let sum = sum.expect("a sum");
                        let labels = labels(&it.attributes);
                        format!("{labels}:{count} {sum} {bucket_counts:?} {explicit_bounds:?}")
                    };
                    ("histogram", it.data_points.iter().map(point).collect())
                }
            };
            format!("{name} ({description}) {kind} {}", points.join("; "))
        };
        read.end().expect("it takes all");
        taken.into_iter().map(family).collect()
    }

    #[test]
    fn a_page_has_the_same_families_in_any_pieces() {
        let page = r#"# HELP load Load.
# TYPE load gauge
load{plugin="a"} -1.5
load{plugin="b"} 2
# HELP hits Hits, since "then".
# TYPE hits counter
hits_total{plugin="a"} 7
# HELP all All.
# TYPE all counter
all_total 8
# HELP none Nothing.
# TYPE none gauge
# HELP took Took.
# TYPE took histogram
took_sum{plugin="a"} 0.3
took_count{plugin="a"} 5
took_bucket{plugin="a",le="0.1"} 3
took_bucket{plugin="a",le="1.0"} 4
took_bucket{plugin="a",le="+Inf"} 5
# EOF
"#;
        let expect = [
            "load (Load) gauge plugin:-1.5 since 0; plugin:2 since 0",
            r#"hits_total (Hits, since "then") sum plugin:7 since 0"#,
            "all_total (All) sum :8 since 1",
            "took (Took) histogram plugin:5 0.3 [3, 1, 1] [0.1, 1.0]",
        ];
        for piece in [1, 7, page.len()] {
            assert_eq!(shown(page, piece, 100), expect);
        }
        let expect = [
            "load (Load) gauge plugin:-1.5 since 0",
            "load (Load) gauge plugin:2 since 0",
            expect[1],
            expect[2],
            expect[3],
        ];
        assert_eq!(shown(page, 7, 1), expect);
    }
}
