//! Any resource as JSON from the cache, whose informer is started by the first who asks.
//!
//! The shapes are those of the two small programs this host grew out of: `GET /deploy` answers
//! `{"data": [...]}`, `GET /{group}/{version}/{resource}` answers `{"msg": [...]}`.

use super::query;
use super::server::{Shared, message};
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{Indexer, InformerState, SharedIndexInformer, SharedInformerFactory};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Informers that requests may start beside those of plugins; each keeps a whole resource in memory.
const ON_DEMAND_MAX: usize = 16;
/// How long a request waits for a first list.
const SYNC_DEADLINE: Duration = Duration::from_secs(10);
/// How often a waiting request looks.
const SYNC_POLL: Duration = Duration::from_millis(20);
/// Objects copied into the answer at a time.
const PAGE_ITEMS: usize = 500;

/// Starts informers for requests, within a limit.
pub(crate) struct OnDemand {
    client: kube::Client,
    informers: Arc<SharedInformerFactory>,
    started: Mutex<BTreeSet<GroupVersionResource>>,
}

type Refusal = (StatusCode, String);

impl OnDemand {
    pub(crate) fn new(client: kube::Client, informers: Arc<SharedInformerFactory>) -> Self {
        Self { client, informers, started: Mutex::default() }
    }

    /// The synced informer of a resource, or why there is none.
    async fn informer(&self, gvr: &GroupVersionResource) -> Result<SharedIndexInformer, Refusal> {
        if gvr.resource.starts_with("secrets") && gvr.group.is_empty() {
            return Err((StatusCode::FORBIDDEN, "Secrets are not served".to_owned()));
        }
        let known = self.informers.informers().iter().any(|informer| informer.resource() == gvr);
        if !known {
            self.check_exists(gvr).await?;
            self.admit(gvr)?;
        }
        let informer = self.informers.for_resource(gvr);
        self.informers.start();
        let wait = tokio::time::timeout(SYNC_DEADLINE, synced(&informer)).await;
        match wait {
            Ok(result) => result.map(|()| informer),
            Err(_) => Err((
                StatusCode::GATEWAY_TIMEOUT,
                format!("{gvr} was not synced within {} s; try again", SYNC_DEADLINE.as_secs()),
            )),
        }
    }

    /// A mistyped resource must not start an informer that waits for it for ever.
    async fn check_exists(&self, gvr: &GroupVersionResource) -> Result<(), Refusal> {
        let version = gvr.api_version();
        let resources = match gvr.group.is_empty() {
            true => self.client.list_core_api_resources(&version).await,
            false => self.client.list_api_group_resources(&version).await,
        };
        let listed = match resources {
            Ok(list) => list.resources.into_iter().any(|resource| resource.name == gvr.resource),
            Err(kube::Error::Api(status)) if status.code == 404 => false,
            Err(error) => {
                let text = format!("the API server could not be asked for {gvr}: {error}");
                return Err((StatusCode::BAD_GATEWAY, text));
            }
        };
        if listed {
            return Ok(());
        }
        Err((StatusCode::NOT_FOUND, format!("the cluster has no resource {gvr}")))
    }

    fn admit(&self, gvr: &GroupVersionResource) -> Result<(), Refusal> {
        let mut started = self.started.lock();
        if started.len() >= ON_DEMAND_MAX && !started.contains(gvr) {
            let text = format!(
                "{ON_DEMAND_MAX} resources are cached for requests already, which is the most there \
                 may be; those are: {}",
                started.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            );
            return Err((StatusCode::SERVICE_UNAVAILABLE, text));
        }
        started.insert(gvr.clone());
        Ok(())
    }
}

/// Waits until the informer has its first list, or is in a state in which it will not soon have one.
async fn synced(informer: &SharedIndexInformer) -> Result<(), Refusal> {
    loop {
        match informer.state() {
            _ if informer.has_synced() => return Ok(()),
            InformerState::Waiting { message } => return Err((StatusCode::NOT_FOUND, message)),
            InformerState::Forbidden { message } => return Err((StatusCode::FORBIDDEN, message)),
            _ => tokio::time::sleep(SYNC_POLL).await,
        }
    }
}

/// `GET /deploy?labels[k8s-app]=kube-dns`
pub(crate) async fn deployments(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Response {
    let gvr = GroupVersionResource::new("apps", "v1", "deployments");
    answer(&shared, &gvr, query.as_deref(), "data").await
}

/// `GET /{group}/{version}/{resource}`, `core` for the empty group.
pub(crate) async fn any(
    State(shared): State<Arc<Shared>>,
    Path((group, version, resource)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let text = match group.as_str() {
        "core" => format!("{version}/{resource}"),
        _ => format!("{group}/{version}/{resource}"),
    };
    match text.parse() {
        Ok(gvr) => answer(&shared, &gvr, query.as_deref(), "msg").await,
        Err(error) => message(StatusCode::BAD_REQUEST, format!("{error}")),
    }
}

async fn answer(
    shared: &Shared,
    gvr: &GroupVersionResource,
    query: Option<&str>,
    member: &'static str,
) -> Response {
    let selector = match query::selector(query) {
        Ok(selector) => selector,
        Err(problem) => return message(StatusCode::BAD_REQUEST, problem),
    };
    match shared.on_demand.informer(gvr).await {
        Ok(informer) => {
            let pages = Pages::new(informer.indexer(), selector, member);
            let body = Body::from_stream(futures::stream::unfold(pages, Pages::next));
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err((code, text)) => message(code, text),
    }
}

/// The answer in pieces, so that a large resource is never in memory twice.
struct Pages {
    indexer: Indexer,
    selector: LabelSelector,
    member: &'static str,
    position: Position,
}

enum Position {
    Start,
    After { cursor: String, first: bool },
    End,
}

impl Pages {
    fn new(indexer: Indexer, selector: LabelSelector, member: &'static str) -> Self {
        Self { indexer, selector, member, position: Position::Start }
    }

    async fn next(mut self) -> Option<(Result<Bytes, std::io::Error>, Self)> {
        let mut chunk = BytesMut::new();
        let (cursor, mut first) = match std::mem::replace(&mut self.position, Position::End) {
            Position::End => return None,
            Position::Start => {
                chunk.put_slice(format!("{{\"{}\":[", self.member).as_bytes());
                (None, true)
            }
            Position::After { cursor, first } => (Some(cursor), first),
        };
        let page = match self.indexer.list(None, &self.selector, PAGE_ITEMS, cursor.as_deref()) {
            Ok(page) => page,
            // The answer has begun: cutting the connection is the only way left to say so.
            Err(error) => return Some((Err(std::io::Error::other(error.to_string())), self)),
        };
        for object in page.items {
            if !std::mem::take(&mut first) {
                chunk.put_u8(b',');
            }
            chunk.put_slice(&object.json());
        }
        match page.next {
            Some(cursor) => self.position = Position::After { cursor, first },
            None => chunk.put_slice(b"]}\n"),
        }
        Some((Ok(chunk.freeze()), self))
    }
}
