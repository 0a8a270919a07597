//! Actors that a defect of the host ended. Their plugin's events would wait for ever.

use super::PluginHost;
use crate::plugin::lifecycle::Input;
use crate::plugin::prepare::Code;
use crate::plugin_name::PluginName;
use jiff::Timestamp;
use std::time::Instant;
use tracing::error;

impl PluginHost {
    /// Looks for plugins that lost an actor, and puts their versions in charge again.
    pub(super) fn look_at_actors(&mut self) {
        let now = Instant::now();
        let plugins = self.plugins.iter_mut();
        let lost = plugins.filter_map(|(name, it)| it.take_restart(now).then(|| name.clone()));
        let lost: Vec<PluginName> = lost.collect();
        for name in lost {
            self.restart(&name);
        }
    }

    /// Loads the version in charge again, which starts the actor. The work that the actor left in flight comes again,
    /// and counts as an end of the instance.
    fn restart(&mut self, name: &PluginName) {
        let Some(plugin) = self.plugins.get(name) else { return };
        let Some(current) = plugin.current.clone() else { return };
        let reason = "a defect of the host ended a call; the log has the panic, please report it; the version is loaded again";
        error!(plugin = name.as_str(), "{reason}");
        plugin.core.apply([Input::Crashed { reason: reason.to_owned() }], Timestamp::now());
        let load = self.begin_load(name, current.sha256);
        self.prepare(load, Code::Compiled(current.prepared.template));
    }
}
