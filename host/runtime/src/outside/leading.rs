//! Whether this host leads: always, or while it holds the Lease of an election.

use informant_cache::leader_election::Leadership;

/// The lead of this host. Cheap to clone; clones share the state. The default is a host without an election, which
/// always leads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leading {
    leadership: Option<Leadership>,
}

impl Leading {
    pub(crate) fn new(leadership: Option<Leadership>) -> Self {
        Self { leadership }
    }

    /// Another host leads.
    #[cfg(test)]
    pub(crate) fn of_another() -> Self {
        use informant_cache::leader_election::testing::FakeLock;
        use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
        use std::sync::Arc;
        let lock = Arc::new(FakeLock::default());
        let elector = LeaderElector::new(lock, LeaderElectionConfig::new("a"));
        Self::new(Some(elector.expect("it can work").leadership()))
    }

    /// Whether this host leads now. With an election this turns `false` before another host can lead, even if no task
    /// of this host runs.
    pub(crate) fn is_leader(&self) -> bool {
        self.leadership.as_ref().is_none_or(Leadership::is_leader)
    }

    /// Waits until this host leads.
    pub(crate) async fn acquired(&self) {
        if let Some(leadership) = &self.leadership {
            leadership.acquired().await;
        }
    }

    /// The host that leads in this one's place, as a text for people.
    pub(crate) fn elsewhere(&self) -> String {
        self.leadership.as_ref().map_or_else(String::new, leader_text)
    }
}

/// The host that leads, as a text for people. Without one, the reason if it is known.
pub fn leader_text(leadership: &Leadership) -> String {
    match (leadership.leader(), leadership.failure()) {
        (Some(leader), _) => format!("{leader} leads"),
        (None, None) => "no host leads yet".to_owned(),
        (None, Some(failure)) => format!("no host leads yet: {failure}"),
    }
}
