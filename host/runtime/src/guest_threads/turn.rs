//! An actor that two may run: the thread that it belongs to, and whoever has just given it something to do.
//!
//! Waking a thread costs more than many a call of a guest, and what the guest is to read lies in the caches of the processor that has just read
//! it from the network. So an informer's thread that has brought a handful of events may take the actor's turn itself, as long as the plugin's calls are short,
//! for a share of the time. A guest that meets a tick there gives way as always, and goes on where it belongs; who kept
//! an informer waiting is not lent another turn for a while.

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

/// Seconds of a turn that informers' threads together lend in a second, and what they may have lent at once before another turn begins.
const LENT_PER_SECOND: f64 = 0.25;
const LENT_AT_ONCE: f64 = 0.001;

/// What informers' threads may still lend.
pub(super) fn loan(now: Instant) -> TokenBucket {
    TokenBucket::new(LENT_PER_SECOND, LENT_AT_ONCE, now)
}

/// The actor, wherever it runs.
pub(super) struct Seat {
    state: Mutex<SeatState>,
    /// The actor's own thread found the seat taken, and wants to look as soon as it is not.
    missed: Mutex<Option<Waker>>,
    pub(super) pace: Pace,
    loan: Arc<Mutex<TokenBucket>>,
    /// Polls so far. A guest that computes is polled at each tick, and one that waits for others when that is over.
    polls: AtomicU64,
}

/// The seat in somebody's hands. Who found it taken meanwhile is woken when it is let go.
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
    /// Wakes the actor on its own thread; none before it has been there.
    own: Option<(Waker, Handle)>,
}

enum Life {
    Alive(ActorFuture),
    Ended,
    /// It panicked.
    CutOff,
}

/// How far the actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActorProgress {
    Waits,
    /// It waits, and belongs on a thread of the other kind.
    Moves,
    Ended,
    CutOff,
}

/// The way to an actor's turn, as long as there is an actor.
#[derive(Clone)]
pub(crate) struct ActorTurn(pub(super) Weak<Seat>);

impl ActorTurn {
    /// Takes the actor's turn on this thread, if it may be taken here and the actor still waits. After `true` the actor has looked at what there is to
    /// do, or does so on its own thread.
    pub(crate) fn take(&self, now: Instant, waits: impl Fn() -> bool) -> bool {
        self.0.upgrade().is_some_and(|seat| seat.take_turn(now, waits))
    }

    /// How far the actor has come. It has work while a call is under way. One that has ended has work, too, and makes no step: an actor that is to end
    /// is looked at no more.
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

    /// Polls the actor on its own thread, which is one for slow plugins or not.
    pub(super) fn poll(
        &self,
        context: &mut Context<'_>,
        handle: &Handle,
        is_slow: bool,
    ) -> ActorProgress {
        let Some(mut state) = self.state.try_lock().or_else(|| {
            // Whoever has it looks at this afterwards, or has let it go by now.
            *self.missed.lock() = Some(context.waker().clone());
            self.state.try_lock().inspect(|_| *self.missed.lock() = None)
        }) else {
            return ActorProgress::Waits;
        };
        let SeatState { life, own } = &mut *state;
        let is_known = |(waker, _): &(Waker, Handle)| waker.will_wake(context.waker());
        if !own.as_ref().is_some_and(is_known) {
            *own = Some((context.waker().clone(), handle.clone()));
        }
        let turn = TurnTime::begin(Instant::now());
        let seen = life.poll(context);
        self.was_polled(turn.end(Instant::now()));
        match seen {
            // Nobody may wake this thread for it any more, and only the other one's first look says whom to wake.
            ActorProgress::Waits if self.pace.is_slow() != is_slow => {
                *own = None;
                ActorProgress::Moves
            }
            seen => seen,
        }
    }

    fn take_turn(&self, now: Instant, waits: impl Fn() -> bool) -> bool {
        let Some(mut taken) = self.take() else { return false };
        let Some(SeatState { life: life @ Life::Alive(_), own: Some((waker, handle)) }) =
            taken.state.as_deref_mut()
        else {
            return false;
        };
        // Invariant 1.
        if !self.pace.may_be_lent(now) || !self.may_lend(now) || !waits() {
            return false;
        }
        let turn = TurnTime::begin(now);
        let seen = {
            // Its timers are its own thread's.
            let _entered = handle.enter();
            life.poll(&mut Context::from_waker(waker))
        };
        let used = turn.end(Instant::now());
        let ended = (seen != ActorProgress::Waits).then(|| waker.clone());
        drop(taken);
        self.loan.lock().spend(used.as_secs_f64());
        self.was_polled(used);
        self.pace.was_lent(used, now);
        if let Some(waker) = ended {
            waker.wake();
        }
        true
    }

    /// The actor was polled, wherever that was, which took so much of a processor.
    fn was_polled(&self, used: Duration) {
        self.polls.fetch_add(1, Relaxed);
        self.pace.computed(used);
    }

    fn may_lend(&self, now: Instant) -> bool {
        let mut loan = self.loan.lock();
        loan.refill(now);
        loan.tokens() > 0.0
    }
}

impl Life {
    /// Polls the actor, whose panic is its end and was reported by the panic hook.
    fn poll(&mut self, context: &mut Context<'_>) -> ActorProgress {
        let actor = match self {
            Self::Alive(actor) => actor,
            Self::Ended => return ActorProgress::Ended,
            Self::CutOff => return ActorProgress::CutOff,
        };
        // Whoever lends a turn has a budget of its own, which says nothing about the actor's.
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

/// Lets the thread's other tasks have a turn. Unlike tokio's, it wakes the actor where that belongs, whoever polls it now.
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

    /// The pulse of an actor after each poll, in which it `b`egins a call, goes on with `.`, `e`nds the call or panics: `!`. The last look comes after the
    /// actor is gone, as its thread drops what has ended.
    #[track_caller]
    fn check_pulses(polls: &str, expect: &[(u64, bool)]) {
        let (pace, now) = (Pace::default(), Instant::now());
        let mut orders: Vec<char> = polls.chars().rev().collect();
        let of_actor = pace.clone();
        let actor = poll_fn(move |_| {
            match orders.pop() {
                Some('b') => of_actor.call(now),
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

    /// An actor that says where it was polled and does what it is told there, on a thread of its own that has polled it once.
    struct Fixture {
        _threads: GuestThreads,
        task: Task,
        polled_on: mpsc::Receiver<String>,
        orders: mpsc::Sender<Order>,
    }

    enum Order {
        End,
        Panic,
        /// Wakes itself, waits until its own thread has found that it is elsewhere, and then for more.
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
            // Until it has been left.
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
        let fixture = Fixture::new(32);
        assert!(fixture.take(None));
        assert_eq!(fixture.polled_on(), here());
    }

    /// Invariant 1.
    #[test]
    fn nobody_else_takes_the_turn_of_a_plugin_that_is_not_known_to_be_quick() {
        assert!(!Fixture::new(31).take(None));
    }

    #[test]
    fn whoever_woke_the_actor_meanwhile_is_heard() {
        let fixture = Fixture::new(32);
        let turn = fixture.task.turn();
        assert!(fixture.take(Some(Order::Wake(turn))));
        assert_eq!([fixture.polled_on(), fixture.polled_on()], [here(), "guests-0".to_owned()]);
    }

    #[test]
    fn nobody_takes_the_turn_of_an_actor_that_does_something_else() {
        let fixture = Fixture::new(32);
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
        let fixture = Fixture::new(32);
        assert!(fixture.take(Some(Order::End)));
        assert!(!fixture.take(None));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        assert!(runtime.block_on(fixture.task.ended()).is_ok());
    }

    #[test]
    fn a_panic_elsewhere_is_the_actors_own() {
        let fixture = Fixture::new(32);
        assert!(fixture.take(Some(Order::Panic)));
        assert!(!fixture.take(None));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it builds");
        assert!(runtime.block_on(fixture.task.ended()).is_err());
    }
}
