//! Lists and watches over a Kubernetes API server: this file and those below it alone speak to kube's client.
//!
//! Bodies are read raw. Compression is declined: a server may send each watch event as a gzip member of its
//! own (`WatchListCompression`, Kubernetes 1.37), on which decoders stop after the first.

#[cfg(test)]
mod fuzz;
mod leases;
mod lines;
mod list_body;

pub use leases::LeaseLock;

use crate::list_watch::{
    Change, ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher, ListerWatcherSource,
    Part, QueryParameters, WatchEvent, WatchOptions, WatchStream,
};
use crate::object::{DecodeError, Object, bookmark};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, RETRY_AFTER};
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use informant_apimachinery::watch::WatchEventType;
use informant_apimachinery::{GroupVersionResource, Status};
use kube::Client;
use kube::client::Body;
use lines::{Line, Lines};
use list_body::{Item, ListBody, PIECE_BYTES_MAX};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A `Status` is a few hundred bytes; a proxy's error page is cut here.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// A Kubernetes API server, reached through kube's client.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
}

impl ApiServer {
    /// Uses the client's address, credentials and proxies. Make the client from a `kube::Config` whose
    /// `default_retry` is false: the reflector does the waiting, and shows it.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl ListerWatcherSource for ApiServer {
    fn lister_watcher(&self, gvr: &GroupVersionResource, part: &Part) -> Arc<dyn ListerWatcher> {
        let path = gvr.path(part.namespace.as_deref());
        Arc::new(Collection { client: self.client.clone(), path, part: part.clone() })
    }
}

/// The objects of one part of one resource.
struct Collection {
    client: Client,
    path: String,
    part: Part,
}

impl ListerWatcher for Collection {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        Box::pin(async move {
            let body = self.send(self.list_query(&options)).await?;
            let reader = ListReader { body, list: Some(ListBody::new()), ready: VecDeque::new() };
            Ok(Box::pin(stream::try_unfold(reader, ListReader::next)) as ListStream)
        })
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        Box::pin(async move {
            let body = self.send(self.watch_query(&options)).await?;
            let lines = Lines::new(PIECE_BYTES_MAX);
            let reader = WatchReader { body, lines, received: Instant::now() };
            Ok(Box::pin(stream::try_unfold(reader, WatchReader::next)) as WatchStream)
        })
    }
}

impl Collection {
    fn list_query<'a>(&'a self, options: &'a ListOptions) -> Query<'a> {
        let mut query = Query::new();
        if options.limit > 0 {
            query.push(("limit", options.limit.to_string().into()));
        }
        match (&options.continue_token, &options.not_older_than) {
            (Some(token), _) => query.push(("continue", Cow::Borrowed(&**token))),
            (None, Some(resource_version)) => {
                query.push(("resourceVersion", Cow::Borrowed(&**resource_version)));
                query.push(("resourceVersionMatch", "NotOlderThan".into()));
            }
            (None, None) => {}
        }
        self.complete(query, &options.parameters)
    }

    fn watch_query<'a>(&'a self, options: &'a WatchOptions) -> Query<'a> {
        let mut query: Query<'_> = vec![
            ("watch", "true".into()),
            ("allowWatchBookmarks", "true".into()),
            ("timeoutSeconds", options.timeout.as_secs().max(1).to_string().into()),
            ("resourceVersion", Cow::Borrowed(&*options.resource_version)),
        ];
        if options.send_initial_events {
            query.push(("sendInitialEvents", "true".into()));
            query.push(("resourceVersionMatch", "NotOlderThan".into()));
        }
        self.complete(query, &options.parameters)
    }

    /// What lists and watches, and every page, say alike: a continue token does not carry the selectors.
    fn complete<'a>(&'a self, mut query: Query<'a>, parameters: &'a QueryParameters) -> Query<'a> {
        let part = &self.part;
        let selectors =
            [("labelSelector", &part.label_selector), ("fieldSelector", &part.field_selector)];
        let selectors = selectors.into_iter().filter(|(_, selector)| !selector.is_empty());
        query.extend(selectors.map(|(name, selector)| (name, Cow::Borrowed(selector.as_str()))));
        query.extend(parameters.iter().map(|(name, value)| (&**name, Cow::Borrowed(&**value))));
        query
    }

    async fn send(&self, query: Query<'_>) -> Result<Body, ListWatchError> {
        let request = Request::get(uri(&self.path, &query))
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| ListWatchError::transient(format!("request is malformed: {error}")))?;
        let sent = self.client.send(request).await;
        let response = sent.map_err(|error| ListWatchError::transient(chain(&error)))?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        match response.headers().get(CONTENT_ENCODING) {
            Some(encoding) if encoding != "identity" => Err(ListWatchError::transient(format!(
                "answer is encoded as {encoding:?} although only identity was asked for"
            ))),
            _ => Ok(response.into_body()),
        }
    }
}

/// Parameters in the order in which they are sent.
type Query<'a> = Vec<(&'a str, Cow<'a, str>)>;

fn uri(path: &str, query: &Query<'_>) -> String {
    let pair = |(name, value): &(&str, Cow<'_, str>)| {
        format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    };
    format!("{path}?{}", query.iter().map(pair).collect::<Vec<_>>().join("&"))
}

/// Sorts an answer that is not a success.
async fn refusal(response: Response<Body>) -> ListWatchError {
    let code = response.status();
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let body = Limited::new(response.into_body(), ERROR_BODY_BYTES_MAX).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let mut status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body);
        let text = text.trim().chars().take(200).collect::<String>();
        Status::failure(code.as_u16(), "", format!("{code}: {text}"))
    });
    status.code = code.as_u16();
    ListWatchError::from_status(&status, retry_after)
}

/// An error with its causes: the outermost alone often says only that something failed.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

/// The next bytes of a body; `None` at its end.
async fn next_chunk(body: &mut Body) -> Result<Option<Bytes>, ListWatchError> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(error)) => return Err(ListWatchError::transient(chain(&error))),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

struct ListReader {
    body: Body,
    /// None once the body has ended.
    list: Option<ListBody>,
    ready: VecDeque<ListEvent>,
}

impl ListReader {
    async fn next(mut self) -> Result<Option<(ListEvent, Self)>, ListWatchError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some((event, self)));
            }
            let Some(list) = &mut self.list else { return Ok(None) };
            let chunk = next_chunk(&mut self.body).await?;
            let received = Instant::now();
            let mut items = Vec::new();
            let end = match chunk {
                Some(chunk) => list.feed(&chunk, &mut items).map(|()| None),
                None => {
                    let list = self.list.take().expect("it was there a moment ago");
                    list.finish(&mut items).map(Some)
                }
            };
            let end = end.map_err(|error| ListWatchError::transient(error.to_string()))?;
            self.ready.extend(items.into_iter().map(|item| list_event(item, received)));
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

fn list_event(item: Item, received: Instant) -> ListEvent {
    match item {
        Ok(object) => ListEvent::Object(object, received),
        Err(error) => ListEvent::Malformed(error),
    }
}

struct WatchReader {
    body: Body,
    lines: Lines,
    /// When the bytes of the present lines were read.
    received: Instant,
}

impl WatchReader {
    async fn next(mut self) -> Result<Option<(WatchEvent, Self)>, ListWatchError> {
        loop {
            if let Some(line) = self.lines.next_line() {
                return Ok(Some((watch_event(&line, self.received)?, self)));
            }
            match next_chunk(&mut self.body).await? {
                Some(chunk) => {
                    self.received = Instant::now();
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

fn watch_event(line: &Line, received: Instant) -> Result<WatchEvent, ListWatchError> {
    let event = match line {
        Line::TooLong => Err(DecodeError::TooLong { limit: PIECE_BYTES_MAX }),
        Line::Complete(line) => match usual_frame(line) {
            // What looks like the usual frame can still be another one that needs the careful reading.
            Some((event_type, object)) => match decode_event(event_type, object, received)? {
                Ok(event) => Ok(event),
                Err(_) => decode_any_frame(line, received)?,
            },
            None => decode_any_frame(line, received)?,
        },
    };
    Ok(event.unwrap_or_else(|error| WatchEvent::Malformed(Arc::new(error))))
}

/// Type and object of `{"type":"ADDED","object":...}`, written as Kubernetes writes it: no first pass over
/// the object is needed to find its end.
fn usual_frame(line: &[u8]) -> Option<(WatchEventType, &[u8])> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let quote = memchr::memchr(b'"', &rest[..rest.len().min(16)])?;
    let event_type = WatchEventType::from_wire(std::str::from_utf8(&rest[..quote]).ok()?)?;
    let rest = rest[quote..].strip_prefix(b"\",\"object\":")?;
    Some((event_type, rest.strip_suffix(b"\r").unwrap_or(rest).strip_suffix(b"}")?))
}

/// Reads a frame whatever the order of its keys.
fn decode_any_frame(
    line: &[u8],
    received: Instant,
) -> Result<Result<WatchEvent, DecodeError>, ListWatchError> {
    #[derive(Deserialize)]
    struct Frame<'a> {
        #[serde(borrow, rename = "type")]
        event_type: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    match serde_json::from_slice::<Frame<'_>>(line) {
        Err(error) => Ok(Err(error.into())),
        Ok(frame) => match WatchEventType::from_wire(&frame.event_type) {
            Some(event_type) => decode_event(event_type, frame.object.get().as_bytes(), received),
            None => Ok(Err(DecodeError::UnknownEventType(frame.event_type.into_owned()))),
        },
    }
}

/// The outer error ends the watch; the inner one is an event that cannot be read.
fn decode_event(
    event_type: WatchEventType,
    object: &[u8],
    received: Instant,
) -> Result<Result<WatchEvent, DecodeError>, ListWatchError> {
    let change = match event_type {
        WatchEventType::Added => Change::Added,
        WatchEventType::Modified => Change::Modified,
        WatchEventType::Deleted => Change::Deleted,
        WatchEventType::Bookmark => {
            return Ok(bookmark(object).map(|(resource_version, initial_events_end)| {
                WatchEvent::Bookmark { resource_version, initial_events_end }
            }));
        }
        WatchEventType::Error => {
            let text = std::str::from_utf8(object).map_err(serde::de::Error::custom);
            return match text.and_then(serde_json::from_str::<Status>) {
                Ok(status) => Err(ListWatchError::from_status(&status, None)),
                Err(error) => Ok(Err(error.into())),
            };
        }
    };
    let decoded = Object::decode(object, None);
    Ok(decoded.map(|object| WatchEvent::Changed(change, object, received)))
}

#[cfg(test)]
mod tests;
