//! The settings of a plugin, for the parts of its name.

use super::PluginCore;
use crate::contract::configuration::PluginSettings;
use std::sync::Arc;
use std::time::Instant;

impl PluginCore {
    /// Applies the settings from here on. Data above a new limit stays.
    pub(crate) fn set(&self, settings: &PluginSettings) {
        let limits = &*settings.limits;
        self.queue.change(|mailboxes| {
            mailboxes.set_pauses(settings.debounce, settings.rate_limit, Instant::now());
            mailboxes.set_marks(limits.into());
            mailboxes.history.set_bytes_max(limits.history_bytes_max);
        });
        self.log.set_bytes_max(limits.log_tail_bytes_max);
        if settings.grants_secrets() {
            self.log.grants_secrets();
        }
        self.dead_letters.lock().set_bounds(limits.into());
        self.state.lock().set_bounds(limits.into());
        self.metrics.lock().set_bounds(limits.into());
        self.archive.set_limits(limits);
    }

    /// The settings that the running version shows, if `say` returns other ones.
    pub(crate) fn says_of_settings(
        &self,
        say: impl FnOnce(&PluginSettings) -> Option<PluginSettings>,
    ) {
        if let Some(running) = &mut self.facts.lock().running
            && let Some(settings) = say(&running.settings)
        {
            running.settings = Arc::new(settings);
        }
    }
}
