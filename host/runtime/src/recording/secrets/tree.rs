//! Small JSON texts as trees. A tree may take 50 times the bytes of its text, and plugins write the texts.

use super::TooMany;
use serde_json::Value;

/// The most names and values of a tree: some 10 MB. A Secret of 10,000 keys has 20,000 and its managers' fields.
const PARTS_MAX: usize = 100_000;

/// The tree; `None` if the text is not JSON. A too large text counts as more than a recording can hide.
pub(super) fn tree(text: &str) -> Result<Option<Value>, TooMany> {
    if parts(text) > PARTS_MAX {
        return Err(TooMany);
    }
    Ok(serde_json::from_str(text).ok())
}

/// Counts names and values: each is the first, or follows one of these bytes outside of a string.
fn parts(text: &str) -> usize {
    let (mut parts, mut is_string, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b',' | b':' | b'[' | b'{' if !is_string => parts += 1,
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: usize) {
        assert_eq!(parts(text), expect, "{text}");
    }

    #[test]
    fn parts_are_those_outside_of_strings() {
        check("1", 1);
        check(r#"{"a":[1,"b,:[{\",{",{}]}"#, 7);
        check(r#"["\\",1]"#, 3);
    }

    #[test]
    fn a_tree_is_made_up_to_its_bound() {
        let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
        assert!(tree(&list(PARTS_MAX - 1)).is_ok_and(|tree| tree.is_some()));
        assert!(tree(&list(PARTS_MAX)).is_err());
        assert!(tree("{").is_ok_and(|tree| tree.is_none()));
    }
}
