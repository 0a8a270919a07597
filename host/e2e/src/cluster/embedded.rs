//! The embedded cluster, over HTTP, on a runtime of its own: it outlives the runtimes of single tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use informant_devcluster::{DevCluster, DevClusterOptions};
use tokio::runtime::{Builder, Runtime};

/// `informant-devcluster` in this process.
pub struct EmbeddedCluster {
    cluster: Arc<DevCluster>,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    kubeconfig: PathBuf,
    /// Where the kubeconfig is.
    _dir: tempfile::TempDir,
}

impl EmbeddedCluster {
    /// Starts it on a free loopback port.
    pub async fn start() -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let cluster = DevCluster::start(DevClusterOptions::default());
        let cluster = runtime.spawn(cluster).await.context("start the embedded cluster")??;
        let dir = tempfile::Builder::new().prefix("informant-e2e-").tempdir()?;
        let kubeconfig = dir.path().join("kubeconfig");
        cluster.write_kubeconfig(&kubeconfig).context("write the kubeconfig")?;
        let cluster = Arc::new(cluster);
        Ok(Self { cluster, runtime: Some(runtime), kubeconfig, _dir: dir })
    }

    /// Its kubeconfig, the same for every user.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
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

    /// Serves again at the same address.
    pub async fn serve_again(&mut self) -> anyhow::Result<()> {
        let cluster = self.cluster.clone();
        self.runtime().spawn(async move { cluster.serve_again().await }).await??;
        Ok(())
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
