//! What the host of the plugins is made of, and why it cannot be.

use crate::contract::configuration::Configurations;
use crate::guest::compiler::{CodeCacheError, CompilerOptions};
use crate::guest::engine::EngineError;
use crate::kept::archive::{StateDirectoryError, StateDirectoryOptions};
use crate::outside::access_reviewer::{AccessReviewer, NoReviews};
use crate::outside::cluster_writer::{ClusterWriter, NoCluster};
use crate::outside::http_client::{HttpClient, NoHttp};
use crate::recording::RecordError;
use informant_cache::SharedInformerFactory;
use informant_cache::leader_election::Leadership;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What the host of the plugins needs.
pub struct PluginHostOptions {
    /// Where plugin files are dropped.
    pub directories: Vec<PathBuf>,
    /// What the host's own configuration says of plugins. Where it says something else than before those that it concerns are loaded again.
    pub configurations: watch::Receiver<Arc<Configurations>>,
    /// Where informers come from.
    pub informers: Arc<SharedInformerFactory>,
    /// Who sends plugins' writes to the cluster.
    pub cluster: Arc<dyn ClusterWriter>,
    /// Who says what service accounts may read.
    pub access: Arc<dyn AccessReviewer>,
    /// How often it is asked again. What it has allowed is allowed for five minutes longer, if it does not answer then.
    pub review_every: Duration,
    /// Who sends plugins' requests to the world outside.
    pub http: Arc<dyn HttpClient>,
    /// Threads that guests run on.
    pub threads: usize,
    /// How plugins are compiled, and where the code is kept.
    pub compiler: CompilerOptions,
    /// Where what is to outlive the host is kept; none: it ends with the host.
    pub state: Option<StateDirectoryOptions>,
    /// Plugins run only while this says so; none: always. Who loses the lead ends the host: what another one did meanwhile is not made up for.
    pub leadership: Option<Leadership>,
}

impl PluginHostOptions {
    /// A host over these directories and informers alone, with one thread: its plugins may send nothing to a cluster or over HTTP, nothing is configured,
    /// nothing outlives it, and no other host is beside it.
    pub fn alone(directories: Vec<PathBuf>, informers: Arc<SharedInformerFactory>) -> Self {
        Self {
            directories,
            configurations: watch::channel(Arc::default()).1,
            informers,
            cluster: Arc::new(NoCluster),
            access: Arc::new(NoReviews),
            review_every: Duration::from_secs(60),
            http: Arc::new(NoHttp),
            threads: 1,
            compiler: CompilerOptions::default(),
            state: None,
            leadership: None,
        }
    }
}

/// The host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine cannot run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Compiled code cannot be kept where it is to be kept.
    #[error(transparent)]
    CodeCache(#[from] CodeCacheError),
    /// What is to outlive the host cannot be kept where it is to be kept.
    #[error(transparent)]
    State(#[from] StateDirectoryError),
    /// What is to be recorded cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The system gives no more threads.
    #[error("threads for plugins cannot be started: {0}")]
    Threads(#[from] std::io::Error),
}
