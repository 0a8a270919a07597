//! A guest's text, made fit for one line of a log, a status or an error.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The most bytes of a guest's text in an error, which is shown in `/plugins` and logged at every attempt.
pub(crate) const ERROR_BYTES_MAX: usize = 1 << 10;

/// The most bytes of a load's error: the longest text of the host, with its names.
pub(crate) const LOAD_ERROR_BYTES_MAX: usize = 2 << 10;

/// Escapes characters that begin another line, move the cursor or turn the reading direction. Cuts the text to at most
/// `bytes_max` bytes, with the escapes.
pub fn one_line(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max && (is_plain(text) || !text.chars().any(disturbs_terminal)) {
        return text.into();
    }
    let mut line = String::with_capacity(text.len().min(bytes_max) + 32);
    for (position, character) in text.char_indices() {
        let before = line.len();
        match character {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            _ if disturbs_terminal(character) => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(character));
            }
            _ => line.push(character),
        }
        if line.len() > bytes_max {
            line.truncate(before);
            let _ = write!(line, " … ({} bytes more)", text.len() - position);
            break;
        }
    }
    line.into()
}

/// Whether it has nothing but visible characters of ASCII and spaces, as nearly all texts. The loop has no branch, so it
/// takes several bytes at a time.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
}

/// Control characters, Unicode's line ends, and characters that reorder the text around them.
pub fn disturbs_terminal(character: char) -> bool {
    let marks = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}');
    let reorders = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || marks || reorders || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes_max: usize, expect: &str) {
        assert_eq!(one_line(text, bytes_max), expect);
    }

    #[test]
    fn a_text_stays_on_one_line() {
        check("added pod default/web-1", 99, "added pod default/web-1");
        check("a\nb\tc\r", 99, "a\\nb\\tc\\r");
        check("\u{1b}[2J\u{9b}31m", 99, "\\u{1b}[2J\\u{9b}31m");
        check("a\u{2028}b\u{202e}c", 99, "a\\u{2028}b\\u{202e}c");
        check("a\u{200f}b\u{61c}c\u{2069}", 99, "a\\u{200f}b\\u{61c}c\\u{2069}");
        check("größer → 100 %", 99, "größer → 100 %");
    }

    #[test]
    fn a_text_is_cut_at_the_bound_and_says_so() {
        check("abcd", 4, "abcd");
        check("abcde", 4, "abcd … (1 bytes more)");
        check("aéé", 4, "aé … (2 bytes more)");
        check("a\n\n", 4, "a\\n … (1 bytes more)");
        check("", 0, "");
    }
}
