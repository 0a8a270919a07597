//! The informers as a source of the API. The first request for a resource starts its informer, and every answer is
//! read from the cache.

use super::feed::Feed;
use super::followed::ChangeFollower;
use super::recent_changes::Place;
use super::selected_objects::SelectedObjects;
use super::stored::shown;
use crate::http::callers::Caller;
use crate::http::on_demand::InformerRefusal;
use crate::http::server::ServerState;
use axum::http::StatusCode;
use futures::future::BoxFuture;
use informant_apimachinery::{GroupVersionResource, Status, reason};
use informant_apiserver::{
    ApiObject, Catalogue, InitialState, KeptUntil, ListAt, ListPage, ListQuery, ResourceInfo,
    Source, Watch, WatchQuery, WatchStart,
};
use informant_cache::{InformerLease, ObjectKey, Snapshot};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a request waits for a resourceVersion that its client knows and the cache does not, as the API server's
/// own watch cache waits (storage/cacher's `blockTimeout`).
const REACH_DEADLINE: Duration = Duration::from_secs(3);
/// The pause between two looks at the cache's resourceVersion.
const REACH_LOOK: Duration = Duration::from_millis(25);
/// The pause between two looks at the changes that are kept for a slow client: what changes in it is kept beside them.
const KEPT_LOOK: Duration = Duration::from_millis(250);

/// The source of one request.
pub(super) struct CacheSource {
    shared: Arc<ServerState>,
    catalogue: Arc<Catalogue>,
    caller: Caller,
}

impl CacheSource {
    pub(super) fn new(shared: Arc<ServerState>, catalogue: Arc<Catalogue>, caller: Caller) -> Self {
        Self { shared, catalogue, caller }
    }

    /// The resource's informer, which has synced.
    async fn lease(&self, gvr: &GroupVersionResource) -> Result<Arc<InformerLease>, Status> {
        let lease = self.shared.on_demand.informer(gvr, None, &self.caller).await;
        lease.map_err(refused)
    }

    async fn page(&self, query: ListQuery) -> Result<ListPage, Status> {
        let ListQuery { resource, selection, at, start_after, .. } = query;
        let lease = self.lease(&resource.gvr).await?;
        // The watch that follows a list begins at the list's version: the changes are kept from here on. Without
        // room for them the list is answered all the same.
        let follower = self.shared.kubernetes.followed.follow(&resource, lease.clone());
        let place = match &follower {
            Ok(follower) => began(follower, None).await,
            Err(status) => Err(status.clone()),
        };
        let state = SourceState::reached(&lease, at).await?;
        let resource_version = state.resource_version;
        let (items, more) =
            SelectedObjects::begin(state.snapshot, &resource, &selection, start_after).await?;
        let kept_until = Some(match (follower, place) {
            (Ok(follower), Ok(place)) => kept_until(&follower, place),
            _ => KeptUntil::when(sleep(KEPT_LOOK)),
        });
        Ok(ListPage { items, more, resource_version, kept_until, ..ListPage::default() })
    }

    async fn start(&self, query: WatchQuery) -> Result<Watch, Status> {
        let WatchQuery { resource, selection, start } = query;
        let api = &self.shared.kubernetes;
        let among_all = api.watch_place(&self.caller)?;
        let lease = self.lease(&resource.gvr).await?;
        let follower = api.followed.follow(&resource, lease.clone())?;
        let (initial, after) = match start {
            WatchStart::Now => (None, None),
            WatchStart::After(version) => (None, Some(version)),
            WatchStart::InitialState { not_older_than } => {
                // The changes after the state are kept from here on.
                began(&follower, None).await?;
                let at = ListAt::NotOlderThan(not_older_than);
                let state = SourceState::reached(&lease, at).await?;
                let resource_version = state.resource_version;
                let (objects, more) =
                    SelectedObjects::begin(state.snapshot, &resource, &selection, None).await?;
                let initial = InitialState { objects, more, resource_version, kept_until: None };
                (Some(initial), Some(resource_version))
            }
        };
        let place = began(&follower, after).await?;
        let initial = initial.map(|initial| {
            let kept_until = Some(kept_until(&follower, place));
            InitialState { kept_until, ..initial }
        });
        let watch = self.shared.sources.watches.open(resource.gvr.to_string());
        Ok(Watch { initial, feed: Box::new(Feed::new(follower, place, among_all, watch)) })
    }
}

/// The place of a watch. A version that the cache does not reach in time is of another past, as after a restore of
/// the cluster: the client is to list again. A watch from now on waits only while the informer lists.
pub(super) async fn began(follower: &ChangeFollower, after: Option<u64>) -> Result<Place, Status> {
    match (timeout(REACH_DEADLINE, follower.begin(after)).await, after) {
        (Ok(place), _) => place,
        (Err(_), Some(after)) => Err(Status::too_old_resource_version(after, follower.reached())),
        (Err(_), None) => {
            let message = "the informer is listing again; watch again in a second";
            Err(Status::service_unavailable(message))
        }
    }
}

/// The moment from which the changes after this place are not all kept. A place without a follower has no changes.
pub(super) fn kept_until(follower: &Arc<ChangeFollower>, place: Place) -> KeptUntil {
    let follower = Arc::downgrade(follower);
    KeptUntil::when(async move {
        while follower.upgrade().is_some_and(|follower| follower.keeps(&place)) {
            sleep(KEPT_LOOK).await;
        }
    })
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
            let lease = self.lease(&resource.gvr).await?;
            let state = SourceState::reached(&lease, at).await?;
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
#[derive(Clone)]
struct SourceState {
    snapshot: Snapshot,
    /// Every change up to this version is in the snapshot.
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

    /// The state that a request asks for, once the cache has come to it.
    async fn reached(lease: &InformerLease, at: ListAt) -> Result<Self, Status> {
        let deadline = Instant::now() + REACH_DEADLINE;
        let wanted = match at {
            ListAt::MostRecent | ListAt::Any => 0,
            ListAt::NotOlderThan(version) | ListAt::Exact(version) => version,
        };
        loop {
            let state = Self::of(lease)?;
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
}

/// The answer of the API where there is no informer. The text names the resource already.
pub(super) fn refused((code, text): InformerRefusal) -> Status {
    match code {
        StatusCode::FORBIDDEN => Status::failure(403, reason::FORBIDDEN, text),
        StatusCode::NOT_FOUND => Status::failure(404, reason::NOT_FOUND, text),
        StatusCode::BAD_REQUEST => Status::bad_request(text),
        StatusCode::GATEWAY_TIMEOUT => Status::failure(504, reason::TIMEOUT, text),
        _ => Status::service_unavailable(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_api_server_is_passed_on_as_it_is() {
        let check = |code: StatusCode, expect: &str| {
            let text = "pods is forbidden: User \"reader\" cannot list resource \"pods\"";
            let status = refused((code, text.to_owned()));
            let shown = (status.code, &*status.reason, &*status.message);
            assert_eq!(shown, (code.as_u16(), expect, text));
        };
        check(StatusCode::FORBIDDEN, reason::FORBIDDEN);
        check(StatusCode::NOT_FOUND, reason::NOT_FOUND);
        check(StatusCode::BAD_REQUEST, reason::BAD_REQUEST);
        check(StatusCode::GATEWAY_TIMEOUT, reason::TIMEOUT);
        check(StatusCode::SERVICE_UNAVAILABLE, reason::SERVICE_UNAVAILABLE);
    }
}
