//! What a text has that another one has not: an earlier one of the same object, of whose words most changes touch a few, or one of the
//! same owner's other objects.
//!
//! An edit says how many bytes stay as they are, how many come, how many of the old ones go for them, and which come. Most often as many go as
//! come, which takes no number of its own. Numbers take seven bits a byte, and what comes takes half of its bytes if its letters are
//! few. What is found need not be the least; applied to the old text it gives the new one.

use super::alphabet::Alphabet;

/// Longer texts have no edits: what they are compared with is kept as text for a while.
pub(super) const TEXT_MAX: usize = 64 << 10;
/// Texts that agree for so many bytes after a difference are taken to go on alike.
const ALIKE: usize = 16;
/// Where a part of the old text is looked for in the new one, after the place at which they differ.
const ANCHORS: [usize; 3] = [16, 64, 256];
/// How much longer than the old one a new part may be for the texts to be found to go on alike after it.
const GROWN_MAX: usize = 512;

/// Appends to `out` the edits that turn `old` into `new`; none where they would take more than `bytes_max`, or a text is too long.
pub(super) fn between(
    mut old: &[u8],
    mut new: &[u8],
    bytes_max: usize,
    mut out: Vec<u8>,
) -> Option<Vec<u8>> {
    if old.len().max(new.len()) > TEXT_MAX {
        return None;
    }
    let before = out.len();
    loop {
        let same = common_prefix(old, new);
        (old, new) = (&old[same..], &new[same..]);
        if old.is_empty() && new.is_empty() {
            return Some(out);
        }
        let (gone, come) = differ(old, new);
        put_number(same, &mut out);
        let alphabet = Alphabet::of(&new[..come]);
        put_number(come << 3 | alphabet.number() << 1 | usize::from(gone != come), &mut out);
        if gone != come {
            put_number(gone, &mut out);
        }
        alphabet.put(&new[..come], &mut out);
        if out.len() - before > bytes_max {
            return None;
        }
        (old, new) = (&old[gone..], &new[come..]);
    }
}

/// The text of `len` bytes that the edits make of `old`, with room for `capacity` bytes.
pub(super) fn apply(mut old: &[u8], mut edits: &[u8], len: usize, capacity: usize) -> Vec<u8> {
    let mut new = Vec::with_capacity(capacity);
    while !edits.is_empty() {
        let (same, come) = (take_number(&mut edits), take_number(&mut edits));
        let (come, alphabet, other) = (come >> 3, come >> 1 & 3, come & 1 == 1);
        let gone = if other { take_number(&mut edits) } else { come };
        new.extend_from_slice(&old[..same]);
        Alphabet::of_number(alphabet).take(&mut edits, come, &mut new);
        old = &old[same + gone..];
    }
    new.extend_from_slice(old);
    assert_eq!(new.len(), len, "edits are applied to the text that they were made for");
    new
}

fn put_number(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(edits: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = edits.split_first().expect("edits are whole");
        *edits = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

/// How many bytes of two texts that differ at once are to be replaced by how many.
fn differ(old: &[u8], new: &[u8]) -> (usize, usize) {
    // A value by another one as long: a time, a number.
    let alike = |at: &usize| {
        let (one, other) = (old.get(*at..at + ALIKE), new.get(*at..at + ALIKE));
        one.is_some() && one == other
    };
    if let Some(at) = (1..=ANCHORS[1]).find(alike) {
        return (at, at);
    }
    for anchor in ANCHORS {
        let Some(part) = old.get(anchor..anchor + ALIKE) else { break };
        let within = &new[..new.len().min(anchor + GROWN_MAX)];
        if let Some(found) = memchr::memmem::find(within, part) {
            let same = common_suffix(&old[..anchor], &new[..found]);
            return (anchor - same, found - same);
        }
    }
    let same = common_suffix(old, new);
    (old.len() - same, new.len() - same)
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let (words, other_words) = (one.as_chunks::<16>().0, other.as_chunks::<16>().0);
    let words = words.iter().zip(other_words);
    let whole = 16 * words.take_while(|(one, other)| one == other).count();
    let rest = one[whole..].iter().zip(&other[whole..]);
    whole + rest.take_while(|(one, other)| one == other).count()
}

fn common_suffix(one: &[u8], other: &[u8]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Answers how many bytes the edits take.
    #[track_caller]
    fn check(old: &str, new: &str) -> Option<usize> {
        let edits = between(old.as_bytes(), new.as_bytes(), usize::MAX, Vec::new())?;
        assert_eq!(apply(old.as_bytes(), &edits, new.len(), 0), new.as_bytes());
        Some(edits.len())
    }

    #[track_caller]
    fn check_text(old: &str, new: &str, bytes: usize) {
        let around = |text: &str| {
            let long = "some of what does not change at all, ".repeat(20);
            format!("{long}{text}{long}")
        };
        assert_eq!(check(&around(old), &around(new)), Some(bytes));
        assert_eq!(check(old, old), Some(0));
    }

    #[test]
    fn only_what_differs_is_kept() {
        check_text("\"at\":\"10:00:00\"", "\"at\":\"10:00:07\"", 3 + 1);
        check_text("\"n\":\"99\"", "\"n\":\"100\"", 4 + 3);
        check_text("\"at\":\"10.0.1.2\"", "\"at\":\"98.7.6.54\"", 4 + 5);
        check_text("\"id\":\"00ff00ff\"", "\"id\":\"123abc12\"", 3 + 4);
        check_text("[{\"a\":1}]", "[{\"a\":1},{\"b\":2}]", 4 + 8);
        check_text("[{\"a\":1},{\"b\":2}]", "[{\"a\":1}]", 4);
        check_text("", &"it has grown by much. ".repeat(15), 5 + 330);
        check_text(&"it has lost much. ".repeat(13), "", 5);
    }

    #[test]
    fn what_is_too_long_or_too_different_has_no_edits() {
        let (long, longer) = ("x".repeat(TEXT_MAX), "x".repeat(TEXT_MAX + 1));
        assert_eq!(check("y", &long), Some(5 + TEXT_MAX));
        assert_eq!((check("y", &longer), check(&longer, "y")), (None, None));
        assert_eq!(between(b"one", b"other", 6, Vec::new()), None);
    }

    proptest! {
        #[test]
        fn edits_give_the_new_text(
            old in "[ab{}\",]{0,600}",
            changes in prop::collection::vec((0..600_usize, 0..80_usize, "[abc]{0,80}|[0-9a-f]{0,80}"), 0..6),
        ) {
            let mut new = old.clone();
            for (at, gone, come) in changes {
                let at = at.min(new.len());
                new.replace_range(at..(at + gone).min(new.len()), &come);
            }
            check(&old, &new).expect("it is short");
            check(&new, &old).expect("it is short");
        }
    }
}
