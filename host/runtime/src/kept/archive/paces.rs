//! The rate at which each plugin's changes are written to the disk. A plugin above its rate waits,
//! and the others do not. Synchronous.

use crate::plugin_name::PluginName;
use crate::token_bucket::{TokenBucket, TokenBuckets, forget_full};
use std::time::{Duration, Instant};

/// The cost of a plugin's part of a transaction beside its changes: the top pages of the file's trees, which are
/// rewritten each time.
const TRANSACTION_BYTES: usize = 32 << 10;
/// The cost of a change beside its bytes: its page.
const PAGE_BYTES: usize = 4 << 10;

/// The recent costs of plugins. A plugin without a debt has no entry.
#[derive(Debug, Default)]
pub(super) struct Paces {
    buckets: TokenBuckets<PluginName>,
}

/// The cost of a part of a transaction with so many changes.
pub(super) fn cost(changes: usize, bytes: usize) -> usize {
    TRANSACTION_BYTES + changes * PAGE_BYTES + bytes
}

impl Paces {
    /// How long the plugin's next changes wait.
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
            // A remainder from rounding is not worth another look.
            wait => wait + Duration::from_millis(1),
        }
    }

    /// Charges a plugin for its changes. After a pause, a second's worth is written at once; more is paid for later.
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
