//! Splits the bytes of a guest's standard output into lines for the log. The buffer is no larger than a line of the
//! log.

use crate::log_budget::MESSAGE_BYTES_MAX;

/// An unfinished line.
#[derive(Debug, Default)]
pub(crate) struct OutputLine(Vec<u8>);

impl OutputLine {
    /// Takes more bytes, and passes on every line that is complete or has the largest size. Empty lines are dropped.
    pub(crate) fn write(&mut self, mut bytes: &[u8], mut line: impl FnMut(&str)) {
        while !bytes.is_empty() {
            let room = &bytes[..bytes.len().min(MESSAGE_BYTES_MAX - self.0.len())];
            let end = room.iter().position(|byte| *byte == b'\n');
            self.0.extend_from_slice(&room[..end.unwrap_or(room.len())]);
            bytes = &bytes[end.map_or(room.len(), |end| end + 1)..];
            if end.is_some() {
                self.end(&mut line);
            } else if self.0.len() >= MESSAGE_BYTES_MAX {
                self.cut(&mut line);
            }
        }
    }

    /// Passes on the unfinished line.
    pub(crate) fn end(&mut self, mut line: impl FnMut(&str)) {
        let text = self.0.strip_suffix(b"\r").unwrap_or(&self.0);
        if !text.is_empty() {
            line(&String::from_utf8_lossy(text));
        }
        self.0.clear();
    }

    /// The same, but keeps the beginning of a character that the next bytes may complete.
    fn cut(&mut self, mut line: impl FnMut(&str)) {
        let whole = match std::str::from_utf8(&self.0) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.0.len(),
        };
        line(&String::from_utf8_lossy(&self.0[..whole]));
        self.0.drain(..whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(writes: &[&[u8]], expect: &[&str], rest: &[&str]) {
        let (mut lines, mut told) = (OutputLine::default(), Vec::new());
        for bytes in writes {
            lines.write(bytes, |line| told.push(line.to_owned()));
        }
        assert_eq!(told, expect);
        let mut ended = Vec::new();
        lines.end(|line| ended.push(line.to_owned()));
        assert_eq!(ended, rest);
        lines.end(|line| panic!("{line} is told twice"));
    }

    #[test]
    fn bytes_become_lines() {
        check(&[b"one\ntwo\n"], &["one", "two"], &[]);
        check(&[b"on", b"e\r\n", b"\n\n", b"tw", b"o"], &["one"], &["two"]);
        check(&["s\u{f6}".as_bytes(), b"\xff\n"], &["s\u{f6}\u{fffd}"], &[]);
        check(&[], &[], &[]);
    }

    #[test]
    fn a_line_that_is_too_long_is_several() {
        let long = "x".repeat(MESSAGE_BYTES_MAX);
        check(&[long.as_bytes(), b"\n"], &[&long], &[]);
        check(&[&long.as_bytes()[1..]], &[], &[&long[1..]]);
        check(&[long.as_bytes(), b"y\n"], &[&long, "y"], &[]);
        let split = format!("{}\u{f6}", &long[1..]);
        check(&[split.as_bytes()], &[&long[1..]], &["\u{f6}"]);
    }
}
