//! A packed text that others are kept as edits of: an object's later versions, or its owner's other objects.

use super::packing::{self, Frame, Made};
use super::{Dictionary, Kept, Object, Packing, edits};
use bytes::Bytes;
use std::sync::Arc;

/// Shorter JSON is packed by itself: that is quick.
const EDITED_MIN: usize = 1024;
/// A base may be so many times longer than what is made from it.
const BASE_LONGER_MAX: usize = 2;
/// Bytes of most edits.
const EDITS_EXPECTED: usize = 512;

/// A packed text that others are made from, and the text.
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
    /// The object as edits of the text of a base; none where it would probably take less packed by itself, or the base is of another
    /// dictionary, or so long that keeping it for this object is a waste.
    pub(super) fn edited(&self, base: &Base, packing: &Packing) -> Option<Self> {
        let of_now = Arc::ptr_eq(base.frame.dictionary(), &packing.dictionary);
        let (len, base_len) = (self.json_len(), base.text.len());
        if !of_now || !self.may_be_edited() || base_len > BASE_LONGER_MAX * len {
            return None;
        }
        let versions = self.versions();
        let mut bytes = Vec::with_capacity(versions.len() + EDITS_EXPECTED);
        bytes.extend_from_slice(versions);
        let packed_len = base.frame.len() * len.min(base_len) / base_len;
        let bytes_max = match base.frame.made() {
            // The base is this object's alone.
            Made::Versions => packed_len / 2,
            Made::Siblings => packed_len,
        };
        let bytes = edits::between(&base.text, &self.json(), bytes_max, bytes)?;
        Some(self.with_kept(Kept::Edited(base.frame.clone()), &bytes))
    }

    pub(super) fn may_be_edited(&self) -> bool {
        (EDITED_MIN..=edits::TEXT_MAX).contains(&self.json_len())
    }

    /// What later versions can be made from; `known` is its text if it is of the same frame. A handle that is to be read keeps what
    /// is unpacked for it.
    pub(super) fn base(&self, known: Option<&Base>) -> Option<Base> {
        match &self.head().kept {
            Kept::Carried | Kept::Plain | Kept::Packed(None) => None,
            Kept::Packed(Some(dictionary)) => {
                Some(Base::new(dictionary.clone(), self.kept_bytes(), self.json(), Made::Versions))
            }
            Kept::Edited(frame) => {
                let known = known.filter(|known| known.frame.is(frame));
                let text = known.map_or_else(|| frame.unpack(), |known| known.text.clone());
                if let Some(own) = &self.text {
                    own.json
                        .get_or_init(|| edits::apply(&text, self.kept_bytes(), self.json_len()));
                }
                Some(Base { frame: frame.clone(), text })
            }
        }
    }

    /// Packed as what others can be made from, and itself as the first of them.
    pub(super) fn packed_as_base(&self, packing: &Packing) -> Option<(Self, Base)> {
        let pack = |packed: &[u8]| {
            Base::new(packing.dictionary.clone(), packed, self.json(), Made::Siblings)
        };
        let base = packing::pack(&[], &self.json(), Some(packing), pack)?;
        Some((self.with_kept(Kept::Edited(base.frame.clone()), self.versions()), base))
    }
}
