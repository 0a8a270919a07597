//! Single parts for the benches of this crate. They are not public interface and change with the parts.

use crate::object::{Object, Packing, Siblings};

/// Bytes of a dictionary in a large store.
const DICTIONARY_BYTES: usize = 64 << 10;

/// The packer of a store's objects, without the store.
#[derive(Debug)]
pub struct BenchPacker {
    packing: Packing,
    siblings: Siblings,
    /// Bytes of the store's text.
    plain: usize,
}

impl BenchPacker {
    /// Trains a dictionary on these objects; `None` if they are too few.
    pub fn train(objects: &[Object]) -> Option<Self> {
        let texts: Vec<_> = objects.iter().map(Object::text_to_pack).collect();
        let samples: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
        let packing = Packing::train(&samples, DICTIONARY_BYTES)?;
        let plain = objects.iter().map(Object::json_len).sum();
        Some(Self { packing, siblings: Siblings::default(), plain })
    }

    /// The object, packed by itself.
    pub fn pack(&self, object: &Object) -> Object {
        object.packed(Some(&self.packing)).at_rest()
    }

    /// The object as a store keeps it: as edits of a sibling or of the version before, if that is smaller.
    pub fn pack_among(&mut self, object: &Object, before: Option<&Object>) -> Object {
        self.siblings.pack(object, before, Some(&self.packing), self.plain).at_rest()
    }
}
