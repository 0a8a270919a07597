//! The lines of a watch's body. A too long line is skipped and reported; the next lines are read.

use bytes::{Buf, Bytes, BytesMut};

/// One line, or a report of a too long one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Complete(Bytes),
    TooLong,
}

pub(super) struct Lines {
    limit: usize,
    /// The rest of the last chunk; the searched part has no newline.
    chunk: Bytes,
    /// The beginning of a line that continues in the next chunk.
    begun: BytesMut,
    skipping: bool,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, chunk: Bytes::new(), begun: BytesMut::new(), skipping: false }
    }

    /// Takes the next bytes. First call [`Lines::next_line`] until it returns `None`.
    pub(super) fn feed(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "all lines of the chunk before were taken");
        self.chunk = chunk;
    }

    /// The next complete line without its newline.
    pub(super) fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.chunk) else {
                return self.keep_beginning();
            };
            let tail = self.chunk.split_to(end);
            self.chunk.advance(1);
            if std::mem::take(&mut self.skipping) {
                return Some(Line::TooLong);
            }
            if self.begun.len() + tail.len() > self.limit {
                self.begun.clear();
                return Some(Line::TooLong);
            }
            let line = if self.begun.is_empty() {
                tail
            } else {
                self.begun.extend_from_slice(&tail);
                self.begun.split().freeze()
            };
            if !line.trim_ascii().is_empty() {
                return Some(Line::Complete(line));
            }
        }
    }

    /// Whether a line has begun and not ended: the stream broke off within it.
    pub(super) fn is_within_line(&self) -> bool {
        self.skipping || !self.begun.trim_ascii().is_empty()
    }

    fn keep_beginning(&mut self) -> Option<Line> {
        let rest = std::mem::take(&mut self.chunk);
        if self.skipping {
            return None;
        }
        if self.begun.len() + rest.len() > self.limit {
            self.begun = BytesMut::new();
            self.skipping = true;
        } else {
            self.begun.extend_from_slice(&rest);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expect: &[&str]) {
        let mut lines = Lines::new(8);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.feed(Bytes::copy_from_slice(chunk.as_bytes()));
            while let Some(line) = lines.next_line() {
                found.push(match line {
                    Line::Complete(line) => String::from_utf8(line.to_vec()).expect("UTF-8"),
                    Line::TooLong => "too long".to_owned(),
                });
            }
        }
        assert_eq!(found, expect);
    }

    #[test]
    fn lines_are_found_wherever_the_chunks_end() {
        check(&["a\nb\n"], &["a", "b"]);
        check(&["a", "b\nc", "\n"], &["ab", "c"]);
        check(&["a\n\n", "\r\nb\nrest"], &["a", "b"]);
        check(&["a\n", "\r", "\n", "b\n"], &["a", "b"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        check(&["123456789\nok\n"], &["too long", "ok"]);
        check(&["12345", "6789", "1234567890", "\nok\n"], &["too long", "ok"]);
        check(&["12345678\nok\n"], &["12345678", "ok"]);
    }

    #[test]
    fn a_stream_that_breaks_off_within_a_line_is_noticed() {
        let mut lines = Lines::new(8);
        lines.feed(Bytes::from_static(b"a\nb"));
        while lines.next_line().is_some() {}
        assert!(lines.is_within_line());
    }
}
