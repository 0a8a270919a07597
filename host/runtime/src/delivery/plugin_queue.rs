//! The mailboxes of a plugin as their two sides share them: informers push, the actors of the plugin's shards pop. The lock, and those who wait.

mod drain;
mod pulses;
mod wait;
mod worker;

use crate::counters::{Counters, add_one};
use crate::delivery::mailbox::{Marks, Queued, Settled, WaitingEvent};
use crate::delivery::mailboxes::Mailboxes;
use crate::delivery::sync_calls::SyncCalls;
use crate::event::{Event, SubscriptionId};
use crate::guest_threads::ActorTurn;
use crate::history::{EndedDelivery, History};
use hashbrown::{HashMap, HashSet};
use informant_cache::{ObjectKey, RoomSignal};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use worker::Worker;

/// The queue of one plugin's name. It belongs to the name, not to an instance: reloads and crashes leave
/// it alone.
pub(crate) struct PluginQueue {
    shared: Mutex<Shared>,
    /// Events that nobody was woken for.
    unannounced: AtomicUsize,
    /// What lets a subscription's replay go on when there is room again; one for each of the running version.
    rooms: Mutex<HashMap<SubscriptionId, RoomSignal>>,
    /// The plugin is to end: somebody waits for everything to be told.
    is_closing: AtomicBool,
    progress: Notify,
    counters: Arc<Counters>,
}

struct Shared {
    mailboxes: Mailboxes,
    history: History,
    /// The actors of the shards, by number; there may be some of shards that are no more.
    workers: Vec<Worker>,
}

impl Shared {
    /// A shard's actor, once there is one.
    fn worker(&mut self, shard: usize) -> &mut Worker {
        if self.workers.len() <= shard {
            self.workers.resize_with(shard + 1, Worker::default);
        }
        &mut self.workers[shard]
    }

    /// What wakes the actors that wait.
    fn take_waiting(&mut self) -> Vec<Waker> {
        self.workers.iter_mut().filter_map(|worker| worker.waiting.take()).collect()
    }
}

impl PluginQueue {
    pub(crate) fn new(marks: Marks, counters: Arc<Counters>) -> Self {
        // The limits say how much is kept, once there is a version.
        let history = History::new(0, Instant::now());
        let shared = Shared { mailboxes: Mailboxes::new(marks), history, workers: Vec::new() };
        Self {
            shared: Mutex::new(shared),
            unannounced: AtomicUsize::new(0),
            rooms: Mutex::default(),
            is_closing: AtomicBool::new(false),
            progress: Notify::new(),
            counters,
        }
    }

    /// From here on this is the turn of a shard's actor.
    pub(crate) fn is_worked_by(&self, shard: usize, turn: ActorTurn) {
        self.shared.lock().worker(shard).turn = Some(turn);
    }

    /// Looks at the mailboxes, or changes something that nobody waits for.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut Mailboxes) -> T) -> T {
        look(&mut self.shared.lock().mailboxes)
    }

    /// Changes something that the actor of any shard may be waiting for.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Mailboxes) -> T) -> T {
        let (answer, waiting) = {
            let mut shared = self.shared.lock();
            (change(&mut shared.mailboxes), shared.take_waiting())
        };
        waiting.into_iter().for_each(Waker::wake);
        answer
    }

    /// Changes something that may free a call of the rate, and says whether it has: then others may be waiting for it.
    fn settle_with(&self, settle: impl FnOnce(&mut Shared) -> bool) {
        let waiting = {
            let mut shared = self.shared.lock();
            if settle(&mut shared) { shared.take_waiting() } else { Vec::new() }
        };
        waiting.into_iter().for_each(Waker::wake);
        self.tell_progress();
    }

    /// The plugin runs in so many shards from here on. No shard is at work.
    pub(crate) fn reshard(&self, shards: usize, now: Instant) {
        self.change(|mailboxes| mailboxes.reshard(shards, now));
        self.send_rooms();
    }

    /// There may be room where there was none.
    fn send_rooms(&self) {
        for room in self.rooms.lock().values() {
            room.send();
        }
    }

    /// A subscription was evaluated in an informer's task.
    pub(crate) fn evaluated(&self, time: Duration) {
        self.counters.ledger.evaluated(time);
    }

    /// Never waits.
    pub(crate) fn push(&self, event: Event) {
        let waiting = {
            let mut shared = self.shared.lock();
            let shard = shared.mailboxes.push(event);
            shared.worker(shard).waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// The same for one of several events, after which there is [`Self::announce`]: waking a thread is a system call.
    pub(crate) fn push_unannounced(&self, event: Event) {
        self.unannounced(|mailboxes| mailboxes.push(event));
    }

    /// The same for an event that a replay has come to.
    pub(crate) fn push_replayed_unannounced(&self, event: Event) {
        self.unannounced(|mailboxes| mailboxes.push_replayed(event));
    }

    fn unannounced(&self, push: impl FnOnce(&mut Mailboxes) -> usize) {
        // Invariant 1.
        {
            let mut shared = self.shared.lock();
            let shard = push(&mut shared.mailboxes);
            shared.worker(shard).has_unannounced = true;
        }
        self.count_unannounced();
    }

    /// A load is about to have a subscription's objects told. `room` lets that go on when it had to wait.
    pub(crate) fn begin_initial(&self, id: SubscriptionId, load: u64, room: RoomSignal) {
        self.rooms.lock().insert(id, room);
        self.shared.lock().mailboxes.change_initials(|initials| initials.begin(id, load));
    }

    /// All objects were queued that were there when the load had the subscription begin.
    pub(crate) fn initial_queued(&self, id: SubscriptionId, load: u64) {
        self.change(|mailboxes| mailboxes.change_initials(|initials| initials.queued(id, load)));
        self.tell_progress();
    }

    /// All subscriptions of a load are in place.
    pub(crate) fn put_in_place(&self, load: u64) {
        self.change(|mailboxes| mailboxes.change_initials(|initials| initials.put_in_place(load)));
    }

    /// The subscription of which a shard's guest is to be told now that its initial objects are through.
    pub(crate) fn next_sync(
        &self,
        shard: usize,
        calls: &SyncCalls,
        now: Instant,
    ) -> Option<SubscriptionId> {
        if calls.are_made() {
            return None;
        }
        let (due, id) = calls.next(self.shared.lock().mailboxes.initials(shard)?, now)?;
        (due <= now).then_some(id)
    }

    pub(crate) fn count_filtered(&self) {
        add_one(&self.counters.filtered);
    }

    pub(crate) fn pop(&self, shard: usize, now: Instant) -> Option<Queued> {
        let (queued, roomy) = {
            let mut shared = self.shared.lock();
            let queued = shared.mailboxes.pop(shard, now);
            (queued, shared.mailboxes.take_roomy())
        };
        for id in roomy {
            if let Some(room) = self.rooms.lock().get(&id) {
                room.send();
            }
        }
        queued
    }

    /// Says what becomes of a shard's event in flight; the history has how the delivery ended.
    pub(crate) fn settle_delivery(
        &self,
        shard: usize,
        settled: Settled,
        delivery: &EndedDelivery<'_>,
    ) {
        self.settle_with(|shared| {
            shared.history.push(delivery);
            shared.mailboxes.settle(shard, settled, delivery.ended)
        });
    }

    /// Looks at the history, or changes its bound.
    pub(crate) fn history<T>(&self, look: impl FnOnce(&mut History) -> T) -> T {
        look(&mut self.shared.lock().history)
    }

    /// The history, and the events of an object that wait, both of one moment: an event that ends between two looks would be in neither.
    pub(crate) fn traces_of(&self, key: &ObjectKey) -> (History, Vec<WaitingEvent>) {
        let shared = self.shared.lock();
        (shared.history.clone(), shared.mailboxes.waiting_of(key))
    }

    /// Nothing of this subscription is told in any shard from here on.
    pub(crate) fn withhold(&self, id: SubscriptionId) {
        self.shared.lock().mailboxes.withhold(id);
        // There may be less to tell.
        self.tell_progress();
    }

    /// The event that came out last of a shard's mailbox is one of this subscription and may not be told now, nor what follows of it in any shard.
    pub(crate) fn put_by(&self, shard: usize, id: SubscriptionId) {
        self.settle_with(|shared| shared.mailboxes.put_by(shard, id));
    }

    /// It goes on in all of them, with what was put by.
    pub(crate) fn release_withheld(&self, id: SubscriptionId) {
        self.change(|mailboxes| mailboxes.release_withheld(id, Instant::now()));
    }

    pub(crate) fn retain(&self, keep: &HashSet<SubscriptionId>) {
        self.rooms.lock().retain(|id, _| keep.contains(id));
        let dropped = self.shared.lock().mailboxes.retain(keep);
        self.counters.dropped.fetch_add(dropped as u64, Relaxed);
    }
}

#[cfg(test)]
impl PluginQueue {
    /// Says what becomes of a shard's event in flight, without a word in the history.
    pub(crate) fn settle(&self, shard: usize, settled: Settled, now: Instant) {
        self.settle_with(|shared| shared.mailboxes.settle(shard, settled, now));
    }

    /// What holds at any time, and how long the line of replays may be.
    pub(crate) fn check_bounds(&self) {
        let queue = &self.shared.lock().mailboxes;
        queue.check_invariants();
        queue.check_replays();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::mailbox::tests::parse;
    use crate::guest_threads::{GuestThreads, Task};
    use crate::pace::Pace;
    use std::collections::BTreeSet;
    use std::sync::mpsc;
    use std::time::Duration;

    /// A queue and an actor that empties it and says of each event on which thread.
    struct Fixture {
        _threads: GuestThreads,
        _task: Task,
        queue: Arc<PluginQueue>,
        told_on: mpsc::Receiver<String>,
    }

    fn here() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    fn fixture() -> Fixture {
        let threads = GuestThreads::start(1).expect("threads start");
        let marks = Marks { events: 100, bytes: usize::MAX };
        let queue = Arc::new(PluginQueue::new(marks, Arc::default()));
        let pace = Pace::default();
        (0..32).for_each(|_| pace.took(Duration::ZERO, Instant::now()));
        let (sender, told_on) = mpsc::channel();
        let (events, told) = (queue.clone(), pace.clone());
        let actor = async move {
            loop {
                events.wait(0, None).await;
                let now = Instant::now();
                while events.pop(0, now).is_some() {
                    events.settle(0, Settled::Finished, now);
                    told.took(Duration::ZERO, Instant::now());
                    sender.send(here()).expect("the test listens");
                }
            }
        };
        let task = threads.spawn(actor, pace);
        queue.is_worked_by(0, task.turn());
        Fixture { _threads: threads, _task: task, queue, told_on }
    }

    impl Fixture {
        /// Brings a batch to an actor that waits, and answers with the threads on which it was told.
        fn told_on(&self, events: usize) -> BTreeSet<String> {
            while self.queue.shared.lock().worker(0).waiting.is_none() {
                std::thread::yield_now();
            }
            for number in 0..events {
                self.queue.push_unannounced(parse(&format!("+a{}", number + 1)));
            }
            self.queue.announce();
            let told_on = (0..events).map(|_| self.told_on.recv_timeout(Duration::from_secs(10)));
            told_on.collect::<Result<_, _>>().expect("it is told")
        }

        /// An actor that has just said that it waits may still be on its thread: then that goes on.
        fn is_told_here(&self, events: usize) -> bool {
            let here = BTreeSet::from([here()]);
            (0..1_000).any(|_| self.told_on(events) == here)
        }
    }

    #[test]
    fn a_handful_is_told_here_and_many_where_the_actor_belongs() {
        let fixture = fixture();
        assert!(fixture.is_told_here(1));
        assert!(fixture.is_told_here(15));
        assert!(!fixture.is_told_here(16));
    }
}
