//! What has changed and is not written yet: a synchronous cupboard between those who say so and the thread that writes.
//!
//! Only the last word on each place is kept. Above its bound it takes nothing more, but that something is no more: what is not
//! taken is counted, and the file goes on saying what it said.

use super::{Changes, Place};
use crate::plugin_name::PluginName;

/// Bytes of what waits and of what is being written: more than a plugin's dead letters, and less than anybody misses. Only a disk that
/// is much slower than the plugins fail, or that takes nothing, ever has it filled.
pub(super) const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct Pending {
    changes: Changes,
    bytes: usize,
    /// Bytes of the changes that are being written.
    taken: usize,
}

impl Pending {
    /// Takes all of the changes or none, and says which: they belong together.
    pub(super) fn put(&mut self, changes: Changes) -> bool {
        let puts = changes.values().any(Option::is_some);
        if puts && self.bytes + self.taken + size(&changes) > BYTES_MAX {
            return false;
        }
        for (place, content) in changes {
            self.insert(place, content);
        }
        true
    }

    fn insert(&mut self, place: (PluginName, Place), content: Option<super::Content>) {
        self.bytes += content.as_ref().map_or(0, super::Content::size);
        if let Some(Some(before)) = self.changes.insert(place, content) {
            self.bytes -= before.size();
        }
    }

    /// What is to be written now, which is not forgotten before [`written`](Self::written) or [`put_back`](Self::put_back).
    pub(super) fn take(&mut self) -> Changes {
        self.taken = std::mem::take(&mut self.bytes);
        std::mem::take(&mut self.changes)
    }

    /// What was taken is in the file.
    pub(super) fn written(&mut self) {
        self.taken = 0;
    }

    /// What was taken could not be written. What was said since counts more.
    pub(super) fn put_back(&mut self, taken: Changes) {
        self.taken = 0;
        for (place, content) in taken {
            if !self.changes.contains_key(&place) {
                self.insert(place, content);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many changes wait, and their bytes, with those that are being written.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.changes.len(), self.bytes + self.taken)
    }
}

fn size(changes: &Changes) -> usize {
    changes.values().flatten().map(super::Content::size).sum()
}

#[cfg(test)]
mod tests {
    use super::super::Content;
    use super::*;
    use bytes::Bytes;

    /// `a3` puts three MiB at `a`, `a-` empties it; `+` joins what belongs together.
    fn changes(text: &str) -> Changes {
        let change = |word: &str| {
            let (place, size) = word.split_at(1);
            let plugin: PluginName = "p".parse().expect("a name");
            let content = size.parse::<usize>().ok();
            let content = content.map(|size| Content::State(Bytes::from(vec![0; size << 20])));
            ((plugin, Place::State(place.into())), content)
        };
        text.split('+').map(change).collect()
    }

    fn show(changes: &Changes) -> String {
        let shown = changes.iter().map(|((_, place), content)| {
            let Place::State(place) = place else { panic!("{place:?} was not put") };
            let size = content.as_ref().map(|content| content.size() >> 20);
            format!("{place}{}", size.map_or("-".to_owned(), |size| size.to_string()))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Puts, `take`s, has `written` and puts `back`, and shows what waits then and how many were refused.
    #[track_caller]
    fn check(steps: &str, expect: &str, refused: usize) {
        let (mut pending, mut taken, mut no) = (Pending::default(), Changes::new(), 0);
        for step in steps.split(' ') {
            match step {
                "take" => taken = pending.take(),
                "written" => pending.written(),
                "back" => pending.put_back(std::mem::take(&mut taken)),
                put => no += usize::from(!pending.put(changes(put))),
            }
            assert_eq!(pending.bytes, size(&pending.changes), "{steps} at {step}");
        }
        assert_eq!((show(&pending.changes).as_str(), no), (expect, refused), "{steps}");
    }

    #[test]
    fn the_last_word_on_a_place_counts() {
        check("a3 b1 a2 b-", "a2 b-", 0);
        check("a3 take a2 back", "a2", 0);
        check("a3 take a- back", "a-", 0);
        check("a3 b1 take a2 back", "a2 b1", 0);
        check("a3 take written a-", "a-", 0);
    }

    #[test]
    fn at_the_bound_only_what_is_no_more_is_taken() {
        check("a9 b8", "a9", 1);
        check("a9 b7", "a9 b7", 0);
        check("a9 take b8", "", 1);
        check("a9 take written b8", "b8", 0);
        check("a9 b7 b-", "a9 b-", 0);
        check("a9 take b7 back c1", "a9 b7", 1);
    }

    #[test]
    fn what_belongs_together_is_taken_or_refused_together() {
        check("a9 b8+c-", "a9", 1);
        check("a9 b7+c-", "a9 b7 c-", 0);
    }
}
