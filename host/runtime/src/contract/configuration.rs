//! What whoever runs plugins says of them: in `<name>.yaml` beside `<name>.wasm`, and in the host's own configuration. Both have the same
//! settings, each declared once, in [`layer`]; the reference page and the JSON schemas are made of that declaration.
//!
//! The host's file is the program's; what it says of plugins is read here.

mod declared;
mod differences;
mod document;
mod generated_name;
mod http_grants;
mod ineffective;
mod keys;
mod layer;
mod places;
mod read_grants;
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
pub(crate) use settings::PluginSettings;
pub(crate) use sidecar::Sidecar;
pub(crate) use write_grants::granting_writes;

/// The version of both kinds of file.
pub const API_VERSION: &str = "informant.dev/v1alpha1";

/// A configuration that cannot be used: where that stands, what is wrong, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ConfigurationError {
    place: String,
    problem: String,
}

impl ConfigurationError {
    /// `line` is 0 where it is not known, `path` empty for the file as a whole. A problem that begins with a verb is the path's.
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
