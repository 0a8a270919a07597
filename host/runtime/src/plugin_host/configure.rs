//! What plugins run with: the files beside theirs, and the host's own configuration.

use super::PluginHost;
use crate::directory::ConfigurationFile;
use crate::plugin_name::PluginName;
use crate::prepare::Sidecar;
use tracing::info;

impl PluginHost {
    /// What the plugin's next load, which follows, is to be made with.
    pub(super) fn configure(&mut self, name: PluginName, file: ConfigurationFile) {
        match file {
            ConfigurationFile::Gone => _ = self.sidecars.remove(&name),
            ConfigurationFile::Unreadable => {
                _ = self.sidecars.insert(name, Sidecar::Unreadable);
            }
            ConfigurationFile::Read(file) => {
                let text = file.content.as_deref().unwrap_or_default();
                self.sidecars.insert(name, Sidecar::Text(text.into()));
            }
        }
    }

    /// The host's own configuration says something else: those whom that concerns are loaded again, as where the file beside theirs changes.
    pub(super) fn reconfigure(&mut self) {
        let said = self.configured.borrow_and_update().clone();
        let before = std::mem::replace(&mut self.preparer.configurations, said);
        let said = &self.preparer.configurations;
        let mut concerned = 0;
        for (name, plugin) in &self.plugins {
            if said.says_the_same_of(name, &before) {
                plugin.status.says_of_settings(|settings| said.placed(name, settings));
                continue;
            }
            concerned += 1;
            self.directories.configured(name);
        }
        info!(
            plugins = concerned,
            "the host's own configuration says something else; plugins that it concerns are loaded again"
        );
    }
}
