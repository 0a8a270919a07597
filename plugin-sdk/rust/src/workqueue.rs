//! The plugin's own rate-limited queue of keys, for [`Reconciler`](crate::Reconciler).
//!
//! It belongs to the plugin's name: keys, their delays and failures outlive traps and reloads, and end with the host.
//! `handle`, `reconcile`, `fire` and `synced` may add keys. Elsewhere these functions end the instance, and so they do
//! in a plugin that is not exported as a `reconciler`.
//!
//! A key has 1 to 512 bytes. A call that adds an invalid key fails without a retry, whatever its result is. A call
//! that adds a key to a full queue (200,000 keys by default) comes again in 30 s, without a limit of attempts. Keys
//! that a call has added stay added, even if it then fails.
//!
//! ```
//! use informant_plugin::prelude::*;
//! use informant_plugin::workqueue;
//!
//! fn handle(event: &Event) -> Result {
//!     if event.change() == Change::Deleted {
//!         workqueue::add(&event.key().to_string());
//!     }
//!     Ok(())
//! }
//! ```

use crate::imports::milliseconds;
use crate::imports::workqueue as host;
use std::time::Duration;

/// Adds a key. A waiting key keeps its place. A key that is being worked on comes again after that. The key does not
/// wait for the backoff of earlier failures; its attempts count on.
pub fn add(key: &str) {
    host::add(key);
}

/// Adds a key that comes after this time at the earliest. If a key has several times, the earliest counts.
pub fn add_after(key: &str, after: Duration) {
    host::add_after(key, milliseconds(after));
}

/// Adds a key after the rate limiter's wait for one more failure of the key. The wait grows each time, until the key
/// succeeds without such a call, or until [`forget`].
pub fn add_rate_limited(key: &str) {
    host::add_rate_limited(key);
}

/// Resets the key's failures, which determine its waits.
pub fn forget(key: &str) {
    host::forget(key);
}

/// The number of the key's failures without [`Failure::retry_after`](crate::Failure::retry_after) and of its
/// rate-limited additions, since the last reset.
#[must_use]
pub fn num_requeues(key: &str) -> u32 {
    host::num_requeues(key)
}

/// The number of keys that are due. Delayed keys and keys in work do not count.
#[must_use]
pub fn len() -> u32 {
    host::len()
}
