//! The event queue as its two sides share it: informers push, the actors of the plugin's shards pop.

mod charges;
mod drain;
mod pulses;
mod snapshot;
mod worker;

pub use snapshot::QueueSnapshot;

use crate::contract::configuration::RateLimit;
use crate::counters::{Counters, add_one};
use crate::delivery::mailbox::{Initials, Marks, Queued, Settled};
use crate::delivery::mailboxes::Mailboxes;
use crate::delivery::sync_calls::SyncCalls;
use crate::event::{Event, SubscriptionId};
use crate::guest_threads::Turn;
use hashbrown::{HashMap, HashSet};
use informant_cache::RoomSignal;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep_until};
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
    queue: Mailboxes,
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
        let shared = Shared { queue: Mailboxes::new(marks), workers: Vec::new() };
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
    pub(crate) fn is_worked_by(&self, shard: usize, turn: Turn) {
        self.shared.lock().worker(shard).turn = Some(turn);
    }

    /// The plugin runs in so many shards from here on. No shard is at work.
    pub(crate) fn reshard(&self, shards: usize, now: Instant) {
        self.change_all(|queue| queue.reshard(shards, now));
        // There may be room where there was none.
        for room in self.rooms.lock().values() {
            room.send();
        }
    }

    /// Events that wait in each shard.
    pub(crate) fn depths(&self) -> Vec<usize> {
        self.shared.lock().queue.loads().map(|load| load.events).collect()
    }

    /// Merging begins elsewhere for what comes from here on.
    pub(crate) fn set_marks(&self, marks: Marks) {
        self.shared.lock().queue.set_marks(marks);
    }

    /// How long events wait for others of their object from here on, and how often they come out.
    pub(crate) fn set_pauses(&self, debounce: Duration, rate: Option<RateLimit>) {
        self.change_all(|queue| queue.set_pauses(debounce, rate, Instant::now()));
    }

    /// Never waits.
    pub(crate) fn push(&self, event: Event) {
        self.change(|queue| queue.push(event));
    }

    /// Changes something that the actor of one shard, which this answers with, may be waiting for.
    fn change(&self, change: impl FnOnce(&mut Mailboxes) -> usize) {
        let waiting = {
            let mut shared = self.shared.lock();
            let shard = change(&mut shared.queue);
            shared.worker(shard).waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Changes something that all of them may be waiting for.
    fn change_all(&self, change: impl FnOnce(&mut Mailboxes)) {
        let waiting = {
            let mut shared = self.shared.lock();
            change(&mut shared.queue);
            shared.take_waiting()
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// No event that has failed comes out before this; none: each comes at its own time.
    pub(crate) fn hold_retries(&self, from: Option<Instant>) {
        self.change_all(|queue| queue.hold_retries(from));
    }

    /// The same for one of several events, after which there is [`Self::announce`]: waking a thread is a system call.
    pub(crate) fn push_unannounced(&self, event: Event) {
        let mut shared = self.shared.lock();
        let shard = shared.queue.push(event);
        shared.worker(shard).has_unannounced = true;
        drop(shared);
        self.count_unannounced();
    }

    /// The same for an event that a replay has come to.
    pub(crate) fn push_replayed_unannounced(&self, event: Event) {
        let mut shared = self.shared.lock();
        let shard = shared.queue.push_replayed(event);
        shared.worker(shard).has_unannounced = true;
        drop(shared);
        self.count_unannounced();
    }

    /// Whether a subscription's replay may go on. If not, its room signal is sent once it may.
    pub(crate) fn has_replay_room(&self, id: SubscriptionId) -> bool {
        self.shared.lock().queue.has_replay_room(id)
    }

    /// Replayed events of a subscription that wait in their line.
    pub(crate) fn replays_waiting(&self, id: SubscriptionId) -> usize {
        self.shared.lock().queue.replays_waiting(id)
    }

    /// Whether nothing is left of what was queued for a subscription before it was as this load has it.
    pub(crate) fn is_past_others(&self, id: SubscriptionId, asked_by: u64) -> bool {
        self.shared.lock().queue.is_past_others(id, asked_by)
    }

    /// Puts in what a host before this one has attempted.
    pub(crate) fn restore(&self, queued: Queued, due: Instant) {
        self.change(|queue| queue.restore(queued, due));
    }

    /// A load is about to have a subscription's objects told. `room` lets that go on when it had to wait.
    pub(crate) fn begin_initial(&self, id: SubscriptionId, load: u64, room: RoomSignal) {
        self.rooms.lock().insert(id, room);
        self.shared.lock().queue.change_initials(|initials| initials.begin(id, load));
    }

    /// The same where nobody paces what is told.
    pub(crate) fn begin_initial_at_once(&self, id: SubscriptionId, load: u64) {
        self.shared.lock().queue.change_initials(|initials| initials.begin(id, load));
    }

    /// All objects were queued that were there when the load had the subscription begin.
    pub(crate) fn initial_queued(&self, id: SubscriptionId, load: u64) {
        self.change_initials(|initials| initials.queued(id, load));
        self.tell_progress();
    }

    /// All subscriptions of a load are in place.
    pub(crate) fn put_in_place(&self, load: u64) {
        self.change_initials(|initials| initials.put_in_place(load));
    }

    fn change_initials(&self, change: impl Fn(&mut Initials)) {
        self.change_all(|queue| queue.change_initials(change));
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
        let (due, id) = calls.next(self.shared.lock().queue.initials(shard)?, now)?;
        (due <= now).then_some(id)
    }

    pub(crate) fn count_filtered(&self) {
        add_one(&self.counters.filtered);
    }

    pub(crate) fn pop(&self, shard: usize, now: Instant) -> Option<Queued> {
        let (queued, roomy) = {
            let mut shared = self.shared.lock();
            let queued = shared.queue.pop(shard, now);
            (queued, shared.queue.take_roomy())
        };
        for id in roomy {
            if let Some(room) = self.rooms.lock().get(&id) {
                room.send();
            }
        }
        queued
    }

    /// When something may be popped for a shard, or one of these calls is to be made.
    pub(crate) fn next_due(
        &self,
        shard: usize,
        (events, calls): (bool, &SyncCalls),
        now: Instant,
    ) -> Option<Instant> {
        let queue = &mut self.shared.lock().queue;
        let call = queue.initials(shard).and_then(|initials| calls.next(initials, now));
        let event = events.then(|| queue.next_due(shard, now)).flatten();
        event.into_iter().chain(call.map(|(due, _)| due)).min()
    }

    /// Whether something may be popped for a shard now.
    pub(crate) fn has_due(&self, shard: usize, now: Instant) -> bool {
        self.shared.lock().queue.next_due(shard, now).is_some_and(|due| due <= now)
    }

    pub(crate) fn settle(&self, shard: usize, settled: Settled, now: Instant) {
        let waiting = {
            let mut shared = self.shared.lock();
            let frees_a_call = shared.queue.settle(shard, settled, now);
            if frees_a_call { shared.take_waiting() } else { Vec::new() }
        };
        waiting.into_iter().for_each(Waker::wake);
        self.tell_progress();
    }

    /// An actor that ended early may have left an event in flight: the next one gets it again.
    pub(crate) fn recover(&self, shard: usize, now: Instant) {
        self.shared.lock().queue.recover(shard, now);
    }

    /// Waits until something can be popped for a shard, or one of these calls is to be made. Cancelling it loses nothing.
    pub(crate) async fn wait(&self, shard: usize, calls: Option<&SyncCalls>) {
        self.wait_for(shard, true, calls).await;
    }

    /// The same where no event may be popped: waits until one of these calls is to be made.
    pub(crate) async fn wait_for_calls(&self, shard: usize, calls: Option<&SyncCalls>) {
        self.wait_for(shard, false, calls).await;
    }

    async fn wait_for(&self, shard: usize, events: bool, calls: Option<&SyncCalls>) {
        let _waiting = Waiting(self, shard);
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|context| {
            loop {
                let now = Instant::now();
                let due = match self.due(shard, (events, calls), now, context) {
                    None => return Poll::Pending,
                    Some(due) if due <= now => return Poll::Ready(()),
                    Some(due) => due.into(),
                };
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
                if timer.deadline() != due {
                    timer.as_mut().reset(due);
                }
                ready!(timer.as_mut().poll(context));
            }
        })
        .await;
    }

    /// When there is something to do. Unless it is now, whoever asks is woken when that changes.
    fn due(
        &self,
        shard: usize,
        (events, calls): (bool, Option<&SyncCalls>),
        now: Instant,
        context: &Context<'_>,
    ) -> Option<Instant> {
        let mut shared = self.shared.lock();
        let queue = &mut shared.queue;
        let call = calls.and_then(|calls| calls.next(queue.initials(shard)?, now));
        let event = events.then(|| queue.next_due(shard, now)).flatten();
        let due = event.into_iter().chain(call.map(|(due, _)| due)).min();
        let worker = shared.worker(shard);
        worker.is_waiting = events;
        let waker = context.waker();
        let is_known = worker.waiting.as_ref().is_some_and(|known| known.will_wake(waker));
        if due.is_none_or(|due| due > now) && !is_known {
            worker.waiting = Some(waker.clone());
        }
        due
    }

    /// Nothing of this subscription is told in any shard from here on.
    pub(crate) fn withhold(&self, id: SubscriptionId) {
        self.shared.lock().queue.withhold(id);
        // There may be less to tell.
        self.tell_progress();
    }

    /// The event that came out last of a shard's line is one of this subscription and may not be told now, nor what follows of it in any shard.
    pub(crate) fn put_by(&self, shard: usize, id: SubscriptionId) {
        let waiting = {
            let mut shared = self.shared.lock();
            let frees_a_call = shared.queue.put_by(shard, id);
            if frees_a_call { shared.take_waiting() } else { Vec::new() }
        };
        waiting.into_iter().for_each(Waker::wake);
        self.tell_progress();
    }

    /// It goes on in all of them, with what was put by.
    pub(crate) fn release_withheld(&self, id: SubscriptionId) {
        self.change_all(|queue| queue.release_withheld(id, Instant::now()));
    }

    pub(crate) fn retain(&self, keep: &HashSet<SubscriptionId>) {
        self.rooms.lock().retain(|id, _| keep.contains(id));
        let dropped = self.shared.lock().queue.retain(keep);
        self.counters.dropped.fetch_add(dropped as u64, Relaxed);
    }
}

/// The actor of a shard waits for the queue; who stops waiting is not woken for it, and nobody takes its turn while it does something else.
struct Waiting<'a>(&'a PluginQueue, usize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut shared = self.0.shared.lock();
        let worker = shared.worker(self.1);
        (worker.is_waiting, worker.waiting) = (false, None);
    }
}

#[cfg(test)]
impl PluginQueue {
    /// What holds at any time, and how long the line of replays may be.
    pub(crate) fn check_bounds(&self) {
        let queue = &self.shared.lock().queue;
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
