//! The time that threads use, and what of it one turn has used.
//!
//! To ask the system what a thread has used costs as much as handing a small event over. So of a turn that is short by the clock the clock says
//! what it took, as a thread is rarely interrupted within so short a time; the system is asked about longer ones.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A turn that is longer by the clock may have lost the processor to others meanwhile.
const SHORT_TURN: Duration = Duration::from_micros(250);
/// So long what the thread had used is good for the turns that follow. They may be charged so much of what the thread did in between.
const KNOWN_FOR: Duration = Duration::from_millis(1);

/// What this thread has used of the processor.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Neither is ever negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// What a thread had used at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UsedThreadTime {
    at: Instant,
    time: Duration,
}

/// A turn that has begun on a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnTime {
    began: Instant,
    /// What the thread had used then, or shortly before.
    before: UsedThreadTime,
}

thread_local! {
    static KNOWN: Cell<Option<UsedThreadTime>> = const { Cell::new(None) };
}

impl TurnTime {
    /// A turn begins on this thread.
    pub(super) fn begin(now: Instant) -> Self {
        let turn = Self::after(KNOWN.get(), now, thread_time);
        KNOWN.set(Some(turn.before));
        turn
    }

    /// The turn has ended, on the same thread. Answers how much of the processor it has used.
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

    /// What it has used, and what is known of its thread from here on.
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

    /// Turns one after the other: `300@5:20` begins 5 µs after the one before, takes 300 by the clock, and its thread uses 20 meanwhile. Shows what
    /// each was found to use, and `?` for each time that the system was asked.
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
