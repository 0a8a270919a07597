//! A version takes over in all shards of a plugin together. Each shard prepares its instance; when
//! all are ready, each goes on with the new version. So no instance of the old version is called
//! after the first call of the new one. If one shard cannot start the new version, all go on with
//! the old one.

use crate::delivery::key_queue::FormerLines;
use crate::delivery::timers::Now;
use crate::plugin::actor::{ActorCommand, CommandSender, ShardTakeover, Together, Version};
use crate::plugin::core::PluginCore;
use crate::plugin::prepare::LoadError;
use futures::future::join_all;
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::error;

/// The commands to all shards of the new version, and to shards that end. If this is dropped before
/// its end, the old version stays in charge.
pub(crate) struct Takeover {
    pub(super) commands: Vec<CommandSender>,
    pub(super) core: Arc<PluginCore>,
    pub(super) together: Arc<Together>,
}

impl Takeover {
    /// Returns whether the new version restored the old one's snapshot.
    pub(crate) async fn carry_out(self, version: Arc<Version>) -> Result<bool, LoadError> {
        let asked = join_all(self.commands.iter().map(|shard| ask(shard, &version))).await;
        // After an error the senders of the other shards are dropped, so they keep the old version.
        let ready = asked.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Invariant 26.
        let at = Now::read();
        let former = self.together.swap(&version, &self.core, at);
        let mut restored = false;
        for (has_restored, go) in ready {
            restored |= has_restored;
            // A shard that has ended is started again with the next version.
            let _ = go.send(());
        }
        if let Some(former) = former {
            self.regroup(former, at).await;
        }
        Ok(restored)
    }

    /// Puts the keys of former lines into the present lines, aside: so a load that is given up loses no key, and no
    /// thread of events has so many at once.
    async fn regroup(&self, former: FormerLines, at: Now) {
        let queue = self.core.queue.clone();
        let regrouped = tokio::task::spawn_blocking(move || queue.regroup(former, at.instant));
        if let Err(error) = regrouped.await
            && error.is_panic()
        {
            error!("keys of the work queue are lost by a defect of ours: {error}");
        }
    }
}

/// Lets a shard prepare. From then on it calls no instance until it goes on. Returns whether its
/// new instance restored the snapshot, and the sender that lets the shard go on.
async fn ask(
    shard: &CommandSender,
    version: &Arc<Version>,
) -> Result<(bool, oneshot::Sender<()>), LoadError> {
    let ended = || LoadError::Host("the plugin's actor ended".to_owned());
    let (ready, is_ready) = oneshot::channel();
    let (go, goes) = oneshot::channel();
    let swap = ShardTakeover { version: version.clone(), ready, go: goes };
    shard.send(ActorCommand::Swap(swap)).map_err(|_| ended())?;
    let restored = is_ready.await.map_err(|_| ended())??;
    Ok((restored, go))
}
