//! The plugin's own metrics, on the host's `/metrics` with a label `plugin`. They belong to the plugin's name: they
//! outlive traps and reloads, and end with the plugin or the host.
//!
//! A name and its labels consist of letters, digits and `_`. The prefixes `informant_`, `leader_election_`, `process_`
//! and `scrape_` belong to the host. A name has the same kind (counter, gauge or histogram) in all plugins. By
//! default, a plugin may have 1,000 series, with up to 16 labels of 256 bytes each. A series without use for an hour
//! is no longer shown. An addition beyond these bounds is a [`Failure`](crate::Failure) with the host's text.
//!
//! ```
//! use informant_plugin::metrics;
//! use informant_plugin::prelude::*;
//!
//! fn count(event: &Event) -> Result {
//!     metrics::counter_add("pods_seen", &[("change", &event.change().to_string())], 1.0)
//! }
//! ```

use crate::imports::metrics as host;
use crate::{Failure, Result};

/// Adds to a counter, which only rises. `_total` is appended to its name if it is missing.
pub fn counter_add(name: &str, labels: &[(&str, &str)], value: f64) -> Result {
    host::counter_add(name, &owned(labels), value).map_err(Failure::new)
}

/// Sets a gauge.
pub fn gauge_set(name: &str, labels: &[(&str, &str)], value: f64) -> Result {
    host::gauge_set(name, &owned(labels), value).map_err(Failure::new)
}

/// Counts a value in the buckets of a histogram. Their bounds go from 0.0001 to 10,000, with three in each decade.
pub fn histogram_observe(name: &str, labels: &[(&str, &str)], value: f64) -> Result {
    host::histogram_observe(name, &owned(labels), value).map_err(Failure::new)
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
