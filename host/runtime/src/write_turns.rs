//! The way of all plugins' writes to the cluster: each waits for its turn.

use crate::cluster_writer::{ClusterWriter, WriteError, WriteRequest};
use crate::leading::Leading;
use crate::turns::Turns;
use std::sync::Arc;
use tokio::sync::SemaphorePermit;

/// Who hands out turns. Clones share them.
#[derive(Clone)]
pub(crate) struct WriteTurns {
    cluster: Arc<dyn ClusterWriter>,
    turns: Turns,
}

/// One write may be sent now.
pub(crate) struct WriteTurn<'a> {
    cluster: &'a dyn ClusterWriter,
    _turn: SemaphorePermit<'a>,
}

impl WriteTurns {
    pub(crate) fn new(cluster: Arc<dyn ClusterWriter>, leading: Leading) -> Self {
        Self { cluster, turns: Turns::new(leading) }
    }

    /// Waits for a turn; none if this host does not lead, or not any more once it has got one.
    pub(crate) async fn turn(&self) -> Option<WriteTurn<'_>> {
        let turn = self.turns.turn().await?;
        Some(WriteTurn { cluster: &*self.cluster, _turn: turn })
    }
}

impl WriteTurn<'_> {
    /// Sends the request at once: between this and the turn nobody is to wait. The turn ends with the answer, or with whoever waits for it.
    pub(crate) async fn write(self, request: WriteRequest) -> Result<Vec<u8>, WriteError> {
        self.cluster.write(request).await
    }
}
