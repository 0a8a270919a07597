//! How long what failed waits for its next attempt, be it an event, a key, a firing or the call after initial objects.

use std::time::Duration;

/// First wait of a failed event, doubled with each attempt, as client-go's `DefaultTypedControllerRateLimiter` does, with a cap
/// that people can wait for.
pub(crate) const RETRY_BASE: Duration = Duration::from_millis(5);
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(30);
/// Retries of all events together, after a burst: a plugin that fails for a while does not come back to all of its events at once.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(10);
pub(crate) const RETRY_BURST: u32 = 1_000;
