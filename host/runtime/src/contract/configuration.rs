//! The configuration of plugins: in `<name>.yaml` beside `<name>.wasm`, and in the host's own configuration. Both have
//! the same settings, each declared once, in [`layer`]. The reference page and the JSON schemas are made from that
//! declaration.
//!
//! The program owns the host's file; this module reads its settings of plugins.

mod declared;
mod differences;
mod document;
mod first_values;
mod generated_name;
mod http_grants;
mod ineffective;
mod keys;
mod layer;
mod namespace_rules;
mod places;
mod read_grants;
mod requested;
mod rules;
mod settings;
mod sidecar;
mod write_grants;

pub use declared::{Declared, json_schema, table};
pub use document::Document;
pub use informant_apimachinery::nearest;
pub use keys::{Keys, declared, read};
pub use layer::{Ceiling, Layer, sidecar};
pub use settings::Configurations;

pub(crate) use document::CONFIGURATION_BYTES_MAX;
pub(crate) use http_grants::granting_http;
pub(crate) use layer::{OnRemoval, RateLimit};
pub(crate) use read_grants::granting;
pub(crate) use rules::RULE_ENTRIES_MAX;
pub(crate) use settings::PluginSettings;
pub(crate) use sidecar::Sidecar;
pub(crate) use write_grants::granting_writes;

/// The version of both kinds of file.
pub const API_VERSION: &str = "informant.dev/v1alpha1";

/// An unusable configuration: the place, the problem, and the advice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ConfigurationError {
    place: String,
    problem: String,
}

impl ConfigurationError {
    /// `line` is 0 if it is not known; `path` is empty for the file as a whole. If the problem begins with a verb, the
    /// path is its subject.
    pub fn new(file: &str, line: u64, path: &str, problem: String) -> Self {
        let place = match line {
            0 => file.to_owned(),
            line => format!("{file} line {line}"),
        };
        let is_predicate = ["is ", "has "].iter().any(|verb| problem.starts_with(verb));
        let problem = match (path, is_predicate) {
            ("", _) => problem,
            (path, true) => format!("{path} {problem}"),
            (path, false) => format!("{path}: {problem}"),
        };
        Self { place, problem }
    }
}

#[cfg(test)]
mod tests;
