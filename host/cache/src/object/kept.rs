//! The ways in which an object keeps its JSON.

use super::flags::Flags;
use super::head::Head;
use super::packing::{self, Dictionary, Frame, Made, Packing};
use super::pattern::{Marked, OwnWords, Pattern};
use super::{Object, ObjectText, edits};
use bytes::Bytes;
use std::sync::Arc;
use triomphe::ThinArc;

/// Shorter JSON is not packed.
const PACKED_MIN: usize = 128;

/// The way in which an object keeps its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Not kept: it has just arrived, and its handles carry the text.
    Carried,
    /// Unchanged, because packing would save little.
    Plain,
    /// Its [`Pattern`] is packed, with the frame's dictionary or without one.
    Packed,
    /// Its [`Pattern`] is kept as edits of the frame's text: of an earlier version, or of another object of the same owner.
    Edited,
}

impl Kept {
    /// Bits that it takes.
    pub(super) const BITS: u32 = 2;

    pub(super) fn bits(self) -> u8 {
        self as u8
    }

    /// Of [`Kept::bits`].
    pub(super) fn of_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Carried,
            1 => Self::Plain,
            2 => Self::Packed,
            _ => Self::Edited,
        }
    }
}

impl Object {
    /// The object as a store keeps it, packed. A handle that has read its text still carries it.
    pub(crate) fn packed(&self, packing: Option<&Packing>) -> Self {
        if self.json_len() < PACKED_MIN {
            return self.plain();
        }
        self.packed_of(&self.pattern(), packing)
    }

    /// The same, of this pattern.
    pub(super) fn packed_of(&self, pattern: &Pattern, packing: Option<&Packing>) -> Self {
        let frame = packing.map(|packing| packing.alone.clone());
        let packed =
            packing::pack(self.front(), &pattern.text, self.json_len(), packing, |bytes| {
                self.with_kept(Kept::Packed, frame, pattern.marked, bytes)
            });
        packed.unwrap_or_else(|| self.plain())
    }

    fn plain(&self) -> Self {
        let bytes = [self.front(), &self.json()].concat();
        self.with_kept(Kept::Plain, None, Marked::default(), &bytes)
    }

    /// The object in another form. The results of reads of the text beside the JSON are made again when they are asked for.
    pub(super) fn with_kept(
        &self,
        kept: Kept,
        frame: Option<Frame>,
        marked: Marked,
        bytes: &[u8],
    ) -> Self {
        let flags = Flags { kept, marked, ..self.flags() }.packed();
        let head = Head { frame, flags, meta: self.meta().clone(), ..*self.head() };
        debug_assert!(kept != Kept::Carried, "such an object has no other form");
        let form = ThinArc::from_header_and_slice(head, bytes);
        match self.read_json() {
            None => Self::resting(form, 0),
            Some(json) => {
                let text = ObjectText { json: json.clone().into(), ..ObjectText::default() };
                Self::carrying(form, text)
            }
        }
    }

    /// The text that a store packs.
    pub(crate) fn text_to_pack(&self) -> Vec<u8> {
        match self.flags().kept {
            Kept::Carried | Kept::Plain => self.pattern().text,
            Kept::Packed | Kept::Edited => self.unpacked_pattern(),
        }
    }

    pub(super) fn pattern(&self) -> Pattern {
        self.pattern_of(&self.json())
    }

    /// The pattern of the object's JSON.
    pub(super) fn pattern_of(&self, json: &[u8]) -> Pattern {
        self.with_own_words(|words| Pattern::of(json, words))
    }

    fn with_own_words<R>(&self, then: impl FnOnce(OwnWords<'_>) -> R) -> R {
        let words = [self.resource_version(), &self.uid(), self.key().name()];
        then(words.map(str::as_bytes))
    }

    /// Whether packing it with this dictionary again would change nothing.
    pub(crate) fn is_packed_with(&self, packing: &Packing) -> bool {
        let with = self.dictionary();
        self.flags().kept == Kept::Plain
            || with.is_some_and(|with| Arc::ptr_eq(with, packing.dictionary()))
    }

    /// The dictionary for unpacking.
    fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.head().frame.as_ref().map(Frame::dictionary)
    }

    /// Distinguishes dictionaries while objects have them.
    #[cfg(test)]
    pub(crate) fn packed_with(&self) -> Option<usize> {
        self.dictionary().map(|dictionary| Arc::as_ptr(dictionary).addr())
    }

    /// The number of bytes that the object keeps of its JSON, unless these are edits of another text.
    pub(crate) fn packed_len(&self) -> Option<usize> {
        (self.flags().kept != Kept::Edited).then(|| self.kept_bytes().len())
    }

    /// The number of bytes that the object keeps of its JSON. A base counts only for the object that it was made of.
    pub(crate) fn kept_len(&self) -> usize {
        let is_first = self.flags().kept == Kept::Edited && self.kept_bytes().is_empty();
        let own = self.head().frame.as_ref().filter(|it| is_first || it.made() == Made::Versions);
        self.kept_bytes().len() + own.map_or(0, Frame::size)
    }

    /// The JSON that this handle carries, if it was read.
    pub(super) fn read_json(&self) -> Option<&Bytes> {
        self.text()?.json.get()
    }

    /// Has a handle that is to be read carry its JSON, which is of this pattern.
    pub(super) fn carry(&self, pattern: impl FnOnce() -> Vec<u8>) {
        if let Some(own) = self.text() {
            own.json.get_or_init(|| self.json_of(pattern()));
        }
    }

    pub(super) fn unpacked(&self) -> Bytes {
        match self.flags().kept {
            Kept::Carried => unreachable!("an object without JSON carries its text"),
            Kept::Plain => Bytes::copy_from_slice(self.kept_bytes()),
            Kept::Packed | Kept::Edited => self.json_of(self.unpacked_pattern()),
        }
    }

    /// The JSON of the object's pattern.
    pub(super) fn json_of(&self, pattern: Vec<u8>) -> Bytes {
        self.with_own_words(|words| self.flags().marked.json(pattern, words)).into()
    }

    /// The pattern of an object that is packed, with room for its JSON.
    pub(super) fn unpacked_pattern(&self) -> Vec<u8> {
        let frame = self.head().frame.as_ref();
        match (self.flags().kept, frame) {
            (Kept::Edited, Some(frame)) => self.edits_applied(&frame.unpack()),
            _ => {
                let dictionary = frame.map(|frame| &**frame.dictionary());
                packing::unpack(self.kept_bytes(), dictionary, self.pattern_len(), self.json_len())
            }
        }
    }

    /// The pattern that the object's edits make of the text of its frame.
    pub(super) fn edits_applied(&self, to: &[u8]) -> Vec<u8> {
        edits::apply(to, self.kept_bytes(), self.pattern_len(), self.json_len())
    }

    fn pattern_len(&self) -> usize {
        self.with_own_words(|words| self.flags().marked.pattern_len(self.json_len(), words))
    }
}
