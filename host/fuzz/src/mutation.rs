//! New inputs from known ones: bytes, words of the format, and pieces between brackets or quotes.

use fastrand::Rng;

/// Words that every format here may know: JSON's, and numbers at the edge of something.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "{}",
    "[]",
    "\"",
    "\"\"",
    ":",
    ",",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\\"",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "1e400",
    "-0",
    "9223372036854775808",
    "18446744073709551616",
    "\n",
    " ",
    "\u{e9}",
    "\u{1f600}",
    "/",
    "~0",
    "~1",
    "*",
    "=",
    "!=",
    "(",
    ")",
    " in ",
    " notin ",
    "!",
];

/// Bytes at the edge of something in binary formats and in UTF-8.
const BYTES: &[u8] = &[0, 1, 0x7f, 0x80, 0xc0, 0xe2, 0xed, 0xf0, 0xff];

/// Makes new inputs.
#[derive(Clone, Copy, Debug)]
pub struct Mutator<'a> {
    /// Words of the target's own format.
    pub words: &'a [&'a str],
    /// No input is longer.
    pub length_max: usize,
}

impl Mutator<'_> {
    /// A relative of `input`; `other` is another input that pieces may be taken from.
    pub fn mutate(&self, input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
        let mut bytes = input.to_vec();
        // Mostly one or two steps away, at times far.
        let steps = 1 << rng.u32(..4).min(rng.u32(..4));
        for _ in 0..steps {
            self.step(&mut bytes, other, rng);
        }
        bytes.truncate(self.length_max);
        bytes
    }

    fn step(&self, bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
        match rng.u32(..13) {
            0 => change_byte(bytes, rng),
            1 => insert(bytes, &[rng.u8(..)], rng),
            2 => insert(bytes, &[*rng.choice(BYTES).expect("there are some")], rng),
            3 => remove(bytes, rng),
            4 => {
                let piece = bytes[range(bytes.len(), rng)].to_vec();
                insert(bytes, &piece, rng);
            }
            5 => insert(bytes, &other[range(other.len(), rng)], rng),
            6 => splice(bytes, other, rng),
            7 | 8 => insert(bytes, self.word(rng).as_bytes(), rng),
            9 => replace_piece(bytes, self.word(rng).as_bytes(), rng),
            10 => {
                let piece = piece(other, rng).unwrap_or(0..0);
                replace_piece(bytes, &other[piece], rng);
            }
            11 => repeat_entry(bytes, rng),
            _ => nest(bytes, rng),
        }
    }

    fn word(&self, rng: &mut Rng) -> &str {
        let own = !self.words.is_empty() && rng.u32(..3) > 0;
        rng.choice(if own { self.words } else { WORDS }).expect("there are some")
    }
}

fn change_byte(bytes: &mut [u8], rng: &mut Rng) {
    if let Some(byte) = bytes.len().checked_sub(1).map(|last| &mut bytes[rng.usize(..=last)]) {
        match rng.u32(..3) {
            0 => *byte ^= 1 << rng.u32(..8),
            1 => *byte = byte.wrapping_add(1),
            _ => *byte = rng.u8(..),
        }
    }
}

fn insert(bytes: &mut Vec<u8>, piece: &[u8], rng: &mut Rng) {
    let at = rng.usize(..=bytes.len());
    bytes.splice(at..at, piece.iter().copied());
}

fn remove(bytes: &mut Vec<u8>, rng: &mut Rng) {
    bytes.drain(range(bytes.len(), rng));
}

fn splice(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    bytes.truncate(rng.usize(..=bytes.len()));
    bytes.extend_from_slice(&other[rng.usize(..=other.len())..]);
}

/// Any stretch, mostly a short one.
fn range(length: usize, rng: &mut Rng) -> std::ops::Range<usize> {
    let start = rng.usize(..=length);
    let longest = (length - start).min(if rng.bool() { 8 } else { usize::MAX });
    start..start + rng.usize(..=longest)
}

/// A text in quotes, or what is between brackets, with both ends; whether the brackets are balanced beyond
/// texts does not matter.
fn piece(bytes: &[u8], rng: &mut Rng) -> Option<std::ops::Range<usize>> {
    let is_start = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'(');
    let starts = bytes.iter().enumerate().filter(|(_, byte)| is_start(byte));
    let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    let start = *rng.choice(&starts)?;
    Some(start..start + balanced(&bytes[start..])?)
}

/// The length of the piece that begins here.
fn balanced(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0;
    let mut quoted = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'{' | b'[' | b'(' if !quoted => depth += 1,
            b'}' | b']' | b')' if !quoted => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 && !quoted {
            return (at <= bytes.len()).then_some(at);
        }
    }
    None
}

fn replace_piece(bytes: &mut Vec<u8>, with: &[u8], rng: &mut Rng) {
    if let Some(piece) = piece(bytes, rng) {
        bytes.splice(piece, with.iter().copied());
    }
}

/// Writes an entry or element a second time behind a comma: keys stand twice, lists grow.
fn repeat_entry(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let Some(first) = piece(bytes, rng) else { return };
    let mut end = first.end;
    // `"key":value`, if that is what it is.
    if bytes.get(end) == Some(&b':') {
        let rest = &bytes[end + 1..];
        let scalar = || rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
        let begins = matches!(rest.first(), Some(b'"' | b'{' | b'['));
        let value = if begins { balanced(rest) } else { scalar() };
        end += 1 + value.unwrap_or(0);
    }
    let entry = [b",", &bytes[first.start..end]].concat();
    bytes.splice(end..end, entry);
}

/// Puts brackets around a piece, now and then many.
fn nest(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let Some(piece) = piece(bytes, rng) else { return };
    let times = if rng.u32(..8) == 0 { 200 } else { 1 };
    let (open, close): (&[u8], &[u8]) = match rng.bool() {
        true => (b"[", b"]"),
        false => (b"{\"a\":", b"}"),
    };
    let inner = bytes[piece.clone()].to_vec();
    bytes.splice(piece, [open.repeat(times), inner, close.repeat(times)].concat());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(seed: u64) -> Vec<Vec<u8>> {
        let mutator = Mutator { words: &["metadata"], length_max: 64 };
        let mut rng = Rng::with_seed(seed);
        let mut inputs: Vec<Vec<u8>> =
            vec![Vec::new(), br#"{"a":{"b":[1,"x\"y"]},"c":2}"#.to_vec()];
        for turn in 0..2_000 {
            let other = inputs[turn / 2].clone();
            let new = mutator.mutate(&inputs[turn % 50 % inputs.len()], &other, &mut rng);
            inputs.push(new);
        }
        inputs
    }

    #[test]
    fn the_same_seed_makes_the_same_inputs_and_none_is_too_long() {
        let inputs = family(1);
        assert_eq!(inputs, family(1));
        assert_ne!(inputs, family(2));
        assert!(inputs.iter().all(|input| input.len() <= 64));
        let with_word = inputs.iter().filter(|input| input.windows(8).any(|w| w == b"metadata"));
        assert!(with_word.count() > 50, "the target's words are used");
    }

    #[test]
    fn a_piece_ends_where_its_bracket_or_quote_is_closed() {
        let check = |text: &str, expect: Option<usize>| {
            assert_eq!(balanced(text.as_bytes()), expect, "{text}");
        };
        check(r#""a\"b" c"#, Some(6));
        check(r#"{"}":[1]}]"#, Some(9));
        check(r#"{"a":1"#, None);
        check("\"a\\", None);
    }

    #[test]
    fn an_entry_is_written_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let mut bytes = br#"{"a":1,"b":{}}"#.to_vec();
            repeat_entry(&mut bytes, &mut Rng::with_seed(seed));
            seen.insert(String::from_utf8(bytes).expect("text"));
        }
        assert!(seen.contains(r#"{"a":1,"a":1,"b":{}}"#), "{seen:?}");
        assert!(seen.contains(r#"{"a":1,"b":{},"b":{}}"#), "{seen:?}");
    }
}
