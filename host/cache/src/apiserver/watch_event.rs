//! One line of a watch's body.
//!
//! A line that is not an event (a `Status`, a `Table`, a proxy's page) ends the watch with an error. An unreadable
//! event is reported, and the next ones are read.

use super::lines::Line;
use super::list_body::PIECE_BYTES_MAX;
use crate::list_watch::{Change, ListWatchError, WatchEvent};
use crate::object::{DecodeError, LastApplied, Object, bookmark};
use informant_apimachinery::Status;
use informant_apimachinery::watch::WatchEventType;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn watch_event(
    line: &Line,
    received: Instant,
    last_applied: LastApplied,
) -> Result<WatchEvent, ListWatchError> {
    let decode = |object: &[u8]| Object::read(object, None, last_applied);
    let event = match line {
        Line::TooLong => Err(DecodeError::TooLong { limit: PIECE_BYTES_MAX }),
        Line::Complete(line) => match usual_frame(line) {
            // A line that looks like the usual frame may still be another one that needs the careful reading.
            Some((event_type, object)) => {
                match decode_event(event_type, object, received, decode) {
                    Ok(Ok(event)) => Ok(event),
                    Ok(Err(_)) | Err(_) => decode_any_frame(line, received, decode)?,
                }
            }
            None => decode_any_frame(line, received, decode)?,
        },
    };
    Ok(event.unwrap_or_else(|error| WatchEvent::Malformed(Arc::new(error))))
}

/// Type and object of `{"type":"ADDED","object":...}` in Kubernetes' own form: no first pass over the object is needed
/// to find its end.
fn usual_frame(line: &[u8]) -> Option<(WatchEventType, &[u8])> {
    let rest = line.strip_prefix(b"{\"type\":\"")?;
    let quote = memchr::memchr(b'"', &rest[..rest.len().min(16)])?;
    let event_type = WatchEventType::from_wire(std::str::from_utf8(&rest[..quote]).ok()?)?;
    let rest = rest[quote..].strip_prefix(b"\",\"object\":")?;
    Some((event_type, rest.strip_suffix(b"\r").unwrap_or(rest).strip_suffix(b"}")?))
}

/// Reads a frame with any order of its keys.
pub(super) fn decode_any_frame(
    line: &[u8],
    received: Instant,
    decode: impl Fn(&[u8]) -> Result<Object, DecodeError>,
) -> Result<Result<WatchEvent, DecodeError>, ListWatchError> {
    #[derive(Deserialize)]
    struct WatchFrame<'a> {
        #[serde(borrow, rename = "type")]
        event_type: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    match serde_json::from_slice::<WatchFrame<'_>>(line) {
        Err(error) => not_an_event(line).map_or(Ok(Err(error.into())), Err),
        Ok(frame) => match WatchEventType::from_wire(&frame.event_type) {
            Some(event_type) => {
                decode_event(event_type, frame.object.get().as_bytes(), received, decode)
            }
            None => Ok(Err(DecodeError::UnknownEventType(frame.event_type.into_owned()))),
        },
    }
}

/// The outer error ends the watch; the inner error is an unreadable event.
fn decode_event(
    event_type: WatchEventType,
    object: &[u8],
    received: Instant,
    decode: impl Fn(&[u8]) -> Result<Object, DecodeError>,
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
                // The server ends the watch, for any reason.
                Err(error) => Err(unreadable(format!("error event without a Status: {error}"))),
            };
        }
    };
    match decode(object) {
        Ok(object) => Ok(Ok(WatchEvent::Changed(change, object, received))),
        Err(error) => not_an_event(object).map_or(Ok(Err(error)), Err),
    }
}

/// The reason for which neither this line nor the next ones have an object. An object with broken metadata is not such
/// a case.
fn not_an_event(json: &[u8]) -> Option<ListWatchError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TypeOnly<'a> {
        #[serde(borrow)]
        api_version: Cow<'a, str>,
        #[serde(borrow)]
        kind: Cow<'a, str>,
    }
    if json.trim_ascii_start().starts_with(b"<") {
        let text = String::from_utf8_lossy(&json[..json.len().min(200)]);
        return Some(unreadable(format!("it is a page: {}", text.trim())));
    }
    let found: TypeOnly<'_> = serde_json::from_slice(json).ok()?;
    match (&*found.kind, &*found.api_version) {
        ("Status", "v1") => {
            let status: Status = serde_json::from_slice(json).ok()?;
            Some(ListWatchError::from_status(&status, None))
        }
        ("Table", group) if group.starts_with("meta.k8s.io/") => {
            Some(unreadable("it is a Table, which has no objects".to_owned()))
        }
        _ => None,
    }
}

fn unreadable(message: String) -> ListWatchError {
    ListWatchError::unreadable(&message)
}
