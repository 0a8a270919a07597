//! The schedules of one plugin's name, and the times of their calls. Synchronous; both clocks are parameters.
//!
//! However many times of a schedule have passed, they cause one firing, for the last of them. A failed firing comes
//! again, until the schedule's next time replaces it or all its attempts have failed.

use crate::contract::schedule::{CronLine, ScheduleSpec, When};
use crate::delivery::mailbox::{Attempts, Settled};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A time on the wall clock is computed again after this long: the clock may have been set.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// One moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    /// The monotonic clock.
    pub(crate) instant: Instant,
    /// The wall clock, which cron lines mean. It may be set.
    pub(crate) wall: Timestamp,
}

impl Now {
    pub(crate) fn read() -> Self {
        Self { instant: Instant::now(), wall: Timestamp::now() }
    }

    fn wall_at(self, instant: Instant) -> Timestamp {
        let ago = SignedDuration::try_from(self.instant.saturating_duration_since(instant));
        let at = ago.ok().and_then(|ago| self.wall.checked_sub(ago).ok());
        at.unwrap_or(self.wall)
    }
}

/// A due call of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Firing {
    pub(crate) schedule: Arc<str>,
    /// The scheduled time of the firing.
    pub(crate) due: Timestamp,
    pub(crate) tried: Attempts,
}

/// How far the calls of schedules are behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimersSnapshot {
    /// Schedules whose time has come.
    pub due: usize,
    /// How long the first of them has waited.
    pub age: Duration,
    /// These schedules, and those whose failed call comes again later.
    pub waiting: usize,
    /// Schedules whose last call failed.
    pub failing: usize,
    /// The error of the latest failed call.
    pub last_error: Option<Arc<str>>,
}

impl TimersSnapshot {
    /// The snapshot as `/plugins` shows it.
    pub(crate) fn to_json(&self) -> Value {
        let age = (self.due > 0).then_some(self.age.as_secs_f64());
        json!({ "depth": self.due, "waiting": self.waiting, "ageSeconds": age, "failed": self.failing })
    }
}

#[derive(Debug)]
struct Timer {
    spec: ScheduleSpec,
    next: Next,
    /// The failed last firing, and when it comes again.
    again: Option<(Instant, Firing)>,
    /// The error of the last call, if it failed.
    error: Option<CallFailure>,
}

#[derive(Debug)]
struct CallFailure {
    /// The number of the failure among those of all schedules.
    number: u64,
    error: Arc<str>,
}

/// A schedule's next time.
#[derive(Debug)]
enum Next {
    Every {
        period: Duration,
        at: Instant,
    },
    /// The first time after `since`.
    Cron {
        line: CronLine,
        since: Timestamp,
        at: Option<Timestamp>,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    timers: Vec<Timer>,
    /// No firing is due before this time; `None` without timers.
    look_at: Option<Instant>,
    /// The number of failed calls.
    failures: u64,
}

impl Timers {
    /// Sets the schedules. A schedule that was there before continues, and a new one begins now.
    pub(crate) fn follow(&mut self, specs: &[ScheduleSpec], now: Now) {
        let mut before = std::mem::take(&mut self.timers);
        for spec in specs {
            let known = before.iter().position(|timer| timer.spec == *spec);
            let known = known.map(|index| before.swap_remove(index));
            self.timers.push(known.unwrap_or_else(|| Timer::new(spec.clone(), now)));
        }
        self.look(now);
    }

    /// When to look for a firing.
    pub(crate) fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// The firing that has been due for the longest. [`Self::settle`] notes its end.
    pub(crate) fn take(&mut self, now: Now) -> Option<Firing> {
        if self.look_at.is_none_or(|at| at > now.instant) {
            return None;
        }
        let due = |timer: &mut Timer| Some((timer.due(now)?, timer.spec.name.clone()));
        let first = self.timers.iter_mut().filter_map(due).min();
        let name = first.filter(|(at, _)| *at <= now.instant).map(|(_, name)| name);
        let timer = self.timers.iter_mut().find(|timer| Some(&timer.spec.name) == name.as_ref());
        let firing = timer.and_then(|timer| timer.take(now));
        self.look(now);
        firing
    }

    /// Has a schedule fire now, in addition to its own times: the only one, if none is named. This replaces a failed firing that
    /// comes again. Returns the schedule, or the reason why there is no firing.
    pub(crate) fn fire(&mut self, schedule: Option<&str>, now: Now) -> Result<Arc<str>, String> {
        let names: Vec<&str> = self.timers.iter().map(|timer| &*timer.spec.name).collect();
        let (is_one, names) = (names.len() == 1, names.join(", "));
        let is_named = |timer: &&mut Timer| schedule.map_or(is_one, |it| *it == *timer.spec.name);
        let Some(timer) = self.timers.iter_mut().find(is_named) else {
            return Err(match (schedule, names.is_empty()) {
                (_, true) => "no version with a schedule runs".to_owned(),
                (None, false) => format!("it has several schedules: {names}; name one"),
                (Some(_), false) => format!("it has no schedule of that name; there are: {names}"),
            });
        };
        let schedule = timer.spec.name.clone();
        let firing = Firing { schedule: schedule.clone(), due: now.wall, tried: Attempts::NONE };
        timer.again = Some((now.instant, firing));
        self.look(now);
        Ok(schedule)
    }

    /// Notes the end of a firing, with the error of a failed call. A failed firing comes again, unless its schedule's
    /// next time is earlier.
    pub(crate) fn settle(
        &mut self,
        firing: &Firing,
        settled: Settled,
        error: Option<&str>,
        now: Now,
    ) {
        self.failures += u64::from(error.is_some());
        let number = self.failures;
        let mut timers = self.timers.iter_mut();
        let Some(timer) = timers.find(|timer| timer.spec.name == firing.schedule) else { return };
        timer.error = error.map(|error| CallFailure { number, error: error.into() });
        if let Some(again) = settled.again() {
            let tried = firing.tried.after(&again);
            timer.again = Some((again.at, Firing { tried, ..firing.clone() }));
            self.look(now);
        }
    }

    /// The due times that were not taken, and failed calls. A failed firing that comes again does not count as due,
    /// nor does a time before the next look.
    pub(crate) fn snapshot(&self, now: Now) -> TimersSnapshot {
        let is_looked_for = self.look_at.and_then(|at| now.instant.checked_duration_since(at));
        let wait = |timer: &Timer| Some(timer.waits(now)?.min(is_looked_for?));
        let waits: Vec<Duration> = self.timers.iter().filter_map(wait).collect();
        let comes_later = |timer: &&Timer| timer.again.is_some() && timer.waits(now).is_none();
        let failures = || self.timers.iter().filter_map(|timer| timer.error.as_ref());
        let last = failures().max_by_key(|failure| failure.number);
        TimersSnapshot {
            due: waits.len(),
            waiting: waits.len() + self.timers.iter().filter(comes_later).count(),
            age: waits.into_iter().max().unwrap_or_default(),
            failing: failures().count(),
            last_error: last.map(|failure| failure.error.clone()),
        }
    }

    fn look(&mut self, now: Now) {
        let at = self.timers.iter_mut().filter_map(|timer| timer.due(now)).min();
        self.look_at = at.map(|at| at.min(now.instant + LOOK_AGAIN));
    }

    /// The schedules as `/plugins` shows them.
    pub(crate) fn to_json(&self, now: Now) -> Value {
        let one = |timer: &Timer| {
            let next = match &timer.next {
                Next::Cron { at, .. } => *at,
                Next::Every { at, .. } => {
                    let wait = SignedDuration::try_from(at.saturating_duration_since(now.instant));
                    wait.ok().and_then(|wait| now.wall.checked_add(wait).ok())
                }
            };
            let next = next.map(|next| next.to_string());
            let error = timer.error.as_ref().map(|failure| &*failure.error);
            json!({ "name": &*timer.spec.name, "next": next, "error": error })
        };
        self.timers.iter().map(one).collect()
    }
}

impl Timer {
    fn new(spec: ScheduleSpec, now: Now) -> Self {
        let next = match &spec.when {
            When::Every(period) => Next::Every { period: *period, at: now.instant + *period },
            When::Cron(line) => {
                Next::Cron { line: line.clone(), since: now.wall, at: line.after(now.wall) }
            }
        };
        Self { spec, next, again: None, error: None }
    }

    /// When to look at the timer; in the past if a firing is due.
    fn due(&mut self, now: Now) -> Option<Instant> {
        let regular = match &mut self.next {
            Next::Cron { line, since, at } => {
                if *since > now.wall {
                    // The clock was set back.
                    (*since, *at) = (now.wall, line.after(now.wall));
                }
                at.map(|at| now.instant + wait(now.wall, at))
            }
            Next::Every { at, .. } => Some(*at),
        };
        regular.into_iter().chain(self.again.as_ref().map(|(at, _)| *at)).min()
    }

    /// How long the timer's due time has waited; `None` if that is in the future.
    fn waits(&self, now: Now) -> Option<Duration> {
        match &self.next {
            Next::Every { at, .. } => now.instant.checked_duration_since(*at),
            Next::Cron { at, .. } => at.filter(|at| *at <= now.wall).map(|at| wait(at, now.wall)),
        }
    }

    fn take(&mut self, now: Now) -> Option<Firing> {
        if let Some(due) = self.pass(now) {
            self.again = None;
            let schedule = self.spec.name.clone();
            return Some(Firing { schedule, due, tried: Attempts::NONE });
        }
        self.again.take_if(|(at, _)| *at <= now.instant).map(|(_, firing)| firing)
    }

    /// The schedule's last time that has passed, if there is one. Moves on to the time after it.
    fn pass(&mut self, now: Now) -> Option<Timestamp> {
        match &mut self.next {
            Next::Every { period, at } => {
                let late = now.instant.checked_duration_since(*at)?;
                let last = now.instant - remainder(late, *period);
                *at = last + *period;
                Some(now.wall_at(last))
            }
            Next::Cron { line, since, at } => {
                at.filter(|at| *at <= now.wall)?;
                let last = line.up_to(now.wall)?;
                (*since, *at) = (now.wall, line.after(now.wall));
                Some(last)
            }
        }
    }
}

/// The time from `from` to `to`; zero if `to` has passed.
fn wait(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

fn remainder(duration: Duration, period: Duration) -> Duration {
    Duration::from_nanos_u128(duration.as_nanos() % period.as_nanos().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, when: &str) -> ScheduleSpec {
        let when = match when.strip_suffix("ms") {
            Some(ms) => When::Every(Duration::from_millis(ms.parse().expect("a number"))),
            None => When::Cron(CronLine::parse(when).expect("a line")),
        };
        ScheduleSpec { name: name.into(), when }
    }

    /// The firings of these schedules, from midnight on. `5` and `5s` let as many ms or seconds pass on both clocks.
    /// `set-5s` and `set+5s` set the wall clock. `*` takes the due firing and shows it as name@seconds, with its
    /// attempt. `no5` brings the last one again after as many ms, and `ended` also ends its instance. `?` shows when
    /// to look, in ms. `!` shows how many are due (and how many come again later), and for how many ms. `bad` and
    /// `good` end the call of the last one. `%` shows how many are failing, and the last error. `same` and `other` set
    /// a version's schedules. `fire` has the only schedule fire, and `fire=NAME` the one of this name; a refusal is shown.
    #[track_caller]
    fn check(schedules: &[(&str, &str)], steps: &str, expect: &str) {
        let specs: Vec<_> = schedules.iter().map(|(name, when)| spec(name, when)).collect();
        let midnight: Timestamp = "2026-11-22T00:00:00Z".parse().expect("a time");
        let mut now = Now { instant: Instant::now(), wall: midnight };
        let mut timers = Timers::default();
        timers.follow(&specs, now);
        let (mut last, mut shown) = (None, Vec::new());
        let ms = |text: &str| match text.strip_suffix('s') {
            Some(seconds) => seconds.parse::<i64>().expect("a number") * 1_000,
            None => text.parse().expect("a number"),
        };
        for step in steps.split(' ') {
            if let Some(by) = step.strip_prefix("set") {
                now.wall += SignedDuration::from_millis(ms(by));
            } else if step == "*" {
                last = timers.take(now);
                shown.push(last.as_ref().map_or("-".to_owned(), |firing: &Firing| {
                    let at = firing.due.duration_since(midnight).as_millis() as f64 / 1e3;
                    let crashes = "c".repeat(firing.tried.crashes as usize);
                    format!("{}@{at}#{}{crashes}", firing.schedule, firing.tried.number)
                }));
            } else if step == "!" {
                let TimersSnapshot { due, age, waiting, .. } = timers.snapshot(now);
                let later = waiting - due;
                let later = if later > 0 { format!("({later})") } else { String::new() };
                shown.push(format!("{due}{later}+{}", age.as_millis()));
            } else if step == "%" {
                let TimersSnapshot { failing, last_error, .. } = timers.snapshot(now);
                shown.push(format!("{failing}:{}", last_error.as_deref().unwrap_or("-")));
            } else if let "bad" | "good" = step {
                let Firing { schedule, tried, .. } = last.clone().expect("one was taken");
                let error = format!("{schedule}-{}", tried.number);
                let (settled, error) = match step {
                    "bad" => (Settled::GivenUp, Some(&*error)),
                    _ => (Settled::Finished, None),
                };
                timers.settle(last.as_ref().expect("one was taken"), settled, error, now);
            } else if step == "?" {
                let at = timers.look_at().map(|at| (at - now.instant).as_millis());
                shown.push(at.map_or("never".to_owned(), |ms| ms.to_string()));
            } else if let Some(wait) = step.strip_prefix("no") {
                let at = now.instant + Duration::from_millis(ms(wait) as u64);
                let firing = last.as_ref().expect("one was taken");
                timers.settle(firing, Settled::RetryAt(at), None, now);
            } else if step == "ended" {
                let at = now.instant + Duration::from_millis(1);
                let settled = Settled::CrashedRetryAt(at);
                timers.settle(last.as_ref().expect("one was taken"), settled, None, now);
            } else if let Some(named) = step.strip_prefix("fire") {
                if let Err(refusal) = timers.fire(named.strip_prefix('='), now) {
                    shown.push(refusal);
                }
            } else if step == "same" {
                timers.follow(&specs, now);
            } else if step == "other" {
                timers.follow(&[spec("other", "100ms")], now);
            } else {
                let by = ms(step);
                now.instant += Duration::from_millis(by as u64);
                now.wall += SignedDuration::from_millis(by);
            }
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    const EVERY: &[(&str, &str)] = &[("beat", "100ms")];
    const NOON: &[(&str, &str)] = &[("noon", "0 12 * * *")];

    #[test]
    fn a_period_fires_for_the_first_time_after_it_and_does_not_drift() {
        check(EVERY, "? * 99 * 1 * ? 107 * ?", "100 - - beat@0.1#1 100 beat@0.2#1 93");
        check(&[], "? *", "never -");
    }

    #[test]
    fn a_line_fires_at_its_moments() {
        check(NOON, "? 43199s * 1s * * 86400s *", "60000 - noon@43200#1 - noon@129600#1");
        check(NOON, "43199s * ?", "- 1000");
    }

    #[test]
    fn moments_that_have_passed_are_one_firing_for_the_last_of_them() {
        check(EVERY, "1050 * * 50 *", "beat@1#1 - beat@1.1#1");
        check(
            &[("quarter", "*/15 * * * *")],
            "10000s * * 800s *",
            "quarter@9900#1 - quarter@10800#1",
        );
    }

    #[test]
    fn a_firing_that_failed_comes_again_until_the_next_moment() {
        check(
            EVERY,
            "100 * no30 * ? 30 * ended 1 * 69 *",
            "beat@0.1#1 - 30 beat@0.1#2 beat@0.1#3c beat@0.2#1",
        );
        check(EVERY, "100 * no500 100 * 500 *", "beat@0.1#1 beat@0.2#1 beat@0.7#1");
    }

    #[test]
    fn a_schedule_fires_on_request_beside_its_own_times() {
        check(NOON, "5s fire ? * * 43195s *", "0 noon@5#1 - noon@43200#1");
        check(EVERY, "100 * no500 50 fire=beat * 50 *", "beat@0.1#1 beat@0.15#1 beat@0.2#1");
        // The call that fails comes again.
        check(NOON, "fire * no5 5 *", "noon@0#1 noon@0#2");
        let two = [("slow", "150ms"), ("fast", "100ms")];
        check(&two, "fire=slow * fire", "slow@0#1 it has several schedules: slow, fast; name one");
        check(EVERY, "fire=x", "it has no schedule of that name; there are: beat");
        check(
            &[],
            "fire fire=x",
            "no version with a schedule runs no version with a schedule runs",
        );
    }

    #[test]
    fn what_has_been_due_for_longer_comes_first() {
        let two = [("slow", "150ms"), ("fast", "100ms")];
        check(&two, "100 * 100 * * *", "fast@0.1#1 slow@0.15#1 fast@0.2#1 -");
    }

    #[test]
    fn a_moment_is_late_until_it_is_taken() {
        let two = [("slow", "150ms"), ("fast", "100ms")];
        check(
            &two,
            "! 99 ! 31 ! 30 ! * ! * !",
            "0+0 0+0 1+30 2+60 fast@0.1#1 1+10 slow@0.15#1 0+0",
        );
        // A failed firing reports itself.
        check(EVERY, "100 * no30 60 !", "beat@0.1#1 0(1)+0");
        // A change of the clock need not take effect at once.
        check(NOON, "set+43260s ! 60s ! 5s ! * !", "0+0 1+0 1+5000 noon@43200#1 0+0");
    }

    #[test]
    fn what_is_failing_is_said_with_the_newest_error_of_what_still_fails() {
        let two = [("slow", "150ms"), ("fast", "100ms")];
        check(
            &two,
            "150 * bad % * bad % 50 * good % 100 * good % * good %",
            "fast@0.1#1 1:fast-1 slow@0.15#1 2:slow-1 fast@0.2#1 1:slow-1 fast@0.3#1 1:slow-1 slow@0.3#1 0:-",
        );
        check(
            EVERY,
            "100 * bad no10 10 * bad % same % other %",
            "beat@0.1#1 beat@0.1#2 1:beat-2 1:beat-2 0:-",
        );
    }

    #[test]
    fn a_clock_that_is_set_moves_the_moments_of_lines_only() {
        check(NOON, "set+43200s 60s * 60s *", "noon@43200#1 -");
        let twice = "43200s * set-3600s ? 60s * 3540s *";
        check(NOON, twice, "noon@43200#1 60000 - noon@43200#1");
        check(EVERY, "set+43200s ? set-86400s ?", "100 100");
    }

    #[test]
    fn a_schedule_that_stays_goes_on_over_a_reload() {
        check(EVERY, "50 same ? 50 *", "50 beat@0.1#1");
        check(EVERY, "50 other ? 60 * 40 *", "100 - other@0.15#1");
        check(EVERY, "100 * no30 same 30 *", "beat@0.1#1 beat@0.1#2");
    }
}
