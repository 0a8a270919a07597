//! Whether the actors of a plugin's shards do what is due.

use super::PluginQueue;
use informant_cache::Pulse;
use std::time::Instant;

impl PluginQueue {
    /// How far the actor of each shard has come: it has work while it says that it waits, and an event is due, or its shard is among those that have
    /// a key to work on. One that is in a call, is held back or has no instance does not wait.
    pub(crate) fn pulses(&self, keys: &[bool], now: Instant) -> Vec<Pulse> {
        let mut shared = self.shared.lock();
        let pulse = |shard: usize| {
            let is_due = shared.queue.next_due(shard, now).is_some_and(|due| due <= now);
            let has_key = keys.get(shard).is_some_and(|has_key| *has_key);
            let worker = shared.worker(shard);
            Pulse { steps: worker.taken, has_work: worker.is_waiting && (is_due || has_key) }
        };
        let shards = keys.len();
        (0..shards).map(pulse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Marks;
    use crate::queue::tests::parse;
    use futures::FutureExt as _;
    use std::sync::Arc;

    #[test]
    fn an_actor_that_waits_while_an_event_is_due_has_work() {
        let queue = PluginQueue::new(Marks { events: 9, bytes: 9 }, Arc::default());
        let now = Instant::now();
        let pulse = |has_key: bool, expect: (u64, bool)| {
            let pulse = queue.pulses(&[has_key], now)[0];
            assert_eq!((pulse.steps, pulse.has_work), expect);
        };
        queue.push(parse("+a1"));
        // Nobody waits: it is in a call, held back, or not there.
        pulse(true, (0, false));
        assert!(queue.pop(0, now).is_some());
        queue.settle(0, crate::queue::Settled::Finished, now);
        let mut waiting = Box::pin(queue.wait(0, None));
        assert!(waiting.as_mut().now_or_never().is_none(), "nothing is there");
        pulse(false, (1, false));
        pulse(true, (1, true));
        queue.push(parse("+b2"));
        pulse(false, (1, true));
        drop(waiting);
        pulse(false, (1, false));
    }
}
