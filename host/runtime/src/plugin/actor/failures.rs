//! What becomes of an event whose call failed, and of a plugin whose calls fail.

use super::recorded::DeliveryResult;
use super::{Actor, Running, Subscription};
use crate::call_error::{CallError, Retry};
use crate::counted::counted;
use crate::counters::add_one;
use crate::delivery::breaker::{Ended, Outcome, Turn};
use crate::delivery::mailbox::{Attempts, Queued, Settled};
use crate::delivery::mailboxes::Completed;
use crate::delivery::retry_waits::{RETRY_BASE, RETRY_MAX};
use crate::history::DeliveryEnd;
use crate::kept::dead_letters::DeadLetter;
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tracing::{error, info, warn};

/// The first wait ([`RETRY_BASE`] otherwise) of an event, a key or a firing that ended its instance: few more attempts are left of it, and what it met may pass.
const CRASH_RETRY_BASE: Duration = Duration::from_secs(1);

/// The longest wait of what ended its instance where the cluster, a grant or the lead was missing; the first is [`RETRY_MAX`]. None of these ends counts, and
/// a plugin may have passed over what was missing: its instances, and what they remember, are lost no more often than that for one object.
const HINDERED_CRASH_RETRY_MAX: Duration = Duration::from_secs(600);

/// An event may be forestalled by other shards so many times as often as it may fail. What its calls do to others is done each time.
const CONFLICTS_FOR_ONE: u32 = 10;

/// A call that failed, of an event, a key or a firing.
#[derive(Clone, Copy)]
pub(super) struct FailedCall<'a> {
    pub(super) error: &'a CallError,
    /// The cluster, a grant or the lead was missing. Then the attempt does not count, however often there is another: it will be over for all at once, and
    /// what it was about is still to be done.
    pub(super) is_hindered: bool,
}

impl FailedCall<'_> {
    /// It ended its instance, and counts.
    pub(super) fn is_crash(self) -> bool {
        self.error.ends_instance() && !self.is_hindered
    }

    /// How long the attempt after this one waits where the rate limiter says `backoff`, after so many calls that ended their instances and count.
    fn retry_wait(self, backoff: Duration, tried: Attempts) -> Duration {
        match self.error {
            error if error.waits_for_others() => RETRY_MAX,
            // However soon the guest wants it again: there is no bound of attempts.
            CallError::Guest { retry: Retry::After(asked), .. } if self.is_hindered => {
                backoff.max(*asked)
            }
            CallError::Guest { retry: Retry::After(asked), .. } => *asked,
            _ => backoff.max(self.crash_wait(tried.number, tried.crashes)),
        }
    }

    /// How long at least the attempt after this one waits if the call ended its instance.
    pub(super) fn crash_wait(self, attempt: u32, crashes: u32) -> Duration {
        match self.error.ends_instance() {
            true if self.is_hindered => {
                exponential(RETRY_MAX, attempt - 1, HINDERED_CRASH_RETRY_MAX)
            }
            true => exponential(CRASH_RETRY_BASE, crashes, RETRY_MAX),
            false => Duration::ZERO,
        }
    }

    /// The attempt does not count: something was missing, or there was no room.
    fn is_excused(self) -> bool {
        self.is_hindered || self.error.waits_for_others()
    }
}

/// Why an event comes no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GiveUpReason {
    /// The guest said so, or it was tried often enough.
    Failed,
    /// It ended too many instances.
    Parked,
}

impl Actor {
    /// Settles an event whose call failed, and replaces the instance if that ended.
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
            (_, CallError::Withheld { .. }) => DeliveryEnd::Withheld,
            _ => DeliveryEnd::Failed,
        };
        let outcome = self.outcome(call, queued.tried.is_first());
        let delivery = self.ended(queued, DeliveryResult { end, error: &text }, now);
        self.settle(Completed::Delivered(settled, &delivery), outcome, now);
    }

    /// Replaces the instance if a failure ended it. Answers what the breaker is to hear of the call; one that lacks nothing but room or a grant, or that
    /// another one has forestalled, says nothing of the plugin.
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

    /// Settles some work, and tells others what the breaker makes of its call, if it is to hear of that: how it ended, and whether it was the first attempt.
    pub(super) fn settle(&self, done: Completed<'_>, call: Option<(Outcome, bool)>, now: Instant) {
        let began = self.last_call.began;
        let call = call.map(|(outcome, first)| Ended { outcome, first, began });
        let turn = self.core.queue.change(|it| it.settle(self.shard, done, call, now));
        let Some(turn) = turn else { return };
        self.core.shows_breaker(Timestamp::now());
        let plugin = self.name.as_str();
        match turn {
            Turn::Opened { reason, wait, .. } => {
                add_one(&self.core.counters.trips);
                let seconds = wait.as_secs();
                error!(
                    plugin,
                    "tripped: {reason}; failed events and keys wait for {seconds} s, the others are tried with growing pauses"
                );
                // What waits will not be told soon, as is shown from here on.
                self.core.queue.notify_progress();
            }
            Turn::Closed => {
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

    /// When what failed comes again; `overall` is how long the retries of all events together have it wait.
    pub(super) fn comes_again(
        tried: Attempts,
        call: FailedCall<'_>,
        overall: Duration,
        now: Instant,
    ) -> Settled {
        let backoff = exponential(RETRY_BASE, tried.number - 1, RETRY_MAX).max(overall);
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
        let error = call.error;
        if matches!(error, CallError::Withheld { .. }) {
            // `/plugins` says what is withheld and why. It is no retry, and takes none from those that failed.
            return Settled::NotCalled(now + RETRY_MAX);
        }
        add_one(&self.core.counters.retry);
        let queue = &self.core.queue;
        let (overall, is_tripped) = queue.look(|it| (it.retry_wait(now), it.tripped().is_some()));
        self.core.event_comes_again(&error.to_string());
        // Once for each event: the attempts that follow fail alike, and are counted. Of a tripped plugin the log has said enough.
        if queued.tried.is_first() && !is_tripped {
            let key = queued.event.object.key();
            let (namespace, name) = (key.namespace(), key.name());
            let resource_version = queued.event.object.resource_version();
            let plugin = self.name.as_str();
            warn!(
                plugin,
                namespace,
                name,
                resource_version,
                "attempt 1 failed, the event comes again: {error}"
            );
        }
        Self::comes_again(queued.tried, call, overall, now)
    }

    /// Makes a dead letter of the event.
    fn bury(&self, queued: &Queued, error: &CallError, why: GiveUpReason) {
        let (plugin, number) = (self.name.as_str(), queued.tried.number);
        let attempts = counted(number as usize, "attempt");
        let key = queued.event.object.key();
        let (namespace, name) = (key.namespace(), key.name());
        let resource_version = queued.event.object.resource_version();
        let counters = &self.core.counters;
        add_one(&counters.dead);
        error!(
            plugin,
            namespace,
            name,
            resource_version,
            "gave up on the event after {attempts}, it is a dead letter now: {error}"
        );
        let Some(subscription) = self.subscription(queued) else { return };
        let mut letters = self.core.dead_letters.lock();
        letters.told(&queued.event.letters);
        let pushed = letters.push(DeadLetter {
            id: 0,
            subscription: subscription.spec.name.clone(),
            resource: subscription.resource.to_string(),
            event: queued.event.clone(),
            attempts: number,
            parked: why == GiveUpReason::Parked,
            error: error.to_string(),
            at: Timestamp::now(),
        });
        self.core.archive.gave_up(&queued.event, &pushed);
        counters.dead_letters_dropped.fetch_add(pushed.dropped.len() as u64, Relaxed);
    }

    /// Says where the retry is kept for the case that the host ends before it comes.
    fn keep_retry(&self, queued: &Queued, settled: Settled) {
        let Some(again) = settled.again() else { return };
        let Some(subscription) = self.subscription(queued) else { return };
        let of = (subscription.spec.name.as_str(), &subscription.resource);
        if self.core.archive.waits(of, queued, again) {
            // The retry is kept in their place.
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

    /// The milliseconds until the next attempt where the rate limiter says 40 ms, this is the second attempt and two have ended their instances: where nothing
    /// was missing, and where something was.
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
            Actor::comes_again(TWICE, call, Duration::ZERO, now)
        };
        let full = CallError::KeyRefused { reason: "it is full".into(), later: true };
        let refused = CallError::guest("no", Retry::Backoff);
        assert!(matches!(again(&full, false), Settled::ExcusedRetryAt(_)));
        assert!(matches!(again(&refused, true), Settled::ExcusedRetryAt(_)));
        assert!(matches!(again(&refused, false), Settled::RetryAt(_)));
        assert!(matches!(again(&CallError::Trap("no".into()), false), Settled::CrashedRetryAt(_)));
    }

    /// It loses what its instances remember each time.
    #[test]
    fn what_ends_its_instance_while_something_is_missing_comes_within_ten_minutes_of_its_end() {
        let error = CallError::Trap("unreachable".into());
        let call = FailedCall { error: &error, is_hindered: true };
        let waits = (1..8).map(|attempt| call.crash_wait(attempt, 0).as_secs());
        assert_eq!(waits.collect::<Vec<_>>(), [30, 60, 120, 240, 480, 600, 600]);
    }
}
