//! The configured settings of a plugin, and its versions that run with them or with earlier ones.

use super::Plugin;
use crate::contract::configuration::PluginSettings;
use crate::plugin::prepare::Prepared;
use crate::plugin_name::PluginName;
use crate::powers::restriction::HeldVersion;
use std::sync::Arc;
use tracing::warn;

impl Plugin {
    /// Sets the settings for the next version. The running version, or the one about to take over, is restricted to
    /// them at once.
    pub(crate) fn set_settings(&mut self, name: &PluginName, settings: Arc<PluginSettings>) {
        let said = self.settings.as_ref().and_then(|before| before.not_in_force());
        if let Some(text) = settings.not_in_force().filter(|text| Some(text) != said.as_ref()) {
            warn!(plugin = name.as_str(), "{text}");
        }
        self.settings = Some(settings);
        // Invariant 40.
        self.hold_to_settings(name);
    }

    /// The latest configured settings; `None` before the first load.
    pub(crate) fn settings(&self) -> Option<&Arc<PluginSettings>> {
        self.settings.as_ref()
    }

    /// Restricts the running version, and the one about to take over, to the latest settings.
    pub(crate) fn hold_to_settings(&self, name: &PluginName) {
        let Some(settings) = &self.settings else { return };
        let versions =
            self.current.iter().chain(self.starting.as_deref()).map(|loaded| HeldVersion {
                settings: &loaded.prepared.settings,
                descriptor: &loaded.prepared.descriptor,
                sha256: &loaded.sha256,
            });
        self.core.restriction.hold(name.as_str(), versions, settings);
    }

    /// Whether the version was prepared with the latest settings.
    pub(crate) fn is_configured_as(&self, prepared: &Prepared) -> bool {
        self.settings.as_ref().is_none_or(|settings| prepared.settings.is_configured_as(settings))
    }

    /// Whether the version in charge is of this file and has the latest settings. This is so if the configuration
    /// changed during the load of that version: the load followed it, and no other load is due.
    pub(crate) fn runs_already(&self, sha256: &str) -> bool {
        let has_settings = |settings| self.core.runs(sha256, settings);
        !self.has_lost_actor() && self.settings.as_ref().is_some_and(has_settings)
    }
}
