//! The file beside a plugin's, once it was read: what it says, or why that cannot be used.

use super::{ConfigurationError, Configurations, Layer, PluginSettings};
use crate::plugin_name::PluginName;

/// What `NAME.yaml` says.
#[derive(Debug, Clone)]
pub(crate) struct Sidecar(Result<Layer, ConfigurationError>);

impl Sidecar {
    /// Reads the file's text. A megabyte of YAML takes its time.
    pub(crate) fn read(name: &PluginName, text: &[u8]) -> Self {
        Self(Layer::of_sidecar(&format!("{name}.yaml"), text))
    }

    /// There is a file, and it cannot be used for this reason.
    pub(crate) fn unusable(name: &PluginName, problem: &str) -> Self {
        Self(Err(ConfigurationError::new(&format!("{name}.yaml"), 0, "", problem.to_owned())))
    }
}

impl Configurations {
    /// The settings of a plugin that has this file beside it, or none.
    pub(crate) fn settings(
        &self,
        name: &PluginName,
        sidecar: Option<&Sidecar>,
    ) -> Result<PluginSettings, ConfigurationError> {
        match sidecar {
            None => self.of(name, None),
            Some(Sidecar(Ok(layer))) => self.of(name, Some(layer)),
            Some(Sidecar(Err(error))) => Err(error.clone()),
        }
    }
}
