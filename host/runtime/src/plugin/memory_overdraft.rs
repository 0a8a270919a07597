//! A plugin that uses more memory than its account allows: the refusal of a load, and the stop of
//! the plugin.

use super::Plugin;
use crate::counted::counted;
use crate::plugin::lifecycle::Input;
use crate::plugin_metrics::MetricNames;
use crate::plugin_name::PluginName;
use jiff::Timestamp;

/// The memory that the plugin's latest load wanted.
#[derive(Default)]
pub(crate) struct Room {
    /// Bytes of the plugin's account when the load began.
    before: u64,
    /// Bytes above `before` that the load wanted, if it was refused for that.
    wants: Option<u64>,
}

impl Plugin {
    /// A load begins.
    pub(crate) fn begin_room(&mut self) {
        self.room = Room { before: self.core.account().memory_bytes(), wants: None };
    }

    /// The load was refused, because the plugin would have exceeded its memory.
    pub(crate) fn refuse_room(&mut self) {
        let wanted = self.core.counters.ledger.wanted();
        self.room.wants = Some(wanted.saturating_sub(self.room.before));
    }

    /// Whether there is room now for a load that was refused for want of it. Returns `true` once for each load. The
    /// new load may be refused again, for its own need.
    pub(crate) fn take_room(&mut self) -> bool {
        if !self.is_at_rest() {
            return false;
        }
        let (Some(wants), Some(settings)) = (self.room.wants, &self.settings) else {
            return false;
        };
        let is_to_hold = self.core.account().memory_bytes().saturating_add(wants);
        let has_room = is_to_hold <= settings.limits.host_memory_max;
        if has_room {
            self.room.wants = None;
        }
        has_room
    }

    /// The reason for which the plugin may not go on; `None` while it may. The check waits for a version that is being
    /// loaded, which may hold less.
    pub(crate) fn overdraft(&self) -> Option<String> {
        if self.current.is_none() || !self.is_at_rest() {
            return None;
        }
        let refused = self.core.counters.ledger.take_refused();
        let overdraft = self.core.account().overdraft().map(|overdraft| overdraft.to_string());
        let reason = refused.or(overdraft)?;
        let lost = self.lost();
        Some(format!("{reason}; it starts again when its file or its configuration changes{lost}"))
    }

    /// The data that the plugin loses without a state directory; empty if there is none.
    fn lost(&self) -> String {
        if self.core.archive.snapshot().is_some() {
            return String::new();
        }
        let letters = self.core.dead_letters.lock().len();
        let values = self.core.state.lock().size().0;
        if letters + values == 0 {
            return String::new();
        }
        format!(
            "; lost: {} and {} of its state, because this host has no state directory that keeps them",
            counted(letters, "dead letter"),
            counted(values, "value")
        )
    }

    /// The plugin after a stop for too much memory: it holds nothing, and its counters stay.
    pub(crate) fn stopped(&self, name: &PluginName, names: &MetricNames, reason: &str) -> Self {
        let counters = self.core.counters.clone();
        counters.restart("account");
        let mut stopped = Self::counted_by(name, names, counters);
        stopped.is_recorded = self.is_recorded;
        let now = Timestamp::now();
        let sha256 = self.current.as_ref().map_or("", |loaded| loaded.sha256.as_str());
        let input = Input::LoadFailed { reason: reason.to_owned() };
        stopped.core.refused(sha256, reason, input, now);
        stopped.paused = self.paused;
        if self.paused {
            stopped.core.apply([Input::Paused], now);
        }
        stopped
    }
}
