//! How a version takes over from the one before it, within the plugin's actor.

use super::{Actor, RETIREMENT_MAX, Running, Version};
use crate::prepare::LoadError;
use crate::sync_calls::SyncCalls;
use crate::timers::Now;
use jiff::Timestamp;
use std::time::Instant;
use tracing::warn;

impl Actor {
    /// The old version is kept until the new one has started and knows what that had to say; then the queue goes on with the new
    /// one. Answers whether the new one listened to it.
    pub(super) async fn swap(&mut self, version: Box<Version>) -> Result<bool, LoadError> {
        self.pace.is_new();
        self.check_leads()?;
        let mut instance = Box::new(self.instance(&version).await.map_err(LoadError::Start)?);
        self.check_leads()?;
        let restored = match self.snapshot().await {
            Some((from, data)) => {
                instance.restore(&from, &data).await.map_err(LoadError::Restore)?
            }
            None => false,
        };
        self.limits = version.settings.limits.clone();
        self.log_budget.set_rates(&self.limits, Instant::now());
        self.status.swapped(Timestamp::now());
        self.reevaluation.retain(|id| version.subscriptions.contains_key(&id));
        self.syncs = match instance.is_sync_aware() {
            true => SyncCalls::new(version.load, version.subscriptions.keys().copied()),
            false => SyncCalls::default(),
        };
        self.status.timers.lock().follow(&version.schedules, Now::read());
        self.follow_keys(instance.works_on_keys());
        let running = Running::Alive { version, instance, losses: 0 };
        let old = std::mem::replace(&mut self.running, running);
        // What its predecessor did is not held against it.
        self.failures.reset();
        // At most one old instance waits for its end.
        self.retire().await;
        if let Running::Alive { instance, .. } = old {
            self.retired = Some((instance, Instant::now() + RETIREMENT_MAX));
        }
        Ok(restored)
    }

    fn check_leads(&self) -> Result<(), LoadError> {
        let lost = || LoadError::Host("this host leads no more".to_owned());
        self.leading.is_leader().then_some(()).ok_or_else(lost)
    }

    /// What the running version has to say to its successor, and which version that is. A version that cannot say it says nothing.
    async fn snapshot(&mut self) -> Option<(String, Vec<u8>)> {
        let Running::Alive { version, instance, .. } = &mut self.running else { return None };
        let from = version.number.clone();
        let error = match instance.snapshot().await {
            Ok(data) => return data.map(|data| (from, data)),
            Err(error) => error,
        };
        warn!(plugin = self.name.as_str(), "snapshot failed, nothing is carried over: {error}");
        if error.ends_instance() {
            self.lose_running(&error);
        }
        None
    }

    /// Stops the instance of the version before, once the new one has proven itself by an event, or after
    /// a while.
    pub(super) async fn retire(&mut self) {
        if let Some((mut instance, _)) = self.retired.take()
            && let Err(error) = instance.stop().await
        {
            let told = format!("stop of the old version failed: {error}");
            warn!(plugin = self.name.as_str(), "{told}");
            self.status.failed(&told, Timestamp::now());
        }
    }
}
