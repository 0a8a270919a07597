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
    ApiObject, ListPage, ListQuery, PiecesOn, Representation, ResourceInfo, Source, representation,
};

/// A piece of a streamed list is sent when it has grown to this: large enough that its cost in system
/// calls vanishes, small enough that a thousand lists at once fit in memory.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes of objects that one piece is made of, also of a watch: a row of a table is far smaller than its object.
pub(crate) const READ_BYTES: usize = 256 * 1024;

/// Answers with a page of the collection.
pub async fn list(source: &dyn Source, request: &Request<'_>) -> Result<Response, Status> {
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
    let page = source.list(query).await.map_err(|status| with_remainder(status, start_after))?;
    let (resource, pieces_on) = (&request.resource, request.options.pieces);
    let passes = representation::passes(resource, request.representation);
    match request.representation {
        Representation::Object => objects(resource, page, pieces_on).await,
        Representation::PartialMetadata => {
            let head = r#""kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1""#;
            let show = |object: &ApiObject, items: &mut BytesMut| {
                let json = object.json();
                items.put_slice(&representation::to_bytes(&PartialMetadata::of(&json)));
            };
            in_pieces(head, r#""items""#, (page, passes), pieces_on, show).await
        }
        Representation::Table(include_object) => {
            let options = TableOptions { include_object, no_headers: false, now: Timestamp::now() };
            let layout = representation::layout(resource);
            let columns = representation::to_bytes(&representation::columns(resource));
            let columns = String::from_utf8_lossy(&columns);
            let head = format!(
                r#""kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":{columns}"#
            );
            let show = move |object: &ApiObject, rows: &mut BytesMut| {
                let json = object.json();
                rows.put_slice(&representation::to_bytes(&layout.row(&json, &options)));
            };
            in_pieces(&head, r#""rows""#, (page, passes), pieces_on, show).await
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

async fn objects(
    resource: &Arc<ResourceInfo>,
    page: ListPage,
    pieces_on: PiecesOn,
) -> Result<Response, Status> {
    let (kind, version) = (&resource.list_kind, resource.gvr.api_version());
    let head = match resource.custom {
        true => format!(r#""apiVersion":"{version}","kind":"{kind}""#),
        false => format!(r#""kind":"{kind}","apiVersion":"{version}""#),
    };
    let resource = Arc::clone(resource);
    let show = move |object: &ApiObject, items: &mut BytesMut| object.append_item(items, &resource);
    in_pieces(&head, r#""items""#, (page, 1), pieces_on, show).await
}

/// A list of whatever kind: its first members, its metadata, and its objects under `member`. Each takes the work of so
/// many passes over it.
async fn in_pieces(
    first_members: &str,
    member: &str,
    (page, passes): (ListPage, usize),
    pieces_on: PiecesOn,
    show: impl FnMut(&ApiObject, &mut BytesMut) + Send + 'static,
) -> Result<Response, Status> {
    let mut head = BytesMut::with_capacity(PIECE_BYTES);
    let metadata = list_metadata(&page);
    head.put_slice(format!(r#"{{{first_members},"metadata":{metadata},{member}:["#).as_bytes());
    let is_large = is_large(&page.items, passes);
    let items = page.items.into_iter();
    let mut pieces = Pieces { items, passes, show, buffer: head, any: false, ended: false };
    let begin = move || (pieces.next().unwrap_or_default(), pieces);
    // A small list goes out at once, with its length.
    let (first, pieces) = pieces_on.answer(is_large, begin).await?;
    let body = if pieces.ended {
        Body::from(first)
    } else {
        // A list that is cut short must not end as a complete one.
        let rest = stream::try_unfold(pieces, move |mut pieces| async move {
            if pieces.ended {
                return Ok(None);
            }
            let (piece, pieces) = pieces_on
                .make(move || (pieces.next(), pieces))
                .await
                .ok_or_else(|| io::Error::other("the server stops"))?;
            Ok::<_, io::Error>(piece.map(|piece| (piece, pieces)))
        });
        Body::from_stream(stream::iter([Ok(first)]).chain(rest))
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
    items: std::vec::IntoIter<Arc<ApiObject>>,
    passes: usize,
    /// Appends an object as this list shows it.
    show: F,
    buffer: BytesMut,
    any: bool,
    ended: bool,
}

impl<F: FnMut(&ApiObject, &mut BytesMut)> Iterator for Pieces<F> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut read = 0;
        while self.buffer.len() < PIECE_BYTES && read < READ_BYTES {
            let Some(item) = self.items.next() else {
                self.buffer.put_slice(b"]}\n");
                self.ended = true;
                break;
            };
            if self.any {
                self.buffer.put_u8(b',');
            }
            self.any = true;
            read += item.json_len() * self.passes;
            (self.show)(&item, &mut self.buffer);
        }
        Some(self.buffer.split().freeze())
    }
}
