//! The calls for keys, and the keys of events.

use super::failures::{FailedCall, GiveUpReason};
use super::{Actor, Running, Subscription};
use crate::call_error::{CallError, Retry};
use crate::counted::counted;
use crate::counters::{Counters, add_one};
use crate::delivery::breaker::Outcome;
use crate::delivery::key_queue::{HashedKey, KeyWork, Worked};
use crate::delivery::mailboxes::Completed;
use crate::event::{Event, Reason, ShownObject};
use crate::guest::tape::Tape;
use crate::log_budget::HostLine;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::plugin::core::PluginCore;
use crate::trace::{TracedEvent, Tracer};
use informant_cache::workqueue::Lane;
use jiff::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tracing::warn;

/// Whether the event's keys are reconciled in place of the event. The keys wait from here on. Keys of objects that
/// existed before go behind keys of new changes.
pub(super) fn becomes_keys(
    core: &PluginCore,
    subscription: &Subscription,
    event: &Event,
    (tape, tracer): (Option<&dyn Tape>, Option<&Tracer>),
    now: Instant,
) -> bool {
    let rules = &subscription.spec.enqueue;
    if rules.is_empty() {
        return false;
    }
    let lane = match event.reason {
        Reason::Watch | Reason::Redrive => Lane::Live,
        Reason::Initial | Reason::Relist | Reason::Resync | Reason::Reload => Lane::Background,
    };
    let found = event.enqueued(rules);
    if let Some(tape) = tape {
        tape.became_keys(&subscription.spec.name, event, &mut found.iter());
    }
    let keys: Vec<_> = found.iter().map(HashedKey::new).collect();
    let tracer = tracer.filter(|_| !keys.is_empty());
    let traced = || TracedEvent::new(subscription.resource.clone(), event);
    let change = tracer.and_then(|tracer| tracer.becomes_keys(&traced(), event.received, now));
    let too_long = core.queue.change(|it| {
        let added = keys.into_iter().map(|key| it.add_key_of_event(key?, (lane, change), now));
        added.filter(Result::is_err).count()
    });
    core.counters.keys_dropped.fetch_add(too_long as u64, Relaxed);
    if let Some((dropped, problem)) = found.problem() {
        key_missing(core, event, dropped, &problem);
    }
    add_one(&core.counters.enqueued);
    true
}

/// Notes that some of an event's rules gave no key. The log has it once for each version, because a writer of objects
/// decides how often it happens.
fn key_missing(core: &PluginCore, event: &Event, dropped: u64, problem: &str) {
    let object = ShownObject::from(&event.object);
    let ShownObject { namespace, name, .. } = &object;
    core.failed(&format!("enqueue {namespace}/{name}: {problem}"), Timestamp::now());
    core.counters.keys_dropped.fetch_add(dropped, Relaxed);
    if core.misses_keys() {
        let plugin = core.name.as_str();
        let (namespace, name) = (&**namespace, &**name);
        warn!(plugin, namespace, name, "{problem}; further ones are only counted");
    }
}

impl Actor {
    /// Calls the guest with a key and settles the key. Returns the time if other work may follow at once.
    pub(super) async fn reconcile(&mut self, work: &KeyWork) -> Option<Instant> {
        let Running::Alive { instance, .. } = &mut self.running else { return None };
        let called = self.surroundings.now();
        self.last_call.began = called;
        let result =
            instance.reconcile((work.key.text(), work.attempt), &work.changes, called).await;
        let archive = &self.core.archive;
        let result = instance.state().finish(result, |changes| archive.wrote(changes));
        let now = self.surroundings.now();
        let counters: &Counters = &self.core.counters;
        counters.reconcile_seconds.observe(now - called);
        self.pace.took(now - called, now);
        let is_hindered = instance.state().notes.is_hindered;
        let owes = Self::look_after(&self.name, counters, instance, now);
        match result {
            Ok(again) => {
                add_one(&counters.keys_ok);
                let again = again.map(Duration::from_millis);
                let call = (Outcome::Succeeded, work.attempt == 1);
                self.settle(Completed::Reconciled(Worked::Done { again }), Some(call), now);
                self.retire().await;
                (!owes).then_some(now)
            }
            Err(error) => {
                self.key_failed(work, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    /// Settles a key whose call failed, and replaces the instance if it ended.
    fn key_failed(&mut self, work: &KeyWork, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        let key = one_line(&work.key, ERROR_BYTES_MAX);
        let told = format!("reconcile {key}: {error}");
        self.core.failed(&told, Timestamp::now());
        let attempt = work.attempt;
        let counters = &self.core.counters;
        let text = error.to_string();
        let worked = match self.key_given_up(work.crashes, call) {
            Some(why) => {
                add_one(&counters.keys_dead);
                let parked = match why {
                    GiveUpReason::Parked => ", which ended too many instances",
                    GiveUpReason::Failed => "",
                };
                let attempts = counted(attempt as usize, "attempt");
                let told = format!("gave up on the key after {attempts}{parked}: {error}");
                self.tell(HostLine::error(&told).of_key(&key));
                Worked::GivenUp { error: &text, at: Timestamp::now() }
            }
            None => {
                add_one(&counters.keys_retry);
                self.core.key_comes_again(&work.key, &text);
                // Once for each key: later attempts fail in the same way, and are counted. The log has already
                // reported an open breaker.
                if attempt == 1 && self.core.queue.look(|it| it.tripped().is_none()) {
                    let told = format!("attempt 1 failed, the key comes again: {error}");
                    self.tell(HostLine::warn(&told).of_key(&key));
                }
                let after = match error {
                    CallError::Guest { retry: Retry::After(wait), .. } => Some(*wait),
                    _ if error.ends_instance() => Some(call.crash_wait(attempt, work.crashes)),
                    _ => None,
                };
                match error.waits_for_others() {
                    true => Worked::NoRoom,
                    false => Worked::Failed { after, crashed: call.is_crash() },
                }
            }
        };
        let outcome = self.outcome(call, attempt == 1);
        self.settle(Completed::Reconciled(worked), outcome, now);
    }

    /// The reason for which a key does not come again. A key that only fails always comes again: its object may be
    /// gone, and no event would bring the key back.
    fn key_given_up(&self, crashes: u32, call: FailedCall<'_>) -> Option<GiveUpReason> {
        let parked = crashes + 1 >= self.limits.crashes_per_event_max;
        match call.error {
            error if error.is_lasting(call.is_hindered) => Some(GiveUpReason::Failed),
            _ if call.is_crash() && parked => Some(GiveUpReason::Parked),
            _ => None,
        }
    }
}
