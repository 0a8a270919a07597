//! Parts by themselves, for the benches of this crate. No part of its interface: it changes whenever they do.

use crate::object::{Object, Packing, Siblings};

/// Bytes of a dictionary, as a large store has one.
const DICTIONARY_BYTES: usize = 64 << 10;

/// What packs a store's objects, without the store.
#[derive(Debug)]
pub struct BenchPacker {
    packing: Packing,
    siblings: Siblings,
    /// Bytes of the store's text.
    plain: usize,
}

impl BenchPacker {
    /// Trains a dictionary on these objects; none where they are too few.
    pub fn train(objects: &[Object]) -> Option<Self> {
        let texts: Vec<_> = objects.iter().map(Object::json).collect();
        let samples: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
        let packing = Packing::train(&samples, DICTIONARY_BYTES)?;
        let plain = samples.iter().map(|sample| sample.len()).sum();
        Some(Self { packing, siblings: Siblings::default(), plain })
    }

    /// The object packed by itself.
    pub fn pack(&self, object: &Object) -> Object {
        object.packed(Some(&self.packing)).at_rest()
    }

    /// The object as a store keeps it: as edits of a sibling or of the version before it, where that is less.
    pub fn pack_among(&mut self, object: &Object, before: Option<&Object>) -> Object {
        self.siblings.pack(object, before, Some(&self.packing), self.plain).at_rest()
    }
}
