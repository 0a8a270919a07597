//! The event queue as its two sides share it: informers push, the plugin's actor pops.

mod drain;

use crate::configuration::RateLimit;
use crate::counters::{Counters, add_one};
use crate::event::{Event, SubscriptionId};
use crate::guest_threads::Turn;
use crate::queue::{EventQueue, Marks, Queued, Settled};
use crate::sync_calls::SyncCalls;
use hashbrown::{HashMap, HashSet};
use informant_cache::RoomSignal;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep_until};

/// Of a long batch the actor hears before its end, so that it works beside the informer.
const UNANNOUNCED_MAX: usize = 16;

/// The queue of one plugin's name. It belongs to the name, not to an instance: reloads and crashes leave
/// it alone.
pub(crate) struct PluginQueue {
    shared: Mutex<Shared>,
    /// Events that nobody was woken for.
    unannounced: AtomicUsize,
    /// The actor waits for something to do. Whoever polls the actor says so.
    is_waiting: AtomicBool,
    /// What lets a subscription's replay go on when there is room again; one for each of the running version.
    rooms: Mutex<HashMap<SubscriptionId, RoomSignal>>,
    /// A queue that is to end has nothing to tell any more.
    drained: Notify,
    counters: Arc<Counters>,
}

struct Shared {
    queue: EventQueue,
    /// Wakes the actor while it waits for something to do.
    waiting: Option<Waker>,
    /// The actor's, for an informer's thread that has little to tell.
    turn: Option<Turn>,
}

/// What the queue holds at one moment.
#[derive(Debug, Clone, Copy)]
pub struct QueueSnapshot {
    /// Events that wait.
    pub depth: usize,
    /// Bytes of their objects.
    pub bytes: usize,
    /// Events merged into others so far.
    pub coalesced: u64,
    /// Whether events wait for nothing but the rate at which the plugin is to be called.
    pub is_rate_limited: bool,
    /// When the oldest one's bytes were read.
    pub oldest: Option<Instant>,
}

impl PluginQueue {
    pub(crate) fn new(marks: Marks, counters: Arc<Counters>) -> Self {
        Self {
            shared: Mutex::new(Shared { queue: EventQueue::new(marks), waiting: None, turn: None }),
            unannounced: AtomicUsize::new(0),
            is_waiting: AtomicBool::new(false),
            rooms: Mutex::default(),
            drained: Notify::new(),
            counters,
        }
    }

    /// From here on this is the actor's turn.
    pub(crate) fn is_worked_by(&self, turn: Turn) {
        self.shared.lock().turn = Some(turn);
    }

    /// Merging begins elsewhere for what comes from here on.
    pub(crate) fn set_marks(&self, marks: Marks) {
        self.shared.lock().queue.set_marks(marks);
    }

    /// How long events wait for others of their object from here on, and how often they come out.
    pub(crate) fn set_pauses(&self, debounce: Duration, rate: Option<RateLimit>) {
        self.change(|queue| queue.set_pauses(debounce, rate, Instant::now()));
    }

    /// The event in flight is handed to the plugin.
    pub(crate) fn calls(&self, now: Instant) {
        self.shared.lock().queue.calls(now);
    }

    /// Never waits.
    pub(crate) fn push(&self, event: Event) {
        self.change(|queue| queue.push(event));
    }

    /// Changes something that the actor may be waiting for.
    fn change(&self, change: impl FnOnce(&mut EventQueue)) {
        let waiting = {
            let mut shared = self.shared.lock();
            change(&mut shared.queue);
            shared.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// The same for one of several events, after which there is [`Self::announce`]: waking a thread is a system call.
    pub(crate) fn push_unannounced(&self, event: Event) {
        self.shared.lock().queue.push(event);
        self.count_unannounced();
    }

    /// The same for an event that a replay has come to.
    pub(crate) fn push_replayed_unannounced(&self, event: Event) {
        self.shared.lock().queue.push_replayed(event);
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

    fn count_unannounced(&self) {
        // Whoever sees the count has to see the event: another informer's announcement may count for it.
        if self.unannounced.fetch_add(1, AcqRel) + 1 == UNANNOUNCED_MAX {
            self.unannounced.store(0, Relaxed);
            self.change(|_| {});
        }
    }

    /// Lets the actor know if events were pushed since the last time: by waking it or, where there are few, by taking its turn.
    pub(crate) fn announce(&self) {
        if self.unannounced.swap(0, AcqRel) == 0 {
            return;
        }
        let (waiting, turn) = {
            let mut shared = self.shared.lock();
            (shared.waiting.take(), shared.turn.clone())
        };
        // One that does not wait looks at the queue before it does.
        let Some(waker) = waiting else { return };
        let waits = || self.is_waiting.load(Relaxed);
        if !turn.is_some_and(|turn| turn.take(Instant::now(), waits)) {
            waker.wake();
        }
    }

    /// Puts in what a host before this one has attempted.
    pub(crate) fn restore(&self, queued: Queued, due: Instant) {
        self.change(|queue| queue.restore(queued, due));
    }

    /// A load is about to have a subscription's objects told. `room` lets that go on when it had to wait.
    pub(crate) fn begin_initial(&self, id: SubscriptionId, load: u64, room: RoomSignal) {
        self.rooms.lock().insert(id, room);
        self.shared.lock().queue.initials.begin(id, load);
    }

    /// All objects were queued that were there when the load had the subscription begin.
    pub(crate) fn initial_queued(&self, id: SubscriptionId, load: u64) {
        self.change(|queue| queue.initials.queued(id, load));
    }

    /// All subscriptions of a load are in place.
    pub(crate) fn put_in_place(&self, load: u64) {
        self.change(|queue| queue.initials.put_in_place(load));
    }

    /// The subscription of which the guest is to be told now that its initial objects are through.
    pub(crate) fn next_sync(&self, calls: &SyncCalls, now: Instant) -> Option<SubscriptionId> {
        if calls.are_made() {
            return None;
        }
        let (due, id) = calls.next(&self.shared.lock().queue.initials, now)?;
        (due <= now).then_some(id)
    }

    pub(crate) fn count_filtered(&self) {
        add_one(&self.counters.filtered);
    }

    pub(crate) fn pop(&self, now: Instant) -> Option<Queued> {
        let (queued, roomy) = {
            let queue = &mut self.shared.lock().queue;
            (queue.pop(now), queue.take_roomy())
        };
        for id in roomy {
            if let Some(room) = self.rooms.lock().get(&id) {
                room.send();
            }
        }
        queued
    }

    /// Whether something may be popped now.
    pub(crate) fn has_due(&self, now: Instant) -> bool {
        self.shared.lock().queue.next_due(now).is_some_and(|due| due <= now)
    }

    pub(crate) fn settle(&self, settled: Settled, now: Instant) {
        let mut shared = self.shared.lock();
        shared.queue.settle(settled, now);
        if shared.queue.is_closed() && shared.queue.is_drained() {
            self.drained.notify_waiters();
        }
    }

    /// An actor that ended early may have left an event in flight: the next one gets it again.
    pub(crate) fn recover(&self, now: Instant) {
        self.shared.lock().queue.recover(now);
    }

    /// Waits until something can be popped, or one of these calls is to be made. Cancelling it loses nothing.
    pub(crate) async fn wait(&self, calls: Option<&SyncCalls>) {
        self.wait_for(true, calls).await;
    }

    /// The same where no event may be popped: waits until one of these calls is to be made.
    pub(crate) async fn wait_for_calls(&self, calls: Option<&SyncCalls>) {
        self.wait_for(false, calls).await;
    }

    async fn wait_for(&self, events: bool, calls: Option<&SyncCalls>) {
        self.is_waiting.store(events, Relaxed);
        let _waiting = Waiting(self);
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|context| {
            loop {
                let now = Instant::now();
                let due = match self.due(events, calls, now, context) {
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
        events: bool,
        calls: Option<&SyncCalls>,
        now: Instant,
        context: &Context<'_>,
    ) -> Option<Instant> {
        let mut shared = self.shared.lock();
        let Shared { queue, waiting, .. } = &mut *shared;
        let call = calls.and_then(|calls| calls.next(&queue.initials, now));
        let event = events.then(|| queue.next_due(now)).flatten();
        let due = event.into_iter().chain(call.map(|(due, _)| due)).min();
        let waker = context.waker();
        let is_known = waiting.as_ref().is_some_and(|known| known.will_wake(waker));
        if due.is_none_or(|due| due > now) && !is_known {
            *waiting = Some(waker.clone());
        }
        due
    }

    /// Nothing of this subscription is told from here on.
    pub(crate) fn withhold(&self, id: SubscriptionId) {
        self.shared.lock().queue.withhold(id);
    }

    /// The event that came out last is one of this subscription and may not be told now, nor what follows of it.
    pub(crate) fn put_by(&self, id: SubscriptionId) {
        self.shared.lock().queue.put_by(id);
    }

    /// It goes on, with what was put by.
    pub(crate) fn release_withheld(&self, id: SubscriptionId) {
        self.change(|queue| queue.release_withheld(id, Instant::now()));
    }

    pub(crate) fn retain(&self, keep: &HashSet<SubscriptionId>) {
        self.rooms.lock().retain(|id, _| keep.contains(id));
        let dropped = self.shared.lock().queue.retain(keep);
        self.counters.dropped.fetch_add(dropped as u64, Relaxed);
    }

    pub(crate) fn snapshot(&self) -> QueueSnapshot {
        let queue = &mut self.shared.lock().queue;
        QueueSnapshot {
            is_rate_limited: queue.is_rate_limited(Instant::now()),
            depth: queue.depth(),
            bytes: queue.bytes(),
            coalesced: queue.coalesced(),
            oldest: queue.oldest(),
        }
    }
}

/// The actor waits for the queue; who stops waiting is not woken for it, and nobody takes its turn while it does something else.
struct Waiting<'a>(&'a PluginQueue);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.is_waiting.store(false, Relaxed);
        self.0.shared.lock().waiting = None;
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
    use crate::guest_threads::{GuestThreads, Task};
    use crate::pace::Pace;
    use crate::queue::tests::parse;
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
        (0..32).for_each(|_| pace.took(Duration::ZERO));
        let (sender, told_on) = mpsc::channel();
        let (events, told) = (queue.clone(), pace.clone());
        let actor = async move {
            loop {
                events.wait(None).await;
                let now = Instant::now();
                while events.pop(now).is_some() {
                    events.settle(Settled::Finished, now);
                    told.took(Duration::ZERO);
                    sender.send(here()).expect("the test listens");
                }
            }
        };
        let task = threads.spawn(actor, pace);
        queue.is_worked_by(task.turn());
        Fixture { _threads: threads, _task: task, queue, told_on }
    }

    impl Fixture {
        /// Brings a batch to an actor that waits, and answers with the threads on which it was told.
        fn told_on(&self, events: usize) -> BTreeSet<String> {
            while self.queue.shared.lock().waiting.is_none() {
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
