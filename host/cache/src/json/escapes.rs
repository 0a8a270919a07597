//! JSON strings with escapes, read without a parser's allocations: an object may have any number of such keys.
//!
//! Everything is inlined: that halves the time of a key with only escapes.

/// The first part of a string.
enum StringPart<'a> {
    /// The bytes in front of the next escape.
    Plain(&'a [u8]),
    /// The meaning of an escape.
    Escaped(char),
}

/// Whether the string, without its quotes, means this text. Stops at the first difference.
pub(super) fn is(mut raw: &[u8], text: &str) -> bool {
    let mut left = text.as_bytes();
    while !raw.is_empty() {
        let Some((part, rest)) = split(raw) else { return false };
        let stripped = match part {
            StringPart::Plain(bytes) => left.strip_prefix(bytes),
            StringPart::Escaped(char) => {
                left.strip_prefix(char.encode_utf8(&mut [0; 4]).as_bytes())
            }
        };
        let Some(stripped) = stripped else { return false };
        (raw, left) = (rest, stripped);
    }
    left.is_empty()
}

/// Writes the text of a string, without its quotes, to `text`. `None` if it is not text, as with half of a surrogate
/// pair.
pub(super) fn decode(mut raw: &[u8], text: &mut Vec<u8>) -> Option<()> {
    text.clear();
    while !raw.is_empty() {
        let (part, rest) = split(raw)?;
        match part {
            StringPart::Plain(bytes) => text.extend_from_slice(bytes),
            StringPart::Escaped(char) if char.is_ascii() => text.push(char as u8),
            StringPart::Escaped(char) => {
                text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        raw = rest;
    }
    Some(())
}

/// The first part, and the rest.
#[inline(always)]
fn split(raw: &[u8]) -> Option<(StringPart<'_>, &[u8])> {
    let plain = raw.iter().position(|byte| *byte == b'\\').unwrap_or(raw.len());
    if plain > 0 {
        let (bytes, rest) = raw.split_at(plain);
        return Some((StringPart::Plain(bytes), rest));
    }
    let char = match *raw.get(1)? {
        b'u' => {
            let (char, rest) = unicode(raw)?;
            return Some((StringPart::Escaped(char), rest));
        }
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        itself @ (b'"' | b'\\' | b'/') => char::from(itself),
        _ => return None,
    };
    Some((StringPart::Escaped(char), &raw[2..]))
}

/// The character of `\u00e4`, or of a pair of such escapes.
#[inline(always)]
fn unicode(raw: &[u8]) -> Option<(char, &[u8])> {
    let (first, rest) = unit(raw)?;
    if let Some(char) = char::from_u32(first) {
        return Some((char, rest));
    }
    let (second, rest) = unit(rest)?;
    let is_pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
    let code = is_pair.then(|| 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
    Some((char::from_u32(code)?, rest))
}

#[inline(always)]
fn unit(raw: &[u8]) -> Option<(u32, &[u8])> {
    let [b'\\', b'u', digits @ ..] = raw.first_chunk::<6>()? else { return None };
    let [a, b, c, d] = digits.map(|digit| u32::from(VALUES[usize::from(digit)]));
    let is_number = (a | b | c | d) < 16;
    is_number.then(|| (a << 12 | b << 8 | c << 4 | d, &raw[6..]))
}

/// The value of each hexadecimal digit; `u8::MAX` for other bytes.
const VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compares with serde_json.
    #[track_caller]
    fn check(raw: &str) {
        let expect = serde_json::from_str::<String>(&format!("\"{raw}\"")).ok();
        let mut text = b"of the one before".to_vec();
        let decoded = decode(raw.as_bytes(), &mut text);
        let decoded = decoded.map(|()| String::from_utf8(text).expect("it is UTF-8"));
        assert_eq!(decoded, expect, "{raw}");
        let Some(expect) = expect else { return };
        assert!(is(raw.as_bytes(), &expect), "{raw}");
        assert!(!is(raw.as_bytes(), &format!("{expect}x")), "{raw}");
        assert!(!is(raw.as_bytes(), expect.get(1..).unwrap_or("x")), "{raw}");
    }

    #[test]
    fn escapes_mean_what_they_mean_in_json() {
        let texts = ["", "a", r#"\"\\\/\b\f\n\r\t"#, r"\u0061", r"\u00E4x", r"ä\u20ac", r"\\u0061"];
        texts.into_iter().for_each(check);
        [r"\ud83d\ude00", r"a\ud83d\ude00b"].into_iter().for_each(check);
        // Not text.
        [r"\ud83d", r"\ude00", r"\ud83dx", r"\ud83d\n", r"\ud83d\ud83d", r"\ude00\ud83d"]
            .into_iter()
            .for_each(check);
        [r"\", r"\x", r"\u", r"\u12", r"\u12g4", r"\u+123"].into_iter().for_each(check);
    }

    proptest! {
        #[test]
        fn every_string_is_read_as_by_a_parser(raw in r#"([a-zä€ ]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}|\\ud8[0-9a-f]{2}\\udc[0-9a-f]{2}){0,12}"#) {
            check(&raw);
        }
    }
}
