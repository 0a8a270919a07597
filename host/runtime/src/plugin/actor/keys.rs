//! How keys are worked on, and how events become keys.

use super::failures::{FailedCall, GiveUpReason};
use super::{Actor, Running, Subscription};
use crate::call_error::{CallError, Retry};
use crate::counters::{Counters, add_one};
use crate::delivery::breaker::Outcome;
use crate::delivery::key_queue::{Work, Worked};
use crate::delivery::sync_calls::SyncCalls;
use crate::event::{Event, Reason};
use crate::guest::instance::Instance;
use crate::guest::reads::Reads;
use crate::guest::tape::Tape;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::plugin::core::PluginCore;
use crate::sleep_until::until;
use informant_cache::workqueue::Lane;
use jiff::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tracing::{error, warn};

/// While both wait, a key has its turn after each event that the guest was told of, and after so many that it was not: they cost it nothing,
/// and what became keys of one name is one key.
pub(super) const EVENTS_BETWEEN_KEYS: u32 = 256;

/// What the guest is called for next.
pub(super) enum NextCall {
    Event,
    Key(Work),
    /// The workqueue is full, its keys wait for their time, and events for them.
    Nothing,
}

/// Whether a guest works on keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Works {
    /// It has no function for that.
    Never,
    /// Not before everything is there that it may read.
    Later,
    Now,
}

impl Works {
    fn of(instance: &Instance, reads: &Reads) -> Self {
        // Invariant 21.
        match instance.works_on_keys() {
            false => Self::Never,
            true if reads.are_synced() => Self::Now,
            true => Self::Later,
        }
    }
}

/// As [`wait`], for this instance.
pub(super) async fn wait_for(
    instance: &Instance,
    reads: &Reads,
    (core, shard): (&PluginCore, usize),
    syncs: Option<&SyncCalls>,
) {
    let works = Works::of(instance, reads);
    core.awaits_reads.store(works == Works::Later, Relaxed);
    let wait = wait(core, shard, works, syncs);
    match works {
        Works::Never | Works::Now => wait.await,
        Works::Later => tokio::select! {
            () = reads.synced(&core.name) => {}
            () = wait => {}
        },
    }
}

/// Whether the event's keys are worked on in its place. They wait from here on; those of what was there before behind what just happened.
pub(super) fn becomes_keys(
    core: &PluginCore,
    subscription: &Subscription,
    event: &Event,
    tape: Option<&dyn Tape>,
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
    let mut keys = core.keys.lock();
    let too_long = found.iter().filter(|key| keys.add_of_event(key, lane, now).is_err()).count();
    drop(keys);
    core.counters.keys_dropped.fetch_add(too_long as u64, Relaxed);
    if let Some((dropped, problem)) = found.problem() {
        key_missing(core, event, dropped, &problem);
    }
    add_one(&core.counters.enqueued);
    true
}

/// Not all that an event's rules point at became keys. Said in the log once a version, for whoever writes objects decides how often it happens.
fn key_missing(core: &PluginCore, event: &Event, dropped: u64, problem: &str) {
    let (namespace, name) = (event.object.key().namespace(), event.object.key().name());
    core.failed(&format!("enqueue {namespace}/{name}: {problem}"), Timestamp::now());
    core.counters.keys_dropped.fetch_add(dropped, Relaxed);
    if core.misses_keys() {
        let plugin = core.name.as_str();
        warn!(plugin, namespace, name, "{problem}; further ones are only counted");
    }
}

/// Waits until there is an event of a shard, a key, a schedule's moment, or one of these calls is to be made.
async fn wait(core: &PluginCore, shard: usize, works: Works, syncs: Option<&SyncCalls>) {
    let firing = if shard == 0 { core.timers.lock().look_at() } else { None };
    if works == Works::Never && firing.is_none() {
        return core.queue.wait(shard, syncs).await;
    }
    let now = Instant::now();
    let (key, holds_events, news) = match works {
        Works::Later | Works::Now => {
            let mut keys = core.keys.lock();
            // Of several shards others add keys for this one, and make room.
            let news = (keys.shards() > 1).then(|| keys.news(shard));
            let key = (works == Works::Now).then(|| keys.next_due(shard, now)).flatten();
            (key, keys.holds_events(now), news)
        }
        Works::Never => (None, false, None),
    };
    let due = key.into_iter().chain(firing).min();
    match due {
        Some(due) if due <= now => {}
        due if holds_events => tokio::select! {
            () = until(due) => {},
            () = heard(news.as_deref()) => {},
            () = core.queue.wait_for_calls(shard, syncs) => {}
        },
        due => tokio::select! {
            () = until(due) => {},
            () = heard(news.as_deref()) => {},
            () = core.queue.wait(shard, syncs) => {}
        },
    }
}

/// Never where nobody tells anything.
async fn heard(news: Option<&Notify>) {
    match news {
        Some(news) => news.notified().await,
        None => std::future::pending().await,
    }
}

impl Actor {
    /// Whether the next call is for a key or for an event.
    pub(super) fn turn(&mut self, now: Instant) -> NextCall {
        let Running::Alive { version, instance, .. } = &self.running else {
            return NextCall::Event;
        };
        let works = Works::of(instance, &version.reads);
        if works == Works::Never {
            return NextCall::Event;
        }
        let mut keys = self.core.keys.lock();
        let holds_events = keys.holds_events(now);
        let is_events = self.last_call.events_since_key < EVENTS_BETWEEN_KEYS && !keys.is_full();
        if works == Works::Now
            && !(is_events && self.core.queue.look(|it| it.has_due(self.shard, now)))
            && let Some(work) = keys.take(self.shard, now)
        {
            self.last_call.events_since_key = 0;
            return NextCall::Key(work);
        }
        if holds_events {
            return NextCall::Nothing;
        }
        self.last_call.events_since_key = self.last_call.events_since_key.saturating_add(1);
        NextCall::Event
    }

    /// Has the guest work on a key and settles it; answers when, if something else may follow at once.
    pub(super) async fn reconcile(&mut self, work: &Work) -> Option<Instant> {
        let Running::Alive { instance, .. } = &mut self.running else { return None };
        let called = self.surroundings.now();
        self.last_call.began = called;
        let result = instance.reconcile(&work.key, work.attempt, called).await;
        let archive = &self.core.archive;
        let result = result.and_then(|again| {
            instance.state().commit_state(|changes| archive.wrote(changes)).map(|()| again)
        });
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
                self.core.settle_key(self.shard, Worked::Done { again }, now);
                self.note(Outcome::Succeeded, work.attempt == 1, now);
                self.retire().await;
                (!owes).then_some(now)
            }
            Err(error) => {
                instance.state().forget_state();
                self.key_failed(work, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    /// Settles a key whose call failed, and replaces the instance if that ended.
    fn key_failed(&mut self, work: &Work, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        let key = one_line(&work.key, ERROR_BYTES_MAX);
        let told = format!("reconcile {key}: {error}");
        self.core.failed(&told, Timestamp::now());
        let (plugin, attempt) = (self.name.as_str(), work.attempt);
        let counters = &self.core.counters;
        let worked = match self.key_given_up(work.crashes, call) {
            Some(why) => {
                add_one(&counters.keys_dead);
                let parked = match why {
                    GiveUpReason::Parked => ", which ended too many instances",
                    GiveUpReason::Failed => "",
                };
                error!(
                    plugin,
                    key = &*key,
                    "gave up on the key after {attempt} attempts{parked}: {error}"
                );
                let at = Timestamp::now();
                self.core.keys.lock().note_given_up(work, &error.to_string(), at);
                Worked::GivenUp
            }
            None => {
                add_one(&counters.keys_retry);
                self.core.comes_again(&told);
                // Once for each key: the attempts that follow fail alike, and are counted. Of a tripped plugin the log has said enough.
                if attempt == 1 && self.together.next_call().is_none() {
                    warn!(plugin, key = &*key, "attempt 1 failed, the key comes again: {error}");
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
        self.core.settle_key(self.shard, worked, now);
        self.call_failed(call, attempt == 1, now);
    }

    /// Why a key does not come again. One that only fails does, however often: its object may be gone, and no event would bring it back.
    fn key_given_up(&self, crashes: u32, call: FailedCall<'_>) -> Option<GiveUpReason> {
        let parked = crashes + 1 >= self.limits.crashes_per_event_max;
        match call.error {
            error if error.is_lasting(call.is_hindered) => Some(GiveUpReason::Failed),
            _ if call.is_crash() && parked => Some(GiveUpReason::Parked),
            _ => None,
        }
    }
}
