//! The owner of every task. It starts and stops the tasks in order.

mod first_lines;

use crate::access_reviewer::ApiServerReviewer;
use crate::admin::{self, AdminSocket};
use crate::cli::OutboundArgs;
use crate::cluster::Cluster;
use crate::cluster_writer::ApiServerWriter;
use crate::election::{Candidate, ElectionOptions};
use crate::fence::Fence;
use crate::host_configuration::{ConfigurationStatus, HostConfiguration};
use crate::http::{Addresses, Listeners, Server, not_ready};
use crate::logging::LogFormat;
use crate::metrics::{MetricSources, RefusedByListener};
use crate::otlp::{Otlp, OtlpSettings, OtlpTasks};
use crate::outbound::OutboundHttp;
use crate::shutdown::LAST_ATTEMPT_MAX;
use crate::task::{Task, end, ended_early};
use anyhow::{Context as _, Result, bail};
use first_lines::{dashboard, introduce};
use informant_cache::leader_election::LeaderElector;
use informant_cache::{ApiServer, FactoryOptions, SharedInformerFactory, with_causes};
use informant_runtime::{
    CompilerOptions, PluginHost, PluginHostOptions, PluginName, Plugins, RecordOptions,
    StateDirectoryOptions,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long plugins and connections may take to end. Kubernetes gives a pod 30 s; the rest of that time is for the
/// remaining threads and the log (`shutdown.rs`).
const SHUTDOWN_GRACE: Duration = Duration::from_secs(24);
/// How long the start waits for the cluster's first answer.
const GREETING_DEADLINE: Duration = Duration::from_secs(2);
/// How long a candidate in an election prepares before it stands, and the time between two checks of its readiness.
const READY_MAX: Duration = Duration::from_secs(60);
const READY_LOOK: Duration = Duration::from_millis(50);
/// The largest number of threads for guests. More threads would compete with the informers for cores.
const GUEST_THREADS_MAX: usize = 4;

/// The parts of a host.
pub(crate) struct ManagerOptions {
    pub(crate) cluster: Cluster,
    pub(crate) directories: Vec<PathBuf>,
    /// The host's own configuration, with settings of plugins.
    pub(crate) configuration: HostConfiguration,
    /// The time between two reviews of the permissions of service accounts.
    pub(crate) review_every: Duration,
    pub(crate) compiler: CompilerOptions,
    /// `None`: nothing outlives the host.
    pub(crate) state: Option<StateDirectoryOptions>,
    /// The options for plugins' HTTP requests.
    pub(crate) outbound: OutboundArgs,
    /// `None`: plugins are not recorded.
    pub(crate) record: Option<RecordOptions>,
    /// `None`: no traces and no metrics are exported.
    pub(crate) otlp: Option<OtlpSettings>,
    /// `None`: this host leads without an election.
    pub(crate) election: Option<ElectionOptions>,
    pub(crate) addresses: Addresses,
    /// None: where hosts listen by default, if that can be had.
    pub(crate) admin_socket: Option<PathBuf>,
    pub(crate) log_format: LogFormat,
    /// If the cluster is embedded, the first lines omit the user and the admin socket: people did not choose them.
    pub(crate) is_cluster_embedded: bool,
    /// Plugins that `dev` builds.
    pub(crate) awaited: Vec<PluginName>,
}

/// A running host.
pub(crate) struct Manager {
    informers: Arc<SharedInformerFactory>,
    shown: Plugins,
    /// The address of the dashboard. `None`: the host's address serves none.
    dashboard: Option<String>,
    plugins: Task,
    server: Task,
    /// `None` if no socket was requested and the host could not listen at the default path.
    admin: Option<Task>,
    /// `None` if the host has no configuration file.
    follower: Option<Task>,
    election: Option<Election>,
    /// `None`: nothing is exported.
    otlp: Option<OtlpTasks>,
    /// Ends everything except the listener for probes and metrics, which reports that the host is not ready.
    shutdown: CancellationToken,
    /// Ends the listener for probes and metrics.
    probes_end: CancellationToken,
}

/// This host's part in an election.
struct Election {
    task: Task,
    candidate: Candidate,
    /// Releases the Lease.
    resign: CancellationToken,
}

/// The informers. To save memory, their objects lack the annotation of the last applied configuration. A plugin that
/// replaces an object would lose that annotation, so the documentation asks plugins to patch.
fn informers(client: kube::Client) -> Arc<SharedInformerFactory> {
    let source = ApiServer::new(client).without_last_applied();
    Arc::new(SharedInformerFactory::new(Arc::new(source), FactoryOptions::default()))
}

impl Manager {
    /// Listens, prints the first lines, then starts everything.
    pub(crate) async fn start(options: ManagerOptions) -> Result<Self> {
        crate::metrics::begin();
        let listeners = Listeners::bind(&options.addresses)?;
        let http = OutboundHttp::new(&options.outbound, &options.cluster)?;
        let socket = admin_socket(options.admin_socket.clone()).await?;
        let dashboard = dashboard(&listeners, options.is_cluster_embedded);
        introduce(&options, &listeners, socket.as_ref(), dashboard.as_deref());
        greet(&options.cluster).await;
        let election = options.election.map(|election| election.stand(&options.cluster.client));
        let election = election.transpose()?;
        let candidate = election.as_ref().map(|(_, candidate)| candidate.clone());
        let informers = informers(options.cluster.unbounded.clone());
        let otlp = options.otlp.map(Otlp::new).transpose()?;
        let writer = ApiServerWriter::new(&options.cluster, candidate.as_ref())?;
        let mut host = PluginHost::new(PluginHostOptions {
            awaited: options.awaited,
            configurations: options.configuration.said,
            cluster: Arc::new(writer),
            access: Arc::new(ApiServerReviewer::new(options.cluster.client.clone())),
            review_every: options.review_every,
            http: Arc::new(http.within(Fence::of(candidate.as_ref()))),
            threads: guest_threads(),
            compiler: options.compiler,
            state: options.state,
            leadership: candidate.as_ref().map(|candidate| candidate.leadership.clone()),
            tracer: otlp.as_ref().and_then(Otlp::tracer),
            ..PluginHostOptions::alone(options.directories, informers.clone())
        })?;
        options.record.map(|record| host.record(record)).transpose()?;
        let (shutdown, probes_end) = (CancellationToken::new(), CancellationToken::new());
        let shown = (candidate, options.configuration.status);
        let sources = sources(&host, informers.clone(), shown, otlp.as_ref());
        let otlp = otlp.map(|otlp| otlp.start(sources.clone())).transpose()?;
        let (client, stop) = (options.cluster.client, shutdown.clone());
        let server = Server::new(listeners, sources.clone(), client, host.admin(), stop);
        let admin = socket.map(|socket| serve_admin(socket, &sources, &server, shutdown.clone()));
        let follower = options.configuration.follower.map(|follower| {
            Task::spawn("the follower of the configuration", follower.run(shutdown.clone()))
        });
        let election = election.map(|(elector, candidate)| {
            let (plugins, informers) = (host.plugins(), informers.clone());
            let is_ready = move || not_ready(&plugins, &informers).is_empty();
            Election::start(elector, candidate, is_ready)
        });
        let server = server.run(probes_end.clone());
        Ok(Self {
            informers,
            shown: host.plugins(),
            dashboard,
            admin,
            follower,
            election,
            otlp,
            plugins: Task::spawn("the plugin host", host.run(shutdown.clone())),
            server: Task::spawn("the HTTP server", server),
            probes_end,
            shutdown,
        })
    }

    /// The plugins, for other parts of the program.
    pub(crate) fn plugins(&self) -> &Plugins {
        &self.shown
    }

    /// The address of the dashboard, if there is one.
    pub(crate) fn dashboard(&self) -> Option<&str> {
        self.dashboard.as_deref()
    }

    /// Runs until `stop` is cancelled, or until a task ends early. Then everything ends in order. `at_once` signals
    /// that there is no time for that; then this function does not return, because the process is ended.
    pub(crate) async fn run_until(
        mut self,
        stop: &CancellationToken,
        at_once: Option<watch::Receiver<()>>,
    ) -> Result<()> {
        // A host without a Lease has no last step.
        let at_once = at_once.filter(|_| self.election.is_some());
        let early = tokio::select! {
            () = stop.cancelled() => Ok(()),
            early = self.plugins.ended_early() => Err(early),
            early = self.server.ended_early() => Err(early),
            early = ended_early(&mut self.admin) => Err(early),
            early = ended_early(&mut self.follower) => Err(early),
            early = election_ended(&mut self.election) => Err(early),
            early = OtlpTasks::ended_early(&mut self.otlp) => Err(early),
        };
        self.shutdown.cancel();
        let drained = end_in_time(&mut self, Self::drain, Self::give_the_lease_back, at_once).await;
        early.and(drained)?;
        info!("stopped");
        Ok(())
    }

    /// The last attempt to release the Lease after the drain was cut off. Plugins may still run. Once the election's
    /// task resigns, this host leads no more and sends no write. Invariant 22.
    async fn give_the_lease_back(&mut self) {
        let Some(election) = &mut self.election else { return };
        election.resign.cancel();
        let given = tokio::time::timeout(LAST_ATTEMPT_MAX, election.task.end()).await;
        if given.is_err() {
            let lease = &election.candidate.lease;
            warn!(
                lease,
                "the Lease was not given back in time; another host leads once it has run out"
            );
        }
    }

    /// Ends plugins first, while the informers can still answer them. Probes and metrics end last, so that they are
    /// answered meanwhile. A failure of one part does not keep the other parts from ending.
    async fn drain(&mut self) -> Result<()> {
        let plugins = self.plugins.end().await;
        // Only the leader may do the work of the plugins, and that work has ended.
        let election = match &mut self.election {
            Some(election) => {
                election.resign.cancel();
                election.task.end().await
            }
            None => Ok(()),
        };
        self.informers.shutdown().await;
        self.probes_end.cancel();
        let server = self.server.end().await;
        let admin = end(&mut self.admin).await;
        let follower = end(&mut self.follower).await;
        let otlp = match &mut self.otlp {
            Some(otlp) => otlp.end().await,
            None => Ok(()),
        };
        plugins.and(election).and(server).and(admin).and(follower).and(otlp)
    }
}

impl Election {
    /// The host stands once it is ready, or after [`READY_MAX`], so that hosts that are ready lead first.
    fn start(
        elector: LeaderElector,
        candidate: Candidate,
        is_ready: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let resign = CancellationToken::new();
        let resigned = resign.clone();
        let run = async move {
            let ready = async {
                while !is_ready() {
                    tokio::time::sleep(READY_LOOK).await;
                }
            };
            tokio::select! {
                () = resigned.cancelled() => return,
                _ = tokio::time::timeout(READY_MAX, ready) => {}
            }
            elector.run(resigned.cancelled()).await;
        };
        Self { task: Task::spawn("the leader election", run), candidate, resign }
    }
}

/// Drains something within the grace. If the grace ends first, or if `at_once` signals, its `last` step runs instead.
/// After a signal of `at_once` this function does not return, because the process is ended.
async fn end_in_time<T>(
    what: &mut T,
    drain: impl AsyncFnOnce(&mut T) -> Result<()>,
    last: impl AsyncFnOnce(&mut T),
    mut at_once: Option<watch::Receiver<()>>,
) -> Result<()> {
    let drained = tokio::select! {
        drained = tokio::time::timeout(SHUTDOWN_GRACE, drain(what)) => Some(drained),
        () = told(at_once.as_mut()) => None,
    };
    if let Some(Ok(drained)) = drained {
        return drained;
    }
    last(what).await;
    if drained.is_none() {
        drop(at_once);
        std::future::pending().await
    }
    bail!("not everything ended in time and was cut off")
}

/// Waits until the process is to end at once.
async fn told(at_once: Option<&mut watch::Receiver<()>>) {
    if let Some(at_once) = at_once
        && at_once.changed().await.is_ok()
    {
        return;
    }
    // The sender is gone, so no signal can come.
    std::future::pending().await
}

/// Waits until a host in an election has to end: it leads no more, or the election's task ends. Invariant 20.
async fn election_ended(election: &mut Option<Election>) -> anyhow::Error {
    let Some(election) = election else { return std::future::pending().await };
    tokio::select! {
        lost = election.candidate.lost() => {
            // The host must not stand again while it ends.
            election.task.abort();
            lost
        }
        early = election.task.ended_early() => early,
    }
}

/// The sources of the metrics.
fn sources(
    host: &PluginHost,
    informers: Arc<SharedInformerFactory>,
    (candidate, configuration): (Option<Candidate>, Arc<ConfigurationStatus>),
    otlp: Option<&Otlp>,
) -> MetricSources {
    MetricSources {
        plugins: host.plugins(),
        informers,
        candidate,
        configuration,
        refused: RefusedByListener::default(),
        watches: Default::default(),
        otlp: otlp.map(Otlp::counts).unwrap_or_default(),
    }
}

fn serve_admin(
    socket: AdminSocket,
    sources: &MetricSources,
    server: &Server,
    shutdown: CancellationToken,
) -> Task {
    let MetricSources { plugins, informers, configuration, refused, .. } = sources.clone();
    let (actions, dashboard) = (server.actions(), server.dashboard());
    let shared = admin::AdminState { plugins, informers, configuration, actions, dashboard };
    Task::spawn(
        "the admin socket",
        socket.serve(shared, server.command_routes(), shutdown, refused.admin),
    )
}

/// One thread for each processor, up to [`GUEST_THREADS_MAX`].
fn guest_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(GUEST_THREADS_MAX)
}

/// The requested socket, or the default one. `None` for a second host of the same user: it runs without a socket.
async fn admin_socket(path: Option<PathBuf>) -> Result<Option<AdminSocket>> {
    let is_requested = path.is_some();
    let path = path.unwrap_or_else(admin::default_path);
    let socket = tokio::task::spawn_blocking(move || AdminSocket::listen(&path));
    match socket.await.context("the admin socket cannot be made; please report this")? {
        Err(error) if !is_requested => {
            warn!("commands such as `informant plugin list` do not reach this host: {error:#}");
            Ok(None)
        }
        socket => socket.map(Some),
    }
}

/// Asks the cluster for its version. Nothing else depends on the answer. People learn at once that a cluster cannot be
/// reached, even while no plugin uses the cluster.
async fn greet(cluster: &Cluster) {
    let name = &cluster.name;
    let asked = tokio::time::timeout(GREETING_DEADLINE, cluster.client.apiserver_version()).await;
    let problem = match asked {
        Ok(Ok(version)) => return info!("cluster answers: Kubernetes {}", version.git_version),
        Ok(Err(error)) => with_causes(&error),
        Err(_) => format!("no answer within {} s", GREETING_DEADLINE.as_secs()),
    };
    warn!(
        "cluster {name} cannot be asked: {problem}; starting all the same, it is tried again and again"
    );
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

    /// Checks a drain that takes `drain` seconds and a signal to end at once after `at_once` seconds. `last` is the
    /// second of the last step, if there is one. `over` is the second of the end, with its error.
    async fn check(drain: u64, at_once: Option<u64>, last: Option<u64>, over: (u64, Option<&str>)) {
        let start = tokio::time::Instant::now();
        let seconds = Duration::from_secs;
        let (told, is_told) = watch::channel(());
        let tell = async {
            let Some(at) = at_once else { return std::future::pending().await };
            tokio::time::sleep(seconds(at)).await;
            told.send_replace(());
            told.closed().await;
        };
        let mut last_step = None;
        let end = end_in_time(
            &mut last_step,
            async |_: &mut Option<u64>| {
                tokio::time::sleep(seconds(drain)).await;
                Ok(())
            },
            async |last: &mut Option<u64>| *last = Some(start.elapsed().as_secs()),
            Some(is_told),
        );
        let ended = tokio::select! {
            ended = end => ended,
            () = tell => Err(anyhow::anyhow!("nobody waits any more")),
        };
        let ended = (start.elapsed().as_secs(), ended.err().map(|error| error.to_string()));
        assert_eq!(last_step, last, "{drain} {at_once:?}");
        assert_eq!((ended.0, ended.1.as_deref()), over, "{drain} {at_once:?}");
    }

    /// Invariant 22.
    #[tokio::test(start_paused = true)]
    async fn what_is_done_last_is_done_where_the_end_in_order_is_cut_off() {
        let cut_off = Some("not everything ended in time and was cut off");
        check(23, None, None, (23, None)).await;
        check(25, None, Some(24), (24, cut_off)).await;
        check(25, Some(2), Some(2), (2, Some("nobody waits any more"))).await;
        check(1, Some(2), None, (1, None)).await;
    }

    #[tokio::test]
    async fn early_end_without_a_failure_is_one_all_the_same() {
        let mut task = Task::spawn("the gardener", async {});
        let error = task.ended_early().await.to_string();
        assert!(error.contains("the gardener ended by itself"), "{error}");
        task.end().await.expect("it was told");
    }
}
