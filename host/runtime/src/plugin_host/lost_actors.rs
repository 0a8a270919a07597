//! Actors that a defect of the host ended. Their plugin's events would wait for ever.

use super::PluginHost;
use crate::plugin::lifecycle::Input;
use jiff::Timestamp;
use std::time::Instant;
use tracing::error;

impl PluginHost {
    /// Loads the version of a plugin that lost an actor again, which starts the actor. The work that the actor left in
    /// flight comes again, and counts as an end of the instance.
    pub(super) fn look_at_actors(&mut self) {
        let now = Instant::now();
        for (name, plugin) in &mut self.plugins {
            if !plugin.is_to_restart(now) {
                continue;
            }
            let reason = "a defect of the host ended a call; the log has the panic, please report it; the version is loaded again";
            error!(plugin = name.as_str(), "{reason}");
            plugin.core.apply([Input::Crashed { reason: reason.to_owned() }], Timestamp::now());
            self.directories.configured(name);
        }
    }
}
