//! The way of all plugins' writes to the cluster: so many are under way at once, and none of a host that does not lead when its turn has come.

use crate::cluster_writer::{ClusterWriter, WriteError, WriteRequest};
use crate::leading::Leading;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Writes of all plugins under way at once. A plugin makes one at a time, and others wait their turn.
const AT_ONCE: usize = 32;

/// Who hands out turns. Clones share them.
#[derive(Clone)]
pub(crate) struct WriteTurns {
    cluster: Arc<dyn ClusterWriter>,
    turns: Arc<Semaphore>,
    leading: Leading,
}

/// One write may be sent now.
pub(crate) struct WriteTurn<'a> {
    cluster: &'a dyn ClusterWriter,
    _turn: SemaphorePermit<'a>,
}

impl WriteTurns {
    pub(crate) fn new(cluster: Arc<dyn ClusterWriter>, leading: Leading) -> Self {
        Self { cluster, turns: Arc::new(Semaphore::new(AT_ONCE)), leading }
    }

    /// Waits for a turn; none if this host does not lead, or not any more once it has got one.
    pub(crate) async fn turn(&self) -> Option<WriteTurn<'_>> {
        if !self.leading.is_leader() {
            return None;
        }
        let turn = self.turns.acquire().await.expect("nobody closes it");
        let turn = WriteTurn { cluster: &*self.cluster, _turn: turn };
        self.leading.is_leader().then_some(turn)
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
    use informant_cache::leader_election::testing::FakeLock;
    use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
    use std::future::pending;
    use std::time::Duration;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn so_many_write_at_once_and_others_wait() {
        let turns = WriteTurns::new(Arc::new(NoCluster), Leading::default());
        let mut taken = Vec::new();
        for _ in 0..AT_ONCE {
            taken.push(turns.turn().await.expect("everybody leads"));
        }
        assert!(timeout(SECOND, turns.turn()).await.is_err());
        taken.pop();
        assert!(timeout(SECOND, turns.turn()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_while_the_lead_is_lost_gets_no_turn() {
        let config = LeaderElectionConfig::new("a");
        let elector = LeaderElector::new(Arc::new(FakeLock::default()), config);
        let elector = elector.expect("it can work");
        let leadership = elector.leadership();
        let turns = WriteTurns::new(Arc::new(NoCluster), Leading::new(Some(leadership.clone())));
        assert!(turns.turn().await.is_none(), "nobody leads yet");
        let electing = tokio::spawn(elector.run(pending()));
        leadership.acquired().await;
        let mut taken = Vec::new();
        for _ in 0..AT_ONCE {
            taken.push(turns.turn().await.expect("it leads"));
        }
        let (waits, loses) = (turns.turn(), async {
            electing.abort();
            leadership.lost().await;
            taken.clear();
        });
        let (turn, ()) = tokio::join!(waits, loses);
        assert!(turn.is_none());
        assert!(turns.turn().await.is_none());
    }
}
