//! The text that a store packs: an object's JSON, with marks in the places of its resourceVersion and its UID.
//!
//! The object has both words beside its JSON. A UID's digits are random, and pack to half of their length at best. Other
//! versions and objects of the same owner differ by two words less.

use memchr::{memchr, memmem};

/// The words' marks: bytes that JSON has nowhere (RFC 8259, sections 2 and 7).
const MARKS: [u8; 2] = [1, 2];

/// The resourceVersion and the UID of an object.
pub(super) type OwnWords<'a> = [&'a [u8]; 2];

/// Which of the words have a mark in their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked([bool; 2]);

/// The text to pack.
pub(super) struct Pattern {
    pub(super) text: Vec<u8>,
    pub(super) marked: Marked,
}

impl Pattern {
    /// The pattern of an object's JSON. Each word is marked where it is a whole string for the first time. It is not if
    /// its mark is in the text before: what is not JSON comes back, too.
    pub(super) fn of(json: &[u8], words: OwnWords<'_>) -> Self {
        let found = [0, 1].map(|word| place(json, words[word], MARKS[word]));
        let order = if found[0] <= found[1] { [0, 1] } else { [1, 0] };
        let (mut text, mut marked, mut from) = (Vec::with_capacity(json.len()), [false; 2], 0);
        for word in order {
            // Equal words have one place.
            let Some(at) = found[word].filter(|at| *at >= from) else { continue };
            text.extend_from_slice(&json[from..at]);
            text.push(MARKS[word]);
            (marked[word], from) = (true, at + words[word].len());
        }
        text.extend_from_slice(&json[from..]);
        Self { text, marked: Marked(marked) }
    }
}

impl Marked {
    /// The bytes of the pattern of a JSON text of `json_len` bytes.
    pub(super) fn pattern_len(self, json_len: usize, words: OwnWords<'_>) -> usize {
        let saved = |word: usize| if self.0[word] { words[word].len() - 1 } else { 0 };
        json_len - saved(0) - saved(1)
    }

    /// The JSON of a pattern. A text with enough capacity is not moved.
    pub(super) fn json(self, mut text: Vec<u8>, words: OwnWords<'_>) -> Vec<u8> {
        let at = [0, 1].map(|word| {
            let marked = || memchr(MARKS[word], &text).expect("a pattern has its marks");
            self.0[word].then(marked)
        });
        // The later one first: it moves no other.
        let order = if at[0] >= at[1] { [0, 1] } else { [1, 0] };
        for word in order {
            if let Some(at) = at[word] {
                text.splice(at..=at, words[word].iter().copied());
            }
        }
        text
    }
}

/// Where the word is a whole string of the text, without the mark before it.
fn place(json: &[u8], word: &[u8], mark: u8) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let quoted = [b"\"", word, b"\""].concat();
    let at = memmem::find(json, &quoted)? + 1;
    memchr(mark, &json[..at]).is_none().then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pattern of a text with these words, in which `<` and `>` are the marks.
    #[track_caller]
    fn check(json: &str, words: [&str; 2], pattern: &str) {
        let bytes = words.map(str::as_bytes);
        let of = Pattern::of(json.as_bytes(), bytes);
        let shown = String::from_utf8_lossy(&of.text).replace('\u{1}', "<").replace('\u{2}', ">");
        assert_eq!(shown, pattern, "{json:?} with {words:?}");
        assert_eq!(of.marked.pattern_len(json.len(), bytes), of.text.len());
        let again = of.marked.json(of.text, bytes);
        assert_eq!(String::from_utf8_lossy(&again), json);
    }

    #[test]
    fn the_first_whole_strings_that_are_the_words_have_marks_in_their_places() {
        check(r#"{"uid":"abc","rv":"12"}"#, ["12", "abc"], r#"{"uid":">","rv":"<"}"#);
        check(r#"{"rv":"12","uid":"abc"}"#, ["12", "abc"], r#"{"rv":"<","uid":">"}"#);
        check(
            r#"{"name":"a-12","a":"12","b":"12"}"#,
            ["12", ""],
            r#"{"name":"a-12","a":"<","b":"12"}"#,
        );
        check(r#"{"a":"7","b":"7"}"#, ["7", "7"], r#"{"a":"<","b":"7"}"#);
        check(r#"{"a":"\u0037"}"#, ["7", "none"], r#"{"a":"\u0037"}"#);
        check("12", ["12", "1"], "12");
        check("", ["", ""], "");
    }

    #[test]
    fn words_that_overlap_or_have_marks_are_put_back() {
        check(r#"{"a":"b","c":"d"}"#, ["c", r#"b","c"#], r#"{"a":">":"d"}"#);
        check("{\"a\":\"x\",\"b\":\"\u{1}y\"}", ["\u{1}y", "x"], "{\"a\":\">\",\"b\":\"<\"}");
        check("{\"a\":\"x\",\"b\":\"y\u{2}\"}", ["y\u{2}", "x"], "{\"a\":\">\",\"b\":\"<\"}");
        check("{\"\u{1}\":\"12\",\"b\":\"x\"}", ["12", "x"], "{\"<\":\"12\",\"b\":\">\"}");
        check("{\"a\":\"12\",\"\u{1}\u{2}\":\"x\"}", ["12", "x"], "{\"a\":\"<\",\"<>\":\"x\"}");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(
            parts in prop::collection::vec("[\"ab\u{1}\u{2}]{0,3}", 0..12),
            words in ["[\"ab\u{1}\u{2}]{0,3}", "[\"ab\u{1}\u{2}]{0,3}"],
        ) {
            let json = parts.concat();
            let words = [words[0].as_bytes(), words[1].as_bytes()];
            let of = Pattern::of(json.as_bytes(), words);
            prop_assert_eq!(of.marked.pattern_len(json.len(), words), of.text.len());
            prop_assert_eq!(of.marked.json(of.text, words), json.into_bytes());
        }
    }
}
