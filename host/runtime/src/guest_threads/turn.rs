//! An actor that two threads may run: its own thread, and a thread that has just pushed events for it.
//!
//! Waking a thread costs more than a call of many guests. And the event's bytes are still in the caches of the
//! processor that read them from the network. So an informer's thread with few events may take the actor's turn
//! itself, if the plugin's calls are short, for a share of the time. A guest that meets a tick there yields as always,
//! and goes on on its own thread. A plugin that made an informer wait gets no such turn for a while.

use super::ActorFuture;
use super::thread_time::TurnTime;
use crate::pace::Pace;
use crate::token_bucket::TokenBucket;
use informant_cache::Pulse;
use parking_lot::{Mutex, MutexGuard};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;

/// The seconds of turns that all informers' threads may lend in each second, and the most that they may have lent
/// before another turn begins.
const LENT_PER_SECOND: f64 = 0.25;
const LENT_AT_ONCE: f64 = 0.001;

/// The remaining time that informers' threads may lend.
pub(super) fn loan(now: Instant) -> TokenBucket {
    TokenBucket::new(LENT_PER_SECOND, LENT_AT_ONCE, now)
}

/// The seat of an actor, on any thread.
pub(super) struct Seat {
    state: Mutex<SeatState>,
    /// Wakes the actor's own thread, which found the seat taken, when the seat is free.
    missed: Mutex<Option<Waker>>,
    pub(super) pace: Pace,
    loan: Arc<Mutex<TokenBucket>>,
    /// The number of polls. A computing guest is polled at each tick, and a waiting one after its wait.
    polls: AtomicU64,
}

/// A taken seat. Dropping it wakes the thread that found it taken meanwhile.
struct TakenSeat<'a> {
    state: Option<MutexGuard<'a, SeatState>>,
    missed: &'a Mutex<Option<Waker>>,
}

impl Drop for TakenSeat<'_> {
    fn drop(&mut self) {
        drop(self.state.take());
        if let Some(waker) = self.missed.lock().take() {
            waker.wake();
        }
    }
}

struct SeatState {
    life: Life,
    /// Wakes the actor on its own thread; `None` before its first poll there.
    own: Option<(Waker, Handle)>,
}

enum Life {
    Alive(ActorFuture),
    Ended,
    /// The actor panicked.
    CutOff,
}

/// The state of the actor after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActorProgress {
    Waits,
    /// The actor waits, and must move to a thread of the other kind.
    Moves,
    Ended,
    CutOff,
}

/// The handle to an actor's turn, while the actor exists.
#[derive(Clone)]
pub(crate) struct ActorTurn(pub(super) Weak<Seat>);

impl ActorTurn {
    /// Takes the actor's turn on this thread, if the pace and the loan allow it and the actor still waits. After
    /// `true` the actor has looked for work, or does so on its own thread.
    pub(crate) fn take(&self, now: Instant, waits: impl Fn() -> bool) -> bool {
        self.0.upgrade().is_some_and(|seat| seat.take_turn(now, waits))
    }

    /// The progress of the actor. It has work during a call. An actor that has ended has work too, and makes no step:
    /// an actor that was stopped is not watched any more.
    pub(crate) fn pulse(&self) -> Pulse {
        match self.0.upgrade() {
            Some(seat) => {
                let steps = seat.polls.load(Relaxed);
                Pulse { steps, has_work: seat.pace.is_in_call() }
            }
            None => Pulse { steps: 0, has_work: true },
        }
    }
}

impl Seat {
    pub(super) fn new(actor: ActorFuture, pace: Pace, loan: Arc<Mutex<TokenBucket>>) -> Self {
        let state = SeatState { life: Life::Alive(actor), own: None };
        let polls = AtomicU64::new(0);
        Self { state: Mutex::new(state), missed: Mutex::default(), pace, loan, polls }
    }

    fn take(&self) -> Option<TakenSeat<'_>> {
        let state = Some(self.state.try_lock()?);
        Some(TakenSeat { state, missed: &self.missed })
    }

    /// Polls the actor on its own thread, which is for slow plugins or not.
    pub(super) fn poll(
        &self,
        context: &mut Context<'_>,
        handle: &Handle,
        is_slow: bool,
    ) -> ActorProgress {
        let Some(mut state) = self.state.try_lock().or_else(|| {
            // The thread that holds the seat wakes this waker, or has already left the seat.
            *self.missed.lock() = Some(context.waker().clone());
            self.state.try_lock().inspect(|_| *self.missed.lock() = None)
        }) else {
            return ActorProgress::Waits;
        };
        let SeatState { life, own } = &mut *state;
        if self.pace.is_slow() && !is_slow && matches!(life, Life::Alive(_)) {
            // Another shard of the plugin was found slow.
            *own = None;
            return ActorProgress::Moves;
        }
        let is_known = |(waker, _): &(Waker, Handle)| waker.will_wake(context.waker());
        if !own.as_ref().is_some_and(is_known) {
            *own = Some((context.waker().clone(), handle.clone()));
        }
        let turn = TurnTime::begin(Instant::now());
        let seen = life.poll(context);
        let now = Instant::now();
        self.was_polled(turn.end(now), now);
        match seen {
            // No waker may wake this thread for the actor any more; the first poll on the other thread sets the new
            // one.
            ActorProgress::Waits if self.pace.is_slow() != is_slow => {
                *own = None;
                ActorProgress::Moves
            }
            seen => seen,
        }
    }

    fn take_turn(&self, now: Instant, waits: impl Fn() -> bool) -> bool {
        // Invariant 1.
        if !self.pace.may_be_lent(now) || !self.may_lend(now) {
            return false;
        }
        let Some(mut taken) = self.take() else { return false };
        let Some(SeatState { life: life @ Life::Alive(_), own: Some((waker, handle)) }) =
            taken.state.as_deref_mut()
        else {
            return false;
        };
        if !waits() {
            return false;
        }
        let turn = TurnTime::begin(now);
        let seen = {
            // The actor's timers belong to its own thread's runtime.
            let _entered = handle.enter();
            life.poll(&mut Context::from_waker(waker))
        };
        let end = Instant::now();
        let used = turn.end(end);
        let ended = (seen != ActorProgress::Waits).then(|| waker.clone());
        self.was_polled(used, end);
        drop(taken);
        self.loan.lock().spend(used.as_secs_f64());
        self.pace.was_lent(used, now);
        if let Some(waker) = ended {
            waker.wake();
        }
        true
    }

    /// Notes a poll, on the thread that has the seat, with its processor time.
    fn was_polled(&self, used: Duration, now: Instant) {
        self.polls.store(self.polls.load(Relaxed) + 1, Relaxed);
        self.pace.computed(used, now);
    }

    fn may_lend(&self, now: Instant) -> bool {
        let mut loan = self.loan.lock();
        loan.refill(now);
        loan.tokens() > 0.0
    }
}

impl Life {
    /// Polls the actor. A panic ends the actor, and the panic hook reports it.
    fn poll(&mut self, context: &mut Context<'_>) -> ActorProgress {
        let actor = match self {
            Self::Alive(actor) => actor,
            Self::Ended => return ActorProgress::Ended,
            Self::CutOff => return ActorProgress::CutOff,
        };
        // The lending thread's task budget does not concern the actor.
        let mut polled = pin!(unconstrained(poll_fn(|context| actor.as_mut().poll(context))));
        match catch_unwind(AssertUnwindSafe(|| polled.as_mut().poll(context))) {
            Ok(Poll::Pending) => ActorProgress::Waits,
            Ok(Poll::Ready(())) => {
                *self = Self::Ended;
                ActorProgress::Ended
            }
            Err(_) => {
                *self = Self::CutOff;
                ActorProgress::CutOff
            }
        }
    }
}

/// Gives the thread's other tasks a turn. Unlike tokio's function, it wakes the actor on its own thread, whichever
/// thread polls it now.
pub(crate) async fn give_turn() {
    let mut given = false;
    poll_fn(|context| {
        if given {
            return Poll::Ready(());
        }
        given = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest_threads::{GuestThreads, Task};
    use crate::pace::SHORT_CALLS;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::task::Wake;

    /// Invariant 1.
    #[test]
    fn a_share_of_the_time_is_lent() {
        let (start, ms) = (Instant::now(), Duration::from_millis(1));
        let seat = Seat::new(
            Box::pin(std::future::pending()),
            Pace::default(),
            Arc::new(Mutex::new(loan(start))),
        );
        let lend = |time: Duration| seat.loan.lock().spend(time.as_secs_f64());
        assert!(seat.may_lend(start));
        lend(2 * ms);
        assert!(!seat.may_lend(start));
        assert!(!seat.may_lend(start + 3 * ms));
        assert!(seat.may_lend(start + 5 * ms), "four milliseconds' share is one");
        assert!(seat.may_lend(start + 1000 * ms));
        lend(2 * ms);
        assert!(!seat.may_lend(start + 1000 * ms), "nothing is saved up");
    }

    /// The pulse of an actor after each poll, in which it `b`egins a call, goes on with `.`, `e`nds the call or
    /// panics: `!`. The last pulse is read after the actor's thread has dropped it.
    #[track_caller]
    fn check_pulses(polls: &str, expect: &[(u64, bool)]) {
        let (pace, now) = (Pace::default(), Instant::now());
        let mut orders: Vec<char> = polls.chars().rev().collect();
        let of_actor = pace.clone();
        let actor = poll_fn(move |_| {
            match orders.pop() {
                Some('b') => _ = of_actor.call(now),
                Some('e') => of_actor.call_ended(),
                Some('!') => panic!("on purpose"),
                _ => {}
            }
            Poll::Pending
        });
        let seat = Arc::new(Seat::new(Box::pin(actor), pace, Arc::new(Mutex::new(loan(now)))));
        let turn = ActorTurn(Arc::downgrade(&seat));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        let mut context = Context::from_waker(Waker::noop());
        let look = || (turn.pulse().steps, turn.pulse().has_work);
        let mut seen: Vec<(u64, bool)> = polls
            .chars()
            .map(|_| {
                seat.poll(&mut context, runtime.handle(), false);
                look()
            })
            .collect();
        drop(seat);
        seen.push(look());
        assert_eq!(seen, expect, "{polls}");
    }

    #[test]
    fn an_actor_has_work_in_a_call_and_once_it_is_gone_and_makes_a_step_with_each_poll() {
        check_pulses("..", &[(1, false), (2, false), (0, true)]);
        check_pulses("b.e", &[(1, true), (2, true), (3, false), (0, true)]);
        check_pulses("b!", &[(1, true), (2, true), (0, true)]);
    }

    /// An actor that reports the thread of each poll and obeys commands. Its own thread has polled it once.
    struct Fixture {
        _threads: GuestThreads,
        task: Task,
        polled_on: mpsc::Receiver<String>,
        orders: mpsc::Sender<Order>,
    }

    enum Order {
        End,
        Panic,
        /// Wakes itself, waits until its own thread has found the seat taken, and then waits for more.
        Wake(ActorTurn),
    }

    impl Fixture {
        fn new(short_calls: u32) -> Self {
            let threads = GuestThreads::start(1).expect("threads start");
            let ((sender, polled_on), (orders, received)) = (mpsc::channel(), mpsc::channel());
            let pace = Pace::default();
            for _ in 0..short_calls {
                pace.took(Duration::from_micros(50), Instant::now());
            }
            let actor = poll_fn(move |context| {
                let here = std::thread::current().name().unwrap_or_default().to_owned();
                sender.send(here).expect("the test listens");
                match received.try_recv() {
                    Ok(Order::End) => return Poll::Ready(()),
                    Ok(Order::Panic) => panic!("on purpose"),
                    Ok(Order::Wake(turn)) => {
                        context.waker().wake_by_ref();
                        let seat = turn.0.upgrade().expect("it is polled");
                        while seat.missed.lock().is_none() {
                            std::thread::yield_now();
                        }
                    }
                    Err(_) => {}
                }
                Poll::Pending
            });
            let task = threads.spawn(actor, pace);
            let fixture = Self { _threads: threads, task, polled_on, orders };
            assert_eq!(fixture.polled_on(), "guests-0");
            // Until the thread has left the seat.
            while fixture.task.turn().0.upgrade().is_some_and(|seat| seat.state.is_locked()) {
                std::thread::yield_now();
            }
            fixture
        }

        fn polled_on(&self) -> String {
            self.polled_on.recv_timeout(Duration::from_secs(10)).expect("it is polled")
        }

        fn take(&self, order: Option<Order>) -> bool {
            order.into_iter().for_each(|order| self.orders.send(order).expect("it lives"));
            self.task.turn().take(Instant::now(), || true)
        }
    }

    fn here() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_turn_is_taken_here_where_calls_are_short() {
        let fixture = Fixture::new(SHORT_CALLS);
        assert!(fixture.take(None));
        assert_eq!(fixture.polled_on(), here());
    }

    /// Invariant 1.
    #[test]
    fn nobody_else_takes_the_turn_of_a_plugin_that_is_not_known_to_be_quick() {
        assert!(!Fixture::new(SHORT_CALLS - 1).take(None));
    }

    #[test]
    fn whoever_woke_the_actor_meanwhile_is_heard() {
        let fixture = Fixture::new(SHORT_CALLS);
        let turn = fixture.task.turn();
        assert!(fixture.take(Some(Order::Wake(turn))));
        assert_eq!([fixture.polled_on(), fixture.polled_on()], [here(), "guests-0".to_owned()]);
    }

    #[test]
    fn nobody_takes_the_turn_of_an_actor_that_does_something_else() {
        let fixture = Fixture::new(SHORT_CALLS);
        assert!(!fixture.task.turn().take(Instant::now(), || false));
        assert!(fixture.take(None));
    }

    #[test]
    fn an_actor_that_moves_has_no_thread_until_the_other_has_looked() {
        let pace = Pace::default();
        let moves = pace.clone();
        let actor = poll_fn(move |_| {
            moves.tick(3, Instant::now());
            Poll::Pending
        });
        let loan = Arc::new(Mutex::new(loan(Instant::now())));
        let seat = Seat::new(Box::pin(actor), pace.clone(), loan);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(seat.poll(&mut context, runtime.handle(), false), ActorProgress::Moves);
        assert!(seat.state.lock().own.is_none(), "nobody can be woken where it was");
        assert_eq!(seat.poll(&mut context, runtime.handle(), true), ActorProgress::Waits);
        assert!(seat.state.lock().own.is_some());
    }

    #[test]
    fn an_actor_whose_plugin_was_found_slow_elsewhere_moves_before_it_goes_on() {
        let pace = Pace::default();
        let actor = poll_fn(|_| -> Poll<()> { panic!("it is polled on the other thread") });
        let loan = Arc::new(Mutex::new(loan(Instant::now())));
        let seat = Seat::new(Box::pin(actor), pace.clone(), loan);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        let mut context = Context::from_waker(Waker::noop());
        pace.tick(3, Instant::now());
        assert_eq!(seat.poll(&mut context, runtime.handle(), false), ActorProgress::Moves);
        assert_eq!(seat.poll(&mut context, runtime.handle(), true), ActorProgress::CutOff);
    }

    #[test]
    fn whoever_finds_the_seat_taken_is_woken_when_it_is_let_go_also_before_its_first_look() {
        struct Woken(AtomicBool);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let loan = Arc::new(Mutex::new(loan(Instant::now())));
        let seat = Seat::new(Box::pin(std::future::pending()), Pace::default(), loan);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        let taken = seat.take().expect("nobody has it");
        let seen = seat.poll(&mut Context::from_waker(&waker), runtime.handle(), true);
        assert_eq!(seen, ActorProgress::Waits, "it moves only by its own look");
        assert!(!woken.0.load(Ordering::SeqCst));
        drop(taken);
        assert!(woken.0.load(Ordering::SeqCst));
    }

    #[test]
    fn an_end_elsewhere_is_an_end() {
        let fixture = Fixture::new(SHORT_CALLS);
        assert!(fixture.take(Some(Order::End)));
        assert!(!fixture.take(None));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        assert!(runtime.block_on(fixture.task.ended()).is_ok());
    }

    #[test]
    fn a_panic_elsewhere_is_the_actors_own() {
        let fixture = Fixture::new(SHORT_CALLS);
        assert!(fixture.take(Some(Order::Panic)));
        assert!(!fixture.take(None));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        assert!(runtime.block_on(fixture.task.ended()).is_err());
    }
}
