//! Plugins whose files are gone.

use super::PluginHost;
use crate::plugin::admin::AdminError;
use crate::plugin_name::PluginName;
use jiff::Timestamp;
use tracing::info;

impl PluginHost {
    /// The plugin's file is gone: delivers waiting events if the settings want that, and ends the plugin.
    pub(super) fn gone(&mut self, name: &PluginName) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        plugin.asked.gone(&Err(AdminError::NoSuchPlugin(name.clone())));
        self.loads_begun += 1;
        let number = self.loads_begun;
        let Some(drain) = plugin.drain(number) else { return self.end(name) };
        let (waiting, keys) = plugin.waiting();
        let time = drain.limit.as_secs_f64();
        info!(
            plugin = name.as_str(),
            waiting,
            keys,
            "its file is gone; waiting events and keys are delivered for at most {time} s"
        );
        self.loads.spawn_drain((name.clone(), number), drain.carry_out());
    }

    /// The drain has ended. Ends the plugin, unless its file came back meanwhile.
    pub(super) fn drained(&mut self, name: &PluginName, number: u64) {
        if self.plugins.get(name).is_some_and(|plugin| plugin.draining == Some(number)) {
            self.end(name);
        }
    }

    fn end(&mut self, name: &PluginName) {
        let Some(plugin) = self.plugins.remove(name) else { return };
        let (dropped, dropped_keys) = plugin.waiting();
        plugin.core.archive.gone(Timestamp::now());
        self.loads.spawn_stop(name.clone(), plugin.stop());
        self.view.remove(name);
        info!(plugin = name.as_str(), dropped, dropped_keys, "removed: its file is gone");
    }
}
