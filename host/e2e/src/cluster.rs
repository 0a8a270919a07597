//! A cluster to test against: the embedded one in this process, or a real API server as two child
//! processes. Tests see one type and ask for what only one of them has by name.

mod embedded;
mod real;

use std::path::PathBuf;

use crate::api::Api;
use crate::permissions::Permissions;
pub use crate::user::User;

pub use embedded::EmbeddedCluster;
pub use real::RealCluster;

/// Chooses the cluster: `real`, `embedded`, or unset for embedded.
pub const KIND_VARIABLE: &str = "INFORMANT_E2E";

/// Which cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterKind {
    /// `informant-devcluster` in this process, over HTTP.
    Embedded,
    /// etcd and kube-apiserver, built by `make e2e-tools`.
    Real,
}

impl ClusterKind {
    /// As the environment says.
    pub fn from_env() -> anyhow::Result<Self> {
        match std::env::var(KIND_VARIABLE).as_deref() {
            Err(_) | Ok("" | "embedded") => Ok(Self::Embedded),
            Ok("real") => Ok(Self::Real),
            Ok(other) => {
                anyhow::bail!(
                    "{KIND_VARIABLE} is {other:?}: write `real` or `embedded`, or unset it"
                )
            }
        }
    }
}

/// A running cluster; dropping it ends it.
pub enum TestCluster {
    /// See [`ClusterKind::Embedded`].
    Embedded(EmbeddedCluster),
    /// See [`ClusterKind::Real`].
    Real(Box<RealCluster>),
}

impl TestCluster {
    /// Starts the cluster that the environment chooses and waits until it answers.
    pub async fn start() -> anyhow::Result<Self> {
        match ClusterKind::from_env()? {
            ClusterKind::Embedded => Ok(Self::Embedded(EmbeddedCluster::start().await?)),
            ClusterKind::Real => Ok(Self::Real(Box::new(RealCluster::start().await?))),
        }
    }

    /// Which one it is.
    pub fn kind(&self) -> ClusterKind {
        match self {
            Self::Embedded(_) => ClusterKind::Embedded,
            Self::Real(_) => ClusterKind::Real,
        }
    }

    /// A kubeconfig file for this user. It lives as long as the cluster.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        match self {
            Self::Embedded(cluster) => cluster.kubeconfig(user),
            Self::Real(cluster) => cluster.kubeconfig(user),
        }
    }

    /// Grants and takes away what [`User::Reader`] may do.
    pub fn permissions(&self) -> Permissions {
        match self {
            Self::Embedded(cluster) => Permissions::of_embedded(cluster.dev_cluster().clone()),
            Self::Real(_) => Permissions::of_real(),
        }
    }

    /// A client for this user. It lives on the calling test's runtime.
    pub async fn api(&self, user: User) -> anyhow::Result<Api> {
        Api::from_kubeconfig(&self.kubeconfig(user)).await
    }

    /// Drops the history: a watch or a continue token from before is 410 from now on.
    ///
    /// The real server keeps recent history in memory too, so that one is restarted after etcd's
    /// compaction. Watches that are open end, on both.
    pub async fn forget_history(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(cluster) => {
                cluster.forget_history();
                Ok(())
            }
            Self::Real(cluster) => {
                cluster.compact_etcd().await?;
                cluster.kill_apiserver();
                cluster.start_apiserver().await
            }
        }
    }

    /// The server dies without a word; its port refuses connections from now on.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(cluster) => cluster.stop_serving().await,
            Self::Real(cluster) => {
                cluster.kill_apiserver();
                Ok(())
            }
        }
    }

    /// After [`TestCluster::kill`]: serves again, at the same address, with the same objects.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(cluster) => cluster.serve_again().await,
            Self::Real(cluster) => cluster.start_apiserver().await,
        }
    }

    /// Remembers the state of this moment for [`TestCluster::restore_backup`]. The real server is stopped and
    /// started for it: clients are disconnected, and nothing is lost.
    pub async fn take_backup(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(cluster) => {
                cluster.take_backup();
                Ok(())
            }
            Self::Real(cluster) => cluster.take_backup().await,
        }
    }

    /// Everything dies, the backup takes the present state's place, and all is served again at the same address. The
    /// resourceVersion goes back: later ones are handed out a second time.
    pub async fn restore_backup(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(cluster) => cluster.restore_backup().await,
            Self::Real(cluster) => cluster.restore_backup().await,
        }
    }
}
