//! The changes of a relist that are not in the store yet: readers must see them in one step. Synchronous.
//!
//! As client-go's `ReplacedAll` (`tools/cache/the_real_fifo.go`), which holds the whole list. Here only the list's
//! changes are held, with a bound.

use crate::delta_fifo::Delta;
use crate::object::ObjectKey;
use std::collections::VecDeque;

/// Changes in the order of the list.
#[derive(Debug)]
pub(super) struct Staged {
    deltas: VecDeque<Delta>,
    /// The bytes of further changes that are held.
    room: usize,
}

impl Staged {
    /// Holds changes up to this number of bytes. A list with more is shown as it comes.
    pub(super) fn up_to(bytes: usize) -> Self {
        Self { deltas: VecDeque::new(), room: bytes }
    }

    /// For a list that is shown as it comes.
    pub(super) fn none() -> Self {
        Self::up_to(0)
    }

    /// Whether changes are held.
    pub(super) fn holds(&self) -> bool {
        self.room > 0
    }

    /// Holds a change. Returns whether that was the last one to hold.
    pub(super) fn push(&mut self, delta: Delta) -> bool {
        self.room = self.room.saturating_sub(delta.bytes());
        self.deltas.push_back(delta);
        !self.holds()
    }

    /// Takes the next changes, up to `limit`. Fewer than `limit` are the last ones.
    pub(super) fn next(&mut self, limit: usize) -> Vec<Delta> {
        let count = self.deltas.len().min(limit);
        self.deltas.drain(..count).collect()
    }

    /// The changed objects.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.deltas.iter().filter_map(|delta| match delta {
            Delta::Listed(object, _) | Delta::Changed(_, object, _) => Some(object.key()),
            Delta::Begin | Delta::End { .. } | Delta::Gone | Delta::Bookmark { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bookmark() -> Delta {
        Delta::Bookmark { resource_version: "1".into() }
    }

    #[test]
    fn what_is_held_has_a_bound_in_bytes() {
        let mut staged = Staged::up_to(10 * bookmark().bytes());
        let mut held = 1;
        while !staged.push(bookmark()) {
            assert!(staged.holds());
            held += 1;
        }
        assert_eq!(held, 10);
        assert!(!staged.holds());
        assert_eq!((staged.next(held - 1).len(), staged.next(9).len()), (held - 1, 1));
        assert!(!staged.holds(), "what is taken out makes no room for more");
        assert!(!Staged::none().holds());
    }
}
