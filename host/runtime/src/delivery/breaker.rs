//! Stops a plugin that only fails: a pure machine between the plugin's actor and its calls.
//!
//! While the breaker is closed, every call is tried. It opens when too many calls fail.
//!
//! While it is open, failed events and keys wait, and one of them is tried from time to time. First attempts go on
//! with pauses between them; each failure makes the pause longer. The first call that succeeds closes the breaker.
//! So an object waits for the failures of other objects by no more than these pauses. The open breaker drops
//! nothing: only an event that is tried uses up an attempt.

use informant_cache::workqueue::exponential;
use std::time::{Duration, Instant};

/// The number of the last first attempts that the breaker looks at.
const WINDOW: u32 = 100;
/// With fewer first attempts than this, the share of failures does not open the breaker.
const WINDOW_MIN: u32 = 20;
/// So many instances may end one after another with no successful event between them: one more than a single event
/// may end. No more, because each instance may have used the processor for a whole deadline.
const LOSSES_MAX: u32 = 4;
/// The first wait of failed events and keys. The wait doubles each time, until the breaker has been closed for a
/// whole window.
const OPEN_BASE: Duration = Duration::from_secs(10);
const OPEN_MAX: Duration = Duration::from_secs(300);
/// The pause after the first failure while the breaker is open. Each further failure adds as much. With thirty
/// objects that fail or end their instances, the remaining ones are tried within a second. Of a plugin that fails
/// with every event, some 1,900 events are tried in an hour.
const PAUSE_STEP: Duration = Duration::from_millis(2);
/// The step is this part of the failed call, if that is longer. A plugin that spins for a second in each call soon
/// has a tenth of a processor.
const STEP_OF_CALL: u32 = 4;
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The guest handled the event.
    Succeeded,
    /// The guest answered with a failure.
    Failed,
    /// The guest answered with a failure, and its request to the host lacked the cluster, a grant or the lead.
    Hindered,
    /// The instance ended, or did not start.
    Lost,
}

/// The change of the breaker that follows from an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BreakerChange {
    /// The breaker opened, or stays open, for this reason. Failed events and keys wait until `retries_from`.
    Opened { reason: String, wait: Duration, retries_from: Instant },
    /// The breaker closed: a call succeeded.
    Closed,
}

/// A call that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// Whether the call was an event's first attempt.
    pub(crate) first: bool,
    pub(crate) began: Instant,
}

/// The breaker of one plugin's name.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// First attempts since the breaker closed, the last one in the lowest bit. A 1 is a failure.
    outcomes: u128,
    seen: u32,
    /// Instances that ended since the last successful event.
    losses: u32,
    /// How often the breaker opened since it was closed for a whole window.
    opened: u32,
    open: Option<Open>,
}

/// The state of an open breaker.
#[derive(Debug, Clone)]
struct Open {
    reason: String,
    since: Instant,
    /// Failed calls since the breaker opened.
    failures: u32,
    /// When the next call may begin.
    next: Instant,
    /// When failed events and keys may be tried.
    retries_from: Instant,
}

impl Breaker {
    /// When the next call may be made. `None` while the breaker is closed.
    pub(crate) fn next_call(&self) -> Option<Instant> {
        self.open.as_ref().map(|open| open.next)
    }

    /// The reason for which the breaker is open.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.reason.as_str())
    }

    /// Notes the end of an event's call. Only first attempts count towards the share of failures: an event that is
    /// tried ten times is one event. A call that began before the breaker opened does not count, however long it
    /// took.
    pub(crate) fn note(&mut self, call: Ended, now: Instant) -> Option<BreakerChange> {
        let Ended { outcome, first, began } = call;
        if self.open.as_ref().is_some_and(|open| began < open.since) {
            return None;
        }
        let failed = outcome != Outcome::Succeeded;
        match outcome {
            Outcome::Succeeded => self.losses = 0,
            Outcome::Failed | Outcome::Hindered => {}
            Outcome::Lost => self.losses += 1,
        }
        if let Some(open) = &mut self.open {
            if !failed {
                return Some(self.close());
            }
            open.failures += 1;
            let took = now.saturating_duration_since(began);
            let step = PAUSE_STEP.max(took / STEP_OF_CALL);
            open.next = now + step.saturating_mul(open.failures).min(PAUSE_MAX);
            let is_trial = !first && began >= open.retries_from;
            if outcome == Outcome::Hindered && is_trial {
                // The cause will end for all events at once. So failed events must then not wait for long.
                self.opened = 0;
            }
            return is_trial
                .then(|| self.open("a call that had failed was tried again, and failed", now));
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
            let text = format!("{failures} of the last {looked_at} calls failed");
            return Some(self.open(&text, now));
        }
        None
    }

    /// Opens the breaker, or keeps it open for longer.
    fn open(&mut self, reason: &str, now: Instant) -> BreakerChange {
        let wait = exponential(OPEN_BASE, self.opened, OPEN_MAX);
        self.opened += 1;
        let retries_from = now + wait;
        let reason = reason.to_owned();
        let begun =
            Open { reason: String::new(), since: now, failures: 0, next: now, retries_from };
        let open = self.open.get_or_insert(begun);
        (open.reason, open.retries_from) = (reason.clone(), retries_from);
        BreakerChange::Opened { reason, wait, retries_from }
    }

    fn close(&mut self) -> BreakerChange {
        (self.open, self.outcomes, self.seen) = (None, 0, 0);
        BreakerChange::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The turns that follow from a row of outcomes: `s`ucceeded, `f`ailed, `l`ost, failed `r`etry, `h`indered
    /// retry. A number after an outcome repeats it. When the breaker opens, the next outcomes begin once a retry
    /// may be tried.
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
                    "h" => Outcome::Hindered,
                    _ => Outcome::Failed,
                };
                match breaker
                    .note(Ended { outcome, first: !["r", "h"].contains(&kind), began: now }, now)
                {
                    Some(BreakerChange::Opened { reason, wait, retries_from }) => {
                        now += wait;
                        assert_eq!(retries_from, now);
                        turns.push(format!("{reason}, {} s", wait.as_secs()));
                    }
                    Some(BreakerChange::Closed) => {
                        assert_eq!(breaker.next_call(), None);
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
        let Some(BreakerChange::Opened { wait, .. }) = opened else {
            panic!("it has opened: {opened:?}")
        };
        let before = now - Duration::from_nanos(1);
        for outcome in [Outcome::Succeeded, Outcome::Failed, Outcome::Lost] {
            assert_eq!(breaker.note(call(outcome, before), now + wait), None);
        }
        assert_eq!(breaker.next_call(), Some(now));
        // Nor do retries that began before the breaker stayed open for longer.
        let retry = Ended { first: false, ..call(Outcome::Failed, now) };
        assert_eq!(breaker.note(retry, now + wait), None);
        assert_eq!(
            breaker.note(call(Outcome::Succeeded, now), now + wait),
            Some(BreakerChange::Closed)
        );
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
        check("f20", &["20 of the last 20 calls failed, 10 s"]);
        check("s1000 f50", &["50 of the last 100 calls failed, 10 s"]);
        check("s l4", &["4 instances ended one after another, 10 s"]);
    }

    #[test]
    fn it_waits_longer_each_time_until_one_succeeds() {
        let tried = "a call that had failed was tried again, and failed";
        let waits = [20, 40, 80, 160, 300, 300].map(|wait| format!("{tried}, {wait} s"));
        let mut expect = vec!["20 of the last 20 calls failed, 10 s"];
        expect.extend(waits.iter().map(String::as_str));
        expect.push("closed");
        check("f20 r6 s", &expect);
    }

    #[test]
    fn what_has_not_failed_yet_is_tried_while_it_is_open_and_makes_it_wait_no_longer() {
        check("f20 f1000", &["20 of the last 20 calls failed, 10 s"]);
        check("f20 f1000 s", &["20 of the last 20 calls failed, 10 s", "closed"]);
    }

    /// A plugin whose every call has this outcome and duration: the calls in an hour, and the end of the thirtieth
    /// call.
    #[track_caller]
    fn check_pauses(outcome: Outcome, took: Duration, in_an_hour: u32, thirty: Duration) {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        let begin = now;
        let (mut calls, mut thirtieth) = (0, begin);
        while now < begin + Duration::from_secs(3_600) {
            let began = now;
            now += took;
            breaker.note(Ended { outcome, first: true, began }, now);
            calls += 1;
            if calls == 30 {
                thirtieth = now;
            }
            now = breaker.next_call().unwrap_or(now);
        }
        assert_eq!((calls, thirtieth - begin), (in_an_hour, thirty));
        breaker.note(Ended { outcome, first: true, began: now }, now);
        let pause = breaker.next_call().map(|next| next - now);
        assert!(pause <= Some(PAUSE_MAX), "{pause:?}");
    }

    #[test]
    fn the_pauses_between_calls_grow_while_it_is_open() {
        let (none, second) = (Duration::ZERO, Duration::from_secs(1));
        check_pauses(Outcome::Failed, none, 1_917, Duration::from_millis(90));
        check_pauses(Outcome::Lost, none, 1_901, Duration::from_millis(650));
        // A plugin that spins for a second in each call.
        check_pauses(Outcome::Lost, second, 349, Duration::from_millis(111_250));
    }

    #[test]
    fn what_the_cluster_hinders_does_not_wait_longer_each_time() {
        let first = "20 of the last 20 calls failed, 10 s";
        let tried = [10, 10, 20]
            .map(|wait| format!("a call that had failed was tried again, and failed, {wait} s"));
        let [h1, h2, r] = tried.each_ref().map(String::as_str);
        check("f20 h2 r s", &[first, h1, h2, r, "closed"]);
    }

    #[test]
    fn what_was_before_it_closed_counts_no_more_but_the_wait() {
        let first = "20 of the last 20 calls failed, 10 s";
        check("f20 s f19", &[first, "closed"]);
        check("f20 s f20", &[first, "closed", "20 of the last 20 calls failed, 20 s"]);
        check("f20 s s100 f50", &[first, "closed", "50 of the last 100 calls failed, 10 s"]);
    }
}
