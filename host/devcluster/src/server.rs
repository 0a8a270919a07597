//! The embedded cluster as a server: its port, its connections, and their start and end.

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
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use informant_apimachinery::{Status, reason};
use informant_apiserver::{
    Route, ServeOptions, Source, check_site, json_response, names_this_machine, serve,
    status_response,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::faults::Faults;
use crate::store::{Backup, Store, Target};
use crate::{Cluster, kubeconfig, writer};

/// The largest number of open connections; more wait to be accepted. It is enough for one watch for every resource of
/// some dozen hosts.
const CONNECTIONS_MAX: usize = 4096;

/// The options of an embedded cluster.
#[derive(Clone, Debug)]
pub struct DevClusterOptions {
    /// The address to listen on. Port 0 chooses a free port.
    pub listen: SocketAddr,
    /// Names and UIDs depend on it.
    pub seed: u64,
    /// The time between two bookmarks of a watch.
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

/// An error of the embedded cluster.
#[derive(Debug, thiserror::Error)]
pub enum DevClusterError {
    /// The port is taken or may not be used.
    #[error(
        "embedded cluster cannot listen on {address}: {source}; choose another address or port 0"
    )]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// Why listening failed.
        source: io::Error,
    },
}

/// A running Kubernetes API in memory. Dropping it stops serving at once; [`Self::shutdown`] also waits for the end.
pub struct DevCluster {
    address: SocketAddr,
    state: Arc<State>,
    serving: tokio::sync::Mutex<Option<Serving>>,
}

/// The state that all requests share.
struct State {
    cluster: Cluster,
    faults: Faults,
    bookmark_interval: Duration,
    /// Whether only this machine reaches it.
    is_loopback: bool,
    /// Cancelled and replaced to end all watches.
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

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The state, for use in the same process.
    pub fn cluster(&self) -> &Cluster {
        &self.state.cluster
    }

    /// A kubeconfig for this cluster.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::text(self.address)
    }

    /// Writes the kubeconfig, completely or not at all.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        kubeconfig::write(path, self.address)
    }

    /// Forgets the past, as a compaction of etcd does: lists and watches from before now get a 410.
    pub fn compact(&self) {
        self.state.cluster.write(Store::compact);
    }

    /// The present state, for [`Self::restore`].
    pub fn backup(&self) -> Backup {
        self.state.cluster.read(Store::backup)
    }

    /// Goes back to a backup, like an etcd that is restored: see [`Store::restore`]. Connected clients lose their
    /// watches. To break their connections, too, call this between [`Self::stop_serving`] and [`Self::serve_again`].
    pub fn restore(&self, backup: &Backup) {
        self.state.cluster.write(|store| store.restore(backup));
        self.drop_watches();
    }

    /// The faults, for tests.
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// Ends every open watch without an error, like a server whose time limit for watches is over.
    pub fn drop_watches(&self) {
        let ended = std::mem::take(&mut *self.state.watches.lock());
        ended.cancel();
    }

    /// Breaks all connections and closes the port, like a killed server. The state stays.
    pub async fn stop_serving(&self) {
        if let Some(serving) = self.serving.lock().await.take() {
            serving.stop().await;
        }
    }

    /// Listens again on the same address. Does nothing if it still listens.
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
        // A join error means that the task was aborted or panicked. It has ended in both cases.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Owns the port and the connections until `stop`. Then both are closed.
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
                    // Probably there are no free file descriptors. The next try may find some.
                    tracing::warn!(%error, "embedded cluster cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    // Without this, events wait for the acknowledgement of earlier ones. Serving the connection below reports a closed
    // socket.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.answer(request.map(Body::new)).await) }
    });
    let server = http1::Builder::new();
    // Clients may end a connection at any time, so an error here is not the server's.
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
            is_loopback: options.listen.ip().to_canonical().is_loopback(),
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
        if let Err(why) = self.check_caller(&parts) {
            return status_response(&Status::failure(403, reason::FORBIDDEN, why));
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
            let source: Arc<dyn Source> = Arc::new(self.cluster.clone());
            return serve(&source, &route, query, &parts.headers, &options).await;
        }
        match &route {
            Route::Resource(path) => {
                writer::write((&self.cluster, &self.faults), path, &parts, body).await
            }
            _ => status_response(&Status::method_not_allowed()),
        }
    }

    /// Nobody is authenticated here, and a page in a browser may send a request without being asked.
    fn check_caller(&self, parts: &Parts) -> Result<(), &'static str> {
        if self.is_loopback && !names_this_machine(&parts.uri, &parts.headers) {
            return Err(
                "the Host header is missing or names another machine; use 127.0.0.1 or localhost",
            );
        }
        check_site(&parts.headers)
    }

    /// A 403 for a user with a fault of [`Faults::forbid`].
    fn refusal(&self, parts: &Parts, route: &Route) -> Option<Status> {
        let user = parts.headers.get("impersonate-user")?.to_str().ok()?;
        let Route::Resource(path) = route else { return None };
        let verb = match (&parts.method, &path.name) {
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, Some(_)) => "delete",
            (&Method::DELETE, None) => "deletecollection",
            _ => path.verb(parts.uri.query()),
        };
        self.faults.refusal(user, verb, path)
    }

    /// Answers a GET of a pod's log. No container runs, and the text says so.
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

    /// Answers a GET of a `scale` subresource, which the read side does not have. It is computed from the object.
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
