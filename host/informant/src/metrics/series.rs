//! Families of series, each with its type and what it means.

use super::{Labels, NoLabels};
use informant_runtime::{BUCKETS, Histogram};
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// A series of a plugin begins when there is something to say: most plugins use few of the ways to be counted. Series of the host are always there, and
/// so are those of plugins of which zero says something (`_from_zero`).
fn is_used<V: PartialEq + Default>(labels: &Labels<'_>, value: &V) -> bool {
    *value != V::default() || !labels.iter().any(|(label, _)| *label == "plugin")
}

pub(super) fn gauges<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (Labels<'a>, f64)>,
) -> fmt::Result {
    gauges_from_zero(encoder, name, help, series.filter(|(labels, value)| is_used(labels, value)))
}

pub(super) fn gauges_from_zero<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (Labels<'a>, f64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in series {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

pub(super) fn counters<'a, N: EncodeCounterValue + PartialEq + Default>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (Labels<'a>, N)>,
) -> fmt::Result {
    counters_from_zero(encoder, name, help, series.filter(|(labels, n)| is_used(labels, n)))
}

pub(super) fn counters_from_zero<'a, N: EncodeCounterValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (Labels<'a>, N)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in series {
        ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

pub(super) fn histograms<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (Labels<'a>, &'a Histogram)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (labels, histogram) in series {
        let counts = histogram.counts();
        let bounds = BUCKETS.iter().copied().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
        let total = counts.iter().sum();
        if !is_used(&labels, &total) {
            continue;
        }
        let mut metric = family.encode_family(&labels)?;
        metric.encode_histogram::<NoLabels>(histogram.sum(), total, &buckets, None)?;
    }
    Ok(())
}
