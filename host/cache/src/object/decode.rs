//! Bytes to [`Object`] in one pass of serde_json's reader, without a tree.
//!
//! The pass notes which spans to leave out and what the metadata says; the bytes are then copied once,
//! without those spans. Nesting does not matter: what is not metadata is skipped, not descended into.

mod fields;

use super::{Inner, Object, ObjectKey, OwnerReference, TypeMeta, Version, shared};
use bytes::Bytes;
use fields::{Labels, text};
use informant_apimachinery::watch::INITIAL_EVENTS_END;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

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
    /// The watch event's `type` is none that Kubernetes has.
    #[error("watch event has the unknown type {0:?}")]
    UnknownEventType(String),
}

/// What one pass over an object finds.
#[derive(Default)]
struct Scan<'de> {
    api_version: Option<&'de RawValue>,
    kind: Option<&'de RawValue>,
    metadata: Metadata<'de>,
    cuts: Cuts,
    has_other_fields: bool,
}

#[derive(Default)]
struct Metadata<'de> {
    name: Cow<'de, str>,
    namespace: Cow<'de, str>,
    uid: Cow<'de, str>,
    resource_version: Cow<'de, str>,
    generation: Option<i64>,
    labels: Vec<(Box<str>, Box<str>)>,
    owners: Vec<OwnerReference>,
    initial_events_end: bool,
}

pub(super) fn object(json: &[u8], type_meta: Option<&TypeMeta>) -> Result<Object, DecodeError> {
    let json = without_space_around(json);
    let scan = scan(json)?;
    let Scan { metadata, cuts, has_other_fields, .. } = scan;
    if metadata.name.is_empty() {
        return Err(DecodeError::NoName);
    }
    let key = ObjectKey::new(metadata.namespace, metadata.name);
    let api_version =
        type_field("apiVersion", scan.api_version, type_meta.map(|t| &t.api_version), &key)?;
    let kind = type_field("kind", scan.kind, type_meta.map(|t| &t.kind), &key)?;
    let json = assemble(json, &cuts, &api_version, &kind, has_other_fields);
    Ok(Object {
        inner: Arc::new(Inner {
            key,
            version: Version::new(&metadata.resource_version, &metadata.uid),
            generation: metadata.generation,
            labels: shared().labels(&metadata.labels),
            owners: shared().owners(metadata.owners),
            json,
        }),
    })
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
    let metadata = scan(json)?.metadata;
    Ok((metadata.resource_version.into(), metadata.initial_events_end))
}

/// Where `part`, a piece of `whole`, lies in it.
fn span_of(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

fn scan(json: &[u8]) -> Result<Scan<'_>, serde_json::Error> {
    let mut scan = Scan::default();
    // What is skipped is not checked by serde_json, yet is promised to be UTF-8.
    let text = std::str::from_utf8(json).map_err(serde::de::Error::custom)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    ObjectSeed { json, scan: &mut scan }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(scan)
}

/// The JSON text of `apiVersion` or `kind`.
fn type_field<'a>(
    field: &'static str,
    own: Option<&'a RawValue>,
    from_list: Option<&String>,
    key: &ObjectKey,
) -> Result<Cow<'a, str>, DecodeError> {
    let own = own.filter(|raw| !matches!(raw.get(), "null" | "\"\""));
    match (own, from_list) {
        (Some(raw), _) => {
            let _: Cow<'_, str> = serde_json::from_str(raw.get())?;
            Ok(Cow::Borrowed(raw.get()))
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
#[derive(Default)]
struct Cuts {
    spans: Vec<Range<usize>>,
}

impl Cuts {
    /// Cuts the entry of `json` that begins with `key` and ends with `value`.
    fn entry(&mut self, json: &[u8], key: &RawValue, value: &RawValue) {
        let mut start = span_of(json, key.get().as_bytes()).start;
        let end = span_of(json, value.get().as_bytes()).end;
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

/// The word that a key, still in its quotes, stands for.
fn unquote<E: serde::de::Error>(key: &RawValue) -> Result<Cow<'_, str>, E> {
    match key.get().as_bytes() {
        [b'"', .., b'"'] if !key.get().contains('\\') => {
            Ok(Cow::Borrowed(&key.get()[1..key.get().len() - 1]))
        }
        _ => serde_json::from_str(key.get()).map_err(E::custom),
    }
}

struct ObjectSeed<'a, 'de> {
    json: &'de [u8],
    scan: &'a mut Scan<'de>,
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { json, scan } = self;
        while let Some(raw_key) = map.next_key::<&'de RawValue>()? {
            match &*unquote::<A::Error>(raw_key)? {
                "apiVersion" => {
                    let value = map.next_value()?;
                    scan.api_version = Some(value);
                    scan.cuts.entry(json, raw_key, value);
                }
                "kind" => {
                    let value = map.next_value()?;
                    scan.kind = Some(value);
                    scan.cuts.entry(json, raw_key, value);
                }
                "metadata" => {
                    scan.has_other_fields = true;
                    scan.metadata = Metadata::default();
                    let Scan { metadata, cuts, .. } = &mut *scan;
                    map.next_value_seed(MetadataSeed { json, metadata, cuts })?;
                }
                _ => {
                    scan.has_other_fields = true;
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct MetadataSeed<'a, 'de> {
    json: &'de [u8],
    metadata: &'a mut Metadata<'de>,
    cuts: &'a mut Cuts,
}

impl<'de> DeserializeSeed<'de> for MetadataSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MetadataSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object's metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { json, metadata, cuts } = self;
        while let Some(raw_key) = map.next_key::<&'de RawValue>()? {
            match &*unquote::<A::Error>(raw_key)? {
                "name" => metadata.name = text(&mut map)?,
                "namespace" => metadata.namespace = text(&mut map)?,
                "uid" => metadata.uid = text(&mut map)?,
                "resourceVersion" => metadata.resource_version = text(&mut map)?,
                "generation" => metadata.generation = map.next_value()?,
                "labels" => {
                    metadata.labels = map.next_value::<Option<Labels>>()?.unwrap_or_default().0
                }
                "ownerReferences" => {
                    metadata.owners =
                        map.next_value::<Option<Vec<OwnerReference>>>()?.unwrap_or_default();
                }
                "annotations" => {
                    metadata.initial_events_end =
                        map.next_value_seed(Annotations { json, cuts: &mut *cuts })?;
                }
                "managedFields" => cuts.entry(json, raw_key, map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Cuts the last-applied annotation; answers whether the end of a watch-list's initial events is marked.
struct Annotations<'a, 'de> {
    json: &'de [u8],
    cuts: &'a mut Cuts,
}

impl<'de> DeserializeSeed<'de> for Annotations<'_, 'de> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Annotations<'_, 'de> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("annotations")
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut initial_events_end = false;
        while let Some(raw_key) = map.next_key::<&'de RawValue>()? {
            match &*unquote::<A::Error>(raw_key)? {
                LAST_APPLIED => self.cuts.entry(self.json, raw_key, map.next_value()?),
                INITIAL_EVENTS_END => initial_events_end = text(&mut map)? == "true",
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(initial_events_end)
    }
}

#[cfg(test)]
mod tests;
