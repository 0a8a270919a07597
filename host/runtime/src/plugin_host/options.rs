//! The options of the plugin host, and the errors of its start.

use super::STOPS_TIME_MAX;
use crate::contract::configuration::Configurations;
use crate::guest::compiler::{CodeCacheError, CompilerOptions};
use crate::guest::engine::EngineError;
use crate::kept::archive::{StateDirectoryError, StateDirectoryOptions};
use crate::outside::access_reviewer::{AccessReviewer, NoReviews};
use crate::outside::cluster_writer::{ClusterWriter, NoCluster};
use crate::outside::http_client::{HttpClient, NoHttp};
use crate::plugin_name::PluginName;
use crate::recording::RecordError;
use crate::trace::Tracer;
use informant_cache::SharedInformerFactory;
use informant_cache::leader_election::Leadership;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The options of the plugin host.
pub struct PluginHostOptions {
    /// The directories of plugin files.
    pub directories: Vec<PathBuf>,
    /// Plugins whose files are still to be built: configured names that are no mistake.
    pub awaited: Vec<PluginName>,
    /// The host's own configuration of plugins. After a change, plugins with changed settings are loaded again.
    pub configurations: watch::Receiver<Arc<Configurations>>,
    /// The source of informers.
    pub informers: Arc<SharedInformerFactory>,
    /// Sends plugins' writes to the cluster.
    pub cluster: Arc<dyn ClusterWriter>,
    /// Answers which resources service accounts may read.
    pub access: Arc<dyn AccessReviewer>,
    /// The interval of the reviews. Without an answer, an allowed read stays allowed for five more minutes.
    pub review_every: Duration,
    /// Sends plugins' outside HTTP requests.
    pub http: Arc<dyn HttpClient>,
    /// Threads that guests run on.
    pub threads: usize,
    /// The options for compiling and for the code cache.
    pub compiler: CompilerOptions,
    /// The state directory; `None`: the data ends with the host.
    pub state: Option<StateDirectoryOptions>,
    /// Plugins run only while this host leads; `None`: always. A host that loses the lead must end: it cannot catch up
    /// with another host's work.
    pub leadership: Option<Leadership>,
    /// Makes spans of plugins' calls; `None`: there are no traces.
    pub tracer: Option<Tracer>,
    /// The time of all plugins together, at the end of the host, for calls under way and for `stop`:
    /// [`STOPS_TIME_MAX`]. Plugins that have not ended then are cut off.
    pub stops_time: Duration,
}

impl PluginHostOptions {
    /// A host over these directories and informers alone, with one thread. Its plugins may send nothing to a cluster
    /// or over HTTP, and nothing is configured. No data outlives the host, and no other host runs beside it.
    pub fn alone(directories: Vec<PathBuf>, informers: Arc<SharedInformerFactory>) -> Self {
        Self {
            directories,
            awaited: Vec::new(),
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
            tracer: None,
            stops_time: STOPS_TIME_MAX,
        }
    }
}

/// The host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine cannot run here.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The directory for compiled code cannot be used.
    #[error(transparent)]
    CodeCache(#[from] CodeCacheError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateDirectoryError),
    /// The recordings cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The system gives no more threads.
    #[error("threads for plugins cannot be started: {0}")]
    Threads(#[from] std::io::Error),
}
