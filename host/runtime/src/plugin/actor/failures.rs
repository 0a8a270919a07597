//! Failed calls: the next attempt or the end of the event, and the breaker of the plugin.

use super::recorded::DeliveryResult;
use super::{Actor, Running, Subscription};
use crate::call_error::{CallError, Retry};
use crate::counted::counted;
use crate::counters::add_one;
use crate::delivery::breaker::{BreakerChange, Ended, Outcome};
use crate::delivery::mailbox::{Attempts, Queued, Settled};
use crate::delivery::mailboxes::{Completed, Mailboxes};
use crate::delivery::retry_waits::{RETRY_BASE, RETRY_MAX};
use crate::event::{Event, ShownObject};
use crate::history::DeliveryEnd;
use crate::kept::dead_letters::DeadLetter;
use crate::log_budget::HostLine;
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tracing::{error, info};

/// The first wait of an event, a key or a firing that ended its instance; [`RETRY_BASE`] otherwise. Few attempts are
/// left for it, and the cause may pass.
const CRASH_RETRY_BASE: Duration = Duration::from_secs(1);

/// The longest wait after an ended instance while the cluster, a grant or the lead was missing. The first wait is
/// [`RETRY_MAX`]. None of these ends counts, and the plugin may have ignored the missing part. With this wait one
/// object ends instances, with their memory, no more often.
const HINDERED_CRASH_RETRY_MAX: Duration = Duration::from_secs(600);

/// Other shards may cause so many conflicts for an event, as a multiple of its attempts. Each attempt repeats the
/// effects of its calls.
const CONFLICTS_FOR_ONE: u32 = 10;

/// A failed call for an event, a key or a firing.
#[derive(Clone, Copy)]
pub(super) struct FailedCall<'a> {
    pub(super) error: &'a CallError,
    /// The cluster, a grant or the lead was missing. Then no attempt counts, however many there are: the cause will
    /// end for all events at once, and the event still has to be handled.
    pub(super) is_hindered: bool,
}

impl FailedCall<'_> {
    /// Whether the call ended its instance, and counts.
    pub(super) fn is_crash(self) -> bool {
        self.error.ends_instance() && !self.is_hindered
    }

    /// The wait before the next attempt. `backoff` is the rate limiter's wait. `tried` has the calls that ended their
    /// instances and count.
    fn retry_wait(self, backoff: Duration, tried: Attempts) -> Duration {
        match self.error {
            error if error.waits_for_others() => RETRY_MAX,
            // The rate limiter's wait is a lower bound here: there is no bound of attempts.
            CallError::Guest { retry: Retry::After(asked), .. } if self.is_hindered => {
                backoff.max(*asked)
            }
            CallError::Guest { retry: Retry::After(asked), .. } => *asked,
            _ => backoff.max(self.crash_wait(tried.number, tried.crashes)),
        }
    }

    /// The least wait before the next attempt if the call ended its instance; zero otherwise.
    pub(super) fn crash_wait(self, attempt: u32, crashes: u32) -> Duration {
        match self.error.ends_instance() {
            true if self.is_hindered => {
                exponential(RETRY_MAX, attempt - 1, HINDERED_CRASH_RETRY_MAX)
            }
            true => exponential(CRASH_RETRY_BASE, crashes, RETRY_MAX),
            false => Duration::ZERO,
        }
    }

    /// Whether the attempt does not count: a part was missing, or there was no room.
    fn is_excused(self) -> bool {
        self.is_hindered || self.error.waits_for_others()
    }
}

/// The reason for which an event does not come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GiveUpReason {
    /// The guest asked for it, or all attempts failed.
    Failed,
    /// The event ended too many instances.
    Parked,
}

impl Actor {
    /// Settles an event whose call failed, and replaces the instance if it ended.
    pub(super) fn failed(&mut self, queued: &Queued, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        let text = error.to_string();
        self.core.failed(&text, Timestamp::now());
        let settled = match self.given_up(queued.tried, call) {
            Some(why) => {
                self.bury(queued, error, why);
                Settled::GivenUp
            }
            None => self.again(queued, call, now),
        };
        self.keep_retry(queued, settled);
        let end = match (settled, error) {
            (Settled::GivenUp, _) => DeliveryEnd::GivenUp,
            (_, CallError::Withdrawn { .. }) => DeliveryEnd::Withdrawn,
            _ => DeliveryEnd::Failed,
        };
        let outcome = self.outcome(call, queued.tried.is_first());
        let delivery = self.ended(queued, DeliveryResult { end, error: &text }, now);
        self.settle(Completed::Delivered(settled, &delivery), outcome, now);
    }

    /// Replaces the instance if the failure ended it. Returns the outcome for the breaker. `None` for a call that only
    /// lacked room or a grant, or that met a conflict with another shard: such a call says nothing about the plugin.
    pub(super) fn outcome(&mut self, call: FailedCall<'_>, first: bool) -> Option<(Outcome, bool)> {
        let error = call.error;
        let outcome = match error {
            error if error.waits_for_others() || error.is_conflict() => return None,
            error if error.ends_instance() => {
                self.lose_running(error);
                Outcome::Lost
            }
            _ if call.is_hindered => Outcome::Hindered,
            _ => Outcome::Failed,
        };
        Some((outcome, first))
    }

    /// Settles a work. `call` is for the breaker: the call's outcome, and whether it was the first attempt. The log
    /// and the facts show the breaker's change.
    pub(super) fn settle(&self, done: Completed<'_>, call: Option<(Outcome, bool)>, now: Instant) {
        self.settle_and(done, call, now, |_| ());
    }

    /// The same, and calls `then` under the same lock of the queue.
    pub(super) fn settle_and<T>(
        &self,
        done: Completed<'_>,
        call: Option<(Outcome, bool)>,
        now: Instant,
        then: impl FnOnce(&mut Mailboxes) -> T,
    ) -> T {
        let began = self.last_call.began;
        let call = call.map(|(outcome, first)| Ended { outcome, first, began });
        let (change, answer) = self.core.queue.change(|it| {
            let counters = &self.core.counters;
            match done {
                Completed::Delivered(Settled::Finished, delivery) => {
                    // A retry's wait does not count as the host's latency.
                    let latency = (delivery.attempt == 1).then(|| delivery.waited + delivery.took);
                    counters.handled(delivery.took, latency);
                }
                Completed::Delivered(settled, delivery) if settled.was_called() => {
                    counters.called(delivery.took);
                }
                _ => {}
            }
            (it.settle(self.shard, done, call, now), then(it))
        });
        if let Some(change) = change {
            self.show_breaker(change);
        }
        answer
    }

    /// Reports that the breaker opened or closed.
    fn show_breaker(&self, change: BreakerChange) {
        self.core.shows_breaker(Timestamp::now());
        let plugin = self.name.as_str();
        match change {
            BreakerChange::Opened { reason, wait, .. } => {
                add_one(&self.core.counters.trips);
                let seconds = wait.as_secs();
                error!(
                    plugin,
                    "tripped: {reason}; failed events and keys wait for {seconds} s, the others are tried with growing pauses"
                );
                // Waiting events will be delivered later, which the facts show from here on.
                self.core.queue.notify_progress();
            }
            BreakerChange::Closed => {
                info!(plugin, "recovered: a call succeeded, so events and keys no longer wait")
            }
        }
    }

    pub(super) fn given_up(&self, tried: Attempts, call: FailedCall<'_>) -> Option<GiveUpReason> {
        let parked = tried.crashes + 1 >= self.limits.crashes_per_event_max;
        let attempt = tried.counted();
        match call.error {
            error if error.is_lasting(call.is_hindered) => Some(GiveUpReason::Failed),
            _ if call.is_excused() => None,
            error if error.is_conflict() => {
                let attempts_max = self.limits.attempts_max.saturating_mul(CONFLICTS_FOR_ONE);
                (attempt >= attempts_max).then_some(GiveUpReason::Failed)
            }
            _ if attempt >= self.limits.attempts_max => Some(GiveUpReason::Failed),
            _ if call.is_crash() && parked => Some(GiveUpReason::Parked),
            _ => None,
        }
    }

    /// When a failed event comes again. `overall` takes a turn among the retries of all events together, and returns
    /// its wait. An event without a grant takes none: there was no attempt.
    pub(super) fn comes_again(
        tried: Attempts,
        call: FailedCall<'_>,
        overall: impl FnOnce() -> Duration,
        now: Instant,
    ) -> Settled {
        if matches!(call.error, CallError::Withdrawn { .. }) {
            return Settled::NotCalled(now + RETRY_MAX);
        }
        let backoff = exponential(RETRY_BASE, tried.number - 1, RETRY_MAX).max(overall());
        let wait = call.retry_wait(backoff, tried);
        let at = now.checked_add(wait).unwrap_or(now + RETRY_MAX);
        match call {
            call if call.is_excused() => Settled::ExcusedRetryAt(at),
            call if call.is_crash() => Settled::CrashedRetryAt(at),
            _ => Settled::RetryAt(at),
        }
    }

    /// When the event comes again.
    fn again(&self, queued: &Queued, call: FailedCall<'_>, now: Instant) -> Settled {
        let (error, queue) = (call.error, &self.core.queue);
        let overall = || queue.look(|it| it.retry_wait(now));
        let settled = Self::comes_again(queued.tried, call, overall, now);
        if matches!(settled, Settled::NotCalled(_)) {
            // `/plugins` shows the missing grant.
            return settled;
        }
        add_one(&self.core.counters.retry);
        self.core.event_comes_again(&error.to_string());
        let is_tripped = queue.look(|it| it.tripped().is_some());
        // Once for each event: later attempts fail in the same way, and are counted. The log has already reported an
        // open breaker.
        if queued.tried.is_first() && !is_tripped {
            let object = ShownObject::from(&queued.event.object);
            let text = format!("attempt 1 failed, the event comes again: {error}");
            self.tell(HostLine::warn(&text).of_object(&object));
        }
        settled
    }

    /// Makes a dead letter of the event.
    fn bury(&self, queued: &Queued, error: &CallError, why: GiveUpReason) {
        let number = queued.tried.number;
        let attempts = counted(number as usize, "attempt");
        let object = ShownObject::from(&queued.event.object);
        let counters = &self.core.counters;
        add_one(&counters.dead);
        // An error may be long: it comes last.
        let list = format!("informant dlq list {}", self.name.as_str());
        let text = format!(
            "gave up on the event after {attempts}, it is a dead letter now; see `{list}`: {error}"
        );
        self.tell(HostLine::error(&text).of_object(&object));
        let Some(subscription) = self.subscription(queued) else { return };
        let mut letters = self.core.dead_letters.lock();
        letters.told(&queued.event.letters);
        let pushed = letters.push(DeadLetter {
            id: 0,
            subscription: subscription.spec.name.clone(),
            resource: subscription.resource.to_string(),
            event: Event::clone(&queued.event),
            attempts: number,
            parked: why == GiveUpReason::Parked,
            error: error.to_string(),
            at: Timestamp::now(),
        });
        self.core.archive.gave_up(&queued.event, &pushed);
        counters.dead_letters_dropped.fetch_add(pushed.dropped.len() as u64, Relaxed);
    }

    /// Keeps the retry on disk, in case the host ends before the next attempt.
    fn keep_retry(&self, queued: &Queued, settled: Settled) {
        let Some(again) = settled.again() else { return };
        let Some(subscription) = self.subscription(queued) else { return };
        let of = (subscription.spec.name.as_str(), &subscription.resource);
        if self.core.archive.waits(of, queued, again) {
            // The retry is kept in place of the letters.
            self.core.told(&queued.event.letters);
        }
    }

    fn subscription(&self, queued: &Queued) -> Option<&Subscription> {
        let Running::Alive { version, .. } = &self.running else { return None };
        version.subscriptions.get(&queued.event.subscription).map(Box::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::limits::Limits;

    #[test]
    fn by_default_the_attempts_of_an_event_span_minutes() {
        let retries = 1..Limits::default().attempts_max;
        let waits = retries.map(|attempt| exponential(RETRY_BASE, attempt - 1, RETRY_MAX));
        assert_eq!(waits.sum::<Duration>(), Duration::from_millis(220_955));
    }

    const TWICE: Attempts = Attempts { number: 2, excused: 0, crashes: 2 };

    /// Checks the milliseconds until the next attempt when the rate limiter says 40 ms. This is the second attempt,
    /// and two calls have ended their instances. `plain`: nothing was missing. `hindered`: a part was missing.
    #[track_caller]
    fn check(error: &CallError, plain: u64, hindered: u64) {
        let wait = |is_hindered| {
            let call = FailedCall { error, is_hindered };
            call.retry_wait(Duration::from_millis(40), TWICE).as_millis() as u64
        };
        assert_eq!([wait(false), wait(true)], [plain, hindered], "{error:?}");
    }

    #[test]
    fn an_attempt_waits_as_its_failure_says_and_longer_where_something_was_missing() {
        let guest = |retry| CallError::guest("no", retry);
        let after = |ms| guest(Retry::After(Duration::from_millis(ms)));
        check(&guest(Retry::Backoff), 40, 40);
        check(&after(10), 10, 40);
        check(&after(50), 50, 50);
        check(&CallError::Trap("unreachable".into()), 4_000, 60_000);
        let full = CallError::KeyRefused { reason: "it is full".into(), later: true };
        check(&full, 30_000, 30_000);
    }

    #[test]
    fn an_attempt_counts_unless_something_was_missing_or_there_was_no_room() {
        let now = Instant::now();
        let again = |error: &CallError, is_hindered| {
            let call = FailedCall { error, is_hindered };
            Actor::comes_again(TWICE, call, Duration::default, now)
        };
        let full = CallError::KeyRefused { reason: "it is full".into(), later: true };
        let refused = CallError::guest("no", Retry::Backoff);
        assert!(matches!(again(&full, false), Settled::ExcusedRetryAt(_)));
        assert!(matches!(again(&refused, true), Settled::ExcusedRetryAt(_)));
        assert!(matches!(again(&refused, false), Settled::RetryAt(_)));
        assert!(matches!(again(&CallError::Trap("no".into()), false), Settled::CrashedRetryAt(_)));
    }

    #[test]
    fn an_event_whose_grant_was_withdrawn_takes_no_turn_of_the_retries() {
        let (now, turns) = (Instant::now(), std::cell::Cell::new(0));
        let turn = || {
            turns.set(turns.get() + 1);
            Duration::from_secs(1)
        };
        let again = |error: &CallError| {
            let call = FailedCall { error, is_hindered: false };
            (Actor::comes_again(TWICE, call, turn, now), turns.get())
        };
        let withdrawn = CallError::Withdrawn { reason: "no grant".into() };
        assert_eq!(again(&withdrawn), (Settled::NotCalled(now + RETRY_MAX), 0));
        let refused = CallError::guest("no", Retry::Backoff);
        assert_eq!(again(&refused), (Settled::RetryAt(now + Duration::from_secs(1)), 1));
    }

    /// Each end loses the memory of the instance.
    #[test]
    fn what_ends_its_instance_while_something_is_missing_comes_within_ten_minutes_of_its_end() {
        let error = CallError::Trap("unreachable".into());
        let call = FailedCall { error: &error, is_hindered: true };
        let waits = (1..8).map(|attempt| call.crash_wait(attempt, 0).as_secs());
        assert_eq!(waits.collect::<Vec<_>>(), [30, 60, 120, 240, 480, 600, 600]);
    }
}
