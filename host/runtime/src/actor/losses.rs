//! What becomes of an instance that ended: another takes its place after a wait, which is longer each time.

use super::{Actor, Running, Version};
use crate::breaker::Outcome;
use crate::call_error::CallError;
use crate::instance::Instance;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tracing::info;

/// First wait before a lost instance is replaced, doubled with each loss until an event succeeds.
const RESTART_BASE: Duration = Duration::from_millis(100);
const RESTART_MAX: Duration = Duration::from_secs(300);

impl Actor {
    pub(super) async fn restart(&mut self) {
        // It waited long, maybe for longer than this host led.
        if !self.leading.is_leader() {
            return;
        }
        // Another shard's calls may have tripped the plugin meanwhile.
        let now = self.surroundings.now();
        if self.together.holds_back(now) {
            return;
        }
        self.call_began = now;
        let Running::Lost { version, losses, .. } =
            std::mem::replace(&mut self.running, Running::Nothing)
        else {
            return;
        };
        match self.instance(&version).await {
            Ok(instance) => {
                self.status.restarted(self.shard, Timestamp::now());
                self.syncs.restart();
                let shard = version.shard(self.shard).logged();
                info!(plugin = self.name.as_str(), shard, "restarted");
                let instance = Box::new(instance);
                self.running = Running::Alive { version, instance, losses };
            }
            Err(error) => {
                self.lose(version, losses, &error);
                self.note(Outcome::Lost, false, self.surroundings.now());
            }
        }
    }

    /// The instance is gone; the next one waits longer each time.
    fn lose(&mut self, version: Arc<Version>, losses: u32, error: &CallError) {
        let wait = doubled(RESTART_BASE, losses, RESTART_MAX);
        let now = Timestamp::now();
        self.status.counters.restart(error.cause());
        if let CallError::AccountExceeded(reason) = error {
            self.status.counters.ledger.refused(reason.clone());
        }
        self.status.failed(&error.to_string(), now);
        let reason = version.shard(self.shard).said_of(&error.to_string());
        self.status.crashed(self.shard, reason, now);
        let at = self.surroundings.now() + wait;
        self.running = Running::Lost { version, losses: losses + 1, at };
    }

    /// The running instance has ended.
    pub(super) fn lose_running(&mut self, error: &CallError) {
        let running = std::mem::replace(&mut self.running, Running::Nothing);
        if let Running::Alive { version, losses, instance } = running {
            give_back(instance);
            self.lose(version, losses, error);
        }
    }
}

/// Gives back what an instance had. That may be all the memory it may have, for which the system takes milliseconds: the thread's other plugins
/// go on meanwhile.
fn give_back(instance: Box<Instance>) {
    // It ends by itself, and the runtime of this thread does not end before it.
    drop(tokio::task::spawn_blocking(move || drop(instance)));
}

fn doubled(base: Duration, times: u32, max: Duration) -> Duration {
    base.saturating_mul(2u32.saturating_pow(times)).min(max)
}
