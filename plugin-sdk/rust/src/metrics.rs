//! The plugin's own metrics, on the host's `/metrics` with a label `plugin`. They belong to the plugin's name: they outlive traps and reloads,
//! and are gone with the plugin or with the host.
//!
//! A name and its labels are of letters, digits and `_`; `informant_`, `leader_election_`, `process_` and `scrape_` is how the host's own begin, and what a name is to one plugin (a counter,
//! a gauge, a histogram) it is to all. There may be 1,000 series, if the host says nothing else, of up to 16 labels with 256 bytes each; one
//! that nobody has touched for an hour is shown no more. What does not fit is a [`Failure`](crate::Failure) with the host's text.
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

/// Adds to a counter, which only rises. `_total` at the end of its name is put there if it is left out.
pub fn counter_add(name: &str, labels: &[(&str, &str)], value: f64) -> Result {
    host::counter_add(name, &owned(labels), value).map_err(Failure::new)
}

/// Sets a gauge.
pub fn gauge_set(name: &str, labels: &[(&str, &str)], value: f64) -> Result {
    host::gauge_set(name, &owned(labels), value).map_err(Failure::new)
}

/// Counts a value by how large it is: the buckets' bounds go from 0.0001 to 10,000, three to a decade.
pub fn histogram_observe(name: &str, labels: &[(&str, &str)], value: f64) -> Result {
    host::histogram_observe(name, &owned(labels), value).map_err(Failure::new)
}

fn owned(labels: &[(&str, &str)]) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
