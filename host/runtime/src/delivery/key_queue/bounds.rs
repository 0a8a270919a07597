//! The bounds of a plugin's keys, and the waits of failed ones.

use crate::contract::limits::Limits;
use crate::delivery::retry_waits::{RETRY_BASE, RETRY_BURST, RETRY_INTERVAL, RETRY_MAX};
use std::time::Duration;

/// The most keys that the queue keeps: keys that wait, are delayed or have only failed. Invariant 19.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) keys: usize,
    /// Bytes of the keys' texts, with [`KEY_COST_BYTES`] for each key.
    pub(crate) bytes: usize,
}

impl From<&Limits> for Bounds {
    fn from(limits: &Limits) -> Self {
        Self { keys: limits.workqueue_keys_max, bytes: limits.workqueue_bytes_max }
    }
}

/// The waits of failed keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    /// The wait after a key's first failure. Each further failure doubles it.
    pub(crate) base: Duration,
    pub(crate) max: Duration,
    /// For all failures together: one retry in this time, after a burst.
    pub(crate) interval: Duration,
    pub(crate) burst: u32,
}

/// Failed keys wait as failed events do.
impl Default for Waits {
    fn default() -> Self {
        let (base, max) = (RETRY_BASE, RETRY_MAX);
        Self { base, max, interval: RETRY_INTERVAL, burst: RETRY_BURST }
    }
}
