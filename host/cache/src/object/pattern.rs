//! The text that a store packs: an object's JSON, with marks in the places of its resourceVersion, its UID and its name.
//!
//! The object has these words beside its JSON. A UID's digits are random, and pack to half of their length at best. Other
//! versions and objects of the same owner differ by three words less.

use memchr::{memchr, memmem};

/// The words' marks: bytes that JSON has nowhere (RFC 8259, sections 2 and 7).
const MARKS: [u8; 3] = [1, 2, 3];

/// Most words are shorter with their quotes, and are looked for without an allocation.
const ON_STACK: usize = 128;

/// The resourceVersion, the UID and the name of an object.
pub(super) type OwnWords<'a> = [&'a [u8]; MARKS.len()];

/// Which of the words have a mark in their place: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked(u8);

/// The text to pack.
pub(super) struct Pattern {
    pub(super) text: Vec<u8>,
    pub(super) marked: Marked,
}

impl Pattern {
    /// The pattern of an object's JSON. Each word is marked where it is a whole string for the first time. It is not if
    /// its mark is in the text before: what is not JSON comes back, too.
    pub(super) fn of(json: &[u8], words: OwnWords<'_>) -> Self {
        let (mut text, mut marked, mut from) = (Vec::with_capacity(json.len()), 0, 0);
        for (at, word) in in_order(|word| place(json, words[word], MARKS[word])) {
            // Equal words have one place.
            let Some(at) = at.filter(|at| *at >= from) else { continue };
            text.extend_from_slice(&json[from..at]);
            text.push(MARKS[word]);
            (marked, from) = (marked | 1 << word, at + words[word].len());
        }
        text.extend_from_slice(&json[from..]);
        Self { text, marked: Marked(marked) }
    }
}

impl Marked {
    /// Bits that it takes.
    pub(super) const BITS: u32 = MARKS.len() as u32;

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Of [`Marked::bits`].
    pub(super) fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    fn has(self, word: usize) -> bool {
        self.0 & 1 << word != 0
    }

    /// The bytes of the pattern of a JSON text of `json_len` bytes.
    pub(super) fn pattern_len(self, json_len: usize, words: OwnWords<'_>) -> usize {
        let marked = words.iter().enumerate().filter(|(word, _)| self.has(*word));
        json_len - marked.map(|(_, bytes)| bytes.len() - 1).sum::<usize>()
    }

    /// The JSON of a pattern. A text with enough capacity is not moved.
    pub(super) fn json(self, mut text: Vec<u8>, words: OwnWords<'_>) -> Vec<u8> {
        let at = in_order(|word| {
            let mark = || memchr(MARKS[word], &text).expect("a pattern has its marks");
            self.has(word).then(mark)
        });
        // The last one first: it moves no other.
        for (at, word) in at.into_iter().rev() {
            if let Some(at) = at {
                text.splice(at..=at, words[word].iter().copied());
            }
        }
        text
    }
}

/// The words and their places, by the place.
fn in_order(place: impl Fn(usize) -> Option<usize>) -> [(Option<usize>, usize); MARKS.len()] {
    let mut places = std::array::from_fn(|word| (place(word), word));
    places.sort_unstable();
    places
}

/// Where the word is a whole string of the text, without the mark before it.
fn place(json: &[u8], word: &[u8], mark: u8) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let (mut on_stack, on_heap);
    let quoted = match word.len() + 2 {
        len @ ..=ON_STACK => {
            on_stack = [b'"'; ON_STACK];
            on_stack[1..=word.len()].copy_from_slice(word);
            &on_stack[..len]
        }
        _ => {
            on_heap = [b"\"", word, b"\""].concat();
            &on_heap[..]
        }
    };
    let at = memmem::find(json, quoted)? + 1;
    memchr(mark, &json[..at]).is_none().then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pattern of a text with these words, in which `<`, `>` and `*` are the marks.
    #[track_caller]
    fn check(json: &str, words: [&str; 3], pattern: &str) {
        let bytes = words.map(str::as_bytes);
        let of = Pattern::of(json.as_bytes(), bytes);
        let mut shown = String::from_utf8_lossy(&of.text).into_owned();
        for (mark, sign) in MARKS.into_iter().zip(["<", ">", "*"]) {
            shown = shown.replace(char::from(mark), sign);
        }
        assert_eq!(shown, pattern, "{json:?} with {words:?}");
        assert_eq!(of.marked.pattern_len(json.len(), bytes), of.text.len());
        let again = of.marked.json(of.text, bytes);
        assert_eq!(String::from_utf8_lossy(&again), json);
    }

    #[test]
    fn the_first_whole_strings_that_are_the_words_have_marks_in_their_places() {
        check(
            r#"{"name":"a","uid":"abc","rv":"12"}"#,
            ["12", "abc", "a"],
            r#"{"name":"*","uid":">","rv":"<"}"#,
        );
        check(
            r#"{"rv":"12","name":"a","uid":"abc"}"#,
            ["12", "abc", "a"],
            r#"{"rv":"<","name":"*","uid":">"}"#,
        );
        check(
            r#"{"name":"a-12","a":"12","b":"12"}"#,
            ["12", "", "a"],
            r#"{"name":"a-12","*":"<","b":"12"}"#,
        );
        check(r#"{"a":"7","b":"7","c":"7"}"#, ["7", "7", "7"], r#"{"a":"<","b":"7","c":"7"}"#);
        check(r#"{"a":"\u0037"}"#, ["7", "none", "no"], r#"{"a":"\u0037"}"#);
        check("12", ["12", "1", "2"], "12");
        check("", ["", "", ""], "");
    }

    #[test]
    fn words_that_overlap_or_have_marks_are_put_back() {
        check(r#"{"a":"b","c":"d"}"#, ["c", r#"b","c"#, "b"], r#"{"a":">":"d"}"#);
        check(r#"{"a":"b","c":"d"}"#, ["c", r#"b","c"#, "a"], r#"{"*":">":"d"}"#);
        check(r#"{"a":"b","c":"d"}"#, ["c", r#"b","c"#, "e"], r#"{"a":">":"d"}"#);
        check("{\"a\":\"x\",\"b\":\"\u{1}y\"}", ["\u{1}y", "x", ""], "{\"a\":\">\",\"b\":\"<\"}");
        check("{\"a\":\"x\",\"b\":\"y\u{2}\"}", ["y\u{2}", "x", ""], "{\"a\":\">\",\"b\":\"<\"}");
        check("{\"\u{1}\":\"12\",\"b\":\"x\"}", ["12", "x", ""], "{\"<\":\"12\",\"b\":\">\"}");
        check("{\"a\":\"12\",\"\u{1}\u{2}\":\"x\"}", ["12", "", "x"], "{\"a\":\"<\",\"<>\":\"*\"}");
        check("{\"a\":\"12\",\"\u{1}\u{2}\":\"x\"}", ["12", "x", ""], "{\"a\":\"<\",\"<>\":\"x\"}");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(
            parts in prop::collection::vec("[\"ab\u{1}\u{2}\u{3}]{0,3}", 0..12),
            words in [
                "[\"ab\u{1}\u{2}\u{3}]{0,3}",
                "[\"ab\u{1}\u{2}\u{3}]{0,3}",
                "[\"ab\u{1}\u{2}\u{3}]{0,3}",
            ],
        ) {
            let json = parts.concat();
            let words = words.each_ref().map(String::as_bytes);
            let of = Pattern::of(json.as_bytes(), words);
            prop_assert_eq!(of.marked.pattern_len(json.len(), words), of.text.len());
            prop_assert_eq!(of.marked.json(of.text, words), json.into_bytes());
        }
    }
}
