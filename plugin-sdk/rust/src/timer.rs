//! The trait of plugins with schedules.

use crate::{Plugin, Result};

/// A plugin that is called on the [`Schedule`](crate::Schedule)s of its descriptor. Export it with
/// `export_plugin!(MyPlugin, timer)`.
pub trait Timer: Plugin {
    /// Called for a moment of the schedule with this name. `unix_ms` is that moment in milliseconds since 1970, in
    /// UTC. If several moments have passed, because the plugin was busy, held or missing, only the last one leads to
    /// a call.
    ///
    /// After a failure the call comes again, as the [`Failure`](crate::Failure) says, until the schedule's next moment
    /// replaces it, or until `limits.attempts` (20, almost four minutes) have failed.
    fn fire(&mut self, schedule: &str, unix_ms: u64) -> Result;
}
