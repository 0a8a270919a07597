//! The head of an object: the part of its metadata that is read often, in front of its bytes.

use super::packing::Frame;
use super::pattern::Marked;
use super::shared::shared;
use super::uid::{KeptUid, Uid};
use super::words::Words;
use super::{Kept, Object, ObjectKey, ObjectText};
use bytes::Bytes;
use std::fmt;
use std::num::NonZeroI64;
use std::sync::Arc;
use triomphe::ThinArc;

/// The head in front of an object's bytes, which are its resourceVersion, its UID, its generation and its JSON. A million
/// objects have one each: the sizes of the fields leave no gap.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) meta: Meta,
    /// Present for JSON that is packed with a dictionary.
    pub(super) frame: Option<Frame>,
    pub(super) uid_len: u32,
    /// Bytes of the JSON, however it is kept.
    pub(super) json_len: u32,
    pub(super) resource_version_len: u16,
    pub(super) generation_len: u8,
    /// Whether the UID's bytes are those of a UUID, and not text.
    pub(super) uid_is_uuid: bool,
    pub(super) kept: Kept,
    pub(super) marked: Marked,
    pub(super) lacks_last_applied: bool,
    pub(super) metadata_only: bool,
}

/// The parsed parts of the metadata.
#[derive(Clone)]
pub(super) struct Meta {
    pub(super) key: ObjectKey,
    pub(super) labels: Words,
    pub(super) owners: Words,
}

/// The other parts of the metadata that are read without the JSON.
pub(super) struct MetadataFields<'a> {
    pub(super) resource_version: &'a str,
    pub(super) uid: Uid<'a>,
    pub(super) generation: Option<NonZeroI64>,
    pub(super) lacks_last_applied: bool,
    pub(super) metadata_only: bool,
}

impl Drop for Meta {
    fn drop(&mut self) {
        shared().dropped();
    }
}

impl Object {
    /// An object that has just arrived.
    pub(super) fn new(meta: Meta, fields: MetadataFields<'_>, json: Bytes) -> Self {
        let MetadataFields { resource_version, uid, .. } = fields;
        let uid = KeptUid::of(&uid);
        let (generation, generation_len) = generation_bytes(fields.generation);
        let generation = &generation[..generation_len];
        let front = [resource_version.as_bytes(), uid.bytes(), generation].concat();
        let head = Head {
            meta,
            frame: None,
            uid_len: length(uid.bytes().len()),
            json_len: length(json.len()),
            resource_version_len: length(resource_version.len()),
            generation_len: length(generation_len),
            uid_is_uuid: uid.is_uuid(),
            kept: Kept::Carried,
            marked: Marked::default(),
            lacks_last_applied: fields.lacks_last_applied,
            metadata_only: fields.metadata_only,
        };
        let inner = ThinArc::from_header_and_slice(head, &front);
        Self {
            inner,
            text: Some(Arc::new(ObjectText { json: json.into(), ..ObjectText::default() })),
        }
    }

    pub(super) fn head(&self) -> &Head {
        &self.inner.header.header
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.head().meta
    }

    /// The parts that [`Object::new`] takes.
    pub(super) fn fields(&self) -> MetadataFields<'_> {
        let head = self.head();
        MetadataFields {
            resource_version: self.resource_version(),
            uid: self.uid(),
            generation: self.kept_generation(),
            lacks_last_applied: head.lacks_last_applied,
            metadata_only: head.metadata_only,
        }
    }

    pub(super) fn kept_generation(&self) -> Option<NonZeroI64> {
        let (front, len) = (self.front(), usize::from(self.head().generation_len));
        generation_of(&front[front.len() - len..])
    }

    pub(super) fn kept_resource_version(&self) -> &str {
        text(&self.front()[..self.head().resource_version_len.into()])
    }

    pub(super) fn kept_uid(&self) -> KeptUid<'_> {
        let head = self.head();
        let bytes = &self.front()[head.resource_version_len.into()..][..head.uid_len as usize];
        KeptUid::of_bytes(bytes, head.uid_is_uuid)
    }

    /// The bytes before the JSON.
    pub(super) fn front(&self) -> &[u8] {
        let Head { uid_len, resource_version_len, generation_len, .. } = *self.head();
        let len =
            usize::from(resource_version_len) + uid_len as usize + usize::from(generation_len);
        &self.inner.slice[..len]
    }

    /// The bytes that are kept of the JSON.
    pub(super) fn kept_bytes(&self) -> &[u8] {
        &self.inner.slice[self.front().len()..]
    }
}

/// An object, and its resourceVersion, is no longer than what is read of one.
fn length<T: TryFrom<usize, Error: fmt::Debug>>(bytes: usize) -> T {
    T::try_from(bytes).expect("what is read is bounded")
}

/// The generation in as few bytes as possible, most often one. The lowest bit is the sign.
fn generation_bytes(generation: Option<NonZeroI64>) -> ([u8; 8], usize) {
    let number = generation.map_or(0, NonZeroI64::get);
    let unsigned = (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned();
    (unsigned.to_le_bytes(), (u64::BITS - unsigned.leading_zeros()).div_ceil(8) as usize)
}

fn generation_of(bytes: &[u8]) -> Option<NonZeroI64> {
    let mut unsigned = [0; 8];
    unsigned[..bytes.len()].copy_from_slice(bytes);
    let unsigned = u64::from_le_bytes(unsigned);
    NonZeroI64::new((unsigned >> 1).cast_signed() ^ -(unsigned & 1).cast_signed())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it was written from text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_no_gap() {
        assert_eq!(size_of::<Head>(), 56);
    }

    #[test]
    fn a_generation_takes_few_bytes() {
        let check = |number, bytes| {
            let generation = NonZeroI64::new(number);
            let (kept, len) = generation_bytes(generation);
            assert_eq!((generation_of(&kept[..len]), len), (generation, bytes));
        };
        for (number, bytes) in [(0, 0), (1, 1), (-1, 1), (127, 1), (128, 2), (-129, 2)] {
            check(number, bytes);
        }
        check(i64::MAX, 8);
        check(i64::MIN, 8);
    }
}
