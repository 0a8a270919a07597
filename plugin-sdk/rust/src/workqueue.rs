//! The plugin's own rate-limited queue of keys, which [`Reconciler`](crate::Reconciler) works on.
//!
//! It belongs to the plugin's name: keys, their delays and failures outlive traps and reloads, and end with the host. Keys are added in
//! `handle`, `reconcile`, `fire` and `synced`; elsewhere these functions end the instance, and so they do in a plugin that is not exported as a
//! `reconciler`.
//!
//! A key has 1 to 512 bytes. A call that adds one that has not has failed for good, whatever it answers; one that adds one more than the host
//! keeps (200,000 if nothing else is said) comes again in 30 s, however often. Keys that a call has added stay added if it fails then.
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

/// Adds a key. One that waits stays where it is; one that is being worked on comes again when that is done. It does not wait
/// for what failed before; its attempts count on.
pub fn add(key: &str) {
    host::add(key);
}

/// The same, not before `after` has passed. Of several times for a key the earliest counts.
pub fn add_after(key: &str, after: Duration) {
    host::add_after(key, milliseconds(after));
}

/// The same, after the wait that the rate limiter gives to one more failure of the key: longer each time, until the key succeeds without
/// being added so, or [`forget`].
pub fn add_rate_limited(key: &str) {
    host::add_rate_limited(key);
}

/// The key's failures count no more towards its waits.
pub fn forget(key: &str) {
    host::forget(key);
}

/// How often the key failed without [`Failure::retry_after`](crate::Failure::retry_after), or was added rate limited, since that was last
/// forgotten.
#[must_use]
pub fn num_requeues(key: &str) -> u32 {
    host::num_requeues(key)
}

/// How many keys could be worked on now, those not counted that are delayed or being worked on.
#[must_use]
pub fn len() -> u32 {
    host::len()
}
