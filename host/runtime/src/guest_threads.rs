//! The threads on which guests run: few, and for guests alone. An informer's thread may take a turn of a quick plugin
//! (`turn.rs`).
//!
//! A plugin's actor stays on its thread, so memory is freed where it was allocated. A busy plugin slows only the
//! plugins of its own thread. An actor with long calls moves, within a call, to a thread for slow plugins. The system
//! gives those threads less processor time when others want it.

mod thread_time;
mod turn;

use crate::account::Ledger;
use crate::pace::{Alarm, Pace};
use crate::token_bucket::TokenBucket;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};
pub(crate) use thread_time::thread_time;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;
use turn::{ActorProgress, Seat};
pub(crate) use turn::{ActorTurn, give_turn};

/// The niceness that is added to threads for slow plugins: about a tenth of a quick thread's weight. No more, because
/// an informer may have to wait for such a thread that holds its plugin's queue.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The stack of a thread on which plugins run, as address space: the deepest filter takes 1.5 MiB if its interpreter
/// is not optimised. A program that runs informers gives their threads as much, because a plugin may take a turn on
/// one.
pub const THREAD_STACK_BYTES: usize = 4 << 20;

/// The pool. Dropping it ends the threads.
pub(crate) struct GuestThreads {
    lanes: Arc<Lanes>,
    threads: Vec<GuestThread>,
    alarm: Alarm,
}

/// The handles of the threads, at least one of each kind.
struct Lanes {
    quick: Vec<ThreadLane>,
    slow: Vec<ThreadLane>,
    loan: Arc<Mutex<TokenBucket>>,
}

/// The handle of one thread.
struct ThreadLane {
    handle: Handle,
    actors: AtomicUsize,
}

struct GuestThread {
    name: String,
    /// Rises once for each second in which the thread runs due tasks.
    beats: Arc<AtomicU64>,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

type ActorFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An actor on the threads.
pub(crate) struct Task {
    seat: Weak<Seat>,
    ended: oneshot::Receiver<()>,
}

/// The actor panicked, or its threads were ended.
#[derive(Debug, thiserror::Error)]
#[error("it panicked, or its thread is gone")]
pub(crate) struct CutOff;

impl Task {
    /// The actor's turn, for a caller that gives the actor work.
    pub(crate) fn turn(&self) -> ActorTurn {
        ActorTurn(self.seat.clone())
    }

    /// Waits until the actor has ended.
    pub(crate) async fn ended(self) -> Result<(), CutOff> {
        self.ended.await.map_err(|_| CutOff)
    }
}

/// An actor that may move between threads.
struct Moving {
    seat: Arc<Seat>,
    ended: oneshot::Sender<()>,
}

impl GuestThreads {
    /// Starts `count` threads, and for slow plugins one less but at least one. A slow call holds a processor until the
    /// system reschedules, whatever its niceness. So one processor is left to quick plugins.
    pub(crate) fn start(count: usize) -> std::io::Result<Self> {
        let mut threads = Vec::new();
        let mut start = |names: &str, count: usize, is_slow: bool| {
            let lanes = (0..count).map(|number| {
                let (lane, thread) = GuestThread::start(format!("{names}-{number}"), is_slow)?;
                threads.push(thread);
                Ok(lane)
            });
            lanes.collect::<std::io::Result<Vec<ThreadLane>>>()
        };
        let quick = start("guests", count, false)?;
        let slow = start("slow-guests", count.saturating_sub(1).max(1), true)?;
        let loan = Arc::new(Mutex::new(turn::loan(Instant::now())));
        let lanes = Lanes { quick, slow, loan };
        Ok(Self { lanes: Arc::new(lanes), threads, alarm: Alarm::default() })
    }

    /// Ends the threads, and with them every actor that was not stopped before. A guest that computes is cut off at its
    /// next tick.
    pub(crate) fn end(&self) {
        for thread in &self.threads {
            drop(thread.stop.lock().take());
        }
        for thread in &self.threads {
            if let Some(thread) = thread.thread.lock().take() {
                // The panic hook has reported a panic on a guest thread.
                let _ = thread.join();
            }
        }
    }

    /// The pace of a plugin on these threads, with the ledger for its processor time.
    pub(crate) fn pace(&self, ledger: Arc<Ledger>) -> Pace {
        Pace::new(self.alarm.clone(), ledger)
    }

    /// The threads by name, with their beats.
    pub(crate) fn beats(&self) -> Vec<(String, Arc<AtomicU64>)> {
        self.threads.iter().map(|thread| (thread.name.clone(), thread.beats.clone())).collect()
    }

    /// Runs an actor on the thread of its kind that has the fewest actors.
    pub(crate) fn spawn<F>(&self, actor: F, pace: Pace) -> Task
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, ended) = oneshot::channel();
        let seat = Arc::new(Seat::new(Box::pin(actor), pace, self.lanes.loan.clone()));
        let task = Task { seat: Arc::downgrade(&seat), ended };
        self.lanes.clone().spawn(Moving { seat, ended: sender });
        task
    }
}

impl Lanes {
    fn spawn(self: Arc<Self>, moving: Moving) {
        let is_slow = moving.seat.pace.is_slow();
        let lanes = if is_slow { &self.slow } else { &self.quick };
        let load = |(_, lane): &(usize, &ThreadLane)| lane.actors.load(Ordering::Relaxed);
        let (number, lane) =
            lanes.iter().enumerate().min_by_key(load).expect("there is at least one thread");
        lane.actors.fetch_add(1, Ordering::Relaxed);
        lane.handle.spawn(self.clone().run(moving, is_slow, number));
    }

    /// Runs an actor until it ends, or moves to a thread of the other kind.
    fn run(
        self: Arc<Self>,
        moving: Moving,
        is_slow: bool,
        number: usize,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let lane = if is_slow { &self.slow[number] } else { &self.quick[number] };
            let seen = poll_fn(|context| match moving.seat.poll(context, &lane.handle, is_slow) {
                ActorProgress::Waits => Poll::Pending,
                seen => Poll::Ready(seen),
            });
            let seen = seen.await;
            lane.actors.fetch_sub(1, Ordering::Relaxed);
            match seen {
                // The caller may not wait for it.
                ActorProgress::Ended => _ = moving.ended.send(()),
                // The dropped sender ends the caller's wait.
                ActorProgress::CutOff | ActorProgress::Waits => {}
                ActorProgress::Moves => self.spawn(moving),
            }
        })
    }
}

impl GuestThread {
    fn start(name: String, is_slow: bool) -> std::io::Result<(ThreadLane, Self)> {
        // A long-running guest yields at every tick. By default the runtime would check timers and wake-ups of other
        // threads only after 31 such turns. Here it checks after each, so that neighbours wait for one turn.
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_time().event_interval(1).global_queue_interval(1).build()?;
        let handle = runtime.handle().clone();
        let beats = Arc::<AtomicU64>::default();
        handle.spawn(beat(beats.clone()));
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            if is_slow {
                be_nice();
            }
            // An error means that the pool was dropped, which is the same request.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name(name.clone()).stack_size(THREAD_STACK_BYTES);
        let thread = Mutex::new(Some(thread.spawn(run)?));
        let thread = Self { name, beats, stop: Mutex::new(Some(stop)), thread };
        Ok((ThreadLane { handle, actors: AtomicUsize::default() }, thread))
    }
}

/// Counts once a second, as long as its thread runs due tasks.
async fn beat(beats: Arc<AtomicU64>) {
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        beats.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lowers this thread's priority. On Linux it concerns this thread only; elsewhere it would concern the whole process.
fn be_nice() {
    // A refusal costs fairness, not correctness.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

impl Drop for GuestThreads {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn here() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn an_actor_goes_where_it_belongs_from_within_a_call_and_comes_back() {
        let threads = GuestThreads::start(1).expect("threads start");
        let pace = Pace::default();
        let (sender, seen) = oneshot::channel();
        let actor_pace = pace.clone();
        let actor = async move {
            let mut seen = vec![here()];
            let now = Instant::now();
            for ticks in 1..=3 {
                actor_pace.tick(ticks, now);
                tokio::task::yield_now().await;
                seen.push(here());
            }
            actor_pace.call(now + Duration::from_secs(3));
            // A waker from the former thread wakes the actor on its new thread.
            let mut waited = false;
            poll_fn(|context| {
                if std::mem::replace(&mut waited, true) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            seen.push(here());
            let _ = sender.send(seen);
        };
        threads.spawn(actor, pace).ended().await.expect("it only looks around");
        let seen = seen.await.expect("it has looked around");
        assert_eq!(seen, ["guests-0", "guests-0", "guests-0", "slow-guests-0", "guests-0"]);
        let actors = |lanes: &[ThreadLane]| lanes[0].actors.load(Ordering::Relaxed);
        assert_eq!((actors(&threads.lanes.quick), actors(&threads.lanes.slow)), (0, 0));
    }

    #[tokio::test]
    async fn whoever_waits_hears_of_a_panic_and_of_the_threads_end() {
        let threads = GuestThreads::start(1).expect("threads start");
        let panics = threads.spawn(async { panic!("on purpose") }, Pace::default());
        assert!(panics.ended().await.is_err());
        let hangs = threads.spawn(std::future::pending(), Pace::default());
        tokio::task::spawn_blocking(move || drop(threads)).await.expect("they end");
        assert!(hangs.ended().await.is_err());
    }
}
