//! The reads of plugins with service accounts.

use super::PluginHost;

impl PluginHost {
    /// Applies a change of permissions.
    pub(super) fn follow_access(&mut self) {
        for plugin in self.plugins.values_mut() {
            plugin.follow_access(&self.informers);
        }
        self.informers.start();
    }
}
