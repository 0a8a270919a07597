//! A small store of the plugin's own: up to 1,000 keys and 1 MiB that outlive traps and reloads, and restarts where the host has a state
//! directory. It is this host's: keep in the cluster what must outlive that.
//!
//! It is written in [`Plugin::handle`](crate::Plugin::handle), [`Reconciler::reconcile`](crate::Reconciler::reconcile) and
//! [`Timer::fire`](crate::Timer::fire) only. What a call writes counts once it has succeeded; if it fails or
//! panics, nothing of that was ever there. Every function fails with the host's text where it is not allowed or too much.
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

/// The value of a key, none where there is none.
pub fn get(key: &str) -> Result<Option<Vec<u8>>> {
    host::get(key).map_err(Failure::new)
}

/// Sets a value. A key has 1 to 512 bytes.
pub fn set(key: &str, value: &[u8]) -> Result {
    host::set(key, Some(value)).map_err(Failure::new)
}

/// Removes a value; none may be there.
pub fn remove(key: &str) -> Result {
    host::set(key, None).map_err(Failure::new)
}

/// Sets or removes a value if the one there is as expected, and says whether it was.
pub fn compare_and_set(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
    host::compare_and_set(key, expected, value).map_err(Failure::new)
}

/// The keys that begin with this, sorted.
pub fn keys(prefix: &str) -> Result<Vec<String>> {
    host::keys(prefix).map_err(Failure::new)
}

/// A value that [`set_json`] has set; one that cannot be read is a failure.
pub fn get_json<T: DeserializeOwned>(key: &str) -> Result<Option<T>> {
    Ok(get(key)?.map(|value| serde_json::from_slice(&value)).transpose()?)
}

/// Sets a value to something's JSON.
pub fn set_json(key: &str, value: &impl Serialize) -> Result {
    set(key, &serde_json::to_vec(value)?)
}
