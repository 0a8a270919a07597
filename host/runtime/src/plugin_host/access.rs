//! What plugins may read that act as service accounts.

use super::PluginHost;

impl PluginHost {
    /// Something may be read that might not before, or the other way round.
    pub(super) fn follow_access(&mut self) {
        for plugin in self.plugins.values_mut() {
            plugin.follow_access(&self.informers);
        }
        self.informers.start();
    }
}
