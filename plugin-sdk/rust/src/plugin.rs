//! What a plugin is: the contract's `lifecycle` and `handler` as one trait.

use crate::{Config, Descriptor, Event, Failure, Result};

/// A plugin. Hand it to [`export_plugin!`](crate::export_plugin).
///
/// The host makes one instance for each copy of the plugin that runs and calls it from one thread, never
/// twice at once, so `&mut self` is the plugin's memory. That memory ends with a trap, an exceeded
/// deadline or a reload: treat it as a cache.
pub trait Plugin: Sized + 'static {
    /// What the plugin wants to hear of. Called before [`start`](Self::start) and possibly on an instance
    /// that never starts; of the host, only the log and `host_info` answer meanwhile.
    fn describe(config: &Config) -> Result<Descriptor>;

    /// Makes the instance. A failure keeps this version of the plugin from running: where an older one
    /// runs, it goes on.
    fn start(config: &Config) -> Result<Self>;

    /// Handles one event. A failure brings the same event back as its [`Failure`](crate::Failure) says; events of other
    /// objects do not wait for that.
    ///
    /// A plugin all of whose subscriptions have [`enqueue`](crate::Subscription::enqueue) rules is never told of an event and leaves this
    /// out; any other needs it, or each of its events becomes a dead letter that says so.
    fn handle(&mut self, event: Event) -> Result {
        let key = event.key();
        Err(Failure::new(format!("{key}: the plugin has no `handle`")).never_retry())
    }

    /// The last call that an instance gets, if it gets one: after a trap or an exceeded deadline it does
    /// not.
    fn stop(&mut self) {}
}
