//! A key with its hash. The queue's lock is held while tables look keys up and grow, and informers wait for the lock. So
//! a caller reads and copies the text before that, once.

use super::{AddError, KEY_BYTES_MAX};
use hashbrown::DefaultHashBuilder;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// Clones share the text.
#[derive(Clone, Eq)]
pub(crate) struct HashedKey {
    hash: u64,
    text: Arc<str>,
}

impl HashedKey {
    /// The same as `From`, for a text of any length.
    pub(crate) fn new(text: &str) -> Result<Self, AddError> {
        checked(text)?;
        Ok(text.into())
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for HashedKey {
    fn from(text: &T) -> Self {
        static SEED: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
        let text = text.as_ref();
        Self { hash: SEED.hash_one(text), text: text.into() }
    }
}

impl Hash for HashedKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for HashedKey {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.text == other.text
    }
}

impl Ord for HashedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl PartialOrd for HashedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Deref for HashedKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for HashedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Display for HashedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// A key has a bounded length.
pub(super) fn checked(key: &str) -> Result<(), AddError> {
    match key.len() {
        1..=KEY_BYTES_MAX => Ok(()),
        length => Err(AddError::Length(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the bytes that a key gives to a table's hash.
    #[derive(Default)]
    struct ByteCount(usize);

    impl Hasher for ByteCount {
        fn write(&mut self, bytes: &[u8]) {
            self.0 += bytes.len();
        }

        fn finish(&self) -> u64 {
            self.0 as u64
        }
    }

    #[test]
    fn a_table_reads_no_text_to_find_a_key() {
        for text in ["a", &"\u{1}".repeat(512)] {
            let mut count = ByteCount::default();
            HashedKey::from(text).hash(&mut count);
            assert_eq!(count.0, 8, "{} bytes of text", text.len());
        }
    }

    #[test]
    fn equal_texts_are_equal_keys() {
        let [one, same, other] = ["a/b", "a/b", "a/c"].map(HashedKey::from);
        assert!(one == same && one != other && one < other);
        assert_eq!(HashedKey::new(""), Err(AddError::Length(0)));
        assert_eq!(HashedKey::new("a/b"), Ok(one));
    }
}
