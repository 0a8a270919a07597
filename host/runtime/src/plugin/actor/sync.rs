//! The call of `synced`, after the initial objects of a subscription.

use super::failures::FailedCall;
use super::{Actor, Running};
use crate::counted::counted;
use crate::delivery::breaker::Outcome;
use crate::delivery::mailbox::Settled;
use crate::delivery::mailboxes::Completed;
use crate::delivery::sync_calls::SyncCall;
use crate::log_budget::HostLine;
use jiff::Timestamp;
use std::time::{Duration, Instant};

impl Actor {
    /// Calls `synced`. Returns the end of the call if an event may follow at once.
    pub(super) async fn tell_synced(&mut self, call: SyncCall) -> Option<Instant> {
        let Running::Alive { version, instance, .. } = &mut self.running else { return None };
        let subscription = version.subscriptions.get(&call.id)?;
        let name = subscription.spec.name.clone();
        let called = self.surroundings.now();
        self.last_call.began = called;
        let result = instance.synced(subscription.index, call.tried.number).await;
        instance.state().end_trace(&result);
        let now = self.surroundings.now();
        self.pace.took(now - called, now);
        let is_hindered = instance.state().notes.is_hindered;
        let owes = Self::look_after(&self.name, &self.core.counters, instance, now);
        match result {
            Ok(()) => {
                self.settle(Completed::Synced(call.id, Settled::Finished, None), None, now);
                (!owes).then_some(now)
            }
            Err(error) => {
                self.sync_failed(call, &name, FailedCall { error: &error, is_hindered }, now);
                None
            }
        }
    }

    fn sync_failed(&mut self, of: SyncCall, name: &str, call: FailedCall<'_>, now: Instant) {
        let error = call.error;
        self.core.failed(&format!("synced: {error}"), Timestamp::now());
        let (settled, became) = match self.given_up(of.tried, call) {
            Some(_) => (Settled::GivenUp, "was given up"),
            None => {
                let again = Self::comes_again(of.tried, call, Duration::default, now);
                (again, "failed and comes again")
            }
        };
        let failed = format!("synced of {name} {became}: {error}");
        if settled == Settled::GivenUp {
            let attempts = counted(of.tried.number as usize, "attempt");
            let text = format!("gave up after {attempts} of synced for {name}: {error}");
            self.tell(HostLine::error(&text));
        } else if of.tried.is_first() {
            self.tell(HostLine::warn(&failed));
        }
        let is_lost = error.ends_instance();
        if is_lost {
            self.lose_running(error);
        }
        let lost = is_lost.then_some((Outcome::Lost, false));
        self.settle(Completed::Synced(of.id, settled, Some(&failed)), lost, now);
    }
}
