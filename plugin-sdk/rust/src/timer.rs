//! What a plugin does by the clock.

use crate::{Plugin, Result};

/// A plugin that is called on the [`Schedule`](crate::Schedule)s of its descriptor. Export it with `export_plugin!(MyPlugin, timer)`.
pub trait Timer: Plugin {
    /// The moment of the schedule with this name has come; `unix_ms` is that moment in milliseconds since 1970, in UTC. Of several that have
    /// passed, because the plugin was busy, held or not there, it is told of the last.
    ///
    /// A failure brings the call back as its [`Failure`](crate::Failure) says, until the schedule's next moment takes its place.
    fn fire(&mut self, schedule: &str, unix_ms: u64) -> Result;
}
