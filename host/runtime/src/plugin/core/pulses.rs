//! The progress of a plugin's actors, for `/livez`.

use super::PluginCore;
use informant_cache::Pulse;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

impl PluginCore {
    /// How far the actor of each shard has come.
    pub(crate) fn pulses(&self, now: Instant) -> Vec<Pulse> {
        let shards = self.facts.lock().shards;
        let has_key: Vec<bool> = {
            let keys = self.keys.lock();
            let is_held = self.awaits_reads.load(Relaxed);
            let is_due =
                |shard| !is_held && keys.next_due(shard, now).is_some_and(|due| due <= now);
            (0..shards).map(is_due).collect()
        };
        self.queue.pulses(&has_key, now)
    }
}
