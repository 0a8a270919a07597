//! The shared state of a plugin's shards: the breaker, events that were evaluated again, and the
//! log rate. A version takes over in all shards at once.

use super::Version;
use crate::contract::limits::Limits;
use crate::delivery::mailbox::Queued;
use crate::delivery::reevaluation::{Reevaluation, Seen, Wish};
use crate::delivery::timers::Now;
use crate::event::{Event, SubscriptionId};
use crate::guest::log_budget::LogBudget;
use crate::plugin::core::PluginCore;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

pub(crate) struct Together {
    pub(super) log_budget: LogBudget,
    reevaluation: Mutex<Reevaluation>,
    /// Something of events that were seen again is remembered.
    remembers: AtomicBool,
}

impl Together {
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        Self {
            log_budget: LogBudget::new(limits, now),
            reevaluation: Mutex::default(),
            remembers: AtomicBool::new(false),
        }
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
        let dropped = core.queue.change(|it| {
            it.reshard(version.shards, now);
            it.timers.follow(&version.schedules, at);
            it.swap_keys(limits, version.template.exported().reconciler, now)
        });
        core.counters.keys_dropped.fetch_add(dropped as u64, Relaxed);
    }
}
