//! The fields of a pod that this plugin reads. A partial type decodes faster than a complete one and
//! keeps the plugin small.

use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pod {
    pub metadata: Metadata,
    pub spec: Spec,
    pub status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub namespace: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Spec {
    pub node_name: String,
    pub containers: Vec<Container>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Container {
    pub name: String,
    pub image: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Status {
    pub phase: String,
    #[serde(rename = "podIP")]
    pub pod_ip: String,
    pub reason: String,
    pub container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ContainerStatus {
    pub ready: bool,
    pub restart_count: u32,
    pub state: State,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    pub waiting: Option<Stopped>,
    pub terminated: Option<Stopped>,
}

/// The state of a container that does not run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Stopped {
    pub reason: String,
}

impl Pod {
    /// Ready containers and all containers, in kubectl's form: `0/1`.
    pub fn ready(&self) -> String {
        let ready = self.status.container_statuses.iter().filter(|c| c.ready).count();
        format!("{ready}/{}", self.spec.containers.len())
    }

    /// Restarts of all containers.
    pub fn restarts(&self) -> u64 {
        self.status.container_statuses.iter().map(|c| u64::from(c.restart_count)).sum()
    }

    /// The reason why the pod does not run, or else why one of its containers does not; may be empty.
    pub fn reason(&self) -> &str {
        let of_containers = self.status.container_statuses.iter().filter_map(|c| {
            let stopped = c.state.waiting.as_ref().or(c.state.terminated.as_ref())?;
            Some(stopped.reason.as_str())
        });
        let mut reasons = std::iter::once(self.status.reason.as_str()).chain(of_containers);
        reasons.find(|reason| !reason.is_empty()).unwrap_or_default()
    }
}
