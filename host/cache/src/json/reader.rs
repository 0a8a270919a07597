//! A JSON text with several reads in sequence, as a plugin makes of its event's object.
//!
//! Passed places are remembered, so that the next read need not start at the beginning. The memory for that is
//! bounded, and freed with the reader. Above the bound each read starts at the beginning. The results are those of a
//! [`Projection`].

mod places;

use super::Projection;
use bytes::Bytes;
use places::{NoRoom, Places};
use std::fmt;

/// A JSON text, and known places in it. The default is empty, and every read of it finds nothing.
#[derive(Default)]
pub struct JsonReader {
    json: Bytes,
    places: Places,
}

impl JsonReader {
    /// A reader without known places.
    pub fn new(json: Bytes) -> Self {
        let places = Places::new(json.len());
        Self { json, places }
    }

    /// The text.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The text of the value at each JSON pointer, in the order of the pointers, as [`Projection::values`] returns it.
    ///
    /// The JSON must be well-formed, as every object's is. For other bytes the result is arbitrary.
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
