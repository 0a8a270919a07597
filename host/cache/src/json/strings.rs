//! Finds the ends of strings, eight bytes at a time.

/// The place of the first quote or backslash from `at` on.
#[inline(always)]
pub(crate) fn special(bytes: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_le_bytes(*eight);
        // The high bit of each byte that is 0. Above such a byte it may be set wrongly, below it never.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let quotes = zero(word ^ (ONES * b'"' as u64));
        let backslashes = zero(word ^ (ONES * b'\\' as u64));
        let found = (quotes | backslashes) & HIGH;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    found.map(|found| at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specials_are_found_wherever_they_stand() {
        for special_byte in *b"\"\\" {
            for at in 0..40 {
                let mut bytes = [b'a', 0x21, 0x23, 0x5b, 0x5d, 0xa2, 0xdc, 0xff].repeat(5);
                assert_eq!(special(&bytes, 0), None);
                bytes[at] = special_byte;
                assert_eq!(special(&bytes, 0), Some(at), "{special_byte} at {at}");
            }
        }
    }
}
