//! The frames of a watch: one JSON object a line, `{"type":"ADDED","object":{...}}`.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

/// The annotation on the bookmark that ends the initial events of a watch-list; its value is `true`.
pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What a watch event says about its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchEventType {
    /// The object is new, or was moved into the watch's selectors.
    Added,
    /// The object changed and is still selected.
    Modified,
    /// The object is gone, or was moved out of the selectors.
    Deleted,
    /// Nothing happened; the object carries nothing but a resourceVersion.
    Bookmark,
    /// The object is a [`Status`](crate::Status), and the watch ends.
    Error,
}

impl WatchEventType {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }

    /// Reads the word on the wire; `None` for one that is not known.
    pub fn from_wire(word: &str) -> Option<Self> {
        [Self::Added, Self::Modified, Self::Deleted, Self::Bookmark, Self::Error]
            .into_iter()
            .find(|event_type| event_type.as_str() == word)
    }
}

impl fmt::Display for WatchEventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One frame, its newline included. `object_json` is taken as it is and must be one JSON value without
/// newlines.
pub fn encode_event(event_type: WatchEventType, object_json: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(object_json.len() + 40);
    append_event(&mut frame, event_type, object_json);
    frame.freeze()
}

/// Appends a frame to others, for a batch that goes out in one write.
pub fn append_event(frames: &mut BytesMut, event_type: WatchEventType, object_json: &[u8]) {
    frames.put_slice(b"{\"type\":\"");
    frames.put_slice(event_type.as_str().as_bytes());
    frames.put_slice(b"\",\"object\":");
    frames.put_slice(object_json);
    frames.put_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(event_type: WatchEventType, frame: &str) {
        assert_eq!(encode_event(event_type, br#"{"a":1}"#), frame.as_bytes());
        assert_eq!(WatchEventType::from_wire(event_type.as_str()), Some(event_type));
    }

    #[test]
    fn frames_are_lines_of_json() {
        check(WatchEventType::Added, "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n");
        check(WatchEventType::Modified, "{\"type\":\"MODIFIED\",\"object\":{\"a\":1}}\n");
        check(WatchEventType::Deleted, "{\"type\":\"DELETED\",\"object\":{\"a\":1}}\n");
        check(WatchEventType::Bookmark, "{\"type\":\"BOOKMARK\",\"object\":{\"a\":1}}\n");
        check(WatchEventType::Error, "{\"type\":\"ERROR\",\"object\":{\"a\":1}}\n");
    }

    #[test]
    fn unknown_words_are_not_guessed() {
        assert_eq!(WatchEventType::from_wire("added"), None);
    }
}
