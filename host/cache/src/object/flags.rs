//! The small fields of an object's head, in two bytes.

use super::kept::Kept;
use super::pattern::Marked;
use super::uid::UidForm;

/// The small fields of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags {
    /// Bytes of the generation.
    pub(super) generation_len: u8,
    pub(super) uid: UidForm,
    pub(super) kept: Kept,
    pub(super) marked: Marked,
    pub(super) lacks_last_applied: bool,
    pub(super) metadata_only: bool,
}

/// The same in two bytes.
#[derive(Clone, Copy)]
pub(super) struct PackedFlags(u16);

/// The place of a field among the bits.
#[derive(Clone, Copy)]
struct Place {
    at: u32,
    bits: u32,
}

const GENERATION_LEN: Place = Place { at: 0, bits: 4 };
const UID: Place = GENERATION_LEN.then(UidForm::BITS);
const KEPT: Place = UID.then(Kept::BITS);
const MARKED: Place = KEPT.then(Marked::BITS);
const LACKS_LAST_APPLIED: Place = MARKED.then(1);
const METADATA_ONLY: Place = LACKS_LAST_APPLIED.then(1);
const _: () = assert!(METADATA_ONLY.end() <= u16::BITS);

impl Place {
    /// The place behind this one.
    const fn then(self, bits: u32) -> Self {
        Self { at: self.end(), bits }
    }

    const fn end(self) -> u32 {
        self.at + self.bits
    }

    fn of(self, value: u8) -> u16 {
        debug_assert!(value >> self.bits == 0, "{value} has more than {} bits", self.bits);
        u16::from(value) << self.at
    }

    fn value(self, all: u16) -> u8 {
        // No field has more than a byte.
        (all >> self.at) as u8 & !(u8::MAX << self.bits)
    }
}

impl Flags {
    pub(super) fn packed(self) -> PackedFlags {
        PackedFlags(
            GENERATION_LEN.of(self.generation_len)
                | UID.of(self.uid.bits())
                | KEPT.of(self.kept.bits())
                | MARKED.of(self.marked.bits())
                | LACKS_LAST_APPLIED.of(self.lacks_last_applied.into())
                | METADATA_ONLY.of(self.metadata_only.into()),
        )
    }
}

impl PackedFlags {
    pub(super) fn flags(self) -> Flags {
        Flags {
            generation_len: GENERATION_LEN.value(self.0),
            uid: UidForm::of_bits(UID.value(self.0)),
            kept: Kept::of_bits(KEPT.value(self.0)),
            marked: Marked::of_bits(MARKED.value(self.0)),
            lacks_last_applied: LACKS_LAST_APPLIED.value(self.0) != 0,
            metadata_only: METADATA_ONLY.value(self.0) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Lengths of a generation, forms of a UID, ways of keeping the JSON, marks of three words, and twice yes or no.
    const ALL: usize = 16 * 3 * 4 * 8 * 2 * 2;

    #[test]
    fn all_flags_come_back() {
        let all = (0..1 << METADATA_ONLY.end()).map(|bits| PackedFlags(bits).flags());
        let packed = all.map(|flags| {
            assert_eq!(flags.packed().flags(), flags);
            flags.packed().0
        });
        assert_eq!(packed.collect::<HashSet<u16>>().len(), ALL);
    }
}
