//! Replaces an instance that ended. An instance that a call ended is replaced at once: the breaker pauses between
//! failing calls, and healthy objects may wait. After each failed start the wait doubles.

use super::{Actor, Running, Version};
use crate::call_error::CallError;
use crate::delivery::breaker::Outcome;
use crate::delivery::mailboxes::Completed;
use crate::guest::instance::Instance;
use informant_cache::workqueue::exponential;
use jiff::Timestamp;
use std::time::Duration;
use tracing::debug;

/// The first wait after a failed start. Each further failure doubles it.
const RESTART_BASE: Duration = Duration::from_millis(100);
const RESTART_MAX: Duration = Duration::from_secs(300);

impl Actor {
    pub(super) async fn restart(&mut self) {
        self.last_call.began = self.surroundings.now();
        let Running::Lost { version, failed_starts, .. } =
            std::mem::replace(&mut self.running, Running::Nothing)
        else {
            return;
        };
        match self.instance(&version).await {
            Ok(instance) => {
                self.core.restarted(self.shard, Timestamp::now());
                self.core.queue.look(|it| it.restart_syncs(self.shard));
                let shard = version.shard(self.shard).logged();
                debug!(plugin = self.name.as_str(), shard, "restarted");
                let instance = Box::new(instance);
                self.running = Running::Alive { version, instance };
            }
            Err(error) => {
                let wait = exponential(RESTART_BASE, failed_starts, RESTART_MAX);
                let at = self.surroundings.now() + wait;
                self.show_loss(&version, &error);
                let failed_starts = failed_starts + 1;
                self.running = Running::Lost { version, failed_starts, at };
                let lost = (Outcome::Lost, false);
                self.settle(Completed::Started, Some(lost), self.surroundings.now());
            }
        }
    }

    fn show_loss(&self, version: &Version, error: &CallError) {
        let now = Timestamp::now();
        self.core.counters.restart(error.cause());
        if let CallError::AccountExceeded(reason) = error {
            self.core.counters.ledger.refused(reason.clone());
        }
        self.core.failed(&error.to_string(), now);
        let reason = version.shard(self.shard).said_of(&error.to_string());
        self.core.crashed(self.shard, reason, now);
    }

    /// Loses the running instance, which a call has ended.
    pub(super) fn lose_running(&mut self, error: &CallError) {
        // Invariant 29.
        let running = std::mem::replace(&mut self.running, Running::Nothing);
        if let Running::Alive { version, instance } = running {
            give_back(instance);
            self.show_loss(&version, error);
            let at = self.surroundings.now();
            self.running = Running::Lost { version, failed_starts: 0, at };
        }
    }
}

/// Drops an instance. The system may take milliseconds to free the instance's memory; the thread's other plugins run
/// meanwhile.
fn give_back(instance: Box<Instance>) {
    // The task ends by itself, and the runtime of this thread waits for it.
    drop(tokio::task::spawn_blocking(move || drop(instance)));
}
