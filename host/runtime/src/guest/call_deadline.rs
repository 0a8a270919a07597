//! The deadline of a call: the processor time that the guest may still use. The clock of a call
//! stands while the thread runs other plugins, and while the system gives the processor to other
//! programs. So a guest that spins costs no other guest its deadline.

use crate::guest::engine::TICK;
use crate::guest_threads::{give_turn, thread_time};
use crate::pace::{LargeInstance, MemorySize, Pace};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The clock of one instance, set again for every call. Clones share the clock.
#[derive(Clone, Debug)]
pub(crate) struct CallDeadline {
    call: Arc<Mutex<CurrentCall>>,
    pace: Pace,
}

/// The call in progress, or the last one.
#[derive(Debug)]
struct CurrentCall {
    /// The processor time that the call may still use.
    left: Duration,
    /// The instant at which `left` was computed.
    at: Instant,
    /// The processor time of the thread at that instant. None before the first look, which costs a
    /// system call.
    thread_time: Option<Duration>,
    /// The instant at which the call must end in any case.
    end: Option<Instant>,
    /// How long the call may still wait for outside answers, by the clock.
    may_wait: Duration,
    ticks: u32,
    /// The instant at which the call began, or had its thread again after it gave way.
    turn: Instant,
}

/// How a call goes on after a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterTick {
    /// It keeps its thread until the next tick.
    GoesOn,
    /// Its thread's other tasks get a turn.
    GivesWay,
    /// It must end.
    Ends,
}

impl CurrentCall {
    fn new(now: Instant, limit: Duration) -> Self {
        let may_wait = Duration::ZERO;
        Self { left: limit, at: now, thread_time: None, end: None, may_wait, ticks: 0, turn: now }
    }

    /// Whether the call may go on for certain, without a system call for the thread's time: a
    /// thread uses no more of the processor than passes by the clock. That is known only within a
    /// tick of the last look.
    fn has_time(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < self.left.min(TICK)
            && self.end.is_none_or(|end| now < end)
    }

    /// Subtracts the time since the last look. Returns whether the call must end. Since the plugin is to stop, the rest
    /// of its time counts by the clock: others may leave its thread no processor time, and its host waits.
    fn look(&mut self, (now, thread_time): (Instant, Duration), stopped: Option<Instant>) -> bool {
        let used = match self.thread_time {
            Some(before) => thread_time.saturating_sub(before),
            // The first look comes within one tick's time, if the thread is running.
            None => (now - self.at).min(TICK),
        };
        // Invariant 27.
        self.left = self.left.saturating_sub(used);
        (self.at, self.thread_time) = (now, Some(thread_time));
        self.end = self.end.or_else(|| stopped?.checked_add(self.left));
        self.left.is_zero() || self.end.is_some_and(|end| now >= end)
    }
}

impl CallDeadline {
    pub(crate) fn new(now: Instant, pace: Pace) -> Self {
        Self { call: Arc::new(Mutex::new(CurrentCall::new(now, Duration::ZERO))), pace }
    }

    /// Begins a call that may use so much of the processor's time, and wait so long for outside answers. Returns whether
    /// it must give way before the guest runs.
    pub(crate) fn arm(&self, now: Instant, limit: Duration, may_wait: Duration) -> bool {
        let moves = self.pace.call(now);
        *self.call.lock() = CurrentCall { may_wait, ..CurrentCall::new(now, limit) };
        moves
    }

    /// Notes that the instance's memory has grown to this size, which is not small. The call must give way before the
    /// guest goes on: an informer's thread may run it, and a huge instance moves during an alarm.
    pub(crate) fn grew(&self, size: MemorySize, now: Instant) -> LargeInstance {
        if size == MemorySize::Huge {
            self.pace.slow_if_alarmed(now);
        }
        self.pace.grew(size)
    }

    /// Notes the end of the call.
    pub(crate) fn disarm(&self) {
        self.pace.call_ended();
    }

    /// Begins a call that must end within `limit` by the clock.
    pub(crate) fn arm_until(&self, now: Instant, limit: Duration) {
        self.arm(now, limit, limit);
        self.call.lock().end = Some(now + limit);
    }

    /// Waits for an outside answer, while the thread's other tasks go on. Returns none when the
    /// call has waited as long as it may: the future is dropped then, or never polled if no time
    /// was left. Afterwards the guest may be on another thread.
    pub(crate) async fn wait<T>(&self, awaited: impl Future<Output = T>) -> Option<T> {
        let may_wait = {
            let mut call = self.call.lock();
            // A guest that has used up its time ends at the next tick.
            let _ = call.look((Instant::now(), thread_time()), None);
            call.may_wait
        };
        if may_wait.is_zero() {
            return None;
        }
        // The runtime's time: it stands still where a test says so.
        let began = tokio::time::Instant::now();
        // Invariant 28.
        let answer = tokio::time::timeout(may_wait, awaited).await.ok();
        self.waited(began.elapsed());
        self.go_on(Instant::now(), thread_time());
        answer
    }

    /// The call has waited for this time on a clock that a test moves. Returns whether it was
    /// allowed to.
    pub(crate) fn pass(&self, time: Duration) -> bool {
        let mut call = self.call.lock();
        let is_allowed = time <= call.may_wait;
        call.may_wait = call.may_wait.saturating_sub(time);
        is_allowed
    }

    fn waited(&self, time: Duration) {
        self.pace.waited(time);
        let mut call = self.call.lock();
        call.may_wait = call.may_wait.saturating_sub(time);
        if time >= TICK {
            // The wait causes the next tick, which shows no work of the guest.
            call.ticks = call.ticks.saturating_sub(1);
        }
    }

    /// A tick of the engine found the guest at work. `thread_time` is the processor time of its
    /// thread.
    ///
    /// A guest that has its thread after another one's short turn meets the tick soon. On a thread for slow plugins it
    /// then goes on until the next tick: else it would get the remainder of that tick in each round, and others a whole
    /// one.
    pub(crate) fn tick(&self, now: Instant, thread_time: Duration) -> AfterTick {
        let mut call = self.call.lock();
        call.ticks += 1;
        let was_slow = self.pace.is_slow();
        self.pace.tick(call.ticks, now);
        let is_short = now.saturating_duration_since(call.turn) < TICK / 2;
        match call.look((now, thread_time), self.pace.stopped()) {
            true => AfterTick::Ends,
            false if is_short && was_slow => AfterTick::GoesOn,
            false => AfterTick::GivesWay,
        }
    }

    /// Whether the call must end. A long host function calls this before its first step and after each step: ticks do
    /// not reach it.
    pub(crate) fn expired(&self, now: Instant) -> bool {
        let mut call = self.call.lock();
        // Invariant 27.
        !call.has_time(now) && call.look((now, thread_time()), self.pace.stopped())
    }

    /// Gives the thread's other tasks a turn, which does not count. Afterwards the guest may be on another thread.
    pub(crate) fn give_way(&self) -> impl Future<Output = ()> + Send + 'static {
        let clock = self.clone();
        async move {
            give_turn().await;
            clock.begin_turn(Instant::now(), thread_time());
        }
    }

    fn begin_turn(&self, now: Instant, thread_time: Duration) {
        self.call.lock().turn = now;
        self.go_on(now, thread_time);
    }

    fn go_on(&self, now: Instant, thread_time: Duration) {
        let mut call = self.call.lock();
        (call.at, call.thread_time) = (now, Some(thread_time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The steps of a call that may use 100 ms. `10/10` is a tick after 10 ms, of which the thread used 10 since the
    /// last tick; `~50` is a turn of other tasks for 50 ms. Returns the tick that ended the call.
    #[track_caller]
    fn check(steps: &str, ended_by: Option<usize>) {
        let (mut now, mut thread_time) = (Instant::now(), Duration::from_secs(7));
        let clock = CallDeadline::new(now, Pace::default());
        clock.arm(now, 100 * MS, Duration::ZERO);
        let mut ended = None;
        for (number, step) in steps.split(' ').enumerate() {
            if let Some(turn) = step.strip_prefix('~') {
                let turn: u32 = turn.parse().expect("milliseconds");
                (now, thread_time) = (now + turn * MS, thread_time + turn * MS);
                clock.go_on(now, thread_time);
                continue;
            }
            let (passed, used) = step.split_once('/').expect("two times");
            now += passed.parse::<u32>().expect("milliseconds") * MS;
            thread_time += used.parse::<u32>().expect("milliseconds") * MS;
            if clock.tick(now, thread_time) == AfterTick::Ends && ended.is_none() {
                ended = Some(number);
            }
        }
        assert_eq!(ended, ended_by, "{steps}");
    }

    #[test]
    fn a_call_ends_at_its_limit() {
        check("10/10 10/10 79/79", None);
        check("10/10 10/10 80/80", Some(2));
    }

    #[test]
    fn slow_plugins_have_turns_of_about_a_tick() {
        let start = Instant::now();
        let (pace, used) = (Pace::default(), Duration::from_secs(7));
        let clock = CallDeadline::new(start, pace.clone());
        clock.arm(start, 100 * MS, Duration::ZERO);
        let after = |at: u32| clock.tick(start + at * MS, used);
        let begins = |at: u32| clock.begin_turn(start + at * MS, used);
        assert_eq!(after(2), AfterTick::GivesWay, "it is quick");
        begins(10);
        assert_eq!(after(12), AfterTick::GivesWay);
        begins(20);
        assert_eq!(after(22), AfterTick::GivesWay, "now it is slow, and moves");
        begins(28);
        assert_eq!([32, 42].map(after), [AfterTick::GoesOn, AfterTick::GivesWay]);
        clock.go_on(start + 43 * MS, used);
        assert_eq!(after(45), AfterTick::GivesWay, "an answer at once begins no turn");
        begins(47);
        assert_eq!(after(52), AfterTick::GivesWay, "half a tick's time is enough");
    }

    #[test]
    fn a_call_of_a_plugin_that_is_to_stop_ends_by_the_clock() {
        let (start, used) = (Instant::now(), Duration::from_secs(7));
        let pace = Pace::default();
        let clock = CallDeadline::new(start, pace.clone());
        let ends = |now, used| clock.tick(now, used) == AfterTick::Ends;
        clock.arm(start, 100 * MS, Duration::ZERO);
        assert!(!ends(start + 60 * MS, used), "six ticks' time, of which it got one");
        pace.stop(start + 60 * MS);
        clock.go_on(start + 140 * MS, used);
        assert!(!ends(start + 145 * MS, used), "it has 90 ms from its stop on");
        clock.go_on(start + 149 * MS, used);
        assert!(ends(start + 150 * MS, used), "others had the processor meanwhile");
        clock.arm_until(start + 150 * MS, 50 * MS);
        assert!(!ends(start + 190 * MS, used) && ends(start + 200 * MS, used));
    }

    /// Invariant 27.
    #[test]
    fn a_neighbours_turn_does_not_count() {
        check("10/10 ~500 10/10 ~500 79/79", None);
        check("10/10 ~500 10/10 ~500 80/80", Some(4));
    }

    /// Invariant 27.
    #[test]
    fn what_the_system_gave_to_others_does_not_count() {
        check("500/1 500/40 500/49", None);
        check("500/1 500/40 500/50", Some(2));
    }

    #[test]
    fn what_must_be_over_in_time_is() {
        let start = Instant::now();
        let clock = CallDeadline::new(start, Pace::default());
        let ends = |now, used| clock.tick(now, used) == AfterTick::Ends;
        clock.arm_until(start, 100 * MS);
        clock.go_on(start + 80 * MS, 5 * MS);
        assert!(!ends(start + 99 * MS, 6 * MS));
        assert!(ends(start + 100 * MS, 6 * MS), "it has used 6 ms");
        clock.arm(start + 200 * MS, 100 * MS, Duration::ZERO);
        clock.go_on(start + 250 * MS, 7 * MS);
        assert!(!ends(start + 300 * MS, 8 * MS), "the next call need not be");
    }

    #[test]
    fn a_host_function_counts_as_the_guest_does() {
        let start = Instant::now();
        let clock = CallDeadline::new(start, Pace::default());
        clock.arm(start, Duration::ZERO, Duration::ZERO);
        assert!(clock.expired(start));
        clock.arm(start, Duration::from_secs(3600), Duration::ZERO);
        assert!(!clock.expired(start));
        let before = clock.call.lock().left;
        while clock.call.lock().left == before {
            assert!(!clock.expired(Instant::now()));
        }
    }

    #[test]
    fn the_system_is_asked_once_a_tick_at_most() {
        let (start, just_before) =
            (Instant::now(), |time: Duration| time - Duration::from_nanos(1));
        let mut call = CurrentCall::new(start, 100 * MS);
        assert!(call.has_time(start + just_before(TICK)));
        assert!(!call.has_time(start + TICK));
        call.left = MS;
        assert!(call.has_time(start + just_before(MS)));
        assert!(!call.has_time(start + MS));
        call.end = Some(start + MS / 2);
        assert!(call.has_time(start + just_before(MS / 2)));
        assert!(!call.has_time(start + MS / 2));
        assert!(!CurrentCall::new(start, Duration::ZERO).has_time(start));
    }

    /// Invariant 28.
    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_as_long_as_it_may_in_all() {
        let clock = CallDeadline::new(Instant::now(), Pace::default());
        let sleep = |times: u32| tokio::time::sleep(times * MS);
        let hour = Duration::from_secs(3600);
        clock.arm(Instant::now(), hour, Duration::ZERO);
        let begun = async { unreachable!("nobody has time for it") };
        assert_eq!(clock.wait(begun).await, None::<()>, "only some calls may wait");
        clock.arm(Instant::now(), hour, 100 * MS);
        assert_eq!(clock.wait(sleep(60)).await, Some(()));
        let began = tokio::time::Instant::now();
        assert_eq!(clock.wait(sleep(60)).await, None);
        assert_eq!(began.elapsed(), 40 * MS);
        let begun = async { unreachable!("no time is left for it") };
        assert_eq!(clock.wait(begun).await, None::<()>);
        assert!(!clock.expired(Instant::now()), "it has not been at work meanwhile");
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_makes_no_plugin_slow() {
        let (pace, now) = (Pace::default(), Instant::now());
        let clock = CallDeadline::new(now, pace.clone());
        clock.arm(now, Duration::from_secs(3600), Duration::from_secs(3600));
        for _ in 0..10 {
            assert_eq!(clock.wait(tokio::time::sleep(TICK)).await, Some(()));
            clock.tick(now, thread_time());
        }
        assert!(!pace.is_slow());
    }

    /// Invariant 2.
    #[tokio::test]
    async fn giving_way_lets_a_neighbour_go_first() {
        let clock = CallDeadline::new(Instant::now(), Pace::default());
        clock.arm(Instant::now(), MS, Duration::ZERO);
        let neighbour = tokio::spawn(async { Instant::now() });
        clock.give_way().await;
        assert!(neighbour.is_finished());
        let went = neighbour.await.expect("the neighbour only looks at the clock");
        assert!(clock.call.lock().at > went);
    }
}
