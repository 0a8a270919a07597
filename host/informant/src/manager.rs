//! The owner of every task: starts them in order, stops them in order.

use crate::cli::LogFormat;
use crate::cluster::Cluster;
use crate::http::{Server, ServerOptions};
use crate::shutdown::Signals;
use anyhow::{Context, Result, anyhow, bail};
use informant_cache::{ApiServer, FactoryOptions, SharedInformerFactory};
use informant_runtime::{Limits, PluginHost, PluginHostOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How long plugins and connections may take to end. Kubernetes gives a pod 30 s.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);
/// Threads for guests: more would compete with the informers for cores.
const GUEST_THREADS_MAX: usize = 4;

/// What a host is made of.
pub(crate) struct ManagerOptions {
    pub(crate) cluster: Cluster,
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) listen: SocketAddr,
    pub(crate) log_format: LogFormat,
}

/// A running host.
pub(crate) struct Manager {
    informers: Arc<SharedInformerFactory>,
    plugins: JoinHandle<()>,
    server: JoinHandle<std::io::Result<()>>,
    shutdown: CancellationToken,
}

impl Manager {
    /// Listens, says what is going to happen, then starts everything.
    pub(crate) async fn start(options: ManagerOptions) -> Result<Self> {
        let listener = listen(options.listen).await?;
        let address = listener.local_addr().context("the listening address is not known")?;
        introduce(&options, address);
        let source = Arc::new(ApiServer::new(options.cluster.client.clone()));
        let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let host = PluginHost::new(PluginHostOptions {
            directories: options.directories,
            limits: Limits::default(),
            informers: informers.clone(),
            threads: threads.min(GUEST_THREADS_MAX),
        })?;
        let shutdown = CancellationToken::new();
        let server = Server::new(ServerOptions {
            address,
            plugins: host.plugins(),
            informers: informers.clone(),
            client: options.cluster.client,
        });
        Ok(Self {
            informers,
            plugins: tokio::spawn(host.run(shutdown.clone())),
            server: tokio::spawn(server.run(listener, shutdown.clone())),
            shutdown,
        })
    }

    /// Runs until a signal, or until a task ends that should not.
    pub(crate) async fn run_until_signal(mut self) -> Result<()> {
        let mut signals = Signals::listen().context("signals cannot be received")?;
        let ended = tokio::select! {
            () = signals.first() => None,
            _ = &mut self.plugins => Some("the plugin host"),
            _ = &mut self.server => Some("the HTTP server"),
        };
        self.shutdown.cancel();
        if let Some(task) = ended {
            bail!("{task} ended by itself; please report this");
        }
        tokio::select! {
            drained = tokio::time::timeout(SHUTDOWN_GRACE, self.drain()) => {
                drained.context("not everything ended in time and was cut off")?
            }
            never = signals.second() => match never {},
        }
    }

    /// Plugins first, while the informers can still answer them.
    async fn drain(self) -> Result<()> {
        self.plugins.await.context("the plugin host failed while stopping")?;
        self.informers.shutdown().await;
        let served = self.server.await.context("the HTTP server failed while stopping")?;
        served.context("the HTTP server failed")?;
        info!("stopped");
        Ok(())
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

/// The first lines: cluster, user, directory and address.
#[expect(clippy::print_stdout, reason = "the program's first words are for whoever started it")]
fn introduce(options: &ManagerOptions, address: SocketAddr) {
    let directories: Vec<String> =
        options.directories.iter().map(|path| path.display().to_string()).collect();
    let directories = directories.join(", ");
    let (cluster, user) = (&options.cluster.name, &options.cluster.user);
    let version = env!("CARGO_PKG_VERSION");
    match options.log_format {
        LogFormat::Text => println!(
            "Informant {version}\n  cluster  {cluster}\n  user     {user}\n  plugins  {directories}\n  \
             address  http://{address}  (/plugins, /metrics, /readyz)"
        ),
        LogFormat::Json => {
            let address = address.to_string();
            info!(version, cluster, user, plugins = directories, address, "starting");
        }
    }
}
