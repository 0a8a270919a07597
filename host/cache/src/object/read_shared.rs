//! Reads of an object's values that all readers of its text share.

use super::Object;
use crate::json::{SharedReader, SharedValues};

impl Object {
    /// Reads the values of a reader's pointers. Of all readers of a [`SharedProjection`](crate::SharedProjection), the
    /// first one causes the pass over the bytes, for all clones of a notification's handle. An object at rest is
    /// unpacked and read each time.
    pub fn read_shared<T>(
        &self,
        reader: &SharedReader,
        read: impl FnOnce(SharedValues<'_>) -> T,
    ) -> T {
        let Some(text) = self.text() else {
            let json = self.unpacked();
            return read(reader.find(&json, true).values(&json, reader));
        };
        let json = text.json.get_or_init(|| self.unpacked());
        let found = text.found.get_or_init(|| Box::new(reader.find(json, false)));
        match found.serve(reader) {
            true => read(found.values(json, reader)),
            false => read(reader.find(json, true).values(json, reader)),
        }
    }
}
