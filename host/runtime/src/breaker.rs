//! Stops a plugin that only fails: a pure machine between the plugin's actor and its calls.
//!
//! While it is closed every event is tried. It opens when too many calls fail, and then one event is tried now and then: if that
//! succeeds it closes. Nothing is dropped meanwhile: the events wait in the queue, and only what is tried uses up its attempts.

use std::time::{Duration, Instant};

/// So many of the last first attempts are looked at.
const WINDOW: u32 = 100;
/// Fewer than this say nothing.
const WINDOW_MIN: u32 = 20;
/// So many instances may end one after another with no event between them that succeeded: one more than a single event may end. Not more, because
/// each may have taken a whole deadline's worth of the processor.
const LOSSES_MAX: u32 = 4;
/// How long it stays open at first; twice as long each time, until it has been closed for a whole window.
const OPEN_BASE: Duration = Duration::from_secs(10);
const OPEN_MAX: Duration = Duration::from_secs(300);

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The guest took the event.
    Succeeded,
    /// The guest answered with a failure.
    Failed,
    /// The instance ended, or could not be started.
    Lost,
}

/// What follows from the last outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It opened, or stays open, and why.
    Opened { reason: String, wait: Duration },
    /// It closed: the event that was tried succeeded.
    Closed,
}

/// A call that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// Of an event's attempts.
    pub(crate) first: bool,
    pub(crate) began: Instant,
}

/// The breaker of one plugin's name.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// First attempts since it closed, the last in the lowest bit; 1: it failed.
    outcomes: u128,
    seen: u32,
    /// Instances that ended since an event succeeded.
    losses: u32,
    /// How often it opened since it was closed for a whole window.
    opened: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// When the next event may be tried; none while all may be.
    pub(crate) fn open_until(&self) -> Option<Instant> {
        self.open_until
    }

    /// Notes how the call of an event ended. Only first attempts count towards the share that fails: an event that is tried ten times is one event.
    /// What was under way in other shards when it opened says nothing any more, however long it went on.
    pub(crate) fn note(&mut self, call: Ended, now: Instant) -> Option<Turn> {
        let Ended { outcome, first, began } = call;
        if self.open_until.is_some_and(|until| began < until) {
            return None;
        }
        let failed = outcome != Outcome::Succeeded;
        match outcome {
            Outcome::Succeeded => self.losses = 0,
            Outcome::Failed => {}
            Outcome::Lost => self.losses += 1,
        }
        if self.open_until.is_some() {
            return Some(if failed {
                self.open("the event that was tried failed", now)
            } else {
                self.close()
            });
        }
        if first {
            self.outcomes = (self.outcomes << 1) | u128::from(failed);
            self.seen = self.seen.saturating_add(1);
            if self.seen >= WINDOW && !failed {
                self.opened = 0;
            }
        }
        if !failed {
            return None;
        }
        if self.losses >= LOSSES_MAX {
            let text = format!("{} instances ended one after another", self.losses);
            return Some(self.open(&text, now));
        }
        let looked_at = self.seen.min(WINDOW);
        let failures = (self.outcomes & ((1 << WINDOW) - 1)).count_ones();
        if looked_at >= WINDOW_MIN && failures * 2 >= looked_at {
            let text = format!("{failures} of the last {looked_at} events failed");
            return Some(self.open(&text, now));
        }
        None
    }

    fn open(&mut self, reason: &str, now: Instant) -> Turn {
        let wait = OPEN_BASE.saturating_mul(2u32.saturating_pow(self.opened)).min(OPEN_MAX);
        self.opened += 1;
        self.open_until = Some(now + wait);
        Turn::Opened { reason: reason.to_owned(), wait }
    }

    fn close(&mut self) -> Turn {
        (self.open_until, self.outcomes, self.seen) = (None, 0, 0);
        Turn::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a row of outcomes leads to: `s`ucceeded, `f`ailed, `l`ost, `r`etry that failed; each may be followed by how often.
    #[track_caller]
    fn check(outcomes: &str, expect: &[&str]) {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        let mut turns = Vec::new();
        for word in outcomes.split_whitespace() {
            let (kind, times) = word.split_at(1);
            for _ in 0..times.parse().unwrap_or(1) {
                let outcome = match kind {
                    "s" => Outcome::Succeeded,
                    "l" => Outcome::Lost,
                    _ => Outcome::Failed,
                };
                match breaker.note(Ended { outcome, first: kind != "r", began: now }, now) {
                    Some(Turn::Opened { reason, wait }) => {
                        now += wait;
                        assert_eq!(breaker.open_until(), Some(now));
                        turns.push(format!("{reason}, {} s", wait.as_secs()));
                    }
                    Some(Turn::Closed) => {
                        assert_eq!(breaker.open_until(), None);
                        turns.push("closed".to_owned());
                    }
                    None => {}
                }
            }
        }
        assert_eq!(turns, expect, "{outcomes}");
    }

    #[test]
    fn what_was_under_way_when_it_opened_says_nothing() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        let call = |outcome, began| Ended { outcome, first: true, began };
        let opened = (0..20).find_map(|_| breaker.note(call(Outcome::Failed, now), now));
        let Some(Turn::Opened { wait, .. }) = opened else { panic!("it has opened: {opened:?}") };
        let tried = now + wait;
        let before = tried - Duration::from_nanos(1);
        for outcome in [Outcome::Succeeded, Outcome::Failed, Outcome::Lost] {
            assert_eq!(breaker.note(call(outcome, now), before), None);
            assert_eq!(breaker.note(call(outcome, before), tried + wait), None);
        }
        assert_eq!(breaker.open_until(), Some(tried));
        let trial = call(Outcome::Succeeded, tried);
        assert_eq!(breaker.note(trial, tried + wait), Some(Turn::Closed));
    }

    #[test]
    fn some_failures_are_not_too_many() {
        check("f19", &[]);
        check("s51 f49", &[]);
        check("s1000 f49", &[]);
        check("l3 s l3 s l3", &[]);
        check("r1000", &[]);
    }

    #[test]
    fn half_of_the_last_hundred_or_four_instances_in_a_row_open_it() {
        check("f20", &["20 of the last 20 events failed, 10 s"]);
        check("s1000 f50", &["50 of the last 100 events failed, 10 s"]);
        check("s l4", &["4 instances ended one after another, 10 s"]);
    }

    #[test]
    fn it_waits_longer_each_time_until_one_succeeds() {
        let tried = "the event that was tried failed";
        let waits = [20, 40, 80, 160, 300, 300].map(|wait| format!("{tried}, {wait} s"));
        let mut expect = vec!["20 of the last 20 events failed, 10 s"];
        expect.extend(waits.iter().map(String::as_str));
        expect.push("closed");
        check("f20 f6 s", &expect);
    }

    #[test]
    fn what_was_before_it_closed_counts_no_more_but_the_wait() {
        let first = "20 of the last 20 events failed, 10 s";
        check("f20 s f19", &[first, "closed"]);
        check("f20 s f20", &[first, "closed", "20 of the last 20 events failed, 20 s"]);
        check("f20 s s100 f50", &[first, "closed", "50 of the last 100 events failed, 10 s"]);
    }
}
