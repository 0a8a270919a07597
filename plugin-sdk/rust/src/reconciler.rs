//! The trait of plugins that work on keys.

use crate::{Plugin, Result};
use std::time::Duration;

/// A plugin that works on keys: the classic controller. Export it with `export_plugin!(MyPlugin, reconciler)`.
///
/// Keys come from events, by the rules of [`Subscription::enqueue`](crate::Subscription::enqueue), and from
/// [`workqueue`](crate::workqueue). A key names an object, not a change. So read the present state through
/// [`indexer`](crate::indexer), where a deleted object is missing, and carry out what follows from it. No key is
/// worked on twice at once. A key that is added several times while it waits comes once.
pub trait Reconciler: Plugin {
    /// Works on a key. `attempt` is 1 for the first call since the key last succeeded or was given up, and for the
    /// first call of a version.
    ///
    /// `Some(wait)` means success for now, and another call after that time. After a failure the key comes again as
    /// the [`Failure`](crate::Failure) says, without a limit of attempts. A key is given up if its failure has no
    /// retry, or if it ends instances. It comes again when it is added again.
    fn reconcile(&mut self, key: &str, attempt: u32) -> Result<Option<Duration>>;
}
