//! The places of settings, for errors.

use super::{Configurations, PluginSettings};
use crate::plugin_name::PluginName;

impl Configurations {
    /// Plugins that the host's own configuration names, with its file and the first such line; 0 if the line is not
    /// known.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&PluginName, (&str, u64))> {
        self.plugins.iter().map(|(name, layer)| {
            let first = layer.said.values().min_by_key(|said| said.line);
            (name, first.map_or(("--config", 0), |said| (said.file.as_str(), said.line)))
        })
    }
}

impl PluginSettings {
    /// The place of the plugin's `config`, or the place where it could be.
    pub(crate) fn config_place(&self, name: &PluginName) -> String {
        match self.differs.get("config") {
            Some(said) => format!("its config is in {}", said.place()),
            None => format!("it has no config; {name}.yaml beside it can have one"),
        }
    }
}
