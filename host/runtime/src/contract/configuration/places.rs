//! Where settings are said, for errors about them.

use super::{Configurations, PluginSettings};
use crate::plugin_name::PluginName;

impl Configurations {
    /// Plugins of which the host's own configuration says something by name, with its file and the first line that does; 0: nobody knows which.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&PluginName, (&str, u64))> {
        self.plugins.iter().map(|(name, layer)| {
            let first = layer.said.values().min_by_key(|said| said.line);
            (name, first.map_or(("--config", 0), |said| (said.file.as_str(), said.line)))
        })
    }
}

impl PluginSettings {
    /// Where the plugin's `config` is said, or where it could be.
    pub(crate) fn config_place(&self, name: &PluginName) -> String {
        match self.differs.get("config") {
            Some(said) => format!("its config is in {}", said.place()),
            None => format!("it has no config; {name}.yaml beside it can have one"),
        }
    }
}
