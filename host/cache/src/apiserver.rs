//! Lists and watches over a Kubernetes API server: this file and those below it alone know kube.
//!
//! Bodies are read raw. Compression is declined, which spares both sides the work; an answer that is gzip all the same is
//! decoded (`body.rs`).
//!
//! A short answer may have millions of items or events. Its reader yields to other tasks in between.

mod body;
mod client;
mod credentials;
mod discovery;
#[cfg(test)]
mod fuzz;
mod leases;
mod lines;
mod list_body;
mod metadata;
mod query;
mod turns;
mod typed_resource;
mod watch_event;

pub use client::{KeepAlive, client_for_config, client_with_bodies, client_with_keep_alive};
pub use leases::LeaseLock;
pub use typed_resource::TypedResource;

use crate::error_causes::with_causes;
use crate::list_watch::{
    ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher, ListerWatcherSource, Part,
    WatchEvent, WatchOptions, WatchStream,
};
use crate::object::LastApplied;
use body::Chunks;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, Request, Response};
use http_body_util::BodyExt;
use informant_apimachinery::{GroupVersionResource, Status};
use kube::Client;
use kube::client::Body;
use lines::Lines;
use list_body::{ListBody, ListItem, PIECE_BYTES_MAX};
use metadata::{KeptOfObject, MetadataForm};
use query::uri;
use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::coop::consume_budget;
use watch_event::watch_event;

/// A `Status` is a few hundred bytes; a proxy's error page is cut here.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// Bytes of a list that are parsed before its items are handed on: at most some 5,000 items (`{}`).
const STEP_BYTES: usize = 16 << 10;

/// A Kubernetes API server, reached through kube's client.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    last_applied: LastApplied,
}

impl ApiServer {
    /// Uses the client's address, credentials and proxies. [`client_for_config`] makes one that suits: its connections notice that the
    /// other end is gone, and the reflector does the waiting, and shows it.
    pub fn new(client: Client) -> Self {
        Self { client, last_applied: LastApplied::Kept }
    }

    /// Leaves the annotation `kubectl.kubernetes.io/last-applied-configuration` out of every object, for less memory.
    /// Whoever replaces an object in the cluster by such a one removes the annotation there, and the next `kubectl apply`
    /// cannot tell which fields it set before: patch instead.
    #[must_use]
    pub fn without_last_applied(mut self) -> Self {
        self.last_applied = LastApplied::Cut;
        self
    }
}

impl ListerWatcherSource for ApiServer {
    fn lister_watcher(&self, gvr: &GroupVersionResource, part: &Part) -> Arc<dyn ListerWatcher> {
        let path = gvr.path(part.namespace.as_deref());
        let (client, resource, part) = (self.client.clone(), gvr.clone(), part.clone());
        let (last_applied, metadata) = (self.last_applied, MetadataForm::default());
        Arc::new(Collection { client, resource, path, part, last_applied, metadata })
    }
}

/// The objects of one part of one resource.
struct Collection {
    client: Client,
    resource: GroupVersionResource,
    path: String,
    part: Part,
    last_applied: LastApplied,
    metadata: MetadataForm,
}

impl ListerWatcher for Collection {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        Box::pin(async move {
            let uri = uri(&self.path, &self.list_query(&options));
            let (body, kept) = match self.objects(uri, true).await {
                Err(ListWatchError::NotFound { message }) => {
                    let message = discovery::with_nearest(self, message).await;
                    return Err(ListWatchError::NotFound { message });
                }
                answered => answered?,
            };
            let (chunk, ready) = (Bytes::new(), VecDeque::new());
            let list = Some(ListBody::new(self.last_applied));
            let reader = ListReader { body, chunk, list, ready, kept };
            Ok(Box::pin(stream::try_unfold(reader, ListReader::next)) as ListStream)
        })
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        Box::pin(async move {
            let uri = uri(&self.path, &self.watch_query(&options));
            let (body, kept) = self.objects(uri, false).await?;
            let lines = Lines::new(PIECE_BYTES_MAX);
            let last_applied = self.last_applied;
            let reader = WatchReader { body, lines, received: now(), last_applied, kept };
            Ok(Box::pin(stream::try_unfold(reader, WatchReader::next)) as WatchStream)
        })
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, ListWatchError>> {
        Box::pin(discovery::is_served(self))
    }
}

impl Collection {
    /// The body of a successful answer in JSON.
    async fn send(&self, uri: String, accept: &str) -> Result<Chunks, ListWatchError> {
        if !self.part.has_valid_namespace() {
            let message = format!("{} has a name that no namespace has", self.part);
            return Err(ListWatchError::BadRequest { message });
        }
        let request = Request::get(uri)
            .header(ACCEPT, accept)
            .header(ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| ListWatchError::transient(format!("request is malformed: {error}")))?;
        let sent = self.client.send(request).await;
        let response = sent.map_err(|error| unanswered(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let content_type = text_of(response.headers(), &CONTENT_TYPE).map(str::to_owned);
        let encoding = text_of(response.headers(), &CONTENT_ENCODING).map(str::to_owned);
        let chunks = Chunks::new(response.into_body(), encoding.as_deref())?;
        match content_type {
            Some(other) if !other.to_ascii_lowercase().contains("json") => {
                Err(page(chunks, &other).await)
            }
            _ => Ok(chunks),
        }
    }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// What came in place of JSON, such as a proxy's page with the code of a success.
async fn page(mut chunks: Chunks, content_type: &str) -> ListWatchError {
    let begin = chunks.next().await.ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&begin).trim().chars().take(200).collect::<String>();
    ListWatchError::unreadable(&format!("it is {content_type}: {text}"))
}

/// Sorts a request that came to nothing before there was an answer.
fn unanswered(error: &kube::Error) -> ListWatchError {
    let message = with_causes(error);
    let is_refused = |error: &(dyn Error + 'static)| {
        let of_socket = error.downcast_ref::<io::Error>();
        of_socket.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    match is_unconnected(error) || causes(error).any(is_refused) {
        true => ListWatchError::Unreachable { message },
        false => ListWatchError::Transient { message },
    }
}

/// The error and its causes.
fn causes(error: &kube::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let error: &(dyn Error + 'static) = error;
    std::iter::successors(Some(error), |error| (*error).source())
}

/// Whether a request failed because there was no connection to the API server. Nothing of the request was sent then.
pub fn is_unconnected(error: &kube::Error) -> bool {
    causes(error).any(|error| {
        let of_client = error.downcast_ref::<hyper_util::client::legacy::Error>();
        of_client.is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

/// Sorts an answer that is not a success.
async fn refusal(response: Response<Body>) -> ListWatchError {
    let code = response.status();
    let header = text_of(response.headers(), &RETRY_AFTER);
    let retry_after = header.and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let (mut frames, mut body) = (response.into_body(), Vec::new());
    while body.len() < ERROR_BODY_BYTES_MAX
        && let Some(Ok(frame)) = frames.frame().await
    {
        body.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
    }
    body.truncate(ERROR_BODY_BYTES_MAX);
    let mut status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body);
        let text = text.trim().chars().take(200).collect::<String>();
        Status::failure(code.as_u16(), "", format!("{code}: {text}"))
    });
    status.code = code.as_u16();
    ListWatchError::from_status(&status, retry_after)
}

struct ListReader {
    body: Chunks,
    /// The rest of the last chunk, not parsed yet.
    chunk: Bytes,
    /// None once the body has ended.
    list: Option<ListBody>,
    ready: VecDeque<ListEvent>,
    kept: KeptOfObject,
}

impl ListReader {
    async fn next(mut self) -> Result<Option<(ListEvent, Self)>, ListWatchError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                consume_budget().await;
                return Ok(Some((event, self)));
            }
            let Some(list) = &mut self.list else { return Ok(None) };
            let piece = match self.chunk.is_empty() {
                false => Some(self.chunk.split_to(self.chunk.len().min(STEP_BYTES))),
                true => self.body.next().await?.map(|mut chunk| {
                    let piece = chunk.split_to(chunk.len().min(STEP_BYTES));
                    self.chunk = chunk;
                    piece
                }),
            };
            let received = now();
            let mut items = Vec::new();
            let end = match piece {
                Some(piece) => list.feed(&piece, &mut items).map(|()| None),
                None => {
                    let list = self.list.take().expect("it was there a moment ago");
                    list.finish(&mut items).map(Some)
                }
            };
            let end = end.map_err(|error| ListWatchError::unreadable(&error.to_string()))?;
            let kept = &self.kept;
            let events =
                items.into_iter().map(|item| list_event(item.map(|it| kept.of(it)), received));
            self.ready.extend(events);
            if let Some(meta) = end {
                let token = Some(meta.continue_token).filter(|token| !token.is_empty());
                self.ready.push_back(ListEvent::End {
                    resource_version: meta.resource_version.into(),
                    continue_token: token.map(Into::into),
                });
            }
        }
    }
}

/// The runtime's time: it stands still where a test says so.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn list_event(item: ListItem, received: Instant) -> ListEvent {
    match item {
        Ok(object) => ListEvent::Object(object, received),
        Err(error) => ListEvent::Malformed(error),
    }
}

struct WatchReader {
    body: Chunks,
    lines: Lines,
    /// When the bytes of the present lines were read.
    received: Instant,
    last_applied: LastApplied,
    kept: KeptOfObject,
}

impl WatchReader {
    async fn next(mut self) -> Result<Option<(WatchEvent, Self)>, ListWatchError> {
        loop {
            if let Some(line) = self.lines.next_line() {
                let event = match watch_event(&line, self.received, self.last_applied)? {
                    WatchEvent::Changed(change, object, received) => {
                        WatchEvent::Changed(change, self.kept.of(object), received)
                    }
                    event => event,
                };
                consume_budget().await;
                return Ok(Some((event, self)));
            }
            match self.body.next().await? {
                Some(chunk) => {
                    self.received = now();
                    self.lines.feed(chunk);
                }
                None if self.lines.is_within_line() => {
                    return Err(ListWatchError::transient("watch broke off within an event"));
                }
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests;
