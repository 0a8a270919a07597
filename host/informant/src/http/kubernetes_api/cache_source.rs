//! The informers as a source of the API: what is asked for is followed from then on, and read from memory.

use super::feed::Feed;
use super::followed::ChangeFollower;
use super::stored::shown;
use crate::http::on_demand::InformerRefusal;
use crate::http::server::ServerState;
use axum::http::StatusCode;
use futures::future::BoxFuture;
use informant_apimachinery::{GroupVersionResource, Status, reason};
use informant_apiserver::{
    ApiObject, Catalogue, InitialState, ListAt, ListPage, ListQuery, ResourceInfo, Selection,
    Source, Watch, WatchQuery, WatchStart,
};
use informant_cache::{InformerLease, Object, ObjectKey, Snapshot};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a request waits for a resourceVersion that its client knows and the cache does not, as the API server's
/// own watch cache waits (storage/cacher's `blockTimeout`).
const REACH_DEADLINE: Duration = Duration::from_secs(3);
/// How often that is looked at.
const REACH_LOOK: Duration = Duration::from_millis(25);

/// The source of one request.
pub(super) struct CacheSource {
    shared: Arc<ServerState>,
    catalogue: Arc<Catalogue>,
}

impl CacheSource {
    pub(super) fn new(shared: Arc<ServerState>, catalogue: Arc<Catalogue>) -> Self {
        Self { shared, catalogue }
    }

    /// The resource's informer, which has synced.
    async fn lease(&self, gvr: &GroupVersionResource) -> Result<Arc<InformerLease>, Status> {
        let lease = self.shared.kubernetes.on_demand.informer(gvr, None).await;
        lease.map_err(|refusal| refused(gvr, refusal))
    }

    /// A state of the resource as it is asked for.
    async fn state(&self, gvr: &GroupVersionResource, at: ListAt) -> Result<SourceState, Status> {
        let lease = self.lease(gvr).await?;
        let deadline = Instant::now() + REACH_DEADLINE;
        let wanted = match at {
            ListAt::MostRecent | ListAt::Any => 0,
            ListAt::NotOlderThan(version) | ListAt::Exact(version) => version,
        };
        loop {
            let state = SourceState::of(&lease)?;
            if state.resource_version >= wanted {
                if matches!(at, ListAt::Exact(version) if version < state.resource_version) {
                    let message = "The resourceVersion for the provided list is too old.";
                    return Err(Status::expired(message));
                }
                return Ok(state);
            }
            if Instant::now() >= deadline {
                let reached = state.resource_version;
                return Err(Status::too_large_resource_version(wanted, reached));
            }
            sleep(REACH_LOOK).await;
        }
    }

    async fn page(&self, query: ListQuery) -> Result<ListPage, Status> {
        let ListQuery { resource, selection, at, start_after, .. } = query;
        self.keep_changes(&resource).await?;
        let state = self.state(&resource.gvr, at).await?;
        let mut items = state.selected(&resource, &selection);
        if let Some(start_after) = start_after {
            let (namespace, name) = start_after.split_once('/').unwrap_or(("", &start_after));
            items.retain(|object| (object.namespace(), object.name()) > (namespace, name));
        }
        let resource_version = state.resource_version;
        Ok(ListPage { items, resource_version, next: None, remaining: None })
    }

    /// Whoever lists is about to watch: the changes from the list on are kept for a while.
    async fn keep_changes(&self, resource: &Arc<ResourceInfo>) -> Result<(), Status> {
        let lease = self.lease(&resource.gvr).await?;
        // A list is possible without.
        if let Ok(follower) = self.shared.kubernetes.followed.follow(resource, lease) {
            let _ = began(&follower, None).await;
        }
        Ok(())
    }

    async fn start(&self, query: WatchQuery) -> Result<Watch, Status> {
        let WatchQuery { resource, selection, start } = query;
        let api = &self.shared.kubernetes;
        let permit = api.watches.clone().try_acquire_owned().map_err(|_| {
            let message =
                format!("{} watches are open, which is the most there may be", super::WATCHES_MAX);
            Status::too_many_requests(message, 1)
        })?;
        let lease = self.lease(&resource.gvr).await?;
        let follower = api.followed.follow(&resource, lease)?;
        let (initial, after) = match start {
            WatchStart::Now => (None, None),
            WatchStart::After(version) => (None, Some(version)),
            WatchStart::InitialState { not_older_than } => {
                // What changes after the state is read is told from here on.
                began(&follower, None).await?;
                let at = ListAt::NotOlderThan(not_older_than);
                let state = self.state(&resource.gvr, at).await?;
                let objects = state.selected(&resource, &selection);
                let resource_version = state.resource_version;
                (Some(InitialState { objects, resource_version }), Some(resource_version))
            }
        };
        let place = began(&follower, after).await?;
        Ok(Watch { initial, feed: Box::new(Feed::new(follower, place, permit)) })
    }
}

/// The place of a watch. A version that the cache does not reach in time is of another past, as after a restore of
/// the cluster: the client is to list again.
async fn began(
    follower: &ChangeFollower,
    after: Option<u64>,
) -> Result<super::recent_changes::Place, Status> {
    match timeout(REACH_DEADLINE, follower.begin(after)).await {
        Ok(place) => place,
        Err(_) => {
            let after = after.unwrap_or_default();
            Err(Status::too_old_resource_version(after, follower.reached()))
        }
    }
}

impl Source for CacheSource {
    fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.clone()
    }

    fn get<'a>(
        &'a self,
        resource: &'a Arc<ResourceInfo>,
        namespace: Option<&'a str>,
        name: &'a str,
        at: ListAt,
    ) -> BoxFuture<'a, Result<Arc<ApiObject>, Status>> {
        Box::pin(async move {
            let state = self.state(&resource.gvr, at).await?;
            let key = ObjectKey::new(namespace.unwrap_or_default(), name);
            let object = state.snapshot.get(&key).cloned();
            let object = object.ok_or_else(|| Status::not_found(&resource.gvr, name))?;
            Ok(shown(object, resource))
        })
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<ListPage, Status>> {
        Box::pin(self.page(query))
    }

    fn watch(&self, query: WatchQuery) -> BoxFuture<'_, Result<Watch, Status>> {
        Box::pin(self.start(query))
    }
}

/// One state of a resource in the cache.
struct SourceState {
    snapshot: Snapshot,
    /// Everything up to here is there.
    resource_version: u64,
}

impl SourceState {
    fn of(lease: &InformerLease) -> Result<Self, Status> {
        let snapshot = lease.informer().indexer().snapshot();
        let text = snapshot.resource_version().unwrap_or_default();
        let resource_version = text.parse().map_err(|_| {
            let message = format!("the cluster's resourceVersion {text:?} is no number");
            Status::internal_error(message)
        })?;
        Ok(Self { snapshot, resource_version })
    }

    /// By namespace and name.
    fn selected(&self, resource: &Arc<ResourceInfo>, selection: &Selection) -> Vec<Arc<ApiObject>> {
        let has_labels = |object: &&Object| selection.labels.matches(|key| object.label(key));
        let objects = self.snapshot.objects(selection.namespace.as_deref()).filter(has_labels);
        let objects = objects.map(|object| shown(object.at_rest(), resource));
        objects.filter(|object| selection.selects(object)).collect()
    }
}

/// Why there is no informer, as the API says it.
fn refused(gvr: &GroupVersionResource, (code, text): InformerRefusal) -> Status {
    match code {
        StatusCode::FORBIDDEN => Status::forbidden(gvr, "", &text),
        StatusCode::NOT_FOUND => Status::failure(404, reason::NOT_FOUND, text),
        StatusCode::BAD_REQUEST => Status::bad_request(text),
        StatusCode::GATEWAY_TIMEOUT => Status::failure(504, reason::TIMEOUT, text),
        _ => Status::service_unavailable(text),
    }
}
