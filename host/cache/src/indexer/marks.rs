//! The objects that the lists in progress have shown, one bit each, and the small numbers of objects for these bits.
//!
//! This replaces client-go's comparison of a whole list with the whole store (`Replace` in
//! `tools/cache/the_real_fifo.go`), without either in memory. A listed object that is stored already costs one bit.

use crate::object::ObjectKey;
use std::sync::{Arc, Weak};

/// A list in progress. Dropping it forgets the shown objects: an interrupted list removes nothing.
#[derive(Debug)]
pub(crate) struct ListMark {
    alive: Arc<()>,
    /// The progress of the sweep.
    pub(super) swept: Option<ObjectKey>,
}

/// The numbers of the stored objects: small, and reused after a removal.
#[derive(Debug, Default)]
pub(super) struct Slots {
    free: Vec<u32>,
    next: u32,
}

impl Slots {
    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next =
                self.next.checked_add(1).expect("four billion objects do not fit in memory");
            self.next - 1
        })
    }

    pub(super) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

/// The lists in progress: one for each part of the scope, so few.
#[derive(Debug, Default)]
pub(super) struct Lists {
    lists: Vec<List>,
}

#[derive(Debug)]
struct List {
    mark: Weak<()>,
    /// One bit for each slot: its object was written, or shown unchanged, since the list began. The object of a reused
    /// slot was written.
    touched: Vec<u64>,
}

impl List {
    fn is(&self, mark: &ListMark) -> bool {
        std::ptr::eq(self.mark.as_ptr(), Arc::as_ptr(&mark.alive))
    }
}

/// The lists that a write concerns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SeenBy<'a> {
    /// Every list in progress.
    #[cfg(test)]
    Everyone,
    /// Only the list of this part, if one is in progress. It says nothing about objects that another part's list has
    /// yet to show.
    Part(Option<&'a ListMark>),
}

impl Lists {
    pub(super) fn begin(&mut self) -> ListMark {
        self.lists.retain(|list| list.mark.strong_count() > 0);
        let alive = Arc::new(());
        self.lists.push(List { mark: Arc::downgrade(&alive), touched: Vec::new() });
        ListMark { alive, swept: None }
    }

    /// Notes that an object was written, or shown unchanged. `fresh`: the slot had another object, or none, before.
    pub(super) fn touch(&mut self, slot: u32, seen_by: SeenBy<'_>, fresh: bool) {
        let (word, bit) = place(slot);
        for list in &mut self.lists {
            if list.touched.len() <= word {
                list.touched.resize(word + 1, 0);
            }
            let its = match seen_by {
                #[cfg(test)]
                SeenBy::Everyone => true,
                SeenBy::Part(mark) => mark.is_some_and(|mark| list.is(mark)),
            };
            if its {
                list.touched[word] |= bit;
            } else if fresh {
                list.touched[word] &= !bit;
            }
        }
    }

    pub(super) fn touched(&self, mark: &ListMark, slot: u32) -> bool {
        let (word, bit) = place(slot);
        let list = self
            .lists
            .iter()
            .find(|list| list.is(mark))
            .expect("a list is kept for as long as its mark");
        list.touched.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(slot: u32) -> (usize, u64) {
    (slot as usize / 64, 1 << (slot % 64))
}
