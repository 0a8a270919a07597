//! Finds the ends of objects and arrays, 64 bytes at a time.
//!
//! For each block, the parity of the quotes gives the bytes within strings. Of the other bytes only brackets count,
//! and most of them need no individual check. The bytes of a string are never checked individually.

use wide::u8x16;

const BLOCK: usize = 64;
/// `{` and `[` differ in this bit alone, and so do `}` and `]`.
const SHAPE: u8 = 0x20;

/// The kinds of a block's bytes: the lowest bit is the first byte's.
struct Block {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
}

impl Block {
    #[inline(always)]
    fn new(bytes: &[u8; BLOCK]) -> Self {
        let mut block = Self { quotes: 0, backslashes: 0, opening: 0, closing: 0 };
        for (number, bytes) in bytes.as_chunks().0.iter().enumerate() {
            let bytes = u8x16::new(*bytes);
            let shapeless = bytes | u8x16::splat(SHAPE);
            let are = |bytes: u8x16, byte: u8| {
                u64::from(bytes.simd_eq(u8x16::splat(byte)).to_bitmask()) << (16 * number)
            };
            block.quotes |= are(bytes, b'"');
            block.backslashes |= are(bytes, b'\\');
            block.opening |= are(shapeless, b'{');
            block.closing |= are(shapeless, b'}');
        }
        block
    }
}

/// The state from the blocks before, for the next block's first byte.
#[derive(Default)]
struct Before {
    /// All bits if it is within a string, else none.
    within: u64,
    /// One if it is escaped, else zero.
    escaped: u64,
}

impl Before {
    /// The brackets of a block outside of strings.
    #[inline(always)]
    fn brackets(&mut self, block: &Block) -> (u64, u64) {
        let mut quotes = block.quotes;
        if block.backslashes | self.escaped != 0 {
            quotes &= !self.escaped(block.backslashes);
        }
        let within = odd_before(quotes) ^ self.within;
        self.within = 0_u64.wrapping_sub(within >> (BLOCK - 1));
        (block.opening & !within, block.closing & !within)
    }

    /// The bytes that a backslash escapes. In a sequence of backslashes the first escapes the second, the third the
    /// fourth.
    fn escaped(&mut self, backslashes: u64) -> u64 {
        let mut escaped = self.escaped;
        let mut escaping = backslashes & !escaped;
        self.escaped = 0;
        while escaping != 0 {
            let first = escaping & escaping.wrapping_neg();
            let (next, is_last) = (first << 1, first >> (BLOCK - 1));
            escaped |= next;
            self.escaped = is_last;
            escaping &= !(first | next);
        }
        escaped
    }
}

/// Sets each bit with an odd number of set bits among itself and those below.
#[inline(always)]
fn odd_before(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

/// The place behind the closing bracket of the object or array that opens in front of `at`.
#[inline(never)]
pub(super) fn container_end(json: &[u8], mut at: usize) -> Option<usize> {
    let mut before = Before::default();
    let mut open = 1_usize;
    loop {
        let rest = json.get(at..).filter(|rest| !rest.is_empty())?;
        let (opening, closing) = match rest.first_chunk() {
            Some(bytes) => before.brackets(&Block::new(bytes)),
            None => before.brackets(&Block::new(&last_block(rest))),
        };
        if closing == 0 {
            open += opening.count_ones() as usize;
        } else {
            let mut brackets = opening | closing;
            while brackets != 0 {
                let place = brackets.trailing_zeros();
                // One more, or one less.
                open = open + 2 * ((opening >> place) & 1) as usize - 1;
                if open == 0 {
                    return Some(at + place as usize + 1);
                }
                brackets &= brackets - 1;
            }
        }
        at += BLOCK;
    }
}

/// The rest, padded with spaces.
fn last_block(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, byte by byte.
    fn plainly(json: &[u8]) -> Option<usize> {
        let (mut open, mut within, mut escaped) = (0_usize, false, false);
        for (at, byte) in json.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => within = !within,
                b'{' | b'[' if !within => open += 1,
                b'}' | b']' if !within => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    #[track_caller]
    fn check(json: &str) {
        assert_eq!(container_end(json.as_bytes(), 1), plainly(json.as_bytes()), "{json}");
    }

    #[test]
    fn an_end_is_found_wherever_it_stands() {
        for length in 0..200 {
            let filling = "1".repeat(length);
            check(&format!("[{filling}]{filling}"));
            check(&format!("{{\"{filling}\":[]}}, {filling}"));
            check(&format!("[{filling}"));
        }
    }

    #[test]
    fn brackets_within_strings_do_not_count() {
        for length in 0..200 {
            let filling = "}".repeat(length);
            check(&format!("[\"{filling}\"]]"));
            check(&format!("[\"{filling}[\", {{\"]\":[\"{filling}\"]}}] ]"));
        }
    }

    #[test]
    fn what_is_escaped_ends_no_string() {
        for length in 0..200 {
            let filling = "x".repeat(length);
            for backslashes in 0..140 {
                let backslashes = "\\".repeat(backslashes);
                check(&format!("[\"{filling}{backslashes}\",]\"]]"));
            }
        }
    }

    #[test]
    fn nesting_is_not_bounded() {
        let json = format!("{}{}]", "[{".repeat(100_000), "}]".repeat(100_000));
        assert_eq!(container_end(json.as_bytes(), 1), Some(json.len() - 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn it_ends_where_it_does_byte_by_byte(rest in r#"([\]\[{}, 1]|"([\]\[{}a]|\\["\\u]|x{5,20}){0,20}"){0,40}"#) {
            let json = format!("[{rest}");
            prop_assert_eq!(container_end(json.as_bytes(), 1), plainly(json.as_bytes()));
        }
    }
}
