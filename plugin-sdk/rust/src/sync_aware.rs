//! What a plugin is told when its initial objects are through.

use crate::{Plugin, Result};

/// A plugin that wants to know when it has seen everything that was there. Export it with `export_plugin!(MyPlugin, sync_aware)`.
///
/// An instance that knows only what it was told is right from then on: it can compare, count, or say that something is missing.
pub trait SyncAware: Plugin {
    /// The initial objects of the subscription, counted from 0 as in [`Event::subscription`](crate::Event::subscription), have all been
    /// told, or are dead letters. Called once for each subscription and instance: an instance that takes another's place and is told
    /// nothing again is called at once. A failure brings the call back as its [`Failure`](crate::Failure) says.
    fn synced(&mut self, subscription: u32) -> Result;
}
