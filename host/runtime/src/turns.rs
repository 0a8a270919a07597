//! The way of what all plugins send: so much is under way at once, and nothing of a host that does not lead when its turn has come.

use crate::leading::Leading;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Requests of one kind, of all plugins, under way at once. Others wait their turn: whoever asked first is next. What one plugin has of them: `shares.rs`.
pub(crate) const AT_ONCE: usize = 32;

/// Who hands out turns. Clones share them.
#[derive(Clone)]
pub(crate) struct Turns {
    turns: Arc<Semaphore>,
    leading: Leading,
}

impl Turns {
    pub(crate) fn new(leading: Leading) -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), leading }
    }

    /// Waits for a turn; none if this host does not lead, or not any more once it has got one.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        if !self.leading.is_leader() {
            return None;
        }
        let turn = self.turns.acquire().await.expect("nobody closes it");
        self.leading.is_leader().then_some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_cache::leader_election::testing::FakeLock;
    use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
    use std::future::pending;
    use std::time::Duration;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn so_many_are_under_way_at_once_and_others_wait() {
        let turns = Turns::new(Leading::default());
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
        let turns = Turns::new(Leading::new(Some(leadership.clone())));
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
