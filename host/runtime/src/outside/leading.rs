//! Whether this host is the one that acts: always, or while it holds the lease of an election.

use informant_cache::leader_election::Leadership;

/// Who asks whether this host acts. Cheap to clone; a clone sees the same. The default is a host without an election, which always does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leading {
    leadership: Option<Leadership>,
}

impl Leading {
    pub(crate) fn new(leadership: Option<Leadership>) -> Self {
        Self { leadership }
    }

    /// Another host acts.
    #[cfg(test)]
    pub(crate) fn of_another() -> Self {
        use informant_cache::leader_election::testing::FakeLock;
        use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
        use std::sync::Arc;
        let lock = Arc::new(FakeLock::default());
        let elector = LeaderElector::new(lock, LeaderElectionConfig::new("a"));
        Self::new(Some(elector.expect("it can work").leadership()))
    }

    /// Whether it acts at this moment. With an election this turns false before another host can act, even where nothing here runs.
    pub(crate) fn is_leader(&self) -> bool {
        self.leadership.as_ref().is_none_or(Leadership::is_leader)
    }

    /// Waits until it acts.
    pub(crate) async fn acquired(&self) {
        if let Some(leadership) = &self.leadership {
            leadership.acquired().await;
        }
    }

    /// Who acts in this host's place, for people.
    pub(crate) fn elsewhere(&self) -> String {
        let Some(leadership) = &self.leadership else { return String::new() };
        match (leadership.leader(), leadership.failure()) {
            (Some(leader), _) => format!("{leader} leads"),
            (None, None) => "no host leads yet".to_owned(),
            (None, Some(failure)) => format!("no host leads yet: {failure}"),
        }
    }
}
