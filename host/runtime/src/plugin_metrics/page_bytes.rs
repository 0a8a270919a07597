//! The most bytes of a plugin's series on the page, for `limits.metricBytes`.

use super::{METRIC_BUCKETS, MetricKind, MetricLabels};

/// The bytes of a line beside the metric's name, the plugin's name and the labels: `_bucket` (7), `{plugin=""}` (11),
/// `le="0.00025",` (13), a space, a number (24) and the line's end.
const LINE_BYTES: usize = 57;
/// The bytes of the two lines in front of a name's series, beside the name: `# HELP  A plugin's own` and `# TYPE
/// histogram`.
const FAMILY_BYTES: usize = 41;

/// The bytes of one series.
pub(super) fn series_bytes(
    plugin: &str,
    kind: MetricKind,
    name: &str,
    labels: &MetricLabels,
) -> usize {
    let lines = match kind {
        MetricKind::Counter | MetricKind::Gauge => 1,
        // The sum, the count and the bucket above all bounds.
        MetricKind::Histogram => METRIC_BUCKETS.len() + 3,
    };
    // `,name="value"`
    let labels = labels.iter().map(|(name, value)| name.len() + escaped_len(value) + 4);
    lines * (LINE_BYTES + name.len() + plugin.len() + labels.sum::<usize>())
}

/// The bytes of the lines in front of a name's series.
pub(super) fn family_bytes(name: &str) -> usize {
    FAMILY_BYTES + 2 * name.len()
}

fn escaped_len(value: &str) -> usize {
    value.len() + value.bytes().filter(|byte| matches!(byte, b'\\' | b'"' | b'\n')).count()
}
