//! Whether the actors of a plugin's shards do their due work.

use super::PluginQueue;
use crate::guest_threads::ActorTurn;
use informant_cache::Pulse;
use std::time::Instant;

impl PluginQueue {
    /// The progress of each shard's actor. An actor has work during a call and once it has ended by itself. It also
    /// has work while it waits although work is due. An actor that is held back or has no instance has no work.
    pub(crate) fn pulses(&self, shards: usize, now: Instant) -> Vec<Pulse> {
        (0..shards).map(|shard| self.pulse(shard, now)).collect()
    }

    fn pulse(&self, shard: usize, now: Instant) -> Pulse {
        let (turn, is_idle) = {
            let mut shared = self.lock();
            let worker = shared.worker(shard);
            let (turn, hands) = (worker.turn.clone(), worker.waits_with);
            let due = hands.and_then(|hands| shared.mailboxes.due(shard, hands, now));
            (turn, due.is_some_and(|due| due <= now))
        };
        // This thread may drop the actor's last handle. A dropped actor leaves the queue, for which it takes the
        // queue's lock.
        let pulse = turn.as_ref().map_or(Pulse { steps: 0, has_work: false }, ActorTurn::pulse);
        Pulse { has_work: pulse.has_work || is_idle, ..pulse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::mailbox::tests::parse;
    use crate::delivery::mailbox::{Marks, Settled};
    use crate::delivery::mailboxes::{Hands, Reconciles};
    use crate::guest_threads::GuestThreads;
    use crate::outside::leading::Leading;
    use crate::pace::Pace;
    use futures::FutureExt as _;
    use informant_cache::workqueue::AddOptions;
    use jiff::Timestamp;
    use std::sync::Arc;

    fn queue() -> PluginQueue {
        PluginQueue::new(Marks { events: 9, bytes: 9 }, Arc::default())
    }

    #[test]
    fn an_actor_that_waits_while_something_is_due_has_work() {
        let (queue, now) = (queue(), Instant::now());
        let check = |has_work: bool| {
            assert_eq!(queue.pulses(1, now)[0], Pulse { steps: 0, has_work });
        };
        queue.push(parse("+a1"));
        // No actor waits: it is held back, or does not exist.
        check(false);
        assert!(queue.pop(0, now).is_some());
        queue.settle_event(0, Settled::Finished, now);
        let leading = Leading::default();
        for hands in [Hands::ALL, Hands { reconciles: Reconciles::Later, ..Hands::ALL }] {
            let mut waiting = Box::pin(queue.next(0, hands, &leading, Timestamp::now));
            assert!(waiting.as_mut().now_or_never().is_none(), "nothing is there");
            check(false);
            let added = queue.change(|it| it.add_key("a", AddOptions::default(), now));
            added.expect("there is room");
            // A key waits until all readable resources have synced.
            check(hands.reconciles == Reconciles::Now);
            queue.push(parse("+b2"));
            check(true);
            drop(waiting);
            check(false);
            queue.look(|it| it.keys.clear());
            assert!(queue.pop(0, now).is_some());
            queue.settle_event(0, Settled::Finished, now);
        }
    }

    #[tokio::test]
    async fn an_actor_that_ended_by_itself_has_work_and_one_that_is_not_there_has_none() {
        let threads = GuestThreads::start(1).expect("threads start");
        let (queue, now) = (queue(), Instant::now());
        let check = |has_work: bool| {
            assert_eq!(queue.pulses(1, now)[0], Pulse { steps: 0, has_work });
        };
        check(false);
        let task = threads.spawn(async { panic!("on purpose") }, Pace::default());
        queue.set_worker(0, task.turn());
        assert!(task.ended().await.is_err(), "it panicked");
        check(true);
    }
}
