//! An actor that nobody runs as a task: whoever has it moves the clock and has it do what is due, so that each run is the same.

use super::{Actor, Running, Version};
use crate::prepare::LoadError;
use std::sync::Arc;
use std::time::Instant;

impl Actor {
    /// Starts the first version.
    pub(crate) async fn begin(&mut self, version: Arc<Version>) -> Result<(), LoadError> {
        let (instance, _) = self.prepare(&version).await?;
        self.together.swap(&version, &self.status, self.surroundings.read());
        self.take_over(version, instance).await;
        Ok(())
    }

    /// When there is something to do, with schedules or without them: now if it is past, none if nothing waits.
    pub(crate) fn next_due(&mut self, schedules: bool) -> Option<Instant> {
        let now = self.surroundings.now();
        let (works_on_keys, debt) = match &mut self.running {
            Running::Nothing => return None,
            Running::Lost { at, .. } => return Some(*at),
            Running::Alive { instance, .. } => {
                (instance.works_on_keys(), instance.state().log_budget.debt(now))
            }
        };
        let mut holds_events = false;
        let mut due = self.status.timers.lock().look_at().filter(|_| schedules);
        if works_on_keys {
            let keys = self.status.keys.lock();
            holds_events = keys.holds_events(now);
            due = due.into_iter().chain(keys.next_due(self.shard, now)).min();
        }
        let queued = self.status.queue.next_due(self.shard, (!holds_events, &self.syncs), now);
        let due = due.into_iter().chain(queued).min()?;
        // What it owes for its log, and what the breaker holds back.
        let earliest = self.together.open_until().map_or(now, |until| until.max(now)) + debt;
        Some(due.max(earliest))
    }

    /// Does the next thing that is due.
    pub(crate) async fn step(&mut self) {
        let now = self.surroundings.now();
        match &self.running {
            Running::Nothing => {}
            Running::Lost { .. } => self.restart().await,
            Running::Alive { .. } => _ = self.deliver(now).await,
        }
    }

    /// Stops the guest, if there is one.
    pub(crate) async fn stop_guest(&mut self) {
        let running = std::mem::replace(&mut self.running, Running::Nothing);
        self.end(running).await;
    }
}
