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
use informant_runtime::PluginAdmin;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};
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

/// A listener with all that it serves.
struct Door {
    listener: std::net::TcpListener,
    transport: Transport,
    router: Router,
    bounds: Bounds,
    refused: Arc<RefusedCounts>,
    shutdown: CancellationToken,
    /// It has ended.
    _ends: DropGuard,
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
    /// `probes_end`, and until the API's requests under way have ended. Addresses that other machines
    /// reach are served on threads of their own.
    pub(crate) async fn run(self, probes_end: CancellationToken) {
        let Self { listeners: Listeners { api, metrics, secure, .. }, shared } = self;
        let shutdown = shared.stopping.clone();
        let is_open = shared.exposure == Exposure::HealthOnly;
        let bounds = if is_open { Bounds::open() } else { Bounds::api().with_watches(WATCHES_MAX) };
        let (api_ended, rest_ended) = (CancellationToken::new(), CancellationToken::new());
        let scrapes = Scrapes::default();
        let metrics = metrics.map(|bound| {
            Door::of_metrics(bound, &shared, scrapes.of_another(), rest_ended.clone())
        });
        let certificate = secure.as_ref().map(|secure| secure.tls.clone());
        let secured = secure.map(|secure| {
            let scrapes = scrapes.of_another();
            Door::secure(secure, &shared, scrapes, shutdown.clone(), &api_ended)
        });
        let api = Door::of_api(api, &shared, scrapes, bounds, shutdown, &api_ended);
        let (here, apart) = if is_open { (None, Some(api)) } else { (Some(api), None) };
        // Without a thread for probes the runtime looks at itself.
        let is_alone = apart.is_none() && metrics.is_none();
        let rest = async {
            tokio::join!(api_ended.cancelled(), probes_end.cancelled());
            rest_ended.cancel();
            Ok(())
        };
        let served = async {
            let apart = serve_apart(apart.into_iter().chain(metrics).collect(), shared.clone());
            tokio::try_join!(serve_here(here), apart, serve_secure(secured), rest)?;
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
            () = shared.heartbeat.look(|| pulses(&shared.sources.informers, &shared.sources.plugins)), if is_alone => {}
        }
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
}

impl Door {
    /// Everything, for processes of this machine.
    fn of_api(
        bound: Bound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        bounds: Bounds,
        shutdown: CancellationToken,
        ended: &CancellationToken,
    ) -> Self {
        let refused = shared.sources.refused.api.clone();
        let router = api_routes(shared.clone(), scrapes);
        let (listener, transport) = (bound.listener, Transport::Plain);
        let _ends = ended.clone().drop_guard();
        Self { listener, transport, router, bounds, refused, shutdown, _ends }
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
        let _ends = CancellationToken::new().drop_guard();
        Self { listener, transport, router, bounds, refused, shutdown, _ends }
    }

    /// Everything, for callers with the rights to it. Its requests are answered on this async runtime.
    fn secure(
        secure: SecureBound,
        shared: &Arc<ServerState>,
        scrapes: Scrapes,
        shutdown: CancellationToken,
        ended: &CancellationToken,
    ) -> Self {
        let refused = shared.sources.refused.secure.clone();
        let schemes = match secure.tls.takes_certificates() {
            true => CallerSchemes::TokensAndCertificates,
            false => CallerSchemes::Tokens,
        };
        let router = secure_routes(shared.clone(), scrapes, schemes, Handle::current());
        let (listener, transport) = (secure.bound.listener, Transport::Tls(secure.tls));
        let _ends = ended.clone().drop_guard();
        let bounds = Bounds::secure(WATCHES_MAX);
        Self { listener, transport, router, bounds, refused, shutdown, _ends }
    }

    /// Serves on the async runtime that this is called on.
    async fn serve(self) -> Result<()> {
        let Self { listener, transport, router, bounds, refused, shutdown, _ends } = self;
        let listener = TcpListener::from_std(listener).context("a listener is not taken over")?;
        connections::serve(listener, transport, router, is_probe, shutdown, bounds, refused).await;
        Ok(())
    }
}

async fn serve_here(door: Option<Door>) -> Result<()> {
    match door {
        Some(door) => door.serve().await,
        None => Ok(()),
    }
}

/// Handshakes and encryption have a thread of their own: each connection costs them, that of a stranger too.
async fn serve_secure(door: Option<Door>) -> Result<()> {
    match door {
        Some(door) => own_thread::run("secure-api", || door.serve()).await.flatten(),
        None => Ok(()),
    }
}

async fn follow(certificate: Option<Arc<ServerTls>>) {
    match certificate {
        Some(certificate) => certificate.follow().await,
        None => std::future::pending().await,
    }
}

/// Serves these on a thread of their own, which also looks whether the host's async runtime is stuck.
async fn serve_apart(doors: Vec<Door>, shared: Arc<ServerState>) -> Result<()> {
    if doors.is_empty() {
        return Ok(());
    }
    let serve = move || async move {
        let served = futures::future::try_join_all(doors.into_iter().map(Door::serve));
        tokio::select! {
            served = served => served.map(drop),
            () = shared.heartbeat.look(|| pulses(&shared.sources.informers, &shared.sources.plugins)) => Ok(()),
        }
    };
    own_thread::run("probes", serve).await.flatten()
}
