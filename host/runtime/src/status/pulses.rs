//! Whether a plugin's actors do what is due.

use super::StatusCell;
use informant_cache::Pulse;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

impl StatusCell {
    /// How far the actor of each shard has come. Keys that any has worked on are steps of all.
    pub(crate) fn pulses(&self, now: Instant) -> Vec<Pulse> {
        let shards = self.facts.lock().shards;
        let keys: Vec<bool> = {
            let keys = self.keys.lock();
            let is_held = self.awaits_reads.load(Relaxed);
            let is_due =
                |shard| !is_held && keys.next_due(shard, now).is_some_and(|due| due <= now);
            (0..shards).map(is_due).collect()
        };
        let counters = &self.counters;
        let worked = [&counters.keys_ok, &counters.keys_retry, &counters.keys_dead];
        let worked: u64 = worked.iter().map(|n| n.load(Relaxed)).sum();
        let pulses = self.queue.pulses(&keys, now).into_iter();
        pulses.map(|pulse| Pulse { steps: pulse.steps + worked, ..pulse }).collect()
    }
}
