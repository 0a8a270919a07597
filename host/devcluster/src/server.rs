//! The embedded cluster as a server: its port, its connections, and the life of both.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::request::Parts;
use http::{Method, Request};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use informant_apimachinery::Status;
use informant_apiserver::{Route, ServeOptions, json_response, serve, status_response};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::faults::Faults;
use crate::store::{Backup, Store, Target};
use crate::{Cluster, kubeconfig, writer};

/// More connections than this wait to be accepted: a watch each for every resource of some dozen hosts.
const CONNECTIONS_MAX: usize = 4096;

/// How an embedded cluster is started.
#[derive(Clone, Debug)]
pub struct DevClusterOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Names and UIDs follow from it.
    pub seed: u64,
    /// How often watches get a bookmark.
    pub bookmark_interval: Duration,
}

impl Default for DevClusterOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            seed: 0,
            bookmark_interval: Duration::from_secs(60),
        }
    }
}

/// The embedded cluster could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DevClusterError {
    /// The port is taken or may not be used.
    #[error(
        "embedded cluster cannot listen on {address}: {source}; choose another address or port 0"
    )]
    Listen {
        /// Where it should have listened.
        address: SocketAddr,
        /// Why it does not.
        source: io::Error,
    },
}

/// A running Kubernetes API in memory. Dropping it stops serving at once; [`Self::shutdown`] also waits for
/// that.
pub struct DevCluster {
    address: SocketAddr,
    state: Arc<State>,
    serving: tokio::sync::Mutex<Option<Serving>>,
}

/// What every request sees.
struct State {
    cluster: Cluster,
    faults: Faults,
    bookmark_interval: Duration,
    /// Cancelled and replaced when all watches are to end.
    watches: Mutex<CancellationToken>,
}

/// The task that owns the port and all connections.
struct Serving {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl DevCluster {
    /// Starts serving.
    pub async fn start(options: DevClusterOptions) -> Result<Self, DevClusterError> {
        let listener = listen(options.listen).await?;
        let address = listener
            .local_addr()
            .map_err(|source| DevClusterError::Listen { address: options.listen, source })?;
        let state = Arc::new(State::new(&options));
        let serving = Serving::start(listener, Arc::clone(&state));
        Ok(Self { address, state, serving: tokio::sync::Mutex::new(Some(serving)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The state, for use in the same process.
    pub fn cluster(&self) -> &Cluster {
        &self.state.cluster
    }

    /// A kubeconfig for it.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::text(self.address)
    }

    /// Writes the kubeconfig, whole or not at all.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        kubeconfig::write(path, self.address)
    }

    /// Forgets the past, as a compaction of etcd does: lists and watches from before now get 410.
    pub fn compact(&self) {
        self.state.cluster.write(Store::compact);
    }

    /// The state of this moment, for [`Self::restore`].
    pub fn backup(&self) -> Backup {
        self.state.cluster.read(Store::backup)
    }

    /// Goes back to a backup, as an etcd that is restored: see [`Store::restore`]. Clients that are connected lose
    /// their watches; to have them lose their connections too, do this between [`Self::stop_serving`] and
    /// [`Self::serve_again`].
    pub fn restore(&self, backup: &Backup) {
        self.state.cluster.write(|store| store.restore(backup));
        self.drop_watches();
    }

    /// What goes wrong on purpose.
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// Ends every open watch without a word, as a server does whose time for them is over.
    pub fn drop_watches(&self) {
        let ended = std::mem::take(&mut *self.state.watches.lock());
        ended.cancel();
    }

    /// Breaks all connections and closes the port, as a killed server does. The state stays.
    pub async fn stop_serving(&self) {
        if let Some(serving) = self.serving.lock().await.take() {
            serving.stop().await;
        }
    }

    /// Listens again where it did before; nothing if it still does.
    pub async fn serve_again(&self) -> Result<(), DevClusterError> {
        let mut serving = self.serving.lock().await;
        if serving.is_none() {
            let listener = listen(self.address).await?;
            *serving = Some(Serving::start(listener, Arc::clone(&self.state)));
        }
        Ok(())
    }

    /// Stops serving and waits until every connection is closed.
    pub async fn shutdown(self) {
        self.stop_serving().await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, DevClusterError> {
    TcpListener::bind(address).await.map_err(|source| DevClusterError::Listen { address, source })
}

impl Serving {
    fn start(listener: TcpListener, state: Arc<State>) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(accept(listener, state, stop.clone()));
        Self { stop, task }
    }

    async fn stop(mut self) {
        self.stop.cancel();
        // A join error means that the task was aborted or panicked: it is over either way.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Owns the port and the connections until it is told to stop; then both are gone.
async fn accept(listener: TcpListener, state: Arc<State>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&state)));
                }
                Err(error) => {
                    // Out of file descriptors, most likely: try again when some may have been closed.
                    tracing::warn!(%error, "embedded cluster cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    // Without it events wait for the acknowledgement of earlier ones. A closed socket shows up below.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.answer(request.map(Body::new)).await) }
    });
    let server = auto::Builder::new(TokioExecutor::new());
    // Clients come and go as they like; an error here is theirs.
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a client's connection to the embedded cluster broke");
    }
}

impl State {
    fn new(options: &DevClusterOptions) -> Self {
        Self {
            cluster: Cluster::new(Store::new(options.seed, Timestamp::now())),
            faults: Faults::default(),
            bookmark_interval: options.bookmark_interval,
            watches: Mutex::default(),
        }
    }

    async fn answer(&self, request: Request<Body>) -> Response {
        let (parts, body) = request.into_parts();
        let (delay, failure) = self.faults.meet(&format!("{} {}", parts.method, parts.uri));
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(status) = failure {
            return status_response(&status);
        }
        let route = Route::parse(parts.uri.path());
        if let Some(refusal) = self.refusal(&parts, &route) {
            return status_response(&refusal);
        }
        if parts.method == Method::GET || parts.method == Method::HEAD {
            if let Some(response) = self.scale(&route).or_else(|| self.log(&route)) {
                return response;
            }
            let options = ServeOptions {
                bookmark_interval: self.bookmark_interval,
                stop: self.watches.lock().clone(),
                ..ServeOptions::default()
            };
            let query = parts.uri.query();
            return serve(&self.cluster, &route, query, &parts.headers, &options).await;
        }
        match &route {
            Route::Resource(path) => {
                writer::write((&self.cluster, &self.faults), path, &parts, body).await
            }
            _ => status_response(&Status::method_not_allowed()),
        }
    }

    /// 403 for a user of whom [`Faults::forbid`] says so.
    fn refusal(&self, parts: &Parts, route: &Route) -> Option<Status> {
        let user = parts.headers.get("impersonate-user")?.to_str().ok()?;
        let Route::Resource(path) = route else { return None };
        let watches = parts.uri.query().is_some_and(|query| {
            query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"))
        });
        let verb = match (&parts.method, &path.name) {
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, Some(_)) => "delete",
            (&Method::DELETE, None) => "deletecollection",
            _ if watches => "watch",
            (_, Some(_)) => "get",
            (_, None) => "list",
        };
        self.faults.refusal(user, verb, path)
    }

    /// GET of a pod's log: no container runs, and whoever asks is told so.
    fn log(&self, route: &Route) -> Option<Response> {
        let Route::Resource(path) = route else { return None };
        let name = path.name.as_deref()?;
        let is_log = path.subresource.as_deref() == Some("log")
            && path.gvr.group.is_empty()
            && path.gvr.resource == "pods";
        if !is_log {
            return None;
        }
        let namespace = path.namespace.as_deref();
        Some(match self.cluster.get(&path.gvr, namespace, name) {
            Ok(_) => Response::new(Body::from("no container runs in the embedded cluster\n")),
            Err(status) => status_response(&status),
        })
    }

    /// GET of a `scale` subresource, which the read side does not know: it is worked out from the object.
    fn scale(&self, route: &Route) -> Option<Response> {
        let Route::Resource(path) = route else { return None };
        if path.subresource.as_deref() != Some("scale") {
            return None;
        }
        let outcome = self.cluster.resource(&path.gvr).and_then(|resource| {
            let target = Target {
                resource: &resource,
                namespace: path.namespace.as_deref(),
                name: path.name.as_deref().unwrap_or_default(),
                subresource: Some("scale"),
            };
            self.cluster.read(|store| store.scale(&target))
        });
        Some(match outcome {
            Ok(scale) => json_response(http::StatusCode::OK, scale.to_string()),
            Err(status) => status_response(&status),
        })
    }
}

#[cfg(test)]
mod tests;
