//! The way of all plugins' writes to the cluster: each waits until its plugin may write again, and then for its turn.

use crate::cluster_writer::{ClusterWriter, WriteError, WriteRequest};
use crate::leading::Leading;
use crate::shares::Shares;
use crate::turns::Turns;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};

/// Who hands out turns. Clones share them.
#[derive(Clone)]
pub(crate) struct WriteTurns {
    cluster: Arc<dyn ClusterWriter>,
    turns: Turns,
    shares: Shares,
}

/// One write may be sent now.
pub(crate) struct WriteTurn<'a> {
    cluster: &'a dyn ClusterWriter,
    _turn: SemaphorePermit<'a>,
    /// None: nobody's, or one of a kind that is bounded by itself.
    _of_plugin: Option<OwnedSemaphorePermit>,
}

impl WriteTurns {
    pub(crate) fn new(cluster: Arc<dyn ClusterWriter>, leading: Leading) -> Self {
        Self { cluster, turns: Turns::new(leading), shares: Shares::default() }
    }

    /// Waits until this plugin may write again, and then for a turn; none if this host does not lead, or not any more once it has got one.
    pub(crate) async fn turn(&self, plugin: &str, per_second: u32) -> Option<WriteTurn<'_>> {
        let of_plugin = self.shares.take(plugin, per_second).await;
        let turn = self.turn_for_events().await?;
        Some(WriteTurn { _of_plugin: Some(of_plugin), ..turn })
    }

    /// The same for Kubernetes Events, which one task writes one after the other, and which are bounded where they are recorded.
    pub(crate) async fn turn_for_events(&self) -> Option<WriteTurn<'_>> {
        let turn = self.turns.turn().await?;
        Some(WriteTurn { cluster: &*self.cluster, _turn: turn, _of_plugin: None })
    }
}

impl WriteTurn<'_> {
    /// Sends the request at once: between this and the turn nobody is to wait. The turn ends with the answer, or with whoever waits for it.
    pub(crate) async fn write(self, request: WriteRequest) -> Result<Vec<u8>, WriteError> {
        self.cluster.write(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_writer::NoCluster;

    #[tokio::test(start_paused = true)]
    async fn a_plugin_writes_so_often_and_no_more() {
        let turns = WriteTurns::new(Arc::new(NoCluster), Leading::default());
        let began = tokio::time::Instant::now();
        let written = async |plugin: &str, times: u32| {
            for _ in 0..times {
                assert!(turns.turn(plugin, 10).await.is_some(), "everybody leads");
            }
            began.elapsed().as_millis()
        };
        assert_eq!(written("a", 10).await, 0, "a second's worth at once");
        for _ in 0..100 {
            assert!(turns.turn_for_events().await.is_some(), "Events do not count");
        }
        assert_eq!(written("b", 10).await, 0, "nor do another's");
        let took = written("a", 10).await;
        assert!((1_000..1_050).contains(&took), "{took}");
    }
}
