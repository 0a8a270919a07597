//! Turns at a bounded rate, for work that callers ask for.

use informant_cache::workqueue::{BucketRateLimiter, RateLimiter as _};
use parking_lot::Mutex;
use std::time::Duration;

/// Turns at a bounded rate, of which the first come at once.
pub(crate) struct PacedTurns {
    rate: Mutex<BucketRateLimiter>,
    wait_max: Duration,
}

impl PacedTurns {
    /// A turn for each `interval`, and `burst` turns at once after a pause. A turn that would come only after `wait_max`
    /// is refused.
    pub(crate) fn new(interval: Duration, burst: u32, wait_max: Duration) -> Self {
        let rate = BucketRateLimiter::new(interval, burst).with_max_wait(wait_max);
        Self { rate: Mutex::new(rate), wait_max }
    }

    /// Waits for a turn. False at once: the turn would come too late.
    pub(crate) async fn turn(&self) -> bool {
        let now = tokio::time::Instant::now();
        let wait = self.rate.lock().when(&(), now.into_std());
        if wait >= self.wait_max {
            return false;
        }
        tokio::time::sleep_until(now + wait).await;
        true
    }
}
