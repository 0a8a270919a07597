//! Rust source with blank comments and literals, so that a rule about code does not match words in them. It is not a
//! parser: it knows just enough of the lexical grammar.

/// The same text, byte for byte, with spaces in place of comments and literals. Line breaks stay.
pub fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_or_comment_end(bytes, at);
        if let Some(end) = end {
            for byte in &mut out[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at = end.unwrap_or(at + 1);
    }
    String::from_utf8(out).expect("whole characters were blanked")
}

/// The end of the comment or literal that begins here. `None` if none begins here.
fn literal_or_comment_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let in_word = at > 0 && is_word(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => Some(at + find(rest, b"\n").unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(at + block_comment_length(rest)),
        [b'"', ..] => Some(at + string_length(rest)),
        [b'r', ..] if !in_word => raw_string_length(rest).map(|length| at + length),
        [b'b' | b'c', b'r', ..] if !in_word => raw_string_length(&rest[1..]).map(|n| at + 1 + n),
        [b'\'', ..] => char_length(rest).map(|length| at + length),
        _ => None,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Block comments nest.
fn block_comment_length(text: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let step = match &text[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

fn raw_string_length(text: &[u8]) -> Option<usize> {
    let hashes = text[1..].iter().take_while(|&&byte| byte == b'#').count();
    if text.get(1 + hashes) != Some(&b'"') {
        return None; // `r#type`, or a word that begins with r
    }
    let end = [b"\"".as_slice(), &text[1..=hashes]].concat();
    let body = 2 + hashes;
    Some(find(&text[body..], &end).map_or(text.len(), |length| body + length + end.len()))
}

/// `None` for a lifetime.
fn char_length(text: &[u8]) -> Option<usize> {
    if text.get(1) == Some(&b'\\') {
        return find(&text[3..], b"'").map(|length| 3 + length + 1);
    }
    let character = std::str::from_utf8(&text[1..text.len().min(5)]);
    let character = match character {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[1..=error.valid_up_to()]).ok()?,
    };
    let length = character.chars().next()?.len_utf8();
    (text.get(1 + length) == Some(&b'\'')).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let blanked = blank(text);
        assert_eq!(blanked.len(), text.len());
        let squeezed: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(squeezed.join(" "), expect);
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc /* d /* e */ f */ g", "a c g");
    }

    #[test]
    fn strings_are_blanked() {
        check(r#"let a = "b \" // c"; d"#, "let a = ; d");
        check("a(r#\"b \" c\"#, br\"d\", r\"e\")", "a( , , )");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        check(r"a('b', '\'', '\u{1F600}', 'é', &'static c)", "a( , , , , &'static c)");
    }

    #[test]
    fn lines_stay() {
        assert_eq!(blank("a /*\n*/ b\n\"x\ny\"").lines().count(), 4);
    }
}
