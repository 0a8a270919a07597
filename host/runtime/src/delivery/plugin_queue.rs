//! The lock around a plugin's mailboxes, and the wakers of waiting actors. Informers push events, and the actors of
//! the plugin's shards take work.

mod lock;
mod next;
mod pulses;
mod worker;

use crate::counters::Counters;
use crate::delivery::key_queue::{FormerLines, HashedKey};
use crate::delivery::mailbox::Marks;
#[cfg(test)]
use crate::delivery::mailbox::{Queued, Settled};
#[cfg(test)]
use crate::delivery::mailboxes::{Hands, Work};
use crate::delivery::mailboxes::{Mailboxes, Refusing, Woken};
use crate::delivery::sieve::{RefusingBit, Seats};
use crate::event::Event;
use crate::guest_threads::ActorTurn;
use informant_cache::RoomSignal;
use informant_cache::workqueue::Leftover;
#[cfg(test)]
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Waker;
use std::time::Instant;
use std::vec::IntoIter;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use worker::Worker;

/// The queue of one plugin's name. It belongs to the name, not to an instance: reloads and crashes do not change it.
pub(crate) struct PluginQueue {
    shared: Mutex<Shared>,
    /// Events that were pushed without waking an actor.
    unannounced: AtomicUsize,
    /// Signals progress to a plugin's removal: fewer events may be left.
    progress: Notify,
    /// The counters of the plugin.
    pub(super) counters: Arc<Counters>,
    /// The places of its subscriptions where informers refuse updates.
    pub(super) seats: Seats,
}

struct Shared {
    mailboxes: Mailboxes,
    /// The actors of the shards, by number. There may be entries of former shards.
    workers: Vec<Worker>,
    /// The events that all actors would refuse if their filter refuses them. As of the last release of the lock.
    refusing: Refusing,
    /// The bits that show that to informers, one for each of the plugin's filters.
    bits: Vec<RefusingBit>,
}

impl Shared {
    /// A shard's actor; the entry is created on first use.
    fn worker(&mut self, shard: usize) -> &mut Worker {
        if self.workers.len() <= shard {
            self.workers.resize_with(shard + 1, Worker::default);
        }
        &mut self.workers[shard]
    }

    /// The wakers of actors that wait and have new work.
    fn take_wakers(&mut self) -> Vec<Waker> {
        match self.mailboxes.take_woken() {
            Woken::None => Vec::new(),
            Woken::One(shard) => self.worker(shard).take_waker().into_iter().collect(),
            Woken::All => self.workers.iter_mut().filter_map(Worker::take_waker).collect(),
        }
    }
}

impl PluginQueue {
    pub(crate) fn new(marks: Marks, counters: Arc<Counters>) -> Self {
        let (workers, bits) = (Vec::new(), Vec::new());
        let shared =
            Shared { mailboxes: Mailboxes::new(marks), workers, refusing: Refusing::Nothing, bits };
        Self {
            shared: Mutex::new(shared),
            unannounced: AtomicUsize::new(0),
            progress: Notify::new(),
            counters,
            seats: Seats::default(),
        }
    }

    /// Sets the turn of a shard's actor.
    pub(crate) fn set_worker(&self, shard: usize, turn: ActorTurn) {
        self.lock().worker(shard).turn = Some(turn);
    }

    /// Reads the mailboxes, or makes a change for which no actor waits.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut Mailboxes) -> T) -> T {
        let mailboxes = &mut self.lock().mailboxes;
        let woken = mailboxes.woken();
        let answer = look(mailboxes);
        debug_assert_eq!(mailboxes.woken(), woken, "an actor may wait for this change");
        answer
    }

    /// Makes a change, and wakes the actors that it concerns after the lock is released.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Mailboxes) -> T) -> T {
        self.change_shared(|shared| change(&mut shared.mailboxes))
    }

    /// Makes all delayed keys due whose time has come. There may be 200,000 at once, and informers wait for the lock. So
    /// the lock goes to a waiting thread after every few keys.
    pub(crate) fn ripen(&self, now: Instant) {
        let mut more = true;
        while more {
            // Keys do not change the answer of `would_refuse`.
            let mut shared = self.shared.lock();
            more = shared.mailboxes.keys.ripen(now);
            MutexGuard::unlock_fair(shared);
        }
    }

    /// Changes the number of shards, while no shard works. Keys of former lines come into the new ones by
    /// [`regroup`](Self::regroup).
    pub(crate) fn reshard(&self, shards: usize, now: Instant) -> Option<FormerLines> {
        self.change(|it| it.reshard(shards, now))
    }

    /// Puts the keys of former lines into the present lines, a few at a time: informers wait for the lock.
    pub(crate) fn regroup(&self, lines: FormerLines, now: Instant) {
        let mut keys = lines.into_keys(now);
        while self.regroup_some(&mut keys, now) {}
    }

    /// Puts some keys of former lines into the present lines, and wakes the actors. Returns whether there are more.
    fn regroup_some(&self, keys: &mut IntoIter<Leftover<HashedKey>>, now: Instant) -> bool {
        let mut shared = self.shared.lock();
        let has_more = shared.mailboxes.regroup_keys(keys, now);
        // An informer's push would take the mark for them. Its announcement wakes only actors that wait for events.
        let wakers = shared.take_wakers();
        MutexGuard::unlock_fair(shared);
        wakers.into_iter().for_each(Waker::wake);
        has_more
    }

    fn change_shared<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        let (answer, wakers, roomy, is_closed) = {
            let mut shared = self.lock();
            let answer = change(&mut shared);
            let roomy = shared.mailboxes.take_room_signals();
            (answer, shared.take_wakers(), roomy, shared.mailboxes.is_closed())
        };
        wakers.into_iter().for_each(Waker::wake);
        roomy.iter().for_each(RoomSignal::send);
        if is_closed {
            self.progress.notify_waiters();
        }
        answer
    }

    /// Waits from here on until fewer events may be left for a plugin that is to end, or until its events are stuck.
    pub(crate) fn progress(&self) -> Notified<'_> {
        self.progress.notified()
    }

    /// Signals that waiting events may not be delivered soon. A plugin that is to end then checks whether fewer events
    /// are left.
    pub(crate) fn notify_progress(&self) {
        self.progress.notify_waiters();
    }

    /// Pushes an event. Never waits.
    pub(crate) fn push(&self, event: Event) {
        self.change(|mailboxes| mailboxes.push(event));
    }

    /// The same for one of several events, followed by [`Self::announce`]: waking a thread is a system call.
    pub(crate) fn push_unannounced(&self, event: Event) {
        self.unannounced(|mailboxes| mailboxes.push(event));
    }

    /// The same for a replayed event.
    pub(crate) fn push_replayed_unannounced(&self, event: Event) {
        self.unannounced(|mailboxes| mailboxes.push_replayed(event));
    }
}

#[cfg(test)]
impl PluginQueue {
    /// Checks the invariants of the mailboxes, and the bound of the lines of replays.
    pub(crate) fn check_bounds(&self) {
        let queue = &self.lock().mailboxes;
        queue.check_invariants();
        queue.check_replays();
    }

    /// Takes the next work of a shard for an actor that does not exist. Returns whether there was any.
    pub(crate) fn take_without_actor(&self, shard: usize, hands: Hands) -> bool {
        self.change_shared(|shared| {
            let now = Instant::now();
            let work = shared.mailboxes.next(shard, hands, now, Timestamp::now);
            shared.worker(shard).stop_waiting();
            work.is_some()
        })
    }

    /// The next event of a shard whose guest only takes events.
    pub(crate) fn pop(&self, shard: usize, now: Instant) -> Option<Queued> {
        match self.change(|it| it.next(shard, Hands::EVENTS, now, Timestamp::now)) {
            Some(Work::Deliver(queued)) => Some(queued),
            other => {
                assert!(other.is_none(), "{other:?}");
                None
            }
        }
    }

    /// Notes the end of a shard's delivery, without an entry in the history.
    pub(crate) fn settle_event(&self, shard: usize, settled: Settled, now: Instant) {
        self.change(|it| it.settle_event(shard, settled, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::breaker::{Ended, Outcome};
    use crate::delivery::key_queue::{Bounds, Worked};
    use crate::delivery::mailbox::tests::parse;
    use crate::delivery::mailboxes::Completed;
    use crate::guest_threads::{GuestThreads, Task};
    use crate::outside::leading::Leading;
    use crate::pace::Pace;
    use futures::FutureExt as _;
    use informant_cache::workqueue::AddOptions;
    use std::collections::BTreeSet;
    use std::sync::mpsc;
    use std::time::Duration;

    /// A queue, and an actor that empties the queue and notes the thread of each event.
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
                let work = events.next(0, Hands::EVENTS, &Leading::default(), Timestamp::now).await;
                assert!(matches!(work, Some((Work::Deliver(_), _))));
                events.settle_event(0, Settled::Finished, Instant::now());
                told.took(Duration::ZERO, Instant::now());
                sender.send(here()).expect("the test listens");
            }
        };
        let task = threads.spawn(actor, pace);
        queue.set_worker(0, task.turn());
        Fixture { _threads: threads, _task: task, queue, told_on }
    }

    impl Fixture {
        /// Pushes a batch to an actor that waits, and returns the threads on which the events came out.
        fn told_on(&self, events: usize) -> BTreeSet<String> {
            while !self.queue.lock().worker(0).waits {
                std::thread::yield_now();
            }
            for number in 0..events {
                self.queue.push_unannounced(parse(&format!("+a{}", number + 1)));
            }
            self.queue.announce();
            let told_on = (0..events).map(|_| self.told_on.recv_timeout(Duration::from_secs(10)));
            told_on.collect::<Result<_, _>>().expect("it is told")
        }

        /// Whether the events came out on this thread. An actor that begins to wait may still be on its thread, which
        /// then goes on: so the test repeats.
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

    #[tokio::test]
    async fn whoever_adds_a_key_of_another_shard_or_makes_room_wakes_it() {
        let queue = PluginQueue::new(Marks { events: 9, bytes: 9 }, Arc::default());
        let now = Instant::now();
        queue.look(|it| it.keys.set_bounds(Bounds { keys: 2, bytes: 1 << 20 }));
        queue.regroup(queue.reshard(2, now).expect("another number"), now);
        let leading = Leading::default();
        let next = |shard| queue.next(shard, Hands::ALL, &leading, Timestamp::now);
        let waits = |shard: usize| queue.lock().worker(shard).waits;
        // The last bit of the only byte decides.
        let (even, odd) = ("b", "a");
        let of_even = crate::shard::of_key(even, 2);
        let mut waiting = [0, 1].map(|shard| Box::pin(next(shard)));
        assert!(waiting.iter_mut().all(|it| it.as_mut().now_or_never().is_none()));
        let add = |key, after| {
            let options = AddOptions { after, ..AddOptions::default() };
            queue.change(|it| it.add_key(key, options, now)).expect("there is room");
        };
        add(even, Duration::ZERO);
        assert!(!waits(of_even) && waits(1 - of_even));
        let work = waiting[of_even].as_mut().now_or_never();
        assert!(matches!(work, Some(Some((Work::Reconcile(_), _)))), "{work:?}");
        add(odd, Duration::from_secs(9));
        assert!(!waits(1 - of_even));
        assert!(waiting[1 - of_even].as_mut().now_or_never().is_none());
        assert!(queue.look(|it| it.keys.holds_events(now)) && waits(1 - of_even));
        let done = Completed::Reconciled(Worked::Done { again: None });
        queue.change(|it| it.settle(of_even, done, None, now));
        assert!(!waits(1 - of_even), "there is room");
    }

    #[tokio::test]
    async fn keys_that_come_back_wake_their_actor_before_an_informer_pushes() {
        let (now, leading) = (Instant::now(), Leading::default());
        let queue = PluginQueue::new(Marks { events: 9, bytes: 9 }, Arc::default());
        queue.look(|it| it.keys.set_bounds(Bounds { keys: 9, bytes: 1 << 20 }));
        queue.change(|it| it.add_key("a", AddOptions::default(), now)).expect("there is room");
        let mut keys = queue.reshard(2, now).expect("another number").into_keys(now);
        let shard = crate::shard::of_key("a", 2);
        let mut waiting = Box::pin(queue.next(shard, Hands::ALL, &leading, Timestamp::now));
        assert!(waiting.as_mut().now_or_never().is_none(), "its key is in no line");
        assert!(!queue.regroup_some(&mut keys, now), "there is only one");
        assert!(!queue.lock().worker(shard).waits);
    }

    #[tokio::test]
    async fn whoever_closes_the_breaker_wakes_those_who_wait_for_it() {
        let now = Instant::now();
        let later = now + Duration::from_secs(3_600);
        let call = |outcome, began| Some(Ended { outcome, first: true, began });
        for succeeds in [true, false] {
            let queue = PluginQueue::new(Marks { events: 9, bytes: 9 }, Arc::default());
            queue.regroup(queue.reshard(2, now).expect("another number"), now);
            queue.change(|it| {
                let lost = call(Outcome::Lost, now);
                (0..5).for_each(|_| _ = it.settle(0, Completed::Started, lost, now));
            });
            assert!(queue.look(|it| it.tripped().is_some()), "it is open");
            let leading = Leading::default();
            let mut waiting = Box::pin(queue.next(1, Hands::ALL, &leading, Timestamp::now));
            assert!(waiting.as_mut().now_or_never().is_none());
            let waits = || queue.lock().worker(1).waits;
            assert!(waits());
            queue.change(|it| match succeeds {
                true => {
                    let trial = call(Outcome::Succeeded, later);
                    _ = it.settle(0, Completed::Started, trial, later);
                }
                false => it.forget_failures(now),
            });
            assert!(!waits(), "it is not to wait for its own time");
        }
    }
}
