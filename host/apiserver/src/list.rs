//! GET of a collection: one page, streamed in pieces so that a large list is never one large buffer.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use http::StatusCode;
use informant_apimachinery::{ContinueToken, Status, reason};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::negotiation::JSON;
use crate::request::Request;
use crate::response::body_response;
use crate::table::TableOptions;
use crate::{
    ApiObject, ListPage, ListQuery, Representation, ResourceInfo, Source, json_response,
    representation,
};

/// A piece of a streamed list is sent when it has grown to this: large enough that its cost in system
/// calls vanishes, small enough that a thousand lists at once fit in memory.
const PIECE_BYTES: usize = 64 * 1024;

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
    Ok(match request.representation {
        Representation::Object => objects(&request.resource, page),
        Representation::PartialMetadata => {
            let items = representation::partial_items(&page.items);
            json_response(StatusCode::OK, representation::to_bytes(&partial_list(&page, items)))
        }
        Representation::Table(include_object) => {
            let options = TableOptions { include_object, no_headers: false, now: Timestamp::now() };
            let items = page.items.iter().map(Arc::as_ref);
            let metadata = list_metadata(&page);
            let table = representation::table(&request.resource, metadata, items, &options);
            json_response(StatusCode::OK, representation::to_bytes(&table))
        }
    })
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

fn partial_list(page: &ListPage, items: Vec<Value>) -> Value {
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata(page),
        "items": items,
    })
}

fn objects(resource: &Arc<ResourceInfo>, page: ListPage) -> Response {
    let mut head = BytesMut::with_capacity(PIECE_BYTES);
    let kind_and_version = if resource.custom {
        format!(
            r#"{{"apiVersion":"{}","kind":"{}""#,
            resource.gvr.api_version(),
            resource.list_kind
        )
    } else {
        format!(
            r#"{{"kind":"{}","apiVersion":"{}""#,
            resource.list_kind,
            resource.gvr.api_version()
        )
    };
    head.put_slice(kind_and_version.as_bytes());
    head.put_slice(format!(r#","metadata":{},"items":["#, list_metadata(&page)).as_bytes());
    let mut pieces = Pieces {
        resource: Arc::clone(resource),
        items: page.items.into_iter(),
        buffer: head,
        any: false,
        ended: false,
    };
    // A small list goes out at once, with its length.
    let first = pieces.next().unwrap_or_default();
    let body = if pieces.ended {
        Body::from(first)
    } else {
        let all = std::iter::once(first).chain(pieces).map(Ok::<Bytes, Infallible>);
        Body::from_stream(stream::iter(all))
    };
    body_response(StatusCode::OK, JSON, body)
}

/// A list's JSON, piece by piece.
struct Pieces {
    resource: Arc<ResourceInfo>,
    items: std::vec::IntoIter<Arc<ApiObject>>,
    buffer: BytesMut,
    any: bool,
    ended: bool,
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        while self.buffer.len() < PIECE_BYTES {
            let Some(item) = self.items.next() else {
                self.buffer.put_slice(b"]}\n");
                self.ended = true;
                break;
            };
            if self.any {
                self.buffer.put_u8(b',');
            }
            self.any = true;
            item.append_item(&mut self.buffer, &self.resource);
        }
        Some(self.buffer.split().freeze())
    }
}
