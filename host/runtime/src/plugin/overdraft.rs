//! What becomes of a plugin that holds more than it may.

use super::Plugin;
use crate::lifecycle::Input;
use crate::plugin_metrics::MetricNames;
use crate::plugin_name::PluginName;
use jiff::Timestamp;

impl Plugin {
    /// Why the plugin may not go on; none while it may. A version that is on its way is waited for: it may hold less.
    pub(crate) fn overdraft(&self) -> Option<String> {
        if self.current.is_none() || self.load.is_some() || self.draining.is_some() {
            return None;
        }
        let refused = self.status.counters.ledger.take_refused();
        let overdraft = self.status.account().overdraft().map(|overdraft| overdraft.to_string());
        let reason = refused.or(overdraft)?;
        Some(format!("{reason}; it starts again when its file or its configuration changes"))
    }

    /// The plugin once it has been stopped for that: it has nothing, and what was counted of it stays.
    pub(crate) fn stopped(&self, name: &PluginName, names: &MetricNames, reason: &str) -> Self {
        let counters = self.status.counters.clone();
        counters.restart("account");
        let mut stopped = Self::counted_by(name, names, counters);
        let now = Timestamp::now();
        let sha256 = self.current.as_ref().map_or("", |loaded| loaded.sha256.as_str());
        let input = Input::LoadFailed { reason: reason.to_owned() };
        stopped.status.refused(sha256, reason, input, now);
        stopped.paused = self.paused;
        if self.paused {
            stopped.status.apply([Input::Paused], now);
        }
        stopped
    }
}
