//! A small store for the plugin: up to 1,000 keys and 1 MiB. It outlives traps and reloads, and also restarts if the
//! host has a state directory. It belongs to this host: keep data that must outlive the host in the cluster.
//!
//! Only [`Plugin::handle`](crate::Plugin::handle), [`Reconciler::reconcile`](crate::Reconciler::reconcile) and
//! [`Timer::fire`](crate::Timer::fire) may write it. The writes of a call take effect when it succeeds. If it fails or
//! panics, they are dropped. Every function fails with the host's text if it is not allowed or exceeds a bound.
//!
//! ```
//! use informant_plugin::prelude::*;
//! use informant_plugin::state;
//!
//! fn count(event: &Event) -> Result<u64> {
//!     let key = format!("seen/{}", event.key());
//!     let seen = state::get_json::<u64>(&key)?.unwrap_or(0) + 1;
//!     state::set_json(&key, &seen)?;
//!     Ok(seen)
//! }
//! ```

use crate::imports::state as host;
use crate::{Failure, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The value of a key. `None` if there is none.
pub fn get(key: &str) -> Result<Option<Vec<u8>>> {
    host::get(key).map_err(Failure::new)
}

/// Sets a value. A key has 1 to 512 bytes.
pub fn set(key: &str, value: &[u8]) -> Result {
    host::set(key, Some(value)).map_err(Failure::new)
}

/// Removes a value. A missing value is not an error.
pub fn remove(key: &str) -> Result {
    host::set(key, None).map_err(Failure::new)
}

/// Sets or removes a value if the present value is the expected one. Returns whether it was.
pub fn compare_and_set(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
    host::compare_and_set(key, expected, value).map_err(Failure::new)
}

/// The keys with this prefix, sorted.
pub fn keys(prefix: &str) -> Result<Vec<String>> {
    host::keys(prefix).map_err(Failure::new)
}

/// Decodes a value of [`set_json`]. A value that cannot be decoded is a failure.
pub fn get_json<T: DeserializeOwned>(key: &str) -> Result<Option<T>> {
    Ok(get(key)?.map(|value| serde_json::from_slice(&value)).transpose()?)
}

/// Sets a value to the JSON of `value`.
pub fn set_json(key: &str, value: &impl Serialize) -> Result {
    set(key, &serde_json::to_vec(value)?)
}
