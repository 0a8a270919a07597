//! The head of an object: the part of its metadata that is read often, in front of its bytes.

use super::flags::{Flags, PackedFlags};
use super::packing::Frame;
use super::pattern::Marked;
use super::shared::shared;
use super::uid::{KeptUid, Uid};
use super::words::LabelWords;
use super::{Kept, Object, ObjectKey, ObjectText};
use bytes::Bytes;
use std::fmt;
use std::num::NonZeroI64;
use triomphe::ThinArc;

/// The head in front of an object's bytes, which are its resourceVersion, its UID, its generation and its JSON. A million
/// objects have one each: the sizes of the fields leave no gap.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) meta: Meta,
    /// Present for JSON that is packed with a dictionary.
    pub(super) frame: Option<Frame>,
    /// Bytes of the JSON, however it is kept.
    pub(super) json_len: u32,
    pub(super) resource_version_len: u16,
    pub(super) flags: PackedFlags,
}

/// The parsed parts of the metadata.
#[derive(Clone)]
pub(super) struct Meta {
    pub(super) key: ObjectKey,
    /// The list of labels has the handle of the owners.
    pub(super) labels: LabelWords,
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
        let text_len = uid.text_len();
        let text_len = text_len.as_slice().as_flattened();
        let front = [resource_version.as_bytes(), text_len, uid.bytes(), generation].concat();
        let flags = Flags {
            generation_len: length(generation_len),
            uid: uid.form(),
            kept: Kept::Carried,
            marked: Marked::default(),
            lacks_last_applied: fields.lacks_last_applied,
            metadata_only: fields.metadata_only,
        };
        let head = Head {
            meta,
            frame: None,
            json_len: length(json.len()),
            resource_version_len: length(resource_version.len()),
            flags: flags.packed(),
        };
        let kept = ThinArc::from_header_and_slice(head, &front);
        Self::carrying(kept, ObjectText { json: json.into(), ..ObjectText::default() })
    }

    pub(super) fn head(&self) -> &Head {
        &self.kept_form().header.header
    }

    pub(super) fn flags(&self) -> Flags {
        self.head().flags.flags()
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.head().meta
    }

    /// The parts that [`Object::new`] takes.
    pub(super) fn fields(&self) -> MetadataFields<'_> {
        let flags = self.flags();
        MetadataFields {
            resource_version: self.resource_version(),
            uid: self.uid(),
            generation: self.kept_generation(),
            lacks_last_applied: flags.lacks_last_applied,
            metadata_only: flags.metadata_only,
        }
    }

    pub(super) fn kept_generation(&self) -> Option<NonZeroI64> {
        let (front, len) = (self.front(), usize::from(self.flags().generation_len));
        generation_of(&front[front.len() - len..])
    }

    pub(super) fn kept_resource_version(&self) -> &str {
        text(self.split_front().0)
    }

    pub(super) fn kept_uid(&self) -> KeptUid<'_> {
        KeptUid::of_bytes(self.split_front().1, self.flags().uid)
    }

    /// The bytes before the JSON.
    pub(super) fn front(&self) -> &[u8] {
        let Flags { uid, generation_len, .. } = self.flags();
        let (resource_version, rest) = self.split_front();
        let len = resource_version.len() + uid.place(rest).end + usize::from(generation_len);
        &self.kept_form().slice[..len]
    }

    /// The resourceVersion, and all bytes from the UID on.
    fn split_front(&self) -> (&[u8], &[u8]) {
        self.kept_form().slice.split_at(self.head().resource_version_len.into())
    }

    /// The bytes that are kept of the JSON.
    pub(super) fn kept_bytes(&self) -> &[u8] {
        &self.kept_form().slice[self.front().len()..]
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
        assert_eq!(size_of::<Head>(), 40);
    }

    /// An object whose front has these, in so many bytes.
    #[track_caller]
    fn check_front(uid: &str, resource_version: &str, generation: i64, bytes: usize) {
        let metadata = serde_json::json!({
            "name": "web", "uid": uid, "resourceVersion": resource_version, "generation": generation,
        });
        let text = "again and ".repeat(40);
        let json = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "text": text});
        let arrived = Object::decode(json.to_string().as_bytes(), None).expect("it decodes");
        for object in [arrived.packed(None).at_rest(), arrived.metadata_only(), arrived] {
            assert_eq!(*object.uid(), *uid);
            assert_eq!(object.resource_version(), resource_version);
            assert_eq!(object.generation(), Some(generation).filter(|number| *number != 0));
            assert_eq!(object.front().len(), bytes, "{uid:?} {resource_version:?} {generation}");
        }
    }

    #[test]
    fn the_front_has_no_more_than_its_parts() {
        let uuid = "0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab";
        for (generation, generation_len) in [(0, 0), (1, 1), (i64::MIN, 8)] {
            for resource_version in ["", "7", "12345"] {
                let others = resource_version.len() + generation_len;
                check_front("", resource_version, generation, others);
                check_front(uuid, resource_version, generation, others + 16);
                for len in [1, 15, 16, 17, 35, 36, 37, 300, 5_000] {
                    let bytes = others + size_of::<u32>() + len;
                    check_front(&"u".repeat(len), resource_version, generation, bytes);
                }
            }
        }
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
