//! What one plugin has of what all plugins share: so many requests a second, and so many under way at once. It belongs to the name: instances and
//! versions come and go.

use crate::token_bucket::TokenBucket;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests of one kind, of one plugin, under way at once: a quarter of what there is for all (`turns.rs`). An instance makes one at a time; several of one
/// plugin may run at once.
pub(crate) const AT_ONCE_OF_ONE: usize = 8;

/// What each plugin has asked lately, of one kind of request. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Shares(Arc<Mutex<BTreeMap<String, Share>>>);

struct Share {
    bucket: TokenBucket,
    under_way: Arc<Semaphore>,
}

impl Shares {
    /// Waits until this plugin may ask again. A request is under way as long as what this answers is there.
    pub(crate) async fn take(&self, plugin: &str, per_second: u32) -> OwnedSemaphorePermit {
        let under_way = loop {
            // The runtime's time: it stands still where a test says so.
            let now = tokio::time::Instant::now().into_std();
            match self.spend(plugin, per_second, now) {
                Ok(under_way) => break under_way,
                Err(wait) => tokio::time::sleep(wait).await,
            }
        };
        under_way.acquire_owned().await.expect("nobody closes it")
    }

    /// Takes one request, or says how long it takes until there is one. A second's worth may be asked at once after a pause.
    fn spend(
        &self,
        plugin: &str,
        per_second: u32,
        now: Instant,
    ) -> Result<Arc<Semaphore>, Duration> {
        let rate = f64::from(per_second);
        let mut shares = self.0.lock();
        if !shares.contains_key(plugin) {
            // Whoever has paid for everything, and waits for nothing, need not be known.
            shares.retain(|_, share| {
                share.bucket.refill(now);
                !share.bucket.is_full() || share.is_used()
            });
        }
        let share = shares.entry(plugin.to_owned()).or_insert_with(|| Share {
            bucket: TokenBucket::new(rate, rate, now),
            under_way: Arc::new(Semaphore::new(AT_ONCE_OF_ONE)),
        });
        share.bucket.set(rate, rate, now);
        if share.bucket.tokens() >= 1.0 {
            share.bucket.spend(1.0);
            return Ok(share.under_way.clone());
        }
        // What rounding leaves is not worth another look.
        Err(share.bucket.until(1.0) + Duration::from_millis(1))
    }
}

impl Share {
    /// Whether anything is under way, or about to be.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.under_way) > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn one_plugin_has_so_many_under_way_at_once() {
        let shares = Shares::default();
        let mut taken = Vec::new();
        for _ in 0..AT_ONCE_OF_ONE {
            taken.push(shares.take("a", 1_000).await);
        }
        assert!(timeout(SECOND, shares.take("a", 1_000)).await.is_err());
        assert!(timeout(SECOND, shares.take("b", 1_000)).await.is_ok(), "another's do not count");
        assert_eq!(shares.0.lock().len(), 2, "who has something under way is known");
        taken.pop();
        assert!(timeout(SECOND, shares.take("a", 1_000)).await.is_ok());
    }

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
