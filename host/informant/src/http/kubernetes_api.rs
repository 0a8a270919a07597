//! The Kubernetes API over the cache: discovery, get, list and watch, as a Kubernetes API server answers them.
//!
//! [`informant_apiserver`] speaks the protocol. Here is its source: the cluster's resources, the objects of informers,
//! and the recent changes of resources with watchers. Every write is refused.

mod cache_source;
mod definition;
mod discovery;
mod feed;
mod followed;
mod recent_changes;
mod selected_objects;
mod served;
mod stored;

use super::callers::{Access, Caller, asked_path, refusal};
use super::gzip::Live;
use super::on_demand::not_namespaced;
use super::operations::{KUBERNETES_API, ServedOperation};
use super::server::ServerState;
use super::shares::{Share, Shares};
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::any;
use cache_source::{CacheSource, refused};
use followed::Followed;
use http::{HeaderValue, Method, header};
use informant_apimachinery::{GroupVersionResource, Status, reason};
use informant_apiserver::{
    PiecesOn, Route, Selection, ServeOptions, Source, Watch, WatchLife, WatchQuery, WatchStart,
    serve, status_response,
};
use served::ServedCatalogue;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Watches at once, of all clients: some dozen controllers, each with some resources.
pub(crate) const WATCHES_MAX: usize = 256;
/// Of these, so many may be of one user and of all users: the others are for callers on this machine.
const WATCHES_OF_USER_MAX: usize = 64;
const WATCHES_OF_USERS_MAX: usize = 224;

/// A watch ends before its connection is cut off, so that its client sees an end and no error.
const BEFORE_CUT: Duration = Duration::from_secs(10);

/// The state of the API beside the informers.
pub(super) struct KubernetesApi {
    served: ServedCatalogue,
    followed: Followed,
    watches: Arc<Semaphore>,
    watches_of_users: Shares<Arc<str>>,
    options: ServeOptions,
}

/// The place of a watch among all watches.
pub(super) struct WatchPlace {
    _permit: OwnedSemaphorePermit,
    /// The share of a user, for whom there is a maximum.
    _share: Option<Share<Arc<str>>>,
}

impl KubernetesApi {
    /// `life_max` is how long a request may take; watches end with `stop`.
    pub(super) fn new(client: kube::Client, life_max: Duration, stop: CancellationToken) -> Self {
        let watch_timeout_max = life_max.saturating_sub(BEFORE_CUT);
        Self {
            served: ServedCatalogue::new(client),
            followed: Followed::default(),
            watches: Arc::new(Semaphore::new(WATCHES_MAX)),
            watches_of_users: Shares::new(WATCHES_OF_USER_MAX, WATCHES_OF_USERS_MAX),
            options: ServeOptions {
                watch_timeout_max,
                stop,
                pieces: PiecesOn::Aside,
                ..ServeOptions::default()
            },
        }
    }

    /// A place for one more watch.
    pub(super) fn watch_place(&self, caller: &Caller) -> Result<WatchPlace, Status> {
        let full = |message: String| Status::too_many_requests(message, 1);
        let share = |user: Arc<str>| {
            self.watches_of_users.take(&user).ok_or_else(|| {
                full(format!(
                    "one user may have {WATCHES_OF_USER_MAX} watches open, and all users {WATCHES_OF_USERS_MAX}"
                ))
            })
        };
        let _share = caller.user().map(share).transpose()?;
        let _permit = self.watches.clone().try_acquire_owned().map_err(|_| {
            full(format!("{WATCHES_MAX} watches are open, which is the most there may be"))
        })?;
        Ok(WatchPlace { _permit, _share })
    }

    /// The longest life of a watch that begins now.
    pub(super) fn watch_life(&self) -> WatchLife {
        WatchLife::new(self.options.watch_timeout_max, self.options.stop.clone())
    }

    /// Drops the changes of resources without watchers for some time.
    pub(super) fn expire(&self) {
        self.followed.expire(Instant::now());
    }
}

/// The paths of the API. Probes are the host's own, and `/metrics` too.
pub(super) fn table() -> Vec<ServedOperation> {
    KUBERNETES_API.iter().map(|operation| operation.by(any(answer))).collect()
}

async fn answer(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (api, uri) = (&shared.kubernetes, request.uri());
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return read_only(request.method(), uri.path());
    }
    let route = Route::parse(uri.path());
    let resource = match &route {
        Route::Resource(path) => Some(path),
        _ => None,
    };
    // Invariant 41.
    if let Some(path) = resource.filter(|path| path.gvr.is_secrets()) {
        let name = path.name.as_deref().unwrap_or_default();
        let why = "Secrets are never served from the cache; ask the Kubernetes API server";
        return status_response(&Status::forbidden(&path.gvr, name, why));
    }
    let verb = resource.map_or("get", |path| path.verb(uri.query()));
    let asked = asked_path(uri.path());
    let access = match resource {
        Some(path) => Access::of_path(path, verb),
        None => Access::Path(&asked),
    };
    if let Err(status) = shared.callers.authorize(&caller, access).await {
        return refusal(&status);
    }
    match api.served.catalogue(resource.map(|path| &path.gvr)).await {
        Ok(catalogue) => {
            let source = CacheSource::new(shared.clone(), catalogue, caller);
            let source: Arc<dyn Source> = Arc::new(source);
            let mut response =
                serve(&source, &route, uri.query(), request.headers(), &api.options).await;
            if verb == "watch" {
                response.extensions_mut().insert(Live);
            }
            response
        }
        Err(status) => status_response(&status),
    }
}

/// Starts a watch that is answered in another form than the API's. It counts as one of the API.
pub(super) async fn start_watch(
    shared: &Arc<ServerState>,
    caller: &Caller,
    gvr: &GroupVersionResource,
    (selection, start): (Selection, WatchStart),
) -> Result<Watch, Status> {
    // Invariant 41.
    if gvr.is_secrets() {
        return Err(Status::failure(403, reason::FORBIDDEN, "Secrets are not served"));
    }
    let catalogue = shared.kubernetes.served.catalogue(Some(gvr)).await?;
    let Some(resource) = catalogue.find(gvr).cloned() else {
        let message = format!("the cluster has no resource {gvr} that can be watched");
        return Err(Status::failure(404, reason::NOT_FOUND, message));
    };
    if selection.namespace.is_some() && !resource.namespaced {
        return Err(refused(not_namespaced(gvr)));
    }
    let source = CacheSource::new(shared.clone(), catalogue, caller.clone());
    source.watch(WatchQuery { resource, selection, start }).await
}

/// The answer to a write.
fn read_only(method: &Method, path: &str) -> Response {
    let message = format!(
        "this address is a read-only cache of the cluster; send {method} {path} to the Kubernetes API server"
    );
    let mut status = Status::method_not_allowed();
    status.message = message;
    let mut response = status_response(&status);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}
