//! A list of a descriptor; entries beyond its bound are not read.

use super::{DescriptorError, bound};
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The first `MAX` entries of a JSON list, and the number of entries that the list has. The entries
/// above the bound are skipped and take no memory.
pub(super) struct BoundedList<T, const MAX: usize> {
    entries: Vec<T>,
    found: usize,
}

impl<T, const MAX: usize> BoundedList<T, MAX> {
    /// The entries, or an error with the place if there are more than `MAX`.
    pub(super) fn entries(self, at: &str) -> Result<Vec<T>, DescriptorError> {
        bound(at, self.found, MAX)?;
        Ok(self.entries)
    }
}

impl<T, const MAX: usize> Default for BoundedList<T, MAX> {
    fn default() -> Self {
        Self { entries: Vec::new(), found: 0 }
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedList<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for ListVisitor<T, MAX> {
    type Value = BoundedList<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut list = BoundedList::default();
        while list.found < MAX {
            let Some(entry) = sequence.next_element()? else { return Ok(list) };
            list.entries.push(entry);
            list.found += 1;
        }
        while sequence.next_element::<IgnoredAny>()?.is_some() {
            list.found += 1;
        }
        Ok(list)
    }
}
