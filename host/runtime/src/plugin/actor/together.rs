//! The shared state of a plugin's shards: the breaker, events that were evaluated again, and the
//! log rate. A version takes over in all shards at once.

use super::Version;
use super::failures::Failures;
use crate::contract::limits::Limits;
use crate::delivery::breaker::{Ended, Turn};
use crate::delivery::mailbox::Queued;
use crate::delivery::reevaluation::{Reevaluation, Seen, Wish};
use crate::delivery::timers::Now;
use crate::event::{Event, SubscriptionId};
use crate::guest::log_budget::LogBudget;
use crate::plugin::core::PluginCore;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

pub(crate) struct Together {
    pub(super) log_budget: LogBudget,
    failures: Mutex<Failures>,
    /// The breaker is open.
    is_open: AtomicBool,
    turned: Notify,
    reevaluation: Mutex<Reevaluation>,
    /// Something of events that were seen again is remembered.
    remembers: AtomicBool,
}

impl Together {
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        Self {
            log_budget: LogBudget::new(limits, now),
            failures: Mutex::default(),
            is_open: AtomicBool::new(false),
            turned: Notify::new(),
            reevaluation: Mutex::default(),
            remembers: AtomicBool::new(false),
        }
    }

    /// When the next call may be made, if the breaker is open.
    pub(super) fn next_call(&self) -> Option<Instant> {
        // Most of the time it is closed. Who learns of it late makes a call that was about to be made.
        match self.is_open.load(Relaxed) {
            true => self.failures.lock().breaker.next_call(),
            false => None,
        }
    }

    /// Whether no call may be made now: the breaker is open, maybe since another shard's last call.
    pub(super) fn holds_back(&self, now: Instant) -> bool {
        self.next_call().is_some_and(|next| now < next)
    }

    /// Waits until the breaker has closed, from here on: what was not to be done while it was open is to be looked at again.
    pub(super) fn turned(&self) -> Notified<'_> {
        self.turned.notified()
    }

    /// Tells the breaker how a call ended. What it makes of it is shown before another shard can make something else of it.
    pub(super) fn note(&self, call: Ended, now: Instant, show: impl FnOnce(&Turn)) -> Option<Turn> {
        let mut failures = self.failures.lock();
        let turn = failures.breaker.note(call, now)?;
        let is_open = failures.breaker.next_call().is_some();
        self.is_open.store(is_open, Relaxed);
        show(&turn);
        if !is_open {
            self.turned.notify_waiters();
        }
        Some(turn)
    }

    /// How long one more retry waits for those of all events together.
    pub(super) fn retry_wait(&self, now: Instant) -> Duration {
        self.failures.lock().retry_wait(now)
    }

    /// Forgets what failed before: a new version is in charge, or somebody says that it should try again. That is shown as [`Self::note`] does.
    pub(super) fn forget_failures(&self, show: impl FnOnce()) {
        let mut failures = self.failures.lock();
        *failures = Failures::default();
        self.is_open.store(false, Relaxed);
        show();
        self.turned.notify_waiters();
    }

    /// What is to be told of an event; none if it can be told as it is.
    pub(super) fn see(&self, queued: &Queued, asked_by: u64, wish: &Wish) -> Option<Seen> {
        // What is remembered of an object was put there by this shard, or by another one before it took the object over.
        if queued.event.asked_by == asked_by && !self.remembers.load(Relaxed) {
            return None;
        }
        self.reevaluation.lock().see(queued, asked_by, wish)
    }

    /// Notes that an event which may have been seen again will not come once more.
    pub(super) fn settle(&self, event: &Event, asked_by: u64, seen: Option<&Seen>) {
        if seen.is_some() {
            self.change(|reevaluation| reevaluation.settle(event, asked_by, seen));
        }
    }

    /// Whether it is time to look what can be forgotten of events that were seen again.
    pub(super) fn is_look_due(&self) -> bool {
        self.remembers.load(Relaxed) && self.reevaluation.lock().is_look_due()
    }

    /// Forgets what is remembered of other subscriptions.
    pub(super) fn retain(&self, keep: impl Fn(SubscriptionId) -> bool) {
        self.change(|reevaluation| reevaluation.retain(keep));
    }

    fn change(&self, change: impl FnOnce(&mut Reevaluation)) {
        let mut reevaluation = self.reevaluation.lock();
        change(&mut reevaluation);
        self.remembers.store(!reevaluation.is_empty(), Relaxed);
    }

    /// The version takes over: every shard is ready for it, and none is at work.
    pub(crate) fn swap(&self, version: &Version, core: &PluginCore, at: Now) {
        let (now, limits) = (at.instant, &version.settings.limits);
        self.log_budget.set_rates(limits, now);
        core.swapped(version.shards, Timestamp::now());
        self.retain(|id| version.subscriptions.contains_key(&id));
        core.queue.reshard(version.shards, now);
        core.timers.lock().follow(&version.schedules, at);
        self.swap_keys(version, core, now);
        // What its predecessor did is not held against it.
        self.forget_failures(|| core.hold_retries(None, now));
    }

    /// If the version works on no keys, those that wait, which came of one before it, are dropped.
    fn swap_keys(&self, version: &Version, core: &PluginCore, now: Instant) {
        let mut keys = core.keys.lock();
        keys.set_bounds((&version.settings.limits).into());
        keys.reshard(version.shards, now);
        keys.forgive();
        if !version.template.exported().reconciler {
            let dropped = keys.clear();
            core.counters.keys_dropped.fetch_add(dropped as u64, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::breaker::Outcome;
    use futures::FutureExt as _;

    /// One whose breaker is open.
    fn tripped(now: Instant) -> Together {
        let together = Together::new(&Limits::default(), now);
        let failed = Ended { outcome: Outcome::Failed, first: true, began: now };
        let mut calls = (0..100).map(|_| together.note(failed, now, |_| {}));
        assert!(calls.any(|turn| turn.is_some()), "it opens");
        assert!(together.next_call().is_some());
        together
    }

    #[test]
    fn who_waits_for_the_breaker_hears_whoever_closes_it() {
        let now = Instant::now();
        let tried = now + Duration::from_secs(3_600);
        for succeeds in [true, false] {
            let together = tripped(now);
            let waits = together.turned();
            match succeeds {
                true => {
                    let trial = Ended { outcome: Outcome::Succeeded, first: true, began: tried };
                    together.note(trial, tried, |_| {});
                }
                false => together.forget_failures(|| {}),
            }
            assert!(waits.now_or_never().is_some(), "it is not to wait for its own time");
            assert_eq!(together.next_call(), None);
        }
    }
}
