//! The names of an event's object in one text, as `flat-handler` has them.

use crate::ObjectKey;
use std::cell::OnceCell;
use std::ops::Range;

pub(super) struct FlatNames {
    text: String,
    /// The ends of namespace, name and UID, in 16 bits each. The rest is the resourceVersion.
    ends: u64,
    /// Made when the plugin asks for it.
    key: OnceCell<ObjectKey>,
}

impl FlatNames {
    pub(super) fn new(text: String, ends: u64) -> Self {
        Self { text, ends, key: OnceCell::new() }
    }

    pub(super) fn key(&self) -> &ObjectKey {
        let key = || {
            let (namespace, name) = (self.end(0), self.end(1));
            ObjectKey::new(self.part(0..namespace), self.part(namespace..name))
        };
        self.key.get_or_init(key)
    }

    pub(super) fn uid(&self) -> &str {
        self.part(self.end(1)..self.end(2))
    }

    pub(super) fn resource_version(&self) -> &str {
        self.part(self.end(2)..self.text.len())
    }

    fn end(&self, number: u32) -> usize {
        usize::from((self.ends >> (16 * number)) as u16)
    }

    /// Empty for numbers that no host sends.
    fn part(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_text_are_the_names_of_the_object() {
        let ends = |ends: [u64; 3]| ends[0] | ends[1] << 16 | ends[2] << 32;
        let names = FlatNames::new("shopweb4a7".to_owned(), ends([4, 7, 9]));
        assert_eq!((names.key(), names.uid()), (&ObjectKey::new("shop", "web"), "4a"));
        assert_eq!(names.resource_version(), "7");
        let of_node = FlatNames::new("node-14a7".to_owned(), ends([0, 6, 8]));
        assert_eq!(of_node.key(), &ObjectKey::new("", "node-1"));
        let wrong = FlatNames::new("ä".to_owned(), ends([1, 9, 3]));
        assert_eq!((wrong.key(), wrong.uid()), (&ObjectKey::new("", ""), ""));
    }
}
