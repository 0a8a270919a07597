//! What the examples share: the way to a cluster, as kubectl finds it, and where their lines go.

#![allow(dead_code, reason = "no example needs all of it")]

use anyhow::Context;
use informant_cache::client_for_config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long an example waits for a first list before it says that there is none.
pub const SYNC_DEADLINE: Duration = Duration::from_secs(30);

/// What an example fails with: a text for people, and its causes.
pub type Failure = anyhow::Error;

/// Where an example's lines go: to the screen, or to the test that runs it.
pub type Output = Arc<dyn Fn(String) + Send + Sync>;

/// The cluster that is meant.
#[derive(clap::Args, Clone, Debug)]
pub struct ClusterArgs {
    /// A kubeconfig; without it $KUBECONFIG, ~/.kube/config, or what a pod is given.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// One of its contexts instead of the current one.
    #[arg(long)]
    context: Option<String>,
}

impl ClusterArgs {
    /// A client for the cluster.
    pub async fn client(&self) -> Result<Client, Failure> {
        let config = match (&self.kubeconfig, &self.context) {
            (None, None) => Config::infer().await.context(
                "no cluster is known; name a kubeconfig with --kubeconfig or $KUBECONFIG",
            )?,
            (path, context) => {
                let kubeconfig = match path {
                    Some(path) => Kubeconfig::read_from(path).with_context(|| {
                        format!("{} cannot be read as a kubeconfig", path.display())
                    })?,
                    None => Kubeconfig::read()?,
                };
                let options =
                    KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
                Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
        };
        Ok(client_for_config(config)?)
    }
}

/// The screen.
#[allow(clippy::print_stdout, reason = "printing is what it is for")]
pub fn screen() -> Output {
    Arc::new(|line| println!("{line}"))
}

/// What the library has to say goes to stderr.
pub fn log_to_stderr() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
}

/// Ctrl-C was pressed.
pub async fn interrupted() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "Ctrl-C cannot be heard; end the process by other means");
        std::future::pending::<()>().await;
    }
}
