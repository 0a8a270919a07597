//! The call of `synced`, after the initial objects of a subscription.

use super::failures::FailedCall;
use super::{Actor, Running};
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
        self.last_call.began = called;
        let result = instance.synced(subscription.index).await;
        let now = self.surroundings.now();
        self.pace.took(now - called, now);
        let is_hindered = instance.state().notes.is_hindered;
        let owes = Self::look_after(&self.name, &self.core.counters, instance, now);
        match result {
            Ok(()) => {
                self.syncs.told(id);
                self.core.told_synced(self.shard, &name, None);
                (!owes).then_some(now)
            }
            Err(error) => {
                self.sync_failed(id, &name, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    fn sync_failed(&mut self, id: SubscriptionId, name: &str, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        self.core.failed(&format!("synced: {error}"), Timestamp::now());
        let (plugin, (attempt, crashes)) = (self.name.as_str(), self.syncs.tried(id));
        let backoff = exponential(RETRY_BASE, attempt - 1, RETRY_MAX);
        let wait = call.retry_wait(backoff, (attempt, crashes));
        let is_excused = call.is_hindered || error.waits_for_others();
        let is_given_up = self.syncs.failed(id, (error, is_excused), now + wait, &self.limits);
        let became = if is_given_up { "was given up" } else { "failed and comes again" };
        let failed = format!("synced of {name} {became}: {error}");
        self.core.told_synced(self.shard, name, Some(failed));
        if is_given_up {
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
