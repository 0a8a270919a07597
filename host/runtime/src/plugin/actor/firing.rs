//! The calls of a plugin's schedules.

use super::failures::FailedCall;
use super::{Actor, Running};
use crate::counted::counted;
use crate::counters::add_one;
use crate::delivery::breaker::Outcome;
use crate::delivery::mailbox::Settled;
use crate::delivery::mailboxes::Completed;
use crate::delivery::timers::Firing;
use crate::log_budget::HostLine;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use jiff::Timestamp;
use std::time::{Duration, Instant};

impl Actor {
    /// Calls the guest for a firing, and settles it. Returns the end of the call if other work may follow at once.
    pub(super) async fn fire(&mut self, firing: &Firing) -> Option<Instant> {
        let Running::Alive { instance, .. } = &mut self.running else { return None };
        let unix_ms = u64::try_from(firing.due.as_millisecond()).unwrap_or_default();
        let called = self.surroundings.now();
        self.last_call.began = called;
        let result = instance.fire(&firing.schedule, unix_ms, (firing.tried.number, called)).await;
        let archive = &self.core.archive;
        let result = instance.state().finish(result, |changes| archive.wrote(changes));
        let now = self.surroundings.now();
        let counters = &self.core.counters;
        counters.fire_seconds.observe(now - called);
        self.pace.took(now - called, now);
        let is_hindered = instance.state().notes.is_hindered;
        let owes = Self::look_after(&self.name, counters, instance, now);
        match result {
            Ok(()) => {
                add_one(&counters.firings_ok);
                let call = (Outcome::Succeeded, firing.tried.is_first());
                let at = self.surroundings.read();
                let done = Completed::Fired(firing, Settled::Finished, None, at);
                self.settle(done, Some(call), now);
                self.retire().await;
                (!owes).then_some(now)
            }
            Err(error) => {
                self.firing_failed(firing, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    /// Schedules the firing's next attempt, or gives the firing up. The schedule's next time comes in any case.
    fn firing_failed(&mut self, firing: &Firing, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        let schedule = one_line(&firing.schedule, ERROR_BYTES_MAX);
        let told = format!("fire {schedule}: {error}");
        self.core.failed(&told, Timestamp::now());
        let counters = &self.core.counters;
        let settled = if self.given_up(firing.tried, call).is_some() {
            add_one(&counters.firings_dead);
            let attempts = counted(firing.tried.number as usize, "attempt");
            let text = format!("gave up on the firing after {attempts}: {error}");
            self.tell(HostLine::error(&text).of_schedule(&schedule));
            Settled::GivenUp
        } else {
            add_one(&counters.firings_retry);
            if firing.tried.is_first() {
                let text = format!("attempt 1 failed, the firing comes again: {error}");
                self.tell(HostLine::warn(&text).of_schedule(&schedule));
            }
            Self::comes_again(firing.tried, call, Duration::default, now)
        };
        let done = Completed::Fired(firing, settled, Some(&told), self.surroundings.read());
        let outcome = self.outcome(call, firing.tried.is_first());
        self.settle(done, outcome, now);
    }
}
