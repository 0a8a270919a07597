//! The file beside a plugin's after it was read: its settings, or the reason for which it cannot be used.

use super::{ConfigurationError, Configurations, Layer, PluginSettings};
use crate::plugin_name::PluginName;

/// The content of `NAME.yaml`.
#[derive(Debug, Clone)]
pub(crate) struct Sidecar(Result<Layer, ConfigurationError>);

impl Sidecar {
    /// Reads the file's text. A megabyte of YAML takes a noticeable time.
    pub(crate) fn read(name: &PluginName, text: &[u8]) -> Self {
        Self(Layer::of_sidecar(&format!("{name}.yaml"), text))
    }

    /// A file that cannot be used, for this reason.
    pub(crate) fn unusable(name: &PluginName, problem: &str) -> Self {
        Self(Err(ConfigurationError::new(&format!("{name}.yaml"), 0, "", problem.to_owned())))
    }
}

impl Configurations {
    /// The settings of a plugin with this file beside it, or without one.
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
