//! The embedded cluster, over HTTP, on a thread of its own: it outlives the runtimes of single tests.

use std::path::Path;

/// `informant-devcluster` in this process.
pub struct EmbeddedCluster {
    dir: tempfile::TempDir,
}

impl EmbeddedCluster {
    /// Starts it on a free loopback port.
    pub fn start() -> anyhow::Result<Self> {
        anyhow::bail!("the embedded cluster does not serve yet: set INFORMANT_E2E=real")
    }

    /// Its kubeconfig, the same for every user.
    pub fn kubeconfig(&self) -> &Path {
        self.dir.path()
    }

    /// Drops the watch history and ends open watches.
    pub fn forget_history(&mut self) -> anyhow::Result<()> {
        anyhow::bail!("the embedded cluster does not serve yet")
    }

    /// Closes every connection and the port.
    pub fn stop_serving(&mut self) -> anyhow::Result<()> {
        anyhow::bail!("the embedded cluster does not serve yet")
    }

    /// Serves again at the same address.
    pub fn serve_again(&mut self) -> anyhow::Result<()> {
        anyhow::bail!("the embedded cluster does not serve yet")
    }
}
