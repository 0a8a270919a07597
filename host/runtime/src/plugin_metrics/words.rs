//! Valid names, labels and values of metrics.

use super::{MetricKind, MetricLabels};

/// Bytes of a name, of a metric or of a label.
pub(super) const NAME_BYTES_MAX: usize = 128;
/// Bytes of a label's value.
pub(super) const VALUE_BYTES_MAX: usize = 256;
/// Labels of one series.
pub(super) const LABELS_MAX: usize = 16;
/// Prefixes of the names of the host, of its process and of Prometheus' own scrape metrics.
const OF_THE_HOST: [&str; 4] = ["informant_", "leader_election_", "process_", "scrape_"];
/// Names that Prometheus itself uses.
const OF_PROMETHEUS: [&str; 3] = ["up", "ALERTS", "ALERTS_FOR_STATE"];
/// Endings that Prometheus adds to names, or gives a meaning: in lines of counters and histograms.
const SUFFIXES: [&str; 6] = ["_total", "_created", "_bucket", "_count", "_sum", "_info"];

/// The name in the form of the page's families.
pub(super) fn checked_name(kind: MetricKind, name: &str) -> Result<&str, String> {
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

pub(super) fn checked_labels(labels: Vec<(String, String)>) -> Result<MetricLabels, String> {
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

/// Checks a name of a metric or a label by Prometheus' rules for both.
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

pub(super) fn check_value(kind: MetricKind, value: f64) -> Result<(), String> {
    if !value.is_finite() {
        return Err(format!("{value} is no value"));
    }
    match kind == MetricKind::Counter && value < 0.0 {
        true => Err(format!("a counter only rises, and this is {value}")),
        false => Ok(()),
    }
}
