//! The waits before the next attempt of an event, a key, a firing or a `synced` call.

use std::time::Duration;

/// The first wait of a failed event. It doubles with each attempt, as in client-go's
/// `DefaultTypedControllerRateLimiter`. The cap is a wait that people can accept.
pub(crate) const RETRY_BASE: Duration = Duration::from_millis(5);
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(30);
/// The interval of retries of all events together, after a burst. So a plugin that failed for a while does not get all
/// of its events back at once.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(10);
pub(crate) const RETRY_BURST: u32 = 1_000;
