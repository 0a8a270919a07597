//! The embedded cluster, over HTTP, on a runtime of its own: it outlives the runtimes of single tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use informant_devcluster::store::Backup;
use informant_devcluster::{DevCluster, DevClusterOptions};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::cluster::User;

/// Tests that hold a port end within this time.
const PORT_MAX: Duration = Duration::from_secs(30);

/// `informant-devcluster` in this process.
pub struct EmbeddedCluster {
    cluster: Arc<DevCluster>,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    /// Where the kubeconfigs are.
    dir: tempfile::TempDir,
    backup: Option<Backup>,
}

impl EmbeddedCluster {
    /// Starts it on a free loopback port.
    pub async fn start() -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let cluster = DevCluster::start(DevClusterOptions::default());
        let cluster = runtime.spawn(cluster).await.context("start the embedded cluster")??;
        let dir = tempfile::Builder::new().prefix("informant-e2e-").tempdir()?;
        for user in User::ALL {
            let text = kubeconfig(&cluster.kubeconfig(), user)?;
            std::fs::write(kubeconfig_path(dir.path(), user), text).context("write kubeconfigs")?;
        }
        let cluster = Arc::new(cluster);
        Ok(Self { cluster, runtime: Some(runtime), dir, backup: None })
    }

    /// The kubeconfig of this user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        kubeconfig_path(self.dir.path(), user)
    }

    /// The cluster itself.
    pub fn dev_cluster(&self) -> &Arc<DevCluster> {
        &self.cluster
    }

    /// Drops the watch history and ends open watches.
    pub fn forget_history(&mut self) {
        self.cluster.compact();
        self.cluster.drop_watches();
    }

    /// Closes every connection and the port.
    pub async fn stop_serving(&mut self) -> anyhow::Result<()> {
        let cluster = self.cluster.clone();
        self.runtime().spawn(async move { cluster.stop_serving().await }).await?;
        Ok(())
    }

    /// Serves again at the same address. Another test may have been given the free port meanwhile: until it gives
    /// the port back, the server stays away a little longer.
    pub async fn serve_again(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PORT_MAX;
        loop {
            let cluster = self.cluster.clone();
            match self.runtime().spawn(async move { cluster.serve_again().await }).await? {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() >= deadline => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Remembers the state of this moment.
    pub fn take_backup(&mut self) {
        self.backup = Some(self.cluster.backup());
    }

    /// Goes back to the backup while nobody is connected.
    pub async fn restore_backup(&mut self) -> anyhow::Result<()> {
        self.stop_serving().await?;
        self.cluster.restore(self.backup.as_ref().context("there is no backup")?);
        self.serve_again().await
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until the drop")
    }
}

impl Drop for EmbeddedCluster {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Not the waiting kind: this may run inside a test's own runtime.
            runtime.shutdown_background();
        }
    }
}

fn kubeconfig_path(dir: &Path, user: User) -> PathBuf {
    dir.join(format!("{}.kubeconfig", user.name()))
}

/// The cluster asks nobody who they are: all but the administrator say so themselves.
fn kubeconfig(of_administrator: &str, user: User) -> anyhow::Result<String> {
    let mut config: Value = serde_json::from_str(of_administrator).context("it is JSON")?;
    if user != User::Admin {
        config["users"][0]["user"] = json!({"as": user.name()});
    }
    Ok(config.to_string())
}
