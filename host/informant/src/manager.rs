//! The owner of every task: starts them in order, stops them in order.

use crate::admin::{self, AdminSocket};
use crate::cli::LogFormat;
use crate::cluster::Cluster;
use crate::http::{Server, ServerOptions};
use crate::logging::Stdout;
use anyhow::{Context, Result, anyhow};
use informant_cache::{ApiServer, FactoryOptions, SharedInformerFactory};
use informant_runtime::{
    CompilerOptions, Limits, PluginHost, PluginHostOptions, StateDirectoryOptions,
};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long plugins and connections may take to end. Kubernetes gives a pod 30 s.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);
/// How long the start waits for a cluster's first word.
const GREETING_DEADLINE: Duration = Duration::from_secs(2);
/// Threads for guests: more would compete with the informers for cores.
const GUEST_THREADS_MAX: usize = 4;

/// What a host is made of.
pub(crate) struct ManagerOptions {
    pub(crate) cluster: Cluster,
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) compiler: CompilerOptions,
    /// None: nothing outlives the host.
    pub(crate) state: Option<StateDirectoryOptions>,
    pub(crate) listen: SocketAddr,
    /// None: where hosts listen by default, if that can be had.
    pub(crate) admin_socket: Option<PathBuf>,
    pub(crate) log_format: LogFormat,
}

/// A running host.
pub(crate) struct Manager {
    informers: Arc<SharedInformerFactory>,
    plugins: Task,
    server: Task,
    /// None where no socket was asked for and the default one could not be had.
    admin: Option<Task>,
    shutdown: CancellationToken,
}

impl Manager {
    /// Listens, says what is going to happen, then starts everything.
    pub(crate) async fn start(options: ManagerOptions) -> Result<Self> {
        let listener = listen(options.listen).await?;
        let address = listener.local_addr().context("the listening address is not known")?;
        let socket = admin_socket(options.admin_socket.as_deref())?;
        introduce(&options, address, socket.as_ref());
        greet(&options.cluster).await;
        let source = Arc::new(ApiServer::new(options.cluster.client.clone()));
        let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let host = PluginHost::new(PluginHostOptions {
            directories: options.directories,
            limits: Limits::default(),
            informers: informers.clone(),
            threads: threads.min(GUEST_THREADS_MAX),
            compiler: options.compiler,
            state: options.state,
        })?;
        let shutdown = CancellationToken::new();
        let server = Server::new(ServerOptions {
            address,
            plugins: host.plugins(),
            informers: informers.clone(),
            client: options.cluster.client,
        });
        let shared = admin::Shared {
            plugins: host.plugins(),
            informers: informers.clone(),
            admin: host.admin(),
        };
        let admin = socket
            .map(|socket| Task::spawn("the admin socket", socket.serve(shared, shutdown.clone())));
        Ok(Self {
            informers,
            admin,
            plugins: Task::spawn("the plugin host", host.run(shutdown.clone())),
            server: Task::spawn("the HTTP server", server.run(listener, shutdown.clone())),
            shutdown,
        })
    }

    /// Runs until it is told to stop, or until a task ends that should not; then everything ends in order.
    pub(crate) async fn run_until(mut self, stop: &CancellationToken) -> Result<()> {
        let early = tokio::select! {
            () = stop.cancelled() => Ok(()),
            early = self.plugins.ended_early() => Err(early),
            early = self.server.ended_early() => Err(early),
            early = ended_early(&mut self.admin) => Err(early),
        };
        self.shutdown.cancel();
        let drained = tokio::time::timeout(SHUTDOWN_GRACE, self.drain()).await;
        let drained = drained.context("not everything ended in time and was cut off");
        early.and(drained.flatten())?;
        info!("stopped");
        Ok(())
    }

    /// Plugins first, while the informers can still answer them. One failure does not keep the others from ending.
    async fn drain(&mut self) -> Result<()> {
        let plugins = self.plugins.end().await;
        self.informers.shutdown().await;
        let server = self.server.end().await;
        let admin = match &mut self.admin {
            Some(admin) => admin.end().await,
            None => Ok(()),
        };
        plugins.and(server).and(admin)
    }
}

/// A task and what to call it.
struct Task {
    name: &'static str,
    /// None once its end was told.
    handle: Option<JoinHandle<()>>,
}

impl Task {
    fn spawn(name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { name, handle: Some(tokio::spawn(task)) }
    }

    /// Waits for its end. A failure is told once.
    async fn end(&mut self) -> Result<()> {
        let Some(handle) = &mut self.handle else { return Ok(()) };
        let ended = handle.await;
        self.handle = None;
        ended.map_err(|error| anyhow!("{} failed: {error}; please report this", self.name))
    }

    /// Waits for an end that nobody asked for.
    async fn ended_early(&mut self) -> anyhow::Error {
        match self.end().await {
            Ok(()) => anyhow!("{} ended by itself; please report this", self.name),
            Err(error) => error,
        }
    }
}

/// Waits for the end of a task that may not be there.
async fn ended_early(task: &mut Option<Task>) -> anyhow::Error {
    match task {
        Some(task) => task.ended_early().await,
        None => std::future::pending().await,
    }
}

/// The socket that was asked for, or the default one if it can be had: a second host of the same user does without.
fn admin_socket(path: Option<&Path>) -> Result<Option<AdminSocket>> {
    if let Some(path) = path {
        return AdminSocket::listen(path).map(Some);
    }
    match AdminSocket::listen(&admin::default_path()) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) => {
            warn!("this host cannot be changed while it runs: {error:#}");
            Ok(None)
        }
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program has it; name another address with --listen (port 0 picks a free one)"
            }
            _ => "name another address with --listen",
        };
        anyhow!("cannot listen on {address}: {error}; {advice}")
    })
}

/// Asks the cluster who it is. Nothing depends on the answer but that people hear at once of a cluster that cannot
/// be reached, even while no plugin wants anything of it.
async fn greet(cluster: &Cluster) {
    let name = &cluster.name;
    let asked = tokio::time::timeout(GREETING_DEADLINE, cluster.client.apiserver_version()).await;
    let problem = match asked {
        Ok(Ok(version)) => return info!("cluster answers: Kubernetes {}", version.git_version),
        Ok(Err(error)) => format!("{:#}", anyhow::Error::from(error)),
        Err(_) => format!("no answer within {} s", GREETING_DEADLINE.as_secs()),
    };
    warn!(
        "cluster {name} cannot be asked: {problem}; starting all the same, it is tried again and again"
    );
}

/// The first lines: cluster, user, directory and address.
fn introduce(options: &ManagerOptions, address: SocketAddr, socket: Option<&AdminSocket>) {
    let directories: Vec<String> =
        options.directories.iter().map(|path| path.display().to_string()).collect();
    let directories = directories.join(", ");
    let (cluster, user) = (&options.cluster.name, &options.cluster.user);
    let version = env!("CARGO_PKG_VERSION");
    let admin = socket.map_or("none".to_owned(), |socket| socket.path().display().to_string());
    match options.log_format {
        LogFormat::Text => {
            // Whoever is gone already does not read it.
            let _ = writeln!(
                Stdout,
                "Informant {version}\n  cluster  {cluster}\n  user     {user}\n  plugins  {directories}\n  \
                 address  http://{address}  (/plugins, /metrics, /readyz)\n  \
                 admin    {admin}"
            );
        }
        LogFormat::Json => {
            let address = address.to_string();
            info!(version, cluster, user, plugins = directories, address, admin, "starting");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn failure_of_a_task_is_told_once_with_its_cause() {
        let mut task = Task::spawn("the gardener", async { panic!("no more seeds") });
        let error = task.ended_early().await.to_string();
        assert!(error.contains("the gardener failed"), "{error}");
        assert!(error.contains("no more seeds"), "{error}");
        task.end().await.expect("it was told");
    }

    #[tokio::test]
    async fn early_end_without_a_failure_is_one_all_the_same() {
        let mut task = Task::spawn("the gardener", async {});
        let error = task.ended_early().await.to_string();
        assert!(error.contains("the gardener ended by itself"), "{error}");
        task.end().await.expect("it was told");
    }
}
