//! The rate of one plugin's requests of one kind. It belongs to the plugin's name, because
//! instances and versions come and go.

use crate::token_bucket::{TokenBucket, TokenBuckets, forget_full};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The recent requests of each plugin, of one kind. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Shares(Arc<Mutex<TokenBuckets<String>>>);

impl Shares {
    /// Waits until this plugin may send another request.
    pub(crate) async fn take(&self, plugin: &str, per_second: u32) {
        // The runtime's clock, which a test can stop.
        let now = || tokio::time::Instant::now().into_std();
        while let Err(wait) = self.spend(plugin, per_second, now()) {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes one request, or returns the time until there is one. After a pause, a second's worth may be sent at once.
    fn spend(&self, plugin: &str, per_second: u32, now: Instant) -> Result<(), Duration> {
        let rate = f64::from(per_second);
        let mut buckets = self.0.lock();
        if !buckets.contains_key(plugin) {
            forget_full(&mut buckets, now);
        }
        let bucket =
            buckets.entry(plugin.to_owned()).or_insert_with(|| TokenBucket::new(rate, rate, now));
        bucket.set(rate, rate, now);
        bucket.take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_nothing_is_forgotten() {
        let (shares, start) = (Shares::default(), Instant::now());
        for number in 0..1_000 {
            let now = start + Duration::from_secs(number);
            assert!(shares.spend(&number.to_string(), 1, now).is_ok());
            assert!(shares.0.lock().len() <= 2);
        }
    }

    #[test]
    fn a_changed_rate_holds_at_once() {
        let (shares, now) = (Shares::default(), Instant::now());
        for _ in 0..10 {
            assert!(shares.spend("a", 10, now).is_ok());
        }
        assert!(shares.spend("a", 1, now).is_err());
        assert!(shares.spend("a", 20, now).is_ok());
    }
}
