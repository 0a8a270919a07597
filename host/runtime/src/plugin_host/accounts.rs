//! Plugins that use more than their account allows. Each is stopped alone. It starts again when its file or its
//! configuration changes, or by a command, with its records of the state directory.
//!
//! A version that was refused, because the plugin would have exceeded its memory, is loaded again when the plugin
//! holds less.

use super::PluginHost;
use crate::plugin_name::PluginName;
use std::time::Duration;
use tracing::{error, info};

/// The interval of the checks of accounts, and of the leader while this host does not lead. An instance's request
/// beyond its plugin's account is refused at once; every other part has its own bound until the next check.
const LOOK: Duration = Duration::from_secs(1);

/// The times of the checks.
pub(super) fn looks() -> tokio::time::Interval {
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    looks
}

impl PluginHost {
    pub(super) fn look_at_accounts(&mut self) {
        let plugins = self.plugins.iter();
        let overdrawn = plugins.filter_map(|(name, it)| Some((name.clone(), it.overdraft()?)));
        let overdrawn: Vec<(PluginName, String)> = overdrawn.collect();
        for (name, reason) in overdrawn {
            self.stop_overdrawn(&name, &reason);
        }
        for (name, plugin) in &mut self.plugins {
            if plugin.take_room() {
                let text = "there is room now for the version that was refused: it is loaded again";
                info!(plugin = name.as_str(), "{text}");
                self.directories.configured(name);
            }
        }
    }

    /// Stops the plugin and drops its data, as if its file were gone.
    fn stop_overdrawn(&mut self, name: &PluginName, reason: &str) {
        let Some(mut plugin) = self.plugins.remove(name) else { return };
        let mut stopped = Box::new(plugin.stopped(name, &self.metric_names, reason));
        // The scan for these callers brings the file, which starts the plugin again.
        stopped.asked = std::mem::take(&mut plugin.asked);
        self.view.insert(name.clone(), stopped.core.clone());
        self.plugins.insert(name.clone(), stopped);
        self.loads.spawn_stop(name.clone(), plugin.stop());
        error!(plugin = name.as_str(), "stopped: {reason}");
    }
}
