//! The trait of plugins that get a call after their initial objects.

use crate::{Plugin, Result};

/// A plugin that is called when it has received all existing objects. Export it with `export_plugin!(MyPlugin,
/// sync_aware)`.
///
/// From then on an instance's memory is complete: it can compare, count, or report missing objects.
pub trait SyncAware: Plugin {
    /// All initial objects of the subscription were delivered or are dead letters. `subscription` counts from 0, as in
    /// [`Event::subscription`](crate::Event::subscription). The host calls it once for each subscription and instance.
    /// An instance that replaces another one without a replay gets the call at once. After a failure the call comes
    /// again, as the [`Failure`](crate::Failure) says.
    fn synced(&mut self, subscription: u32) -> Result;
}
