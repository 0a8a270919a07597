//! The trait of a plugin: the contract's `lifecycle` and `handler`.

use crate::{Config, Descriptor, Event, Failure, Result};

/// A plugin. Pass it to [`export_plugin!`](crate::export_plugin).
///
/// The host makes one instance for each running copy of the plugin. It calls the instance from one thread, never twice
/// at once, so `&mut self` is the plugin's memory. That memory ends with a trap, an exceeded deadline or a reload:
/// treat it as a cache.
pub trait Plugin: Sized + 'static {
    /// The plugin's needs. The host calls it before [`start`](Self::start), possibly on an instance that never starts.
    /// During this call, only the log and `host_info` of the host are available.
    fn describe(config: &Config) -> Result<Descriptor>;

    /// Creates the instance. After a failure this version of the plugin does not run; a running older version
    /// continues.
    fn start(config: &Config) -> Result<Self>;

    /// Handles one event. After a failure the host delivers the same event again, as the [`Failure`](crate::Failure)
    /// says. Events of other objects do not wait for that.
    ///
    /// If all subscriptions of a plugin have [`enqueue`](crate::Subscription::enqueue) rules, the plugin gets no
    /// events and needs no `handle`. Any other plugin needs it. Without it, each event becomes a dead letter with this
    /// reason.
    fn handle(&mut self, event: Event) -> Result {
        let key = event.key();
        Err(Failure::new(format!("{key}: the plugin has no `handle`")).never_retry())
    }

    /// The last call of an instance. After a trap or an exceeded deadline it does not happen.
    fn stop(&mut self) {}
}
