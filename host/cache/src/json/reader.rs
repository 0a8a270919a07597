//! A JSON text of which several things are read, one after the other, as a plugin does with the object of its event.
//!
//! What a read passes on its way down is remembered, so that the next one need not begin at the text's beginning. What that takes is
//! bounded, and goes with the reader; above the bound all is found as well, from the beginning each time. What is found is what a
//! [`Projection`] finds.

mod places;

use super::Projection;
use bytes::Bytes;
use places::{NoRoom, Places};
use std::fmt;

/// A JSON text, and where in it things are. The default has no text, and nothing is found in it.
#[derive(Default)]
pub struct JsonReader {
    json: Bytes,
    places: Places,
}

impl JsonReader {
    /// Nothing is read yet.
    pub fn new(json: Bytes) -> Self {
        let places = Places::new(json.len());
        Self { json, places }
    }

    /// The text.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The text of the value at each JSON pointer, in the order of the pointers, as [`Projection::values`] says it.
    ///
    /// The JSON must be well formed, as every object's is; of other bytes the answer is anything, or nothing.
    pub fn values<P: AsRef<str>>(&mut self, pointers: &[P]) -> Vec<Option<&[u8]>> {
        let Self { json, places } = self;
        let json: &[u8] = json;
        let mut unknown = Vec::new();
        let mut found = Vec::with_capacity(pointers.len());
        for (number, pointer) in pointers.iter().enumerate() {
            found.push(places.find(json, pointer.as_ref()).unwrap_or_else(|NoRoom| {
                unknown.push(number);
                None
            }));
        }
        if !unknown.is_empty() {
            let values = Projection::new(unknown.iter().map(|&number| &pointers[number]));
            for (number, value) in unknown.into_iter().zip(values.values(json)) {
                found[number] = value;
            }
        }
        found
    }
}

impl fmt::Debug for JsonReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonReader").field("bytes", &self.json.len()).finish()
    }
}

#[cfg(test)]
mod tests;
