//! The actors of a plugin's shards as their queue sees them, and the announcement of pushed events.

use super::PluginQueue;
use crate::delivery::mailboxes::{Hands, Mailboxes, Woken};
use crate::event::SubscriptionId;
use crate::guest_threads::ActorTurn;
use crate::history::EndedDelivery;
use informant_cache::Object;
use std::sync::atomic::Ordering::AcqRel;
use std::task::Waker;
use std::time::Instant;

/// Actors are woken before the end of a long batch, so that they work beside the informer.
const UNANNOUNCED_MAX: usize = 16;

/// The actor of one shard.
#[derive(Default)]
pub(super) struct Worker {
    /// Wakes the actor; kept while the actor works, because it is the same for every wait.
    waker: Option<Waker>,
    /// Whether the actor waits for work, and was not woken.
    pub(super) waits: bool,
    /// The abilities with which the actor waits. `None` while a gate holds it.
    pub(super) waits_with: Option<Hands>,
    /// Whether the actor would take a new event now.
    pub(super) hears_events: bool,
    /// The actor's turn, for an informer's thread with few events.
    pub(super) turn: Option<ActorTurn>,
    /// Whether events were pushed for the actor without an announcement.
    pub(super) has_unannounced: bool,
}

impl Worker {
    /// The actor waits for work. `hands` is `None` while a gate holds it.
    pub(super) fn wait(&mut self, hands: Option<Hands>, hears_events: bool, waker: &Waker) {
        (self.waits_with, self.hears_events, self.waits) = (hands, hears_events, true);
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    pub(super) fn stop_waiting(&mut self) {
        (self.waits_with, self.hears_events, self.waits) = (None, false, false);
    }

    /// The waker of an actor that waits. The caller wakes the actor.
    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        std::mem::take(&mut self.waits).then(|| self.waker.clone()).flatten()
    }
}

impl PluginQueue {
    /// Notes an event that its filter refuses. Returns whether that is certain: the actor would refuse the event.
    pub(crate) fn refuse(
        &self,
        object: &Object,
        begun_by: u64,
        delivery: &EndedDelivery<'_>,
    ) -> bool {
        let mut shared = self.lock();
        let shard = shared.mailboxes.shard_of(object.key());
        let waiting = shared.waiting(shard);
        shared.mailboxes.refuse((shard, waiting), object, begun_by, delivery)
    }

    /// Calls `each` with those of a plugin's subscriptions whose filter's refusal of an event of this object is certain. It
    /// takes the lock once for all of them.
    pub(crate) fn refuse_each<T>(
        &self,
        object: &Object,
        subscriptions: impl Iterator<Item = (SubscriptionId, T)>,
        mut each: impl FnMut(T),
    ) {
        let mut shared = self.lock();
        let shard = shared.mailboxes.shard_of(object.key());
        let waiting = shared.waiting(shard);
        for (id, of) in subscriptions {
            if shared.mailboxes.would_refuse((shard, waiting), id, object) {
                each(of);
            }
        }
    }

    /// Notes a waiting actor that does not exist, for tests and benchmarks.
    pub(crate) fn wait_without_actor(&self, shard: usize, hands: Hands) {
        self.lock().worker(shard).wait(Some(hands), true, Waker::noop());
    }

    /// Pushes an event without waking its actor. [`Self::announce`] wakes the actor.
    pub(super) fn unannounced(&self, push: impl FnOnce(&mut Mailboxes)) {
        // Invariant 1.
        {
            let mut shared = self.lock();
            push(&mut shared.mailboxes);
            match shared.mailboxes.take_woken() {
                Woken::None => {}
                Woken::One(shard) => shared.worker(shard).has_unannounced = true,
                Woken::All => shared.workers.iter_mut().for_each(|it| it.has_unannounced = true),
            }
        }
        // A thread that sees the count must see the event: another informer's announcement may count for it.
        if (self.unannounced.fetch_add(1, AcqRel) + 1).is_multiple_of(UNANNOUNCED_MAX) {
            self.each_unannounced(|_, shard| self.wake(shard));
        }
    }

    /// Wakes a shard's actor, if it waits.
    fn wake(&self, shard: usize) {
        let waker = self.lock().worker(shard).take_waker();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Announces the events that were pushed since the last call: wakes the actors or, for few events, takes an
    /// actor's turn. Returns whether there were any.
    pub(crate) fn announce(&self) -> bool {
        if self.unannounced.swap(0, AcqRel) == 0 {
            return false;
        }
        self.each_unannounced(|turn, shard| {
            let waits = || self.lock().worker(shard).hears_events;
            if !turn.is_some_and(|turn| turn.take(Instant::now(), waits)) {
                self.wake(shard);
            }
        });
        true
    }

    /// Calls `tell` for each actor that waits and has an announcement. An actor that does not wait looks at the queue
    /// before it does.
    fn each_unannounced(&self, tell: impl Fn(Option<ActorTurn>, usize)) {
        let (mut shard, mut count) = (0, 1);
        while shard < count {
            let turn = {
                let mut shared = self.lock();
                count = shared.workers.len();
                let Some(worker) = shared.workers.get_mut(shard) else { return };
                let has_news = std::mem::take(&mut worker.has_unannounced);
                let is_to_hear = has_news && worker.hears_events && worker.waits;
                is_to_hear.then(|| worker.turn.clone())
            };
            if let Some(turn) = turn {
                tell(turn, shard);
            }
            shard += 1;
        }
    }
}
