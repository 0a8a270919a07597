//! Finds where JSON values end, eight bytes at a time, in JSON without white space around its values, as API servers write it.
//!
//! Accepts a part of what serde_json accepts and nothing else: whatever it is not sure of is `None`, and serde_json decides.

use crate::json::special;

/// Deeper values are left to serde_json: one bit of a word says what each open bracket is.
const DEPTH_MAX: u32 = 62;

/// A place in a text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// None where there are control characters: within strings JSON has none, and between values they are white space.
    pub(super) fn new(text: &'a str) -> Option<Self> {
        let least = text.bytes().fold(u8::MAX, u8::min);
        (least >= b' ').then_some(Self { text, at: 0 })
    }

    /// Bytes that were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether it stands here; it is read if so.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_here = self.peek() == Some(byte);
        self.at += usize::from(is_here);
        is_here
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    /// The entries of an object or the items of an array; `each` reads one.
    pub(super) fn each(
        &mut self,
        brackets: [u8; 2],
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let [open, close] = brackets;
        self.expect(open)?;
        if self.take(close) {
            return Some(());
        }
        loop {
            each(self)?;
            if !self.take(b',') {
                return self.expect(close);
            }
        }
    }

    /// A key without escapes, and its colon.
    pub(super) fn key(&mut self) -> Option<&'a str> {
        let key = self.string()?;
        self.expect(b':')?;
        Some(key)
    }

    /// A string without escapes.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let from = self.at;
        let end = special(self.text.as_bytes(), from)?;
        self.at = end;
        self.expect(b'"')?;
        Some(&self.text[from..end])
    }

    /// Reads any value and answers its text.
    pub(super) fn value(&mut self) -> Option<&'a str> {
        let from = self.at;
        self.skip_value()?;
        Some(&self.text[from..self.at])
    }

    /// Reads any value.
    pub(super) fn skip_value(&mut self) -> Option<()> {
        self.at = value_end(self.text.as_bytes(), self.at)?;
        Some(())
    }
}

/// Where the value that begins at `at` ends. The place is kept in a local variable throughout: it is what the loop waits for.
fn value_end(json: &[u8], mut at: usize) -> Option<usize> {
    // One bit for each open bracket, set for an object, above a set one.
    let mut open = 1_u64;
    'value: loop {
        match *json.get(at)? {
            b'"' => at = string_end(json, at)?,
            bracket @ (b'{' | b'[') => {
                at += 1;
                if *json.get(at)? != bracket + 2 {
                    if open >> DEPTH_MAX != 0 {
                        return None;
                    }
                    open <<= 1;
                    if bracket == b'{' {
                        open |= 1;
                        at = key_end(json, at)?;
                    }
                    continue 'value;
                }
                at += 1;
            }
            _ => at = word_end(json, at)?,
        }
        while open != 1 {
            let is_object = open & 1 == 1;
            match *json.get(at)? {
                b',' => {
                    at += 1;
                    if is_object {
                        at = key_end(json, at)?;
                    }
                    continue 'value;
                }
                b'}' if is_object => {}
                b']' if !is_object => {}
                _ => return None,
            }
            at += 1;
            open >>= 1;
        }
        return Some(at);
    }
}

/// Behind the colon of the key that begins at `at`.
#[inline(always)]
fn key_end(json: &[u8], at: usize) -> Option<usize> {
    let end = string_end(json, at)?;
    (*json.get(end)? == b':').then_some(end + 1)
}

/// Behind the closing quote of the string that begins at `at`.
#[inline(always)]
fn string_end(json: &[u8], at: usize) -> Option<usize> {
    if *json.get(at)? != b'"' {
        return None;
    }
    let mut at = at + 1;
    loop {
        at = special(json, at)?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        at += escape(&json[at..])?;
    }
}

/// Behind the number, `true`, `false` or `null` that begins at `at`.
#[inline(never)]
fn word_end(json: &[u8], at: usize) -> Option<usize> {
    let rest = json.get(at..)?;
    let word = match rest.first()? {
        b't' => &b"true"[..],
        b'f' => b"false",
        b'n' => b"null",
        _ => return number(rest).map(|length| at + length),
    };
    rest.starts_with(word).then_some(at + word.len())
}

/// Bytes of the escape at the beginning.
#[inline(never)]
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// Bytes of the number at the beginning.
fn number(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let count = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let whole = usize::from(bytes.first() == Some(&b'-'));
    let mut at = digits(whole)?;
    if bytes[whole] == b'0' && at > whole + 1 {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(at + 1 + sign)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    /// What is read is what serde_json reads, and `read` says whether anything is.
    #[track_caller]
    fn check(text: &str, read: bool) {
        let found = Scanner::new(text).and_then(|mut scanner| {
            let value = scanner.value();
            value.filter(|_| scanner.is_at_end())
        });
        assert_eq!(found.is_some(), read, "{text}");
        if let Some(found) = found {
            let oracle = serde_json::from_str::<&RawValue>(text).map(RawValue::get).ok();
            assert_eq!(Some(found), oracle, "{text}");
        }
    }

    #[test]
    fn values_as_servers_write_them_are_read() {
        for text in ["{}", "[]", "true", "null", "-0", "10.5e-3", "\"\"", "[{},[],\"a\",1]"] {
            check(text, true);
        }
        check(r#"{"a":{"b":[{"c":null},{"d":"e\u00e9\n\"f"}]},"g":[1,2]}"#, true);
        check(&format!("\"{}\"", "é\u{7f}".repeat(9)), true);
        check(&format!("{}{}", "[".repeat(62), "]".repeat(62)), true);
    }

    #[test]
    fn what_is_not_json_is_not_read() {
        let broken = [
            "",
            "{",
            "[",
            "{]",
            "[}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "[1,]",
            "[,1]",
            "{,}",
            "{1:2}",
            "[\"a\":1]",
            "{\"a\":1 2}",
            "tru",
            "nulls",
            "-",
            "01",
            "1.",
            "1e",
            ".5",
            "+1",
            "\"a",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "\"\u{0}\"",
            "1]",
            "{}}",
        ];
        for text in broken {
            check(text, false);
            assert!(serde_json::from_str::<&RawValue>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_unusual_is_left_to_serde_json() {
        for text in ["[1, 2]", "{ }", " 1", "{\"a\" :1}"] {
            check(text, false);
        }
        check(&format!("{}{}", "[".repeat(64), "]".repeat(64)), false);
    }
}
