//! A packed text that others are kept as edits of: an object's later versions, or its owner's other objects.

use super::packing::{self, Frame, Made};
use super::pattern::Pattern;
use super::{Dictionary, Kept, Object, Packing, edits};
use bytes::Bytes;
use std::sync::Arc;

/// Shorter JSON is packed by itself: that is quick, and edits would save little beside the head.
const EDITED_MIN: usize = 256;
/// Shorter JSON is small: it is kept as edits of a sibling, and of no earlier version. A base of its own would take more.
const SMALL_MAX: usize = 1024;
/// A base may be so many times longer than what is made from it.
const BASE_LONGER_MAX: usize = 2;
/// Bytes of most edits.
const EDITS_EXPECTED: usize = 512;

/// A packed text that others are made from, and the text, which is a [`Pattern`]'s.
pub(super) struct Base {
    pub(super) frame: Frame,
    text: Bytes,
}

impl Base {
    fn new(dictionary: Arc<Dictionary>, packed: &[u8], text: Bytes, made: Made) -> Self {
        Self { frame: Frame::new(dictionary, packed, text.len(), made), text }
    }

    pub(super) fn is_of_siblings(&self) -> bool {
        self.frame.made() == Made::Siblings
    }

    pub(super) fn bytes(&self) -> usize {
        self.frame.size() + self.text.len()
    }
}

impl Object {
    /// The object, of this pattern, as edits of the text of a base; none where it would probably take less packed by itself, or the
    /// base is of another dictionary, or so long that keeping it for this object is a waste.
    pub(super) fn edited(&self, pattern: &Pattern, base: &Base, packing: &Packing) -> Option<Self> {
        let of_now = Arc::ptr_eq(base.frame.dictionary(), packing.dictionary());
        let may_be = self.may_be_edited() && (base.is_of_siblings() || !self.is_small());
        let (len, base_len) = (pattern.text.len(), base.text.len());
        if !of_now || !may_be || base_len > BASE_LONGER_MAX * len {
            return None;
        }
        let front = self.front();
        let mut bytes = Vec::with_capacity(front.len() + EDITS_EXPECTED);
        bytes.extend_from_slice(front);
        let packed_len = base.frame.len() * len.min(base_len) / base_len;
        let bytes_max = match base.frame.made() {
            Made::Siblings => packed_len,
            // No other object is made from it.
            Made::Versions | Made::Nothing => packed_len / 2,
        };
        let bytes = edits::between(&base.text, &pattern.text, bytes_max, bytes)?;
        Some(self.with_kept(Kept::Edited, Some(base.frame.clone()), pattern.marked, &bytes))
    }

    pub(super) fn may_be_edited(&self) -> bool {
        (EDITED_MIN..=edits::TEXT_MAX).contains(&self.json_len())
    }

    pub(super) fn is_small(&self) -> bool {
        self.json_len() < SMALL_MAX
    }

    /// What later versions can be made from; `known` is its text if it is of the same frame. A handle that is to be read keeps what
    /// is unpacked for it.
    pub(super) fn base(&self, known: Option<&Base>) -> Option<Base> {
        let frame = self.head().frame.as_ref()?;
        match self.flags().kept {
            Kept::Edited => {
                let known = known.filter(|known| known.frame.is(frame));
                let text =
                    known.map_or_else(|| Bytes::from(frame.unpack()), |known| known.text.clone());
                self.carry(|| self.edits_applied(&text));
                Some(Base { frame: frame.clone(), text })
            }
            Kept::Packed if !self.is_small() => {
                let text = match self.read_json() {
                    Some(json) => self.pattern_of(json).text,
                    None => self.unpacked_pattern(),
                };
                self.carry(|| {
                    let mut own = Vec::with_capacity(self.json_len());
                    own.extend_from_slice(&text);
                    own
                });
                let dictionary = frame.dictionary().clone();
                Some(Base::new(dictionary, self.kept_bytes(), text.into(), Made::Versions))
            }
            Kept::Carried | Kept::Plain | Kept::Packed => None,
        }
    }

    /// Packed as what others can be made from, and itself as the first of them.
    pub(super) fn packed_as_base(
        &self,
        pattern: &Pattern,
        packing: &Packing,
    ) -> Option<(Self, Base)> {
        let pack = |packed: &[u8]| {
            let text = Bytes::copy_from_slice(&pattern.text);
            Base::new(packing.dictionary().clone(), packed, text, Made::Siblings)
        };
        let base = packing::pack(&[], &pattern.text, self.json_len(), Some(packing), pack)?;
        let frame = Some(base.frame.clone());
        Some((self.with_kept(Kept::Edited, frame, pattern.marked, self.front()), base))
    }
}
