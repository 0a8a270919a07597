//! How a version takes over in all of a plugin's shards together: each gets ready aside, and once all are, each goes on with the new version. So no instance
//! of the old one is called after the first call of the new one; and if one shard cannot, the old version goes on in all of them.

use crate::delivery::timers::Now;
use crate::plugin::actor::{ActorCommand, ShardTakeover, Together, Version};
use crate::plugin::core::PluginCore;
use crate::plugin::prepare::LoadError;
use futures::future::join_all;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The way to all shards that are to take over, and to those that are to end. Dropping it on its way leaves the old version in charge.
pub(crate) struct Takeover {
    pub(super) commands: Vec<mpsc::Sender<ActorCommand>>,
    pub(super) core: Arc<PluginCore>,
    pub(super) together: Arc<Together>,
}

impl Takeover {
    /// Answers whether the new version listened to the old one's snapshot.
    pub(crate) async fn carry_out(self, version: Arc<Version>) -> Result<bool, LoadError> {
        let asked = join_all(self.commands.iter().map(|shard| ask(shard, &version))).await;
        // The others hear of an error by the end of what is to let them go.
        let ready = asked.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Invariant 26.
        self.together.swap(&version, &self.core, Now::read());
        let mut restored = false;
        for (has_restored, go) in ready {
            restored |= has_restored;
            // One that has ended early is started anew with the next version.
            let _ = go.send(());
        }
        Ok(restored)
    }
}

/// Has a shard get ready; then nobody of it is called until it goes on. Answers whether its instance listened to the one before it, and with what lets it go.
async fn ask(
    shard: &mpsc::Sender<ActorCommand>,
    version: &Arc<Version>,
) -> Result<(bool, oneshot::Sender<()>), LoadError> {
    let ended = || LoadError::Host("the plugin's actor ended".to_owned());
    let (ready, is_ready) = oneshot::channel();
    let (go, goes) = oneshot::channel();
    let swap = ShardTakeover { version: version.clone(), ready, go: goes };
    shard.send(ActorCommand::Swap(swap)).await.map_err(|_| ended())?;
    let restored = is_ready.await.map_err(|_| ended())??;
    Ok((restored, go))
}
