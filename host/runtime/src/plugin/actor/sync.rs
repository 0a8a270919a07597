//! How the guest is told that the initial objects of a subscription are through.

use super::{Actor, Running};
use crate::call_error::CallError;
use crate::delivery::breaker::Outcome;
use crate::delivery::retry_waits::{RETRY_BASE, RETRY_MAX};
use crate::event::SubscriptionId;
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::time::Instant;
use tracing::{error, warn};

impl Actor {
    /// The subscription of which the guest is to be told now. A plugin that is tripped is tried with an event.
    pub(super) fn next_sync(&self, now: Instant) -> Option<SubscriptionId> {
        if self.together.next_call().is_some() {
            return None;
        }
        self.core.queue.next_sync(self.shard, &self.syncs, now)
    }

    /// Answers when the call ended, if an event may follow at once.
    pub(super) async fn tell_synced(&mut self, id: SubscriptionId) -> Option<Instant> {
        let Running::Alive { version, instance, .. } = &mut self.running else { return None };
        let subscription = version.subscriptions.get(&id)?;
        let name = subscription.spec.name.clone();
        let called = self.surroundings.now();
        self.call_began = called;
        let result = instance.synced(subscription.index).await;
        let now = self.surroundings.now();
        self.pace.took(now - called, now);
        let owes = Self::look_after(&self.name, &self.core.counters, instance, now);
        match result {
            Ok(()) => {
                self.syncs.told(id);
                (!owes).then_some(now)
            }
            Err(error) => {
                self.sync_failed(id, &name, &error, now);
                None
            }
        }
    }

    fn sync_failed(&mut self, id: SubscriptionId, name: &str, error: &CallError, now: Instant) {
        self.core.failed(&format!("synced: {error}"), Timestamp::now());
        let (plugin, attempt) = (self.name.as_str(), self.syncs.attempt(id));
        let wait = exponential(RETRY_BASE, attempt.saturating_sub(1), RETRY_MAX);
        if self.syncs.failed(id, error, wait, &self.limits, now) {
            error!(
                plugin,
                "gave up after {attempt} attempts to tell that {name} has synced: {error}"
            );
        } else if attempt == 1 {
            warn!(plugin, "failed to hear that {name} has synced, it is told again: {error}");
        }
        if error.ends_instance() {
            self.lose_running(error);
            self.note(Outcome::Lost, false, now);
        }
    }
}
