//! The processor time of threads, and of one turn.
//!
//! Asking the system for a thread's time costs as much as a small event. So a turn that is short by the clock is
//! measured by the clock, because a thread is rarely interrupted in so short a time. For longer turns the system is
//! asked.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A turn that is longer by the clock may have lost the processor to other threads meanwhile.
const SHORT_TURN: Duration = Duration::from_micros(250);
/// How long a thread's known time serves for the following turns. They may be charged with the thread's work in
/// between.
const KNOWN_FOR: Duration = Duration::from_millis(1);

/// The processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Neither is ever negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// A thread's processor time at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UsedThreadTime {
    at: Instant,
    time: Duration,
}

/// A turn that has begun on a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnTime {
    began: Instant,
    /// The thread's processor time then, or shortly before.
    before: UsedThreadTime,
}

thread_local! {
    static KNOWN: Cell<Option<UsedThreadTime>> = const { Cell::new(None) };
}

impl TurnTime {
    /// Begins a turn on this thread.
    pub(super) fn begin(now: Instant) -> Self {
        let turn = Self::after(KNOWN.get(), now, thread_time);
        KNOWN.set(Some(turn.before));
        turn
    }

    /// Ends the turn, on the same thread. Returns its processor time.
    pub(super) fn end(self, now: Instant) -> Duration {
        let (used, known) = self.used(now, thread_time);
        KNOWN.set(Some(known));
        used
    }

    fn after(
        known: Option<UsedThreadTime>,
        now: Instant,
        thread_time: impl FnOnce() -> Duration,
    ) -> Self {
        let is_fresh = |known: &UsedThreadTime| now.saturating_duration_since(known.at) < KNOWN_FOR;
        let known = known.filter(is_fresh);
        let before = known.unwrap_or_else(|| UsedThreadTime { at: now, time: thread_time() });
        Self { began: now, before }
    }

    /// The turn's processor time, and the thread's known time from here on.
    fn used(
        self,
        now: Instant,
        thread_time: impl FnOnce() -> Duration,
    ) -> (Duration, UsedThreadTime) {
        let passed = now.saturating_duration_since(self.began);
        if passed <= SHORT_TURN {
            return (passed, self.before);
        }
        let time = thread_time();
        (passed.min(time.saturating_sub(self.before.time)), UsedThreadTime { at: now, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// Turns in sequence: `300@5:20` begins 5 µs after the one before, takes 300 µs by the clock, and its thread uses
    /// 20 µs meanwhile. Shows the result of each turn, and `?` for each time that the system was asked.
    #[track_caller]
    fn check(turns: &str, expect: &str) {
        let (mut now, mut time, mut known) = (Instant::now(), Duration::from_secs(7), None);
        let shown = turns.split(' ').map(|turn| {
            let (passed, rest) = turn.split_once('@').expect("how long");
            let (pause, used) = rest.split_once(':').expect("a pause and a use");
            let number = |text: &str| text.parse::<u32>().expect("microseconds") * US;
            let asked = Cell::new(0);
            let ask = |time: Duration| {
                asked.set(asked.get() + 1);
                time
            };
            now += number(pause);
            let turn = TurnTime::after(known, now, || ask(time));
            (now, time) = (now + number(passed), time + number(used));
            let (used, known_now) = turn.used(now, || ask(time));
            known = Some(known_now);
            format!("{}{}", used.as_micros(), "?".repeat(asked.get()))
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expect, "{turns}");
    }

    #[test]
    fn short_turns_are_taken_from_the_clock() {
        check("20@0:20 250@5:250 20@5:20", "20? 250 20");
    }

    #[test]
    fn what_a_thread_used_is_looked_at_again_after_a_while() {
        check("20@0:20 20@979:20 20@980:20", "20? 20 20?");
    }

    #[test]
    fn of_a_long_turn_only_what_its_thread_used_counts() {
        check("9000@0:400 20@5:20 9000@5:300", "400?? 20 320?");
    }

    #[test]
    fn no_turn_used_more_than_passed() {
        check("20@0:600 300@600:300", "20? 300?");
    }
}
