//! Bytes to [`Object`] in one pass, without a tree.
//!
//! The pass notes which spans to leave out and what the metadata says; the bytes are then copied once,
//! without those spans. Nesting does not matter: what is not metadata is skipped, not descended into.
//!
//! There are two readers: one for objects as API servers write them (`usual.rs`), and serde_json for all that the first one is not
//! sure of (`careful.rs`), mistakes among it. Where both read an object they agree, which the fuzz target holds.

mod careful;
mod fields;
mod scanner;
mod usual;

use super::shared::shared;
use super::{Meta, MetadataFields, Object, ObjectKey, OwnerReference, TypeMeta, Uid};
use bytes::Bytes;
use std::borrow::Cow;
use std::num::NonZeroI64;
use std::ops::Range;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A longer `resourceVersion` or `continue` is an error: the reflector keeps them and puts them into URLs. Kubernetes' own are tens of bytes.
pub(crate) const TOKEN_BYTES_MAX: usize = 4 << 10;

/// What becomes of the annotation in which kubectl keeps what it applied last. Whoever replaces an object that was read without it removes
/// it in the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastApplied {
    #[default]
    Kept,
    Cut,
}

/// The bytes are not an object as the API server writes them.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, or a field of the metadata has another type than Kubernetes gives it.
    #[error("object cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// `metadata.name` is missing or empty.
    #[error("object has no metadata.name")]
    NoName,
    /// `apiVersion` or `kind` is missing, and the list that it came in does not say it either.
    #[error("object {key} has no {field}, and the list that it came in does not say it either")]
    NoType {
        /// The object.
        key: ObjectKey,
        /// `apiVersion` or `kind`.
        field: &'static str,
    },
    /// It was longer than what is read of one object.
    #[error("object is longer than {limit} bytes and was skipped")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Its `resourceVersion` was longer than what is kept of one.
    #[error("object's resourceVersion is longer than {limit} bytes")]
    LongResourceVersion {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The watch event's `type` is none that Kubernetes has.
    #[error("watch event has the unknown type {0:?}")]
    UnknownEventType(String),
}

/// What one pass over an object finds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scan<'de> {
    /// JSON, as `kind`.
    api_version: Option<&'de str>,
    kind: Option<&'de str>,
    metadata: Metadata<'de>,
    cuts: Cuts,
    has_other_fields: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Metadata<'de> {
    name: Cow<'de, str>,
    namespace: Cow<'de, str>,
    uid: Cow<'de, str>,
    resource_version: Cow<'de, str>,
    generation: Option<i64>,
    labels: Vec<(Cow<'de, str>, Cow<'de, str>)>,
    owners: Vec<OwnerReference<'de>>,
    initial_events_end: bool,
}

pub(super) fn object(
    json: &[u8],
    type_meta: Option<&TypeMeta>,
    last_applied: LastApplied,
) -> Result<Object, DecodeError> {
    let json = without_space_around(json);
    // Invariant 17.
    let scan = scan(json, last_applied)?;
    let Scan { metadata, cuts, has_other_fields, .. } = scan;
    if metadata.name.is_empty() {
        return Err(DecodeError::NoName);
    }
    let key = ObjectKey::new(metadata.namespace, metadata.name);
    let api_version =
        type_field("apiVersion", scan.api_version, type_meta.map(|t| &t.api_version), &key)?;
    let kind = type_field("kind", scan.kind, type_meta.map(|t| &t.kind), &key)?;
    let json = assemble(json, &cuts, &api_version, &kind, has_other_fields);
    let meta = Meta { key, labels: shared().labels(&metadata.labels, &metadata.owners) };
    let fields = MetadataFields {
        resource_version: &metadata.resource_version,
        uid: Uid::of_text(&metadata.uid),
        generation: metadata.generation.and_then(NonZeroI64::new),
        lacks_last_applied: cuts.lacks_last_applied,
        metadata_only: false,
    };
    Ok(Object::new(meta, fields, json))
}

/// The API server ends the answer to a GET with a line break; an item of a list has none.
fn without_space_around(mut json: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = json {
        json = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = json {
        json = rest;
    }
    json
}

/// The resourceVersion of a bookmark's object, and whether it ends the initial events of a watch-list.
pub(crate) fn bookmark(json: &[u8]) -> Result<(Box<str>, bool), DecodeError> {
    let metadata = scan(json, LastApplied::Cut)?.metadata;
    Ok((metadata.resource_version.into(), metadata.initial_events_end))
}

fn scan(json: &[u8], last_applied: LastApplied) -> Result<Scan<'_>, DecodeError> {
    // What is skipped is not checked further, yet is promised to be UTF-8.
    let text =
        std::str::from_utf8(json).map_err(<serde_json::Error as serde::de::Error>::custom)?;
    let scan = match usual::scan(text, last_applied) {
        Some(scan) => scan,
        None => careful::scan(text, last_applied)?,
    };
    match scan.metadata.resource_version.len() > TOKEN_BYTES_MAX {
        true => Err(DecodeError::LongResourceVersion { limit: TOKEN_BYTES_MAX }),
        false => Ok(scan),
    }
}

/// The JSON text of `apiVersion` or `kind`.
fn type_field<'a>(
    field: &'static str,
    own: Option<&'a str>,
    from_list: Option<&String>,
    key: &ObjectKey,
) -> Result<Cow<'a, str>, DecodeError> {
    let own = own.filter(|raw| !matches!(*raw, "null" | "\"\""));
    match (own, from_list) {
        (Some(raw), _) => {
            // Hardly any has an escape, and then it is a string already.
            if !raw.starts_with('"') || raw.contains('\\') {
                let _: Cow<'_, str> = serde_json::from_str(raw)?;
            }
            Ok(Cow::Borrowed(raw))
        }
        (None, Some(text)) if !text.is_empty() => Ok(Cow::Owned(serde_json::to_string(text)?)),
        (None, _) => Err(DecodeError::NoType { key: key.clone(), field }),
    }
}

/// The kept bytes in an allocation of exactly their size: spare capacity would stay for the object's life.
fn assemble(
    json: &[u8],
    cuts: &Cuts,
    api_version: &str,
    kind: &str,
    has_other_fields: bool,
) -> Bytes {
    let brace = json.iter().position(|&byte| byte == b'{').expect("the scan has read an object");
    let open = skip_whitespace(json, brace + 1);
    let prefix = ["{\"apiVersion\":", api_version, ",\"kind\":", kind];
    let comma = if has_other_fields { "," } else { "" };
    let cut: usize = cuts.spans.iter().map(Range::len).sum();
    let prefix_len: usize = prefix.iter().map(|piece| piece.len()).sum();
    let mut kept = Vec::with_capacity(prefix_len + comma.len() + json.len() - open - cut);
    for piece in prefix {
        kept.extend_from_slice(piece.as_bytes());
    }
    kept.extend_from_slice(comma.as_bytes());
    let mut from = open;
    for span in &cuts.spans {
        kept.extend_from_slice(&json[from..span.start]);
        from = span.end;
    }
    kept.extend_from_slice(&json[from..]);
    Bytes::from(kept)
}

/// Spans of object entries to leave out, in the order of the bytes and without overlap; each takes with it
/// one comma, so that what stays is JSON.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cuts {
    spans: Vec<Range<usize>>,
    last_applied: LastApplied,
    /// The annotation was there.
    lacks_last_applied: bool,
}

impl Cuts {
    fn new(last_applied: LastApplied) -> Self {
        Self { last_applied, ..Self::default() }
    }

    /// Cuts the entry of `json` whose key begins at `start` and whose value ends at `end`.
    fn entry(&mut self, json: &[u8], mut start: usize, end: usize) {
        let after = skip_whitespace(json, end);
        if json.get(after) == Some(&b',') {
            self.spans.push(start..skip_whitespace(json, after + 1));
            return;
        }
        // The last entry: the comma before it goes, beyond any entries cut just before it.
        while let Some(previous) = self.spans.pop_if(|previous| previous.end == start) {
            start = previous.start;
        }
        let before = json[..start].trim_ascii_end().len();
        if json[..before].last() == Some(&b',') {
            start = before - 1;
        }
        self.spans.push(start..end);
    }
}

fn skip_whitespace(json: &[u8], from: usize) -> usize {
    json.len() - json[from..].trim_ascii_start().len()
}

#[cfg(test)]
pub(super) mod tests;
