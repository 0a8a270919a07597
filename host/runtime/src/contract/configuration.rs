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
#[error("{file}{}: {problem}", at(*.line))]
pub struct ConfigurationError {
    file: String,
    line: u64,
    problem: String,
}

/// The line behind the name of a file.
fn at(line: u64) -> String {
    if line == 0 { String::new() } else { format!(" line {line}") }
}

impl ConfigurationError {
    /// `line` is 0 if it is not known; `path` is empty for the file as a whole. If the problem begins with a verb, the
    /// path is its subject.
    pub fn new(file: &str, line: u64, path: &str, problem: String) -> Self {
        let is_predicate = ["is ", "has "].iter().any(|verb| problem.starts_with(verb));
        let problem = match (path, is_predicate) {
            ("", _) => problem,
            (path, true) => format!("{path} {problem}"),
            (path, false) => format!("{path}: {problem}"),
        };
        Self { file: file.to_owned(), line, problem }
    }

    /// The text for a reader who has the file's name beside it.
    pub fn without_file(&self) -> String {
        match self.line {
            0 => self.problem.clone(),
            line => format!("line {line}: {}", self.problem),
        }
    }
}

#[cfg(test)]
mod tests;
