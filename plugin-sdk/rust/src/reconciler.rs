//! What a plugin does about a key.

use crate::{Plugin, Result};
use std::time::Duration;

/// A plugin that works on keys: the classic controller. Export it with `export_plugin!(MyPlugin, reconciler)`.
///
/// Keys come from events, by the rules of [`Subscription::enqueue`](crate::Subscription::enqueue), and from [`workqueue`](crate::workqueue).
/// A key says where to look, not what happened: read the present state through [`indexer`](crate::indexer), where an object that is not
/// there is gone, and make what follows from it so. The same key is never worked on twice at once, and what is added several times while it
/// waits comes once.
pub trait Reconciler: Plugin {
    /// Works on a key. `attempt` is 1 for the first since the key last succeeded or was given up, and for the first of a version.
    ///
    /// `Some(wait)`: done for now, and again after that. A failure brings the key back as its [`Failure`](crate::Failure) says, however often.
    /// One that says never, or a key that ends instances, is given up, until somebody adds it again.
    fn reconcile(&mut self, key: &str, attempt: u32) -> Result<Option<Duration>>;
}
