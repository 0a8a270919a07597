//! GET of a collection: one page, streamed in pieces so that a large list is never one large buffer.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use http::StatusCode;
use informant_apimachinery::{ContinueToken, Status, reason};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::negotiation::JSON;
use crate::partial_metadata::PartialMetadata;
use crate::request::{LARGE_BYTES, Request};
use crate::response::body_response;
use crate::table::TableOptions;
use crate::{
    ApiObject, ListAt, ListPage, ListQuery, NotAtHand, PiecesOn, Representation, ResourceInfo,
    Source, UnshownObjects, representation,
};

/// A piece of a streamed list is sent when it has grown to this: large enough that its cost in system
/// calls vanishes, small enough that a thousand lists at once fit in memory.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes of objects that one piece is made of, also of a watch: a row of a table is far smaller than its object.
pub(crate) const READ_BYTES: usize = 256 * 1024;

/// Answers with a page of the collection.
pub async fn list(source: &Arc<dyn Source>, request: &Request<'_>) -> Result<Response, Status> {
    let options = request.list_options()?;
    let selection = request.selection(&options)?;
    let (at, start_after, limit) = options.list_at()?;
    let query = ListQuery {
        resource: Arc::clone(&request.resource),
        selection,
        limit,
        at,
        start_after: start_after.clone(),
    };
    let rest = Rest { source: Arc::clone(source), query: query.clone() };
    let page = source.list(query).await.map_err(|status| with_remainder(status, start_after))?;
    let (resource, pieces_on) = (&request.resource, request.options.pieces);
    let passes = representation::passes(resource, request.representation);
    let listed = Listed { page, rest, passes, pieces_on };
    match request.representation {
        Representation::Object => objects(resource, listed).await,
        Representation::PartialMetadata => {
            let head = r#""kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1""#;
            let show = |object: &ApiObject, items: &mut BytesMut| {
                let json = object.json();
                items.put_slice(&representation::to_bytes(&PartialMetadata::of(&json)));
            };
            in_pieces(head, r#""items""#, listed, show).await
        }
        Representation::Table(include_object) => {
            let options = TableOptions { include_object, no_headers: false, now: Timestamp::now() };
            let layout = representation::layout(resource);
            let columns = representation::to_bytes(&representation::columns(resource));
            let columns = String::from_utf8_lossy(&columns);
            let head = format!(
                r#""kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":{columns}"#
            );
            let resource = Arc::clone(resource);
            let show = move |object: &ApiObject, rows: &mut BytesMut| {
                let json = object.json_as(&resource);
                rows.put_slice(&representation::to_bytes(&layout.row(&json, &options)));
            };
            in_pieces(&head, r#""rows""#, listed, show).await
        }
    }
}

/// A continued list that has expired offers the rest of the collection as it is now.
fn with_remainder(mut status: Status, start_after: Option<String>) -> Status {
    if let Some(start_after) = start_after
        && status.reason == reason::EXPIRED
    {
        status.metadata.continue_token = ContinueToken::inconsistent(start_after).encode();
        status.message = "The provided continue parameter is too old to display a consistent list \
            result. You can start a new list without the continue parameter, or use the continue \
            token in this response to retrieve the remainder of the results. Continuing with the \
            provided token results in an inconsistent list - objects that were created, modified, \
            or deleted between the time the first chunk was returned and now may show up in the \
            list."
            .to_owned();
    }
    status
}

fn list_metadata(page: &ListPage) -> Value {
    let mut metadata = json!({"resourceVersion": page.resource_version.to_string()});
    if let Some(next) = &page.next {
        let token = ContinueToken::new(page.resource_version, next.as_str());
        metadata["continue"] = token.encode().into();
        if let Some(remaining) = page.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
    }
    metadata
}

/// A page on its way to a client.
struct Listed {
    page: ListPage,
    rest: Rest,
    /// An object takes the work of so many passes over it.
    passes: usize,
    pieces_on: PiecesOn,
}

/// Lists the objects that a client does not have yet when the source forgets the state of a list: as they are then, as
/// the remainder of an expired list.
struct Rest {
    source: Arc<dyn Source>,
    query: ListQuery,
}

impl Rest {
    async fn after(&self, key: Option<String>) -> io::Result<UnshownObjects> {
        let start_after = key.or_else(|| self.query.start_after.clone());
        let query = ListQuery { at: ListAt::Any, start_after, ..self.query.clone() };
        let page = self.source.list(query).await;
        let page = page.map_err(|status| io::Error::other(status.message))?;
        Ok(UnshownObjects::new(page.items, page.more, page.kept_until))
    }
}

async fn objects(resource: &Arc<ResourceInfo>, listed: Listed) -> Result<Response, Status> {
    let (kind, version) = (&resource.list_kind, resource.gvr.api_version());
    let head = match resource.custom {
        true => format!(r#""apiVersion":"{version}","kind":"{kind}""#),
        false => format!(r#""kind":"{kind}","apiVersion":"{version}""#),
    };
    let resource = Arc::clone(resource);
    let show = move |object: &ApiObject, items: &mut BytesMut| object.append_item(items, &resource);
    in_pieces(&head, r#""items""#, listed, show).await
}

/// A list of whatever kind: its first members, its metadata, and its objects under `member`.
async fn in_pieces(
    first_members: &str,
    member: &str,
    listed: Listed,
    show: impl FnMut(&ApiObject, &mut BytesMut) + Send + 'static,
) -> Result<Response, Status> {
    let Listed { page, rest, passes, pieces_on } = listed;
    let mut head = BytesMut::with_capacity(PIECE_BYTES);
    let metadata = list_metadata(&page);
    head.put_slice(format!(r#"{{{first_members},"metadata":{metadata},{member}:["#).as_bytes());
    let is_large = is_large(&page.items, passes);
    let items = UnshownObjects::new(page.items, page.more, page.kept_until);
    let mut pieces =
        Pieces { items, passes, show, buffer: head, last: None, is_cut: false, ended: false };
    let begin = move || (pieces.next(), pieces);
    // A small list goes out at once, with its length.
    let (first, mut pieces) = pieces_on.answer(is_large, begin).await?;
    let body = if pieces.ended {
        Body::from(first)
    } else {
        pieces.items.wait_for_client();
        // A list that is cut short must not end as a complete one.
        let more = stream::try_unfold((pieces, rest), move |(mut pieces, rest)| async move {
            while !pieces.ended {
                if pieces.is_cut {
                    pieces.items = rest.after(pieces.last.clone()).await?;
                    pieces.is_cut = false;
                }
                pieces.items.fill().await.map_err(|status| io::Error::other(status.message))?;
                let piece;
                (piece, pieces) = pieces_on
                    .make(move || (pieces.next(), pieces))
                    .await
                    .ok_or_else(|| io::Error::other("the server stops"))?;
                if !piece.is_empty() {
                    // Not before there is a piece of these items: the next ones may be forgotten as fast.
                    pieces.items.wait_for_client();
                    return Ok(Some((piece, (pieces, rest))));
                }
            }
            Ok::<_, io::Error>(None)
        });
        Body::from_stream(stream::iter([Ok(first)]).chain(more))
    };
    Ok(body_response(StatusCode::OK, JSON, body))
}

/// Whether so many passes over the objects are over many bytes together.
fn is_large(items: &[Arc<ApiObject>], passes: usize) -> bool {
    let mut lengths = items.iter().map(|item| item.json_len() * passes);
    let few = lengths.try_fold(0, |sum, length| Some(sum + length).filter(|it| *it < LARGE_BYTES));
    few.is_none()
}

/// A list's JSON, piece by piece.
struct Pieces<F> {
    items: UnshownObjects,
    passes: usize,
    /// Appends an object as this list shows it.
    show: F,
    buffer: BytesMut,
    /// The key of the last object of the pieces so far.
    last: Option<String>,
    /// The state of the items is forgotten: the next piece needs other ones.
    is_cut: bool,
    ended: bool,
}

impl<F: FnMut(&ApiObject, &mut BytesMut)> Pieces<F> {
    /// The next piece, of items at hand. It may be empty where the items are cut.
    fn next(&mut self) -> Bytes {
        let (mut read, mut last) = (0, None);
        while self.buffer.len() < PIECE_BYTES && read < READ_BYTES {
            let item = match self.items.take_next() {
                Ok(Some(item)) => item,
                Ok(None) => {
                    self.buffer.put_slice(b"]}\n");
                    self.ended = true;
                    break;
                }
                Err(NotAtHand::Yet) => break,
                Err(NotAtHand::StateForgotten) => {
                    self.is_cut = true;
                    break;
                }
            };
            if last.is_some() || self.last.is_some() {
                self.buffer.put_u8(b',');
            }
            read += item.json_len() * self.passes;
            (self.show)(&item, &mut self.buffer);
            last = Some(item);
        }
        if let Some(last) = last {
            self.last = Some(format!("{}/{}", last.namespace(), last.name()));
        }
        self.buffer.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, KeptUntil, Watch, WatchQuery};
    use futures::future::BoxFuture;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Objects of 40 KB, of which each list has another version, and forgets it at once.
    #[derive(Default)]
    struct Hasty {
        version: AtomicU64,
    }

    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    impl Source for Hasty {
        fn catalogue(&self) -> Arc<Catalogue> {
            unreachable!("a list does not ask for it")
        }

        fn get<'a>(
            &'a self,
            _: &'a Arc<ResourceInfo>,
            _: Option<&'a str>,
            _: &'a str,
            _: ListAt,
        ) -> BoxFuture<'a, Result<Arc<ApiObject>, Status>> {
            unreachable!("it is a list")
        }

        fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<ListPage, Status>> {
            let resource_version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
            let object = |name: &str| {
                let version = resource_version.to_string();
                let metadata = json!({"name": name, "resourceVersion": version});
                let object = json!({"metadata": metadata, "data": "x".repeat(40_000)});
                Arc::new(ApiObject::from_value(&object, &[]))
            };
            let after = query.start_after.unwrap_or_default();
            let names = NAMES.iter().filter(|name| format!("/{name}") > after);
            let items = names.map(|name| object(name)).collect();
            let kept_until = Some(KeptUntil::when(std::future::ready(())));
            let page = ListPage { items, resource_version, kept_until, ..ListPage::default() };
            Box::pin(std::future::ready(Ok(page)))
        }

        fn watch(&self, _: WatchQuery) -> BoxFuture<'_, Result<Watch, Status>> {
            unreachable!("it is a list")
        }
    }

    /// The names and versions of a list of which the client reads a piece after the other, each after so many turns.
    async fn listed(turns: usize) -> String {
        let resource = Arc::new(ResourceInfo::of_test("v1/things"));
        let source: Arc<dyn Source> = Arc::new(Hasty::default());
        let (selection, at) = (Default::default(), ListAt::Any);
        let query = ListQuery { resource, selection, limit: 0, at, start_after: None };
        let page = source.list(query.clone()).await.expect("a page");
        let resource = query.resource.clone();
        let rest = Rest { source, query };
        let listed = Listed { page, rest, passes: 1, pieces_on: PiecesOn::Here };
        let body = objects(&resource, listed).await.expect("a list").into_body();
        let (mut pieces, mut text) = (body.into_data_stream(), Vec::new());
        while let Some(piece) = pieces.next().await {
            text.extend_from_slice(&piece.expect("it is not broken"));
            for _ in 0..turns {
                tokio::task::spawn_blocking(|| ()).await.expect("a turn");
            }
        }
        let list: Value = serde_json::from_slice(&text).expect("JSON");
        let items = list["items"].as_array().expect("items").iter().map(|item| &item["metadata"]);
        let shown = |it: &Value| format!("{}@{}", it["name"], it["resourceVersion"]);
        let of = &list["metadata"];
        let items: Vec<_> = items.map(shown).collect();
        format!("{}: {}", of["resourceVersion"], items.join(" ")).replace('"', "")
    }

    #[tokio::test]
    async fn a_client_that_reads_a_list_slowly_gets_the_rest_as_it_is_then() {
        assert_eq!(listed(100).await, "1: a@1 b@1 c@2 d@2 e@3 f@3");
    }
}
