//! How the guest is called by the clock.

use super::failures::FailedCall;
use super::{Actor, Running};
use crate::counters::add_one;
use crate::delivery::breaker::Outcome;
use crate::delivery::retry_waits::{RETRY_BASE, RETRY_MAX};
use crate::delivery::timers::Firing;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::time::Instant;
use tracing::{error, warn};

impl Actor {
    /// The schedule of which the guest is to be told now. After each something else has its turn, so that they starve nobody.
    pub(super) fn next_firing(&mut self, now: Instant) -> Option<Firing> {
        let was_firing = std::mem::take(&mut self.last_call.was_firing);
        let Running::Alive { version, .. } = &self.running else { return None };
        // One shard's guest hears of them.
        if version.schedules.is_empty() || was_firing || self.shard != 0 {
            return None;
        }
        let mut timers = self.core.timers.lock();
        if timers.look_at().is_none_or(|at| at > now) {
            return None;
        }
        timers.take(self.surroundings.read())
    }

    /// Answers when the call ended, if something else may follow at once.
    pub(super) async fn fire(&mut self, firing: Firing) -> Option<Instant> {
        let Running::Alive { instance, .. } = &mut self.running else { return None };
        self.last_call.was_firing = true;
        let unix_ms = u64::try_from(firing.due.as_millisecond()).unwrap_or_default();
        let called = self.surroundings.now();
        self.last_call.began = called;
        let result = instance.fire(&firing.schedule, unix_ms, called).await;
        let archive = &self.core.archive;
        let result = result.and_then(|()| instance.state().commit_state(|it| archive.wrote(it)));
        let now = self.surroundings.now();
        let counters = &self.core.counters;
        counters.fire_seconds.observe(now - called);
        self.pace.took(now - called, now);
        let is_hindered = instance.state().notes.is_hindered;
        let owes = Self::look_after(&self.name, counters, instance, now);
        match result {
            Ok(()) => {
                add_one(&counters.firings_ok);
                self.core.timers.lock().ended(&firing.schedule, false);
                self.note(Outcome::Succeeded, firing.attempt == 1, now);
                self.retire().await;
                (!owes).then_some(now)
            }
            Err(error) => {
                instance.state().forget_state();
                self.firing_failed(firing, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    /// Has it come again, or gives it up: the schedule's next moment comes all the same.
    fn firing_failed(&mut self, mut firing: Firing, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        let schedule = one_line(&firing.schedule, ERROR_BYTES_MAX).into_owned();
        let told = format!("fire {schedule}: {error}");
        self.core.failed(&told, Timestamp::now());
        // Its next moment comes in any case.
        self.core.comes_again(&told);
        self.core.timers.lock().ended(&firing.schedule, true);
        let (plugin, attempt) = (self.name.as_str(), firing.attempt);
        let counters = &self.core.counters;
        let tried = (attempt - firing.excused, firing.crashes);
        if self.given_up(tried, call).is_some() {
            add_one(&counters.firings_dead);
            error!(plugin, schedule, "gave up on the firing after {attempt} attempts: {error}");
        } else {
            add_one(&counters.firings_retry);
            if attempt == 1 {
                warn!(plugin, schedule, "attempt 1 failed, the firing comes again: {error}");
            }
            let backoff = exponential(RETRY_BASE, attempt - 1, RETRY_MAX);
            let wait = call.retry_wait(backoff, (attempt, firing.crashes));
            let at = now.checked_add(wait).unwrap_or(now + RETRY_MAX);
            firing.excused += u32::from(call.is_hindered);
            self.core.timers.lock().again(firing, call.is_crash(), at, self.surroundings.read());
        }
        self.call_failed(call, attempt == 1, now);
    }
}
