//! The rate at which each plugin's changes are written to the disk. A plugin above its rate waits,
//! and the others do not. Synchronous.

use crate::plugin_name::PluginName;
use crate::token_bucket::{TokenBucket, TokenBuckets, forget_full};
use std::time::{Duration, Instant};

/// What a plugin's part of a transaction costs beside what is in it: the tops of the file's trees, which are written anew each time.
const TRANSACTION_BYTES: usize = 32 << 10;
/// What a change costs beside what is in it: the page that it is on.
const PAGE_BYTES: usize = 4 << 10;

/// What plugins have had written lately. Those that have paid for everything are not known.
#[derive(Debug, Default)]
pub(super) struct Paces {
    buckets: TokenBuckets<PluginName>,
}

/// What a part of a transaction with so many changes costs.
pub(super) fn cost(changes: usize, bytes: usize) -> usize {
    TRANSACTION_BYTES + changes * PAGE_BYTES + bytes
}

impl Paces {
    /// How long the plugin waits until more of it is written.
    pub(super) fn wait(
        &mut self,
        plugin: &PluginName,
        bytes_per_second: u32,
        now: Instant,
    ) -> Duration {
        let Some(bucket) = self.buckets.get_mut(plugin) else { return Duration::ZERO };
        let rate = f64::from(bytes_per_second);
        bucket.set(rate, rate, now);
        match bucket.until(0.0) {
            Duration::ZERO => Duration::ZERO,
            // What rounding leaves is not worth another look.
            wait => wait + Duration::from_millis(1),
        }
    }

    /// So much was written of it. A second's worth is written at once after a pause; what is more is paid for later.
    pub(super) fn spend(
        &mut self,
        plugin: &PluginName,
        bytes_per_second: u32,
        bytes: usize,
        now: Instant,
    ) {
        forget_full(&mut self.buckets, now);
        let rate = f64::from(bytes_per_second);
        let new = || TokenBucket::new(rate, rate, now);
        let bucket = self.buckets.entry(plugin.clone()).or_insert_with(new);
        bucket.set(rate, rate, now);
        bucket.spend(bytes as f64);
    }
}
