//! An object read by serde_json, whatever it looks like: white space, escapes, keys that stand twice.
//!
//! The one that decides. What `usual.rs` reads more quickly it reads as this does.

use super::fields::{Labels, text};
use super::{Cuts, LAST_APPLIED, LastApplied, Metadata, Scan};
use crate::object::OwnerReference;
use informant_apimachinery::watch::INITIAL_EVENTS_END;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

pub(super) fn scan(text: &str, last_applied: LastApplied) -> Result<Scan<'_>, serde_json::Error> {
    let mut scan = Scan { cuts: Cuts::new(last_applied), ..Scan::default() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    ObjectSeed { json: text.as_bytes(), scan: &mut scan }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(scan)
}

impl Cuts {
    /// Cuts an entry of `json`.
    fn raw_entry(&mut self, json: &[u8], key: &RawValue, value: &RawValue) {
        let place = |part: &RawValue| part.get().as_ptr() as usize - json.as_ptr() as usize;
        self.entry(json, place(key), place(value) + value.get().len());
    }
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
                    let value = map.next_value::<&RawValue>()?;
                    scan.api_version = Some(value.get());
                    scan.cuts.raw_entry(json, raw_key, value);
                }
                "kind" => {
                    let value = map.next_value::<&RawValue>()?;
                    scan.kind = Some(value.get());
                    scan.cuts.raw_entry(json, raw_key, value);
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
                    metadata.labels = map.next_value::<Option<Labels<'_>>>()?.unwrap_or_default().0
                }
                "ownerReferences" => {
                    metadata.owners =
                        map.next_value::<Option<Vec<OwnerReference<'_>>>>()?.unwrap_or_default();
                }
                "annotations" => {
                    metadata.initial_events_end =
                        map.next_value_seed(Annotations { json, cuts: &mut *cuts })?;
                }
                "managedFields" => cuts.raw_entry(json, raw_key, map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Cuts the last-applied annotation where it is not kept; answers whether the end of a watch-list's initial events is marked.
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
                LAST_APPLIED if self.cuts.last_applied == LastApplied::Cut => {
                    self.cuts.raw_entry(self.json, raw_key, map.next_value()?);
                    self.cuts.lacks_last_applied = true;
                }
                INITIAL_EVENTS_END => initial_events_end = text(&mut map)? == "true",
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(initial_events_end)
    }
}
