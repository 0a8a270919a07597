//! A version takes over in one shard: the actor starts the new instance while the old one waits, and uses it when all
//! shards are ready. `plugin/takeover.rs` has the commands to the shards.

use super::{Actor, RETIREMENT_MAX, Running, Version};
use crate::delivery::sync_calls::SyncCalls;
use crate::guest::instance::Instance;
use crate::guest_threads::give_turn;
use crate::log_budget::HostLine;
use crate::plugin::prepare::LoadError;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// The command to take over, for one shard.
pub(crate) struct ShardTakeover {
    pub(crate) version: Arc<Version>,
    /// Reports that the shard is ready, and whether the new version restored the old one's
    /// snapshot. From then on the shard calls no instance.
    pub(crate) ready: oneshot::Sender<Result<bool, LoadError>>,
    /// All shards are ready, and their shared state is the new version's. The sender is dropped if
    /// one shard is not ready.
    pub(crate) go: oneshot::Receiver<()>,
}

impl Actor {
    /// Keeps the old version until the new one has started and has restored its snapshot. Then the
    /// shard's events go on with the new one.
    pub(super) async fn swap(&mut self, swap: ShardTakeover) {
        let ShardTakeover { version, ready, go } = swap;
        self.pace.begin_version();
        // Invariant 24.
        let (instance, restored) = match self.prepare(&version).await {
            Ok(prepared) => prepared,
            Err(error) => {
                // The receiver may be gone at shutdown.
                let _ = ready.send(Err(error));
                return;
            }
        };
        // Invariant 26. The actor calls no instance for an event, key or schedule while it waits here.
        if ready.send(Ok(restored)).is_ok() && go.await.is_ok() {
            self.take_over(version, instance).await;
        } else if let Some(instance) = instance {
            self.stop_instance(instance).await;
        }
    }

    /// Starts the shard's instance of the new version; none if the version has fewer shards.
    pub(super) async fn prepare(
        &mut self,
        version: &Version,
    ) -> Result<(Option<Box<Instance>>, bool), LoadError> {
        if self.shard >= version.shards {
            return Ok((None, false));
        }
        self.check_leads()?;
        self.pace.loads(Instant::now());
        give_turn().await;
        let mut instance = Box::new(self.instance(version).await.map_err(LoadError::Start)?);
        match self.carry_over(&mut instance).await {
            Ok(restored) => Ok((Some(instance), restored)),
            // After a trap or a deadline there is nothing to stop.
            Err(LoadError::Restore(error)) if error.ends_instance() => {
                Err(LoadError::Restore(error))
            }
            Err(error) => {
                self.stop_instance(instance).await;
                Err(error)
            }
        }
    }

    /// Passes the running version's snapshot to an instance that has started. Returns whether the
    /// instance restored it.
    async fn carry_over(&mut self, to: &mut Instance) -> Result<bool, LoadError> {
        self.check_leads()?;
        match self.snapshot().await {
            Some((from, data)) => to.restore(&from, &data).await.map_err(LoadError::Restore),
            None => Ok(false),
        }
    }

    pub(super) async fn take_over(
        &mut self,
        version: Arc<Version>,
        instance: Option<Box<Instance>>,
    ) {
        self.limits = version.settings.limits.clone();
        let syncs = match &instance {
            Some(instance) if instance.is_sync_aware() => {
                SyncCalls::new(version.load, version.subscriptions.keys().copied())
            }
            _ => SyncCalls::default(),
        };
        self.core.queue.look(|it| it.set_syncs(self.shard, syncs));
        let running = match instance {
            Some(instance) => Running::Alive { version, instance },
            None => Running::Nothing,
        };
        let old = std::mem::replace(&mut self.running, running);
        // At most one old instance waits for its end.
        self.retire().await;
        if let Running::Alive { instance, .. } = old {
            self.retired = Some((instance, self.surroundings.now() + RETIREMENT_MAX));
        }
    }

    fn check_leads(&self) -> Result<(), LoadError> {
        let lost = || LoadError::Host("this host leads no more".to_owned());
        self.leading.is_leader().then_some(()).ok_or_else(lost)
    }

    /// The running version's snapshot, and its version number. None if the snapshot fails.
    async fn snapshot(&mut self) -> Option<(String, Vec<u8>)> {
        let Running::Alive { version, instance, .. } = &mut self.running else { return None };
        let from = version.number.clone();
        let error = match instance.snapshot().await {
            Ok(data) => return data.map(|data| (from, data)),
            Err(error) => error,
        };
        self.tell(HostLine::warn(&format!("snapshot failed, nothing is carried over: {error}")));
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
            self.tell(HostLine::warn(&told));
            self.core.failed(&told, Timestamp::now());
        }
    }
}
