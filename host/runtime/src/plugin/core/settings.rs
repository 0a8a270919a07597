//! What a plugin runs with, as far as its name's parts keep to it and show it.

use super::PluginCore;
use crate::contract::configuration::PluginSettings;
use std::sync::Arc;
use std::time::Instant;

impl PluginCore {
    /// The plugin runs with this from here on. What is above a limit already stays.
    pub(crate) fn set(&self, settings: &PluginSettings) {
        let limits = &settings.limits;
        self.queue.change(|mailboxes| {
            mailboxes.set_pauses(settings.debounce, settings.rate_limit, Instant::now());
            mailboxes.set_marks(limits.into());
            mailboxes.history.set_bytes_max(limits.history_bytes_max);
        });
        self.dead_letters.lock().set_bounds(limits.into());
        self.state.lock().set_bounds(limits.into());
        self.metrics.lock().set_bounds(limits.into());
        self.archive.set_limits(limits);
    }

    /// What the version that runs is to be shown with, if this says something else.
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
