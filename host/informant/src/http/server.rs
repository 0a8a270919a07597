//! The server: its listeners, each with its routes and its bounds.

use super::admin_token::AdminToken;
use super::callers::Callers;
use super::connections::{self, Bounds};
use super::exposure::{Exposure, is_probe};
use super::heartbeat::{Heartbeat, pulses};
use super::kubernetes_api::{KubernetesApi, WATCHES_MAX};
use super::listeners::{Bound, Listeners, SecureBound};
use super::on_demand::{IDLE_CHECK, OnDemand};
use super::openapi::CallerSchemes;
use super::own_thread;
use super::routes::{api_routes, command_routes, open_routes, secure_routes};
use super::scrapes::Scrapes;
use super::tls::{ServerTls, Transport};
use crate::actions::Actions;
use crate::metrics::{MetricSources, RefusedCounts};
use anyhow::{Context, Result};
use axum::Router;
use futures::FutureExt as _;
use futures::future::{OptionFuture, try_join_all};
use informant_runtime::PluginAdmin;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::error;

/// How long the last probes and scrapes may take: each is answered at once.
const PROBES_GRACE: Duration = Duration::from_secs(1);

/// What every request can reach.
pub(crate) struct ServerState {
    pub(super) sources: MetricSources,
    pub(super) on_demand: OnDemand,
    pub(super) kubernetes: KubernetesApi,
    pub(super) callers: Callers,
    /// With it callers on loopback act.
    pub(super) token: Arc<AdminToken>,
    pub(super) actions: Actions,
    pub(super) heartbeat: Heartbeat,
    /// The address of the HTTP API, which decides on the content that it may show.
    pub(super) address: SocketAddr,
    pub(super) exposure: Exposure,
    pub(super) ready: AtomicBool,
    pub(super) stopping: CancellationToken,
}

/// The server before it runs.
pub(crate) struct Server {
    listeners: Listeners,
    shared: Arc<ServerState>,
}

/// A listener with all that it serves, on a thread of its own.
struct Door {
    /// The thread's name.
    name: &'static str,
    listener: std::net::TcpListener,
    transport: Transport,
    router: Router,
    bounds: Bounds,
    refused: Arc<RefusedCounts>,
    shutdown: CancellationToken,
    /// Until it has ended, probes go on. None for the probes' own door.
    _under_way: Option<TaskTrackerToken>,
}

/// The doors of a server.
struct Doors {
    all: Vec<Door>,
    /// The doors of the API that have not ended.
    under_way: TaskTracker,
    /// Ends the door of the probes.
    probes_shutdown: CancellationToken,
    certificate: Option<Arc<ServerTls>>,
}

impl Server {
    /// Serves the state of the host, the objects that this client may read, and actions on plugins, on these listeners until
    /// `shutdown`.
    pub(crate) fn new(
        listeners: Listeners,
        sources: MetricSources,
        client: kube::Client,
        admin: PluginAdmin,
        shutdown: CancellationToken,
    ) -> Self {
        let address = listeners.api.address;
        let token = listeners.token.clone();
        let shared = Arc::new(ServerState {
            address,
            exposure: Exposure::of(address),
            on_demand: OnDemand::new(client.clone(), sources.informers.clone()),
            callers: Callers::new(client.clone(), sources.refused.callers.clone()),
            // No listener with shorter lives serves it.
            kubernetes: KubernetesApi::new(client, Bounds::api().life_max, shutdown.clone()),
            heartbeat: Heartbeat::default(),
            token,
            actions: Actions::new(admin, sources.candidate.clone()),
            sources,
            ready: AtomicBool::new(false),
            stopping: shutdown,
        });
        Self { listeners, shared }
    }

    /// The actions on plugins, for the admin socket too.
    pub(crate) fn actions(&self) -> Actions {
        self.shared.actions.clone()
    }

    /// The address of the dashboard, with the token that acts, or the reason why there is none.
    pub(crate) fn dashboard(&self) -> Result<String, String> {
        self.listeners.dashboard()
    }

    /// The paths that commands read over the admin socket.
    pub(crate) fn command_routes(&self) -> Router {
        command_routes(self.shared.clone())
    }

    /// Serves the API until the shutdown. Probes and metrics on their own listener go on until
    /// `probes_end`, and until the API's requests under way have ended.
    pub(crate) async fn run(self, probes_end: CancellationToken) {
        let (doors, shared) = self.doors();
        let Doors { all, under_way, probes_shutdown, certificate } = doors;
        let rest = async {
            tokio::join!(under_way.wait(), probes_end.cancelled());
            probes_shutdown.cancel();
            Ok(())
        };
        let served = async {
            tokio::try_join!(serve_apart(all, &shared), rest)?;
            // The plugin host has ended before its probes, and leaves no action without an answer.
            shared.actions.ended().await;
            Ok::<_, anyhow::Error>(())
        };
        tokio::select! {
            served = served => if let Err(error) = served {
                error!("the addresses cannot be served: {error:#}");
            },
            () = shared.expire() => {}
            () = follow(certificate) => {}
            () = shared.heartbeat.beat() => {}
        }
    }

    /// The doors, that of the probes first, if there is one.
    fn doors(self) -> (Doors, Arc<ServerState>) {
        let Self { listeners: Listeners { api, metrics, secure, .. }, shared } = self;
        let (under_way, probes_shutdown) = (TaskTracker::new(), CancellationToken::new());
        let scrapes = Scrapes::default();
        let metrics = metrics.map(|bound| {
            Door::of_metrics(bound, &shared, scrapes.of_another(), probes_shutdown.clone())
        });
        let certificate = secure.as_ref().map(|secure| secure.tls.clone());
        let secured = secure
            .map(|secure| Door::secure(secure, &shared, scrapes.of_another(), under_way.token()));
        let api = Door::of_api(api, &shared, scrapes, under_way.token());
        // There are no more of them.
        under_way.close();
        let all = metrics.into_iter().chain([api]).chain(secured).collect();
        (Doors { all, under_way, probes_shutdown, certificate }, shared)
    }
}

impl ServerState {
    /// Gives back the leftovers of requests, for ever.
    async fn expire(&self) {
        loop {
            tokio::time::sleep(IDLE_CHECK).await;
            self.on_demand.expire();
            self.kubernetes.expire();
        }
    }

    /// Looks whether the host's async runtime and its tasks go on, for ever.
    async fn look(&self) {
        self.heartbeat.look(|| pulses(&self.sources.informers, &self.sources.plugins)).await;
    }
}

impl Door {
    /// Everything, for processes of this machine.
    fn of_api(
        bound: Bound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        under_way: TaskTrackerToken,
    ) -> Self {
        let (refused, shutdown) = (shared.sources.refused.api.clone(), shared.stopping.clone());
        let bounds = match shared.exposure {
            Exposure::HealthOnly => Bounds::open(),
            Exposure::Loopback => Bounds::api().with_watches(WATCHES_MAX),
        };
        let router = api_routes(shared.clone(), scrapes, Handle::current());
        let (listener, transport) = (bound.listener, Transport::Plain);
        let _under_way = Some(under_way);
        Self { name: "api", listener, transport, router, bounds, refused, shutdown, _under_way }
    }

    /// Probes and metrics, for everybody.
    fn of_metrics(
        bound: Bound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        shutdown: CancellationToken,
    ) -> Self {
        let refused = shared.sources.refused.metrics.clone();
        let router = open_routes(shared.clone(), scrapes);
        let bounds = Bounds { stop_grace: PROBES_GRACE, ..Bounds::open() };
        let (listener, transport) = (bound.listener, Transport::Plain);
        let (name, _under_way) = ("probes", None);
        Self { name, listener, transport, router, bounds, refused, shutdown, _under_way }
    }

    /// Everything, for callers with the rights to it.
    fn secure(
        secure: SecureBound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        under_way: TaskTrackerToken,
    ) -> Self {
        let (refused, shutdown) = (shared.sources.refused.secure.clone(), shared.stopping.clone());
        let schemes = match secure.tls.takes_certificates() {
            true => CallerSchemes::TokensAndCertificates,
            false => CallerSchemes::Tokens,
        };
        let router = secure_routes(shared.clone(), scrapes, schemes, Handle::current());
        let (listener, transport) = (secure.bound.listener, Transport::Tls(secure.tls));
        let (name, bounds, _under_way) =
            ("secure-api", Bounds::secure(WATCHES_MAX), Some(under_way));
        Self { name, listener, transport, router, bounds, refused, shutdown, _under_way }
    }

    /// Serves on the async runtime that this is called on.
    async fn serve(self) -> Result<()> {
        let Self { name: _, listener, transport, router, bounds, refused, shutdown, _under_way } =
            self;
        let listener = TcpListener::from_std(listener).context("a listener is not taken over")?;
        connections::serve(listener, transport, router, is_probe, shutdown, bounds, refused).await;
        Ok(())
    }
}

async fn follow(certificate: Option<Arc<ServerTls>>) {
    match certificate {
        Some(certificate) => certificate.follow().await,
        None => std::future::pending().await,
    }
}

/// Serves each on a thread of its own: each connection costs it, that of a stranger too, and holds up no event and no other address. The first
/// thread also looks at the host: each look counts.
async fn serve_apart(doors: Vec<Door>, shared: &Arc<ServerState>) -> Result<()> {
    let threads = doors.into_iter().enumerate().map(|(number, door)| {
        let name = door.name;
        let looker = (number == 0).then(|| shared.clone());
        let serve = async move || {
            let look = OptionFuture::from(looker.as_ref().map(|shared| shared.look()));
            tokio::select! {
                served = door.serve() => served,
                Some(()) = look => Ok(()),
            }
        };
        own_thread::run(name, serve).map(Result::flatten)
    });
    try_join_all(threads).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Addresses;
    use crate::http::listeners::SecureAddress;
    use crate::http::tls::TlsFiles;
    use crate::metrics::RefusedByListener;
    use informant_cache::testing::FakeControllerSource;
    use informant_cache::{FactoryOptions, SharedInformerFactory};
    use informant_runtime::{PluginHost, PluginHostOptions};
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::path::Path;

    /// Longer than any answer takes on a busy machine. A thread that never answers fails the test.
    const READ_MAX: Duration = Duration::from_secs(60);

    /// A server without a cluster, and the directory of its host.
    fn server(shutdown: CancellationToken, files: Option<TlsFiles>) -> (Server, tempfile::TempDir) {
        let free = "127.0.0.1:0".parse().expect("an address");
        let secure = files.map(|files| SecureAddress { address: free, files });
        let addresses = Addresses { api: free, metrics: Some(free), secure };
        let listeners = Listeners::bind(&addresses).expect("free ports");
        let source = Arc::new(FakeControllerSource::default());
        let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
        let directory = tempfile::tempdir().expect("a directory");
        let directories = vec![directory.path().to_owned()];
        let host = PluginHost::new(PluginHostOptions::alone(directories, informers.clone()));
        let host = host.expect("it can be made");
        let sources = MetricSources {
            plugins: host.plugins(),
            informers,
            candidate: None,
            configuration: Arc::default(),
            refused: RefusedByListener::default(),
            watches: Arc::default(),
            otlp: Arc::default(),
        };
        let unreachable = tower::service_fn(async |_: http::Request<kube::client::Body>| {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no cluster"))
        });
        let client = kube::Client::new(unreachable, "default");
        (Server::new(listeners, sources, client, host.admin(), shutdown), directory)
    }

    /// Asks without the async runtime of the test, whose only thread waits here.
    #[track_caller]
    fn check(address: SocketAddr, path: &str, expect: &str) {
        let mut client = TcpStream::connect(address).expect("it listens");
        client.set_read_timeout(Some(READ_MAX)).expect("it is open");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).expect("it is open");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {expect}")), "{path}: {answer}");
    }

    #[tokio::test]
    async fn requests_need_none_of_the_threads_that_bring_events() {
        let shutdown = CancellationToken::new();
        let (server, _directory) = server(shutdown.clone(), None);
        let (api, metrics) = (server.listeners.address(), server.listeners.metrics_address());
        let serving = tokio::spawn(server.run(shutdown.clone()));
        // It begins.
        tokio::task::yield_now().await;
        for path in ["/livez", "/metrics", "/plugins", "/informers", "/", "/ui/"] {
            check(api, path, "200");
        }
        check(api, "/plugins/none/logs?follow=true", "404");
        check(api, "/nothing", "404");
        check(metrics.expect("an address"), "/livez", "200");
        shutdown.cancel();
        serving.await.expect("it ends well");
    }

    #[tokio::test]
    async fn probes_go_on_until_both_doors_of_the_api_have_ended() {
        let testdata = |file: &str| {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/outbound/testdata").join(file)
        };
        let (certificate, key) = (testdata("server.pem"), testdata("server.key"));
        let files = TlsFiles { certificate, key, client_authorities: None };
        let (server, _directory) = server(CancellationToken::new(), Some(files));
        let (doors, _shared) = server.doors();
        let names: Vec<_> = doors.all.iter().map(|door| door.name).collect();
        assert_eq!(names, ["probes", "api", "secure-api"]);
        for door in doors.all.into_iter().skip(1) {
            assert!(doors.under_way.wait().now_or_never().is_none(), "before {}", door.name);
        }
        assert!(doors.under_way.wait().now_or_never().is_some());
    }
}
