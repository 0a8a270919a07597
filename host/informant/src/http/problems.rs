//! `GET /problems`: files in the plugin directories that cannot be plugins, which `/plugins` therefore does not list; and errors in the host's own file.

use crate::host_configuration::ConfigurationStatus;
use informant_runtime::Plugins;
use serde_json::{Value, json};

/// The whole answer.
pub(crate) fn list(plugins: &Plugins, configuration: &ConfigurationStatus) -> Value {
    let problems = configuration.problem().into_iter().chain(plugins.problems());
    problems
        .map(|(path, text)| json!({ "path": path.display().to_string(), "text": text }))
        .collect()
}
