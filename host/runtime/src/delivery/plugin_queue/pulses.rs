//! Whether the actors of a plugin's shards do what is due.

use super::PluginQueue;
use crate::guest_threads::ActorTurn;
use informant_cache::Pulse;
use std::time::Instant;

impl PluginQueue {
    /// How far the actor of each shard has come. It has work in a call, once it has ended by itself, and while it says that it waits although an event is
    /// due, or its shard is among those that have a key to work on. One that is held back or has no instance does none of that.
    pub(crate) fn pulses(&self, keys: &[bool], now: Instant) -> Vec<Pulse> {
        let shards = keys.iter().enumerate();
        shards.map(|(shard, has_key)| self.pulse(shard, *has_key, now)).collect()
    }

    fn pulse(&self, shard: usize, has_key: bool, now: Instant) -> Pulse {
        let (turn, is_idle) = {
            let mut shared = self.shared.lock();
            let is_due = shared.mailboxes.has_due(shard, now);
            let worker = shared.worker(shard);
            (worker.turn.clone(), worker.is_waiting && (is_due || has_key))
        };
        // Whoever looks at an actor may be the one that drops it, and an actor that is dropped leaves the queue, which is locked for that.
        let pulse = turn.as_ref().map_or(Pulse { steps: 0, has_work: false }, ActorTurn::pulse);
        Pulse { has_work: pulse.has_work || is_idle, ..pulse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::mailbox::Marks;
    use crate::delivery::mailbox::tests::parse;
    use crate::guest_threads::GuestThreads;
    use crate::pace::Pace;
    use futures::FutureExt as _;
    use std::sync::Arc;

    fn queue() -> PluginQueue {
        PluginQueue::new(Marks { events: 9, bytes: 9 }, Arc::default())
    }

    #[test]
    fn an_actor_that_waits_while_an_event_is_due_has_work() {
        let (queue, now) = (queue(), Instant::now());
        let check = |has_key: bool, has_work: bool| {
            assert_eq!(queue.pulses(&[has_key], now)[0], Pulse { steps: 0, has_work });
        };
        queue.push(parse("+a1"));
        // Nobody waits: it is held back, or not there.
        check(true, false);
        assert!(queue.pop(0, now).is_some());
        queue.settle(0, crate::delivery::mailbox::Settled::Finished, now);
        let mut waiting = Box::pin(queue.wait(0, None));
        assert!(waiting.as_mut().now_or_never().is_none(), "nothing is there");
        check(false, false);
        check(true, true);
        queue.push(parse("+b2"));
        check(false, true);
        drop(waiting);
        check(false, false);
    }

    #[tokio::test]
    async fn an_actor_that_ended_by_itself_has_work_and_one_that_is_not_there_has_none() {
        let threads = GuestThreads::start(1).expect("threads start");
        let (queue, now) = (queue(), Instant::now());
        let check = |has_work: bool| {
            assert_eq!(queue.pulses(&[true], now)[0], Pulse { steps: 0, has_work });
        };
        check(false);
        let task = threads.spawn(async { panic!("on purpose") }, Pace::default());
        queue.is_worked_by(0, task.turn());
        assert!(task.ended().await.is_err(), "it panicked");
        check(true);
    }
}
