//! One replica of the API server: the store as it was a short time ago. It catches up when the run says so. A request
//! for a newer state waits, as with a real server's watch cache.

use super::{ModelServerState, Server};
use crate::faults::Fault;
use crate::signal::SignalListener;
use futures::future::BoxFuture;
use informant_apimachinery::Status;
use informant_apiserver::{
    ApiObject, Catalogue, Change, ChangeFeed, InitialState, ListAt, ListPage, ListQuery,
    ResourceInfo, Source, Watch, WatchQuery, WatchStart,
};
use informant_devcluster::store::{Changes, GroupResource};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a request waits for a replica (storage/cacher's `blockTimeout`).
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(3);
/// The number of changes that a watch takes at once.
const CHANGES_TAKEN_MAX: usize = 64;

pub(super) struct Replica {
    server: Server,
    number: usize,
}

impl Replica {
    pub(super) fn new(server: Server, number: usize) -> Self {
        Self { server, number }
    }

    fn visible(&self, state: &ModelServerState) -> u64 {
        state.visible[self.number].min(state.store.resource_version())
    }

    /// Waits until the replica shows `version`. Returns its present version.
    async fn reach(&self, version: u64) -> Result<u64, Status> {
        let mut changed = self.server.shared.changed.listen();
        let deadline = Instant::now() + CATCHES_UP_WITHIN;
        loop {
            let visible = self.visible(&self.server.state());
            if visible >= version {
                return Ok(visible);
            }
            if timeout_at(deadline, changed.sent()).await.is_err() {
                self.server.shared.faults.meet(Fault::TooLargeVersion);
                return Err(Status::too_large_resource_version(version, visible));
            }
        }
    }

    /// Waits for the state that was the newest at the call. A replica that does not reach it in time reads the store
    /// itself.
    async fn newest(&self) -> u64 {
        let newest = self.server.state().store.resource_version();
        self.reach(newest).await.unwrap_or_else(|_| self.server.state().store.resource_version())
    }

    fn note_lag(&self) {
        let state = self.server.state();
        let behind = self.visible(&state) < state.store.resource_version();
        drop(state);
        if behind {
            self.server.shared.faults.meet(Fault::Behind);
        }
    }

    fn page(&self, mut query: ListQuery, version: u64) -> Result<ListPage, Status> {
        let mut state = self.server.state();
        query.at = ListAt::Exact(version);
        if state.temper.page_max > 0 && query.limit > 0 {
            let max = state.temper.page_max;
            query.limit = query.limit.min(state.random.usize(1..=max));
        }
        state.store.list(&query)
    }

    async fn start_watch(&self, query: WatchQuery) -> Result<Watch, Status> {
        let from = match query.start {
            WatchStart::InitialState { not_older_than: 0 } => Some(self.newest().await),
            WatchStart::InitialState { not_older_than } => Some(self.reach(not_older_than).await?),
            WatchStart::Now | WatchStart::After(_) => None,
        };
        self.note_lag();
        let woken = self.server.shared.changed.listen();
        let state = self.server.state();
        let key = GroupResource::of(&query.resource.gvr);
        let (epoch, rewinds) = (state.store.epoch(&key), state.rewinds);
        let (initial, seen) = match (from, query.start) {
            (Some(version), _) => {
                let all = ListQuery {
                    resource: Arc::clone(&query.resource),
                    selection: query.selection.clone(),
                    limit: 0,
                    at: ListAt::Exact(version),
                    start_after: None,
                };
                let objects = state.store.list(&all)?.items;
                let initial =
                    InitialState { objects, resource_version: version, ..InitialState::default() };
                (Some(initial), version)
            }
            // A watch ahead of the server is accepted, and gets no changes up to its version (storage/cacher's
            // `cacheWatcher.process`).
            (None, WatchStart::After(version)) => (None, version),
            (None, _) => (None, self.visible(&state)),
        };
        drop(state);
        let server = self.server.clone();
        let number = self.number;
        let feed = Feed { server, number, key, epoch, rewinds, seen, woken };
        Ok(Watch { initial, feed: Box::new(feed) })
    }
}

impl Source for Replica {
    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(self.server.state().store.catalogue())
    }

    fn get<'a>(
        &'a self,
        resource: &'a Arc<ResourceInfo>,
        namespace: Option<&'a str>,
        name: &'a str,
        _: ListAt,
    ) -> BoxFuture<'a, Result<Arc<ApiObject>, Status>> {
        let found = self.server.state().store.get(resource, namespace, name, ListAt::MostRecent);
        Box::pin(std::future::ready(found))
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<ListPage, Status>> {
        Box::pin(async move {
            let version = match query.at {
                ListAt::MostRecent => self.newest().await,
                ListAt::Any => self.visible(&self.server.state()),
                ListAt::NotOlderThan(version) => self.reach(version).await?,
                // Continued pages come from the store itself.
                ListAt::Exact(version) => version,
            };
            self.note_lag();
            self.page(query, version)
        })
    }

    fn watch(&self, query: WatchQuery) -> BoxFuture<'_, Result<Watch, Status>> {
        Box::pin(self.start_watch(query))
    }
}

/// A watch's place in the store's log.
struct Feed {
    server: Server,
    number: usize,
    key: GroupResource,
    epoch: u64,
    rewinds: u64,
    /// The version up to which all changes were given out.
    seen: u64,
    woken: SignalListener,
}

impl Feed {
    fn take(&mut self) -> Changes {
        self.woken.notice();
        let state = self.server.state();
        if state.rewinds != self.rewinds {
            return Changes::ResourceGone;
        }
        let visible = state.visible[self.number];
        let changes = state.store.changes(&self.key, self.epoch, self.seen, CHANGES_TAKEN_MAX);
        let Changes::Some(mut changes) = changes else { return changes };
        changes.retain(|change| change.resource_version() <= visible);
        let newest = changes.last().map(Change::resource_version);
        self.seen = newest.unwrap_or(self.seen.max(visible));
        Changes::Some(changes)
    }
}

impl ChangeFeed for Feed {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
        Box::pin(async move {
            loop {
                match self.take() {
                    Changes::Some(changes) if !changes.is_empty() => return Some(Ok(changes)),
                    Changes::Some(_) => {}
                    Changes::Forgotten(status) => return Some(Err(status)),
                    Changes::ResourceGone => return None,
                }
                self.woken.sent().await;
            }
        })
    }

    fn progress(&self) -> u64 {
        self.seen
    }
}
