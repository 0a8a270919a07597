//! The shared state of a plugin's shards: events that were evaluated again. A version takes over in
//! all shards at once.

use super::Version;
use crate::delivery::key_queue::FormerLines;
use crate::delivery::mailbox::Queued;
use crate::delivery::reevaluation::{Reevaluation, Seen, Wish};
use crate::delivery::timers::Now;
use crate::event::{Event, SubscriptionId};
use crate::plugin::core::PluginCore;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Default)]
pub(crate) struct Together {
    reevaluation: Mutex<Reevaluation>,
    /// Whether reevaluated events are remembered.
    remembers: AtomicBool,
}

impl Together {
    /// The event to deliver; `None` if the event can be delivered unchanged.
    pub(super) fn see(&self, queued: &Queued, asked_by: u64, wish: &Wish) -> Option<Seen> {
        // This shard made the object's entry, or another shard did before this one took the object over.
        if queued.event.asked_by == asked_by && !self.remembers.load(Relaxed) {
            return None;
        }
        self.reevaluation.lock().see(queued, asked_by, wish)
    }

    /// Whether results of older events are remembered.
    pub(super) fn remembers(&self) -> bool {
        self.remembers.load(Relaxed)
    }

    /// Notes that a possibly reevaluated event does not come again.
    pub(super) fn settle(&self, event: &Event, asked_by: u64, seen: Option<&Seen>) {
        if seen.is_some() {
            self.change(|reevaluation| reevaluation.settle(event, asked_by, seen));
        }
    }

    /// Whether to search for reevaluated events that can be forgotten.
    pub(super) fn is_look_due(&self) -> bool {
        self.remembers.load(Relaxed) && self.reevaluation.lock().is_look_due()
    }

    /// Forgets the reevaluated events of other subscriptions.
    pub(super) fn retain(&self, keep: impl Fn(SubscriptionId) -> bool) {
        self.change(|reevaluation| reevaluation.retain(keep));
    }

    fn change(&self, change: impl FnOnce(&mut Reevaluation)) {
        let mut reevaluation = self.reevaluation.lock();
        change(&mut reevaluation);
        self.remembers.store(!reevaluation.is_empty(), Relaxed);
    }

    /// The version takes over: every shard is ready for it, and none makes a call. Returns the lines of keys of
    /// another number of shards, if there was one.
    pub(crate) fn swap(
        &self,
        version: &Version,
        core: &PluginCore,
        at: Now,
    ) -> Option<FormerLines> {
        let (now, limits) = (at.instant, &*version.settings.limits);
        core.log_budget.set_rates(limits, now);
        core.swapped(version.shards, Timestamp::now());
        self.retain(|id| version.subscriptions.contains_key(&id));
        let dropped = core.queue.change(|it| {
            it.timers.follow(&version.schedules, at);
            it.swap_keys(limits, version.template.exported().reconciler, now)
        });
        core.counters.keys_dropped.fetch_add(dropped as u64, Relaxed);
        core.queue.reshard(version.shards, now)
    }
}
