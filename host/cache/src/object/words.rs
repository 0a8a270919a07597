//! A list of texts in one allocation, which objects share: sets of labels, and owners. A set of labels also has the
//! handle of the owners, so that an object has one handle for both.
//!
//! Each text stands behind its length. Reading one is a walk over the bytes before it, which for what an object has is
//! quicker than following a pointer to each. A long list has a table behind its texts, so that a look-up among twenty
//! thousand labels is no walk over all of them: the places of its even words, in the order of these words, and the
//! number of the places.

use std::borrow::Cow;
use std::fmt;
use triomphe::ThinArc;

/// Lists up to so many bytes are looked up without an allocation; those of most objects are shorter.
const ON_STACK: usize = 512;

/// Lists of so many bytes have a table; those of most objects are shorter.
const LONG: usize = 2 << 10;
/// Bytes of a place in the table, and of the table's length.
const PLACE: usize = size_of::<u32>();

/// A cheap handle: cloning counts a reference. In front of the list is `H`.
#[derive(Clone)]
pub(super) struct Words<H = ()>(ThinArc<H, u8>);

/// A set of labels, with the owners in front of it.
pub(super) type LabelWords = Words<Words>;

/// One of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference<'a> {
    /// For example `apps/v1`.
    #[serde(default, borrow)]
    pub api_version: Cow<'a, str>,
    /// For example `ReplicaSet`.
    #[serde(default, borrow)]
    pub kind: Cow<'a, str>,
    /// The owner's name; it lives in the object's namespace or in none.
    #[serde(default, borrow)]
    pub name: Cow<'a, str>,
    /// The owner's UID.
    #[serde(default, borrow)]
    pub uid: Cow<'a, str>,
    /// Whether this owner is the managing controller.
    #[serde(default)]
    pub controller: Option<bool>,
}

/// Words of one owner in a list.
const OWNER_WORDS: usize = 5;

impl OwnerReference<'_> {
    /// As words of a list.
    pub(super) fn words(&self) -> [&str; OWNER_WORDS] {
        let controller = match self.controller {
            None => "",
            Some(false) => "0",
            Some(true) => "1",
        };
        [&self.api_version, &self.kind, &self.name, &self.uid, controller]
    }
}

impl<H> Words<H> {
    pub(super) fn new(front: H, list: &[u8]) -> Self {
        if list.len() < LONG {
            return Self(ThinArc::from_header_and_slice(front, list));
        }
        Self(ThinArc::from_header_and_slice(front, &[list, &table(list)].concat()))
    }

    /// What is in front of the list.
    pub(super) fn front(&self) -> &H {
        &self.0.header.header
    }

    /// The list, without its table.
    pub(super) fn bytes(&self) -> &[u8] {
        self.parts().0
    }

    /// The list, and its table, which is empty if the list is short.
    fn parts(&self) -> (&[u8], &[[u8; PLACE]]) {
        let all = &self.0.slice;
        match all.split_last_chunk() {
            Some((rest, places)) if all.len() >= LONG => {
                let (list, table) =
                    rest.split_at(rest.len() - u32::from_le_bytes(*places) as usize * PLACE);
                (list, table.as_chunks().0)
            }
            _ => (all, &[]),
        }
    }

    /// How many handles there are.
    pub(super) fn handles(&self) -> usize {
        ThinArc::strong_count(&self.0)
    }

    pub(super) fn same_handle(&self, other: &Self) -> bool {
        self.address() == other.address()
    }

    /// Where the words are: no other ones are there while anybody has them.
    pub(super) fn address(&self) -> usize {
        self.0.ptr().addr()
    }

    /// The value that follows a key, in a list of keys and values.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let (mut rest, table) = self.parts();
        let list = rest;
        let at = |place: &[u8; PLACE]| &list[u32::from_le_bytes(*place) as usize..];
        if !table.is_empty() {
            let found = table.binary_search_by_key(&key.as_bytes(), |place| take(&mut at(place)));
            let mut rest = at(&table[found.ok()?]);
            take(&mut rest);
            return Some(text(take(&mut rest)));
        }
        while !rest.is_empty() {
            let (found, value) = (take(&mut rest), take(&mut rest));
            if found == key.as_bytes() {
                return Some(text(value));
            }
        }
        None
    }

    /// Keys and values.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut words = self.iter();
        std::iter::from_fn(move || Some((words.next()?, words.next()?)))
    }

    /// Owners, of a list of such.
    pub(super) fn owners(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        let mut words = self.iter();
        std::iter::from_fn(move || {
            let mut word = || words.next().map(Cow::Borrowed);
            let (api_version, kind, name, uid) = (word()?, word()?, word()?, word()?);
            let controller = match &*word()? {
                "" => None,
                word => Some(word == "1"),
            };
            Some(OwnerReference { api_version, kind, name, uid, controller })
        })
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.bytes();
        std::iter::from_fn(move || (!rest.is_empty()).then(|| text(take(&mut rest))))
    }
}

impl<H> fmt::Debug for Words<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The table of a long list. A list of 4 GiB is no object's.
fn table(list: &[u8]) -> Vec<u8> {
    let mut places = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let place = list.len() - rest.len();
        places.push((take(&mut rest), place as u32));
        if !rest.is_empty() {
            take(&mut rest);
        }
    }
    places.sort_unstable();
    let len = places.len() as u32;
    places.iter().map(|(_, place)| *place).chain([len]).flat_map(u32::to_le_bytes).collect()
}

/// Calls `then` with a list's bytes.
pub(super) fn with_bytes<'a, R>(
    words: impl Iterator<Item = &'a str> + Clone,
    then: impl FnOnce(&[u8]) -> R,
) -> R {
    let len = words.clone().map(|word| length_of(word.len()) + word.len()).sum();
    let mut on_stack = [0; ON_STACK];
    let mut on_heap = Vec::new();
    let bytes = if len <= ON_STACK {
        &mut on_stack[..len]
    } else {
        on_heap.resize(len, 0);
        &mut on_heap[..]
    };
    let mut rest = &mut *bytes;
    for word in words {
        let mut left = word.len();
        for _ in 1..length_of(left) {
            put(&mut rest, &[left as u8 | 0x80]);
            left >>= 7;
        }
        put(&mut rest, &[left as u8]);
        put(&mut rest, word.as_bytes());
    }
    then(bytes)
}

fn put(rest: &mut &mut [u8], bytes: &[u8]) {
    let (at, after) = std::mem::take(rest).split_at_mut(bytes.len());
    at.copy_from_slice(bytes);
    *rest = after;
}

/// Bytes that a length takes: seven bits each.
fn length_of(length: usize) -> usize {
    (length.max(1).ilog2() / 7 + 1) as usize
}

/// The next text of a list that has one.
fn take<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let (mut length, mut shift) = (0, 0);
    while let Some((&byte, after)) = rest.split_first() {
        *rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    let (word, after) = rest.split_at(length);
    *rest = after;
    word
}

fn text(word: &[u8]) -> &str {
    std::str::from_utf8(word).expect("a list is made of texts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str]) {
        let list = with_bytes(words.iter().copied(), |list| Words::new((), list));
        assert_eq!(list.iter().collect::<Vec<_>>(), words);
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        check(&[]);
        check(&[""]);
        check(&["", "a", "", "app.kubernetes.io/name", "ü\0"]);
        for length in [127, 128, 16_383, 16_384, 70_000] {
            let long = "x".repeat(length);
            check(&["a", &long, "", &long]);
        }
        for total in ON_STACK - 2..=ON_STACK + 2 {
            check(&[&"x".repeat(100), &"y".repeat(total - 100 - 3)]);
        }
    }

    #[test]
    fn a_value_belongs_to_a_key_and_never_to_a_value() {
        let list = with_bytes(["a", "b", "b", "c"].into_iter(), |list| Words::new((), list));
        assert_eq!(
            [list.value("a"), list.value("b"), list.value("c")],
            [Some("b"), Some("c"), None]
        );
        assert_eq!(list.pairs().collect::<Vec<_>>(), [("a", "b"), ("b", "c")]);
    }

    /// Lists of so many labels, with and without a table.
    #[test]
    fn a_long_list_is_looked_up_as_a_short_one() {
        for count in [0, 1, 70, 100, 5_000] {
            let label = |number: usize| (format!("k{}", number * 7 % 10_007), format!("v{number}"));
            let labels: Vec<(String, String)> = (0..count).map(label).collect();
            let words = labels.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
            let list = with_bytes(words, |list| Words::new((), list));
            assert_eq!(list.parts().1.is_empty(), list.bytes().len() < LONG);
            assert!(list.pairs().eq(labels.iter().map(|(key, value)| (&**key, &**value))));
            for (key, value) in &labels {
                assert_eq!(list.value(key), Some(value.as_str()));
            }
            assert_eq!([list.value("v1"), list.value(""), list.value("k10008")], [None; 3]);
        }
    }
}
