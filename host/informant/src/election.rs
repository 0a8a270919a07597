//! Leader election: it decides which of several hosts runs the plugins.

use crate::cli::ElectionArgs;
use anyhow::{Context, Result, anyhow};
use informant_cache::ApiServer;
use informant_cache::leader_election::{
    LeaderElectionConfig, LeaderElector, Leadership, unique_identity,
};
use informant_runtime::leader_text;
use std::sync::Arc;
use std::time::Duration;

/// A candidate in an election, for pages and metrics. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The Lease's name.
    pub(crate) lease: String,
    /// This host's identity in the Lease.
    identity: String,
    pub(crate) leadership: Leadership,
    /// The least time from the end of this host's term to the beginning of another host's term.
    pub(crate) margin: Duration,
}

impl Candidate {
    /// An error, with the reason, if no host leads.
    pub(crate) fn check_elected(&self) -> Result<(), String> {
        if self.leadership.is_leader() || self.leadership.leader().is_some() {
            return Ok(());
        }
        Err(leader_text(&self.leadership))
    }

    /// The host that leads in this one's place, in words. None: this host leads.
    pub(crate) fn elsewhere(&self) -> Option<String> {
        (!self.leadership.is_leader()).then(|| leader_text(&self.leadership))
    }

    /// Waits until this host has led and leads no more.
    pub(crate) async fn lost(&self) -> anyhow::Error {
        self.leadership.acquired().await;
        self.leadership.lost().await;
        let other = self.leadership.leader().filter(|leader| **leader != *self.identity);
        let by = other.map_or_else(String::new, |leader| format!(", which {leader} holds now"));
        anyhow!(
            "this host leads no more: it could not renew its Lease in time{by}; it ends, and starts on standby when it is started again"
        )
    }
}

/// The options of an election.
pub(crate) struct ElectionOptions {
    /// The name of the Lease.
    pub(crate) name: String,
    /// The namespace of the Lease. `None`: the client's default namespace.
    pub(crate) namespace: Option<String>,
    pub(crate) config: LeaderElectionConfig,
}

impl ElectionOptions {
    /// `None` without an election. An error if no election can work with these options. It comes before anything is
    /// started.
    pub(crate) fn new(args: ElectionArgs) -> Result<Option<Self>> {
        if !args.leader_elect {
            return Ok(None);
        }
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let config = LeaderElectionConfig {
            lease_duration: seconds(args.leader_elect_lease_duration),
            renew_deadline: seconds(args.leader_elect_renew_deadline),
            retry_period: seconds(args.leader_elect_retry_period),
            ..LeaderElectionConfig::new(unique_identity(&host_name()))
        };
        config.validate().context("no host can be elected with these --leader-elect options")?;
        let (name, namespace) =
            (args.leader_elect_resource_name, args.leader_elect_resource_namespace);
        Ok(Some(Self { name, namespace, config }))
    }

    /// The Lease as namespace and name, for people.
    pub(crate) fn lease(&self, client: &kube::Client) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(client.default_namespace());
        format!("{namespace}/{}", self.name)
    }

    /// Returns the elector and the candidate. The elector takes no part in the election before it runs.
    pub(crate) fn stand(self, client: &kube::Client) -> Result<(LeaderElector, Candidate)> {
        let namespace = self.namespace.as_deref().unwrap_or(client.default_namespace());
        let lock = ApiServer::new(client.clone()).lease_lock(namespace, &self.name);
        let identity = self.config.identity.clone();
        // The configuration was checked: the lease duration is longer than the renew deadline.
        let margin = self.config.lease_duration.saturating_sub(self.config.renew_deadline);
        let elector = LeaderElector::new(Arc::new(lock), self.config)?;
        let leadership = elector.leadership();
        let candidate = Candidate { lease: self.name, identity, leadership, margin };
        Ok((elector, candidate))
    }
}

/// The host's name for people: in a pod, the pod's name.
fn host_name() -> String {
    let known =
        std::env::var("HOSTNAME").or_else(|_| std::fs::read_to_string("/proc/sys/kernel/hostname"));
    let name = known.unwrap_or_default().trim().to_owned();
    if name.is_empty() { "informant".to_owned() } else { name }
}
